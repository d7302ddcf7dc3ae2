"""A box that a person tries at a terminal, from a shell with job control."""

from __future__ import annotations

import functools
import os
import re
import select
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("landlock", "bubblewrap")
ROOT = Path(__file__).parents[2]


class Shell:
    """An interactive bash on a terminal of its own."""

    def __init__(self, folder):
        self._master, slave = os.openpty()
        env = {**os.environ, "PS1": "> ", "PYTHONPATH": f"{ROOT}:{ROOT}/plugins", "TERM": "dumb"}
        self._process = subprocess.Popen(
            [shutil.which("bash"), "--norc", "--noediting", "-i"],
            cwd=folder,
            env=env,
            preexec_fn=functools.partial(os.login_tty, slave),  # noqa: PLW1509 -- it makes four system calls, no more
        )
        os.close(slave)
        self._seen = ""

    def type(self, text):
        os.write(self._master, text.encode())

    def wait_for(self, pattern):
        """What was seen up to *pattern*, that included."""
        while not (found := re.search(pattern, self._seen, re.MULTILINE)):
            assert select.select([self._master], [], [], 20)[0], f"{pattern!r} never came, but {self._seen!r}"
            self._seen += os.read(self._master, 4096).decode(errors="replace").replace("\r", "")
        said, self._seen = self._seen[: found.end()], self._seen[found.end() :]
        return said

    def close(self):
        self._process.kill()
        self._process.wait()
        os.close(self._master)


@pytest.fixture
def shell(tmp_path):
    made = Shell(tmp_path)
    yield made
    made.close()


BOX = f"{sys.executable} -m executor confine {{}} -- "


@pytest.mark.parametrize("profile", ["read", "project", "open"])
def test_a_command_reads_the_terminal_is_stopped_goes_on_and_is_interrupted(shell, profile):
    shell.type(BOX.format(profile) + "sh -c 'echo be''gins; cat; echo ended'\n")
    shell.wait_for("begins$")
    shell.type("first\n")
    shell.wait_for("^first\nfirst$")
    shell.type("\x1a")
    shell.wait_for(r"Stopped(.|\n)*> $")  # a shell throws away what is typed before
    shell.type("echo free''ly; fg\n")
    shell.wait_for("freely\n.*echo ended'$")  # says what goes on
    shell.type("second\n")
    shell.wait_for("^second\nsecond$")
    shell.type("\x04")
    shell.wait_for("ended$")
    shell.type(BOX.format(profile) + "sh -c 'echo be''gins; exec sleep 600'\n")
    shell.wait_for("begins$")
    shell.type("\x03")
    shell.wait_for("> $")
    shell.type("echo code $?\n")
    assert shell.wait_for(r"code \d+$").endswith("code 130")


@pytest.mark.parametrize("profile", ["read", "project"])
def test_what_ends_its_group_ends_neither_the_script_that_called_it_nor_its_pipeline(shell, profile, tmp_path):
    (tmp_path / "script").write_text(BOX.format(profile) + "sh -c 'kill -9 0' 2>/dev/null | cat\necho goes on\n")
    shell.type("sh script; echo ended $?\n")
    shell.wait_for("goes on\nended 0$")
