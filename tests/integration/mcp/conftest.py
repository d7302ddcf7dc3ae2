"""
Servers that people run, installed once into a folder outside the repository (``TOOLEXEC_TEST_CACHE``, or the user's
cache) from the lists beside this file.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from executor.mcp import MCPBridge

HERE = Path(__file__).parent
# Looked up here, because tests get a home folder of their own.
CACHE = Path(os.environ.get("TOOLEXEC_TEST_CACHE") or Path.home() / ".cache" / "toolexec-tests")
OUTSIDE = dict(os.environ)


def _installed(name: str, listed: Path, install) -> Path:
    """The folder in which what *listed* names is installed; skips the test where it cannot be."""
    folder = CACHE / f"{name}-{hashlib.sha256(listed.read_bytes()).hexdigest()[:12]}"
    if not (folder / "complete").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        try:
            install(folder)
        except (OSError, subprocess.CalledProcessError) as error:
            shutil.rmtree(folder, ignore_errors=True)
            pytest.skip(f"the servers of {listed.name} cannot be installed: {error}")
        (folder / "complete").touch()
    return folder


def _run(*command: object) -> None:
    subprocess.run([str(part) for part in command], check=True, env=OUTSIDE, stdout=subprocess.DEVNULL)


@pytest.fixture(scope="session")
def node_server():
    """Gives the entry of one of the servers in package.json."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        pytest.skip("node is not installed")

    def install(folder: Path) -> None:
        shutil.copy(HERE / "package.json", folder)
        _run(npm, "install", "--prefix", folder, "--no-audit", "--no-fund", "--silent")

    folder = _installed("node", HERE / "package.json", install)

    def entry(name: str, *args: str, **env: str) -> dict:
        program = folder / "node_modules" / ".bin" / f"mcp-server-{name}"
        return {"command": node, "args": [str(program.resolve()), *args], "env": env}

    return entry


def _python_server(listed: str):
    def install(folder: Path) -> None:
        _run(sys.executable, "-m", "venv", folder)
        _run(folder / "bin" / "python", "-m", "pip", "install", "--quiet", "-r", HERE / listed)

    folder = _installed(Path(listed).stem, HERE / listed, install)

    def entry(name: str, *args: str) -> dict:
        return {"command": str(folder / "bin" / name), "args": list(args)}

    return entry


@pytest.fixture(scope="session")
def python_server():
    """Gives the entry of one of the servers in requirements.txt."""
    return _python_server("requirements.txt")


@pytest.fixture(scope="session")
def old_python_server():
    """Gives the entry of the server in requirements-sqlite.txt."""
    return _python_server("requirements-sqlite.txt")


@pytest.fixture
def bridge_to():
    """Makes bridges, and closes them."""
    made = []

    def make(servers, **options):
        made.append(MCPBridge(servers, cache=None, **options))
        return made[-1]

    yield make
    for bridge in made:
        bridge.close()
