"""What the tests of the examples share: a model server, and the examples as processes whose output is waited for."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
EXAMPLES = ROOT / "docs" / "examples"
LIMIT = 120.0  # seconds in which what is waited for has to come, on the busiest machine


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.timeout(2 * LIMIT))


class Program:
    """
    A running example.

    Attributes:
        shown: What it has written, errors included.
    """

    def __init__(self, command, cwd, server, **environment):
        paths = os.pathsep.join([str(ROOT), str(ROOT / "plugins")])
        env = os.environ | server.environment | environment | {"PYTHONPATH": paths, "PYTHONWARNINGS": "error"}
        self.process = subprocess.Popen(
            [sys.executable, *map(str, command)],
            cwd=cwd, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        self.shown = ""
        self._changed = threading.Condition()
        self._over = False
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self):
        while data := os.read(self.process.stdout.fileno(), 65536):
            with self._changed:
                self.shown += data.decode("utf-8", "replace")
                self._changed.notify_all()
        with self._changed:
            self._over = True
            self._changed.notify_all()

    def wait_for(self, *texts, keep=False):
        """Until each of *texts* has been written, in this order, after what was waited for before."""
        for text in texts:
            with self._changed:
                self._changed.wait_for(lambda text=text: text in self.shown or self._over, LIMIT)
                assert text in self.shown, f"{text!r} is not in what came:\n{self.shown}"
                self.shown = self.shown if keep else self.shown.partition(text)[2]

    def type(self, line):
        self.process.stdin.write(f"{line}\n".encode())
        self.process.stdin.flush()

    def end(self, signal=None):
        """Its exit code, after *signal*, or after the end of its input."""
        if signal is not None:
            self.process.send_signal(signal)
        else:
            self.process.stdin.close()
        code = self.process.wait(LIMIT)
        self._thread.join(LIMIT)
        return code

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._thread.join(LIMIT)
        self.process.stdout.close()
        if not self.process.stdin.closed:
            self.process.stdin.close()


@pytest.fixture
def start(tmp_path):
    """``start(command, server)`` starts a `Program`; a name in it that ends in ``.py`` is an example's."""
    programs = []

    def begin(command, server, **environment):
        named = [EXAMPLES / each if str(each).endswith("_chat.py") else each for each in command]
        programs.append(Program(named, tmp_path, server, **environment))
        return programs[-1]

    yield begin
    for program in programs:
        program.close()


class Gate:
    """Where a command waits until the test lets it go on. It says ``begun`` first, which its text does not contain."""

    def __init__(self, path):
        self.path = path
        os.mkfifo(path)

    @property
    def command(self):
        return f"echo be''gun; cat {self.path}; echo done"

    def open(self):
        self.path.write_text("let through\n")


@pytest.fixture
def gate(tmp_path):
    return Gate(tmp_path / "gate")
