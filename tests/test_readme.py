"""What README.md shows is run, and its output compared; ``…`` stands for any text."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
PROGRAMS = [(code, BLOCKS[number + 1][1]) for number, (language, code) in enumerate(BLOCKS) if language == "python"]
COMMANDS = [code for language, code in BLOCKS if language == "sh"]


def run(command, **options):
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'plugins'}"}
    return subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", timeout=50, check=False, env=environment, **options
    )


def test_there_is_something_to_run():
    assert len(PROGRAMS) >= 5
    assert len(COMMANDS) == 2


@pytest.mark.parametrize(("code", "output"), PROGRAMS, ids=range(len(PROGRAMS)))
def test_a_program_prints_what_the_readme_says(code, output, tmp_path):
    done = run([sys.executable, "-c", code], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    wanted = re.escape(output).replace("…", ".*")
    # A literal … of a program's own output matches itself.
    assert re.fullmatch(wanted, done.stdout), f"{done.stdout}\n---\n{output}"
    assert done.stderr == ""


def test_the_first_command_runs_a_command_to_its_end(tmp_path):
    """The command itself, without the installation, which the packaging tests do."""
    install, _, call = COMMANDS[0].partition("\n")
    assert install.endswith("pip install --quiet .")
    call = call.replace(".venv/bin/toolexec", f"{sys.executable} -m executor")
    done = run(["bash", "-c", call], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert re.search(r"step 1\n.*shell_[0-9a-f]{24,}.*step 4\n", done.stderr + done.stdout, re.DOTALL)


def test_the_toml_of_the_plugin_is_what_the_packaging_test_installs():
    (toml,) = [code for language, code in BLOCKS if language == "toml"]
    assert "[project.entry-points.executor]" in toml
    assert len(toml.strip().splitlines()) == 6
