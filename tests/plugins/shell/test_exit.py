"""Commands that run when the interpreter or the executor ends."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from executor.errors import ToolCancelledError, ToolFailedError
from executor_shell import _live
from executor_shell._live import LiveCommands

PROGRAM = """
import sys, threading
from executor_shell import ShellPlugin

shell = ShellPlugin()
command, started = sys.argv[1], threading.Event()

class Call:
    cancelled = False
    confine = None
    folder = "/"
    @property
    def view(self):
        return self
    def emit(self, text):
        sys.stdout.write(text)
        sys.stdout.flush()
        started.set()
    def on_cancel(self, fn):
        return lambda: None
    def expect_process_group(self):
        return {}
    def add_process_group(self, pid, expected):
        pass

def run():
    from executor.calls._state import current
    current.set(Call())
    shell.run_command({"command": command})

threading.Thread(target=run, daemon=True).start()
started.wait()
sys.stdin.readline()
"""


@pytest.fixture
def interpreter():
    """An interpreter with a command running, which exits when a line is written to it."""
    started = []

    def start(command):
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


class TestInterpreterExit:
    @pytest.mark.parametrize("trap", ["", "trap '' TERM; "], ids=["willing", "stubborn"])
    def test_the_interpreter_exits_soon_and_no_process_of_the_command_survives(self, interpreter, watch, trap):
        process = interpreter(f"{trap}sleep 1000 & echo $$ $!; wait; sleep 1000")
        command, grandchild = map(watch, process.stdout.readline().split())
        began = time.monotonic()
        process.stdin.write(b"exit\n")
        process.stdin.flush()
        assert process.wait(10) == 0
        assert time.monotonic() - began < 2.0  # 0.2 s, and what a busy machine takes to exit at all
        assert command.dead()
        assert grandchild.dead()

    def test_a_command_may_still_say_something_on_its_way_out(self, interpreter):
        process = interpreter("trap 'echo bye; exit' TERM; echo up; sleep 1000 & wait")
        assert process.stdout.readline() == b"up\n"
        process.stdin.write(b"exit\n")
        process.stdin.flush()
        assert process.stdout.read() == b"bye\n"

    def test_a_command_reads_nothing_of_what_the_interpreter_is_given(self, interpreter):
        process = interpreter("cat; echo end")
        process.stdin.write(b"exit\n")
        process.stdin.flush()
        assert process.stdout.read() == b"end\n"

    def test_without_commands_nothing_waits(self):
        began = time.monotonic()
        LiveCommands()._at_exit()
        assert time.monotonic() - began < _live.AT_EXIT / 2

    def test_a_command_that_starts_while_the_interpreter_exits_is_killed(self, shell, monkeypatch):
        monkeypatch.setattr(_live.atexit, "register", lambda fn: None)
        shell._live._at_exit()
        with pytest.raises(ToolFailedError, match="is exiting"):
            shell.run_command({"command": "sleep 1000"})


class TestShutdown:
    def test_a_shutdown_ends_the_commands_that_run(self, shell, begin, watch):
        running = begin("sleep 1000 & echo $! $$; wait")
        processes = [watch(pid) for pid in running.heard("\n").split()]
        shell.executor_shutdown()
        error = running.end(ToolCancelledError)
        assert all(process.dead() for process in processes)
        assert error.result["exit_code"] == -signal.SIGTERM

    def test_a_shutdown_kills_what_ignores_the_request(self, shell, begin, watch):
        running = begin("trap '' TERM; echo $$; while :; do sleep 1000; done")
        process = watch(running.heard("\n"))
        shell.executor_shutdown()
        assert process.dead()
        assert running.end(ToolCancelledError).result["signal"] == "SIGKILL"

    def test_commands_can_be_run_after_a_shutdown(self, shell, run):
        shell.executor_shutdown()
        assert run("echo hi")["stdout"] == "hi\n"


class Recorded:
    """A command that only remembers what it was told."""

    def __init__(self, ends=True):
        self.over = threading.Event()
        self.told = []
        self._ends = ends

    def stop(self):
        self.told.append("stop")
        if self._ends:
            self.over.set()

    def kill(self):
        self.told.append("kill")


def test_only_what_does_not_end_by_itself_is_killed():
    live, willing, stubborn = LiveCommands(), Recorded(), Recorded(ends=False)
    with live.holding(stubborn), live.holding(willing):
        live.end_all(0.01)
    assert willing.told == ["stop"]
    assert stubborn.told == ["stop", "kill"]


def test_a_command_that_is_over_is_told_nothing():
    live, command = LiveCommands(), Recorded()
    with live.holding(command):
        pass
    live.end_all()
    assert command.told == []


def test_a_forked_child_leaves_the_commands_of_its_parent_alone():
    live, command = LiveCommands(), Recorded()
    with live.holding(command):
        pid = os.fork()
        if pid == 0:
            live._at_exit()
            os._exit(len(command.told))
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
