"""The commands of README.md work, and its plugin's settings are the tested ones; programs: tests/test_programs.py."""

from __future__ import annotations

import os
import pty
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
COMMANDS = [code for language, code in BLOCKS if language == "sh"]


def on_a_terminal(command, cwd):
    """What *command* shows on a terminal, and its exit code."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'plugins'}", "NO_COLOR": "1"}
    with subprocess.Popen(command, cwd=cwd, env=environment, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        shown = b""
        try:
            while data := os.read(ours, 4096):
                shown += data
        except OSError:  # how Linux says that the other end is closed
            pass
        os.close(ours)
        return shown.decode(), process.wait(10)


def test_the_first_command_runs_a_command_to_its_end(tmp_path):
    """The command itself, on a terminal; its installation is the packaging tests' part."""
    install, _, call = COMMANDS[0].partition("\n")
    assert install.endswith("pip install --quiet .")
    call = call.replace(".venv/bin/toolexec", f"{sys.executable} -m executor")
    shutil.copy(ROOT / "permissions.example.json", tmp_path)
    shown, code = on_a_terminal(["bash", "-c", call], tmp_path)
    assert code == 0, shown
    time = r"\d\d:\d\d:\d\d\r\n"
    assert re.search(rf"{time}.*shell_[0-9a-f]{{24,}}.*{time}", shown, re.DOTALL), shown
    assert len(re.findall(time, shown)) == 4


def test_the_toml_of_the_plugin_is_what_the_packaging_test_installs():
    (toml,) = [code for language, code in BLOCKS if language == "toml"]
    assert "[project.entry-points.executor]" in toml
    assert len(toml.strip().splitlines()) == 6
