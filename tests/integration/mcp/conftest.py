"""Servers that people run, installed from the lists beside this file."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from executor.mcp import MCPBridge

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def node_server(npm_folder):
    """Gives the entry of one of the servers in package.json."""
    folder = npm_folder(HERE / "package.json")

    def entry(name: str, *args: str, **env: str) -> dict:
        program = folder / "node_modules" / ".bin" / f"mcp-server-{name}"
        return {"command": shutil.which("node"), "args": [str(program.resolve()), *args], "env": env}

    return entry


def _entry_in(folder: Path):
    def entry(name: str, *args: str) -> dict:
        return {"command": str(folder / "bin" / name), "args": list(args)}

    return entry


@pytest.fixture(scope="session")
def python_server(pip_folder):
    """Gives the entry of one of the servers in requirements.txt."""
    return _entry_in(pip_folder(HERE / "requirements.txt"))


@pytest.fixture(scope="session")
def old_python_server(pip_folder):
    """Gives the entry of the server in requirements-sqlite.txt."""
    return _entry_in(pip_folder(HERE / "requirements-sqlite.txt"))


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
