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

    def wait_for(self, pattern, seconds=20):
        """Whether *pattern* is seen; what came before it is forgotten."""
        while not (found := re.search(pattern, self._seen, re.MULTILINE)):
            if not select.select([self._master], [], [], seconds)[0]:
                return False
            self._seen += os.read(self._master, 4096).decode(errors="replace").replace("\r", "")
        self._seen = self._seen[found.end() :]
        return True

    def see(self, pattern):
        assert self.wait_for(pattern), f"{pattern!r} never came, but {self._seen!r}"

    def ask(self, line, pattern):
        """Behind Ctrl-Z and Ctrl-C: a shell throws away what is typed before it has the terminal again."""
        for _ in range(20):
            self.type(line)
            if self.wait_for(pattern, 1):
                return
        raise AssertionError(f"{pattern!r} never came, but {self._seen!r}")

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
    shell.see("begins$")
    shell.type("first\n")
    shell.see("^first\n(.*\n)?first$")  # which box it is may be told in between
    shell.type("\x1a")
    shell.see("Stopped")
    shell.ask("echo free''ly\n", "freely\n(.|\n)*> $")
    shell.type("fg\n")
    shell.see("echo ended'$")  # says what goes on
    shell.type("second\n")
    shell.see("^second\n(.*\n)*second$")  # what was asked once too often is a line for it too
    shell.type("\x04")
    shell.see("ended$")
    shell.type(BOX.format(profile) + "sh -c 'echo be''gins; exec sleep 600'\n")
    shell.see("begins$")
    shell.type("\x03")
    shell.see("> $")
    shell.ask("echo code $?\n", r"code 130$")


@pytest.mark.parametrize("profile", ["read", "project"])
def test_what_ends_its_group_ends_neither_the_script_that_called_it_nor_its_pipeline(shell, profile, tmp_path):
    (tmp_path / "script").write_text(BOX.format(profile) + "sh -c 'kill -9 0' 2>/dev/null | cat\necho goes on\n")
    shell.type("sh script; echo ended $?\n")
    shell.see("goes on\nended 0$")
