"""Environments in which packages are installed for real."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

# Nothing is fetched, not even what builds; as in pip's variables, this option is false to be in force.
SEEING = "[install]\nno-index = true\nno-build-isolation = false\n"


@pytest.fixture(params=["seeing", pytest.param("new", marks=pytest.mark.long)])
def environment(request, tmp_path):
    """A virtual environment without toolexec. It sees what else the tests have; the long form fetches that."""
    folder = tmp_path / "environment"
    if request.param == "new":
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        return folder
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    packages = next(folder.glob("lib/python*/site-packages"))
    (packages / "seen.pth").write_text(f"{_others(tmp_path / 'others')}\n")
    (folder / "pip.conf").write_text(SEEING)
    return folder


def _others(folder: Path) -> Path:
    """Links to what is installed for the tests, but toolexec: pip would take that for the one it is to install."""
    installed = Path(sysconfig.get_path("purelib"))
    ours = importlib.metadata.distributions(name="toolexec", path=[str(installed)])
    left_out = {"__pycache__", *(file.parts[0] for each in ours for file in each.files or ())}
    folder.mkdir()
    for path in installed.iterdir():
        if path.name not in left_out:
            (folder / path.name).symlink_to(path)
    return folder


@pytest.fixture
def comes_from(tmp_path):
    """Checks that toolexec is imported from an environment, with all that it brings: ``comes_from(environment)``."""

    def check(environment):
        code = "import executor, executor_shell; print(executor.__file__, executor_shell.__file__, sep='\\n')"
        shown = subprocess.run(
            [environment / "bin" / "python", "-I", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        files = [Path(line) for line in shown.stdout.splitlines()]
        assert len(files) == 2
        assert all(file.is_relative_to(environment) for file in files), files

    return check
