"""``toolexec tasks top`` and the line of time of ``tasks show``."""

from __future__ import annotations

import io
import os
import re
import signal
import sys
from types import SimpleNamespace

import pytest
from rich.console import Console

from executor import TaskStatus, ToolCall, ToolExecutor, current_call
from executor.cli import _top
from executor.cli._top import _row


@pytest.fixture
def running():
    """A host with a task that runs, has said something odd, and is at 3 of 4."""
    with ToolExecutor() as executor:
        executor.register("held", hold, auto_background=0)
        task = executor.start(ToolCall("1", "held"))
        executor.tasks.subscribe(lambda info: None)
        yield executor, task.task_id
        executor.tasks.cancel(task.task_id)
        executor.tasks.wait(task.task_id, 30)


def hold(arguments):
    call = current_call()
    call.emit("first\nthe [red]last[/red] \x1b[31mline\u202e\n")
    call.progress(3, 4, "of the\nway")
    call.wait()


def test_it_is_live_at_a_terminal_and_q_ends_it(running, terminal):
    executor, task_id = running
    shown = terminal("tasks", "top", "--every", "0.1")
    shown.read_until("1 running; q ends this view")
    assert task_id[:8] in shown.shown
    shown.type("x")
    executor.tasks.cancel(task_id)
    shown.read_until("0 running; q ends this view")
    assert "cance" in shown.shown  # the column may be narrow
    shown.type("q")
    assert shown.end() == 0


def test_on_a_dumb_terminal_those_that_run_are_listed_once(running, terminal, monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    shown = terminal("tasks", "top")
    shown.read_until(running[1])
    assert shown.end() == 0


def test_ctrl_c_ends_it_and_the_terminal_is_as_it_was(running, terminal):
    shown = terminal.shell(
        f'stty -g > before; {sys.executable} -m executor tasks top; stty -g | cmp - before && echo "as it was"'
    )
    shown.read_until("1 running")
    shown.type("\x03")
    shown.read_until("as it was")
    shown.end()


@pytest.mark.parametrize("name", ["TERM", "HUP"])
def test_who_ends_it_leaves_the_terminal_as_it_was(running, terminal, tmp_path, name):
    line = f"sh -c 'echo $$ > pid; exec {sys.executable} -m executor tasks top'"
    shown = terminal.shell(f'stty -g > before; {line}; echo "code $?"; stty -g | cmp - before && echo "as it was"')
    shown.read_until("1 running")
    os.kill(int((tmp_path / "pid").read_text()), getattr(signal, f"SIG{name}"))
    shown.read_until("as it was")
    assert "code 0" in shown.shown
    assert "\x1b[?1049l" in shown.shown
    shown.end()


def test_without_a_terminal_those_that_run_are_listed_once(running, run):
    host, task_id = running
    listed = run("tasks", "top").stdout
    # Other processes may see a moment later that it has started.
    assert re.search(
        rf"{task_id} +held +(pending|running) +[\d.]+ s +(75% of the way +)?\d+ +the \[red\]last\[/red\]", listed
    )
    assert _row(host.tasks, host.tasks.get(task_id))[4] == "75% of the way"
    assert "\x1b" not in listed
    assert "\u202e" not in listed


def test_when_nothing_runs_it_says_so(run):
    assert run("tasks", "top").stderr == "no task is running\n"


def test_show_begins_with_what_became_of_it_when(running, run):
    executor, task_id = running
    first = run("tasks", "show", task_id).stdout.splitlines()[0]
    # Other processes may see a moment later that it has started.
    assert re.fullmatch(r"created [\d:]{8}( ─ \d+\.\d s → started)? ━ \d+\.\d s … (pending|running)", first)
    executor.tasks.cancel(task_id)
    executor.tasks.wait(task_id, 30)
    first = run("tasks", "show", task_id).stdout.splitlines()[0]
    assert re.fullmatch(r"created [\d:]{8} ─ \d+\.\d s → started ━ \d+\.\d s → cancelled.*", first)


def test_in_a_narrow_terminal_ids_are_cut_and_times_are_whole(monkeypatch):
    info = SimpleNamespace(status=TaskStatus.COMPLETED)
    row = ("shell_" + "0123456789abcdef" * 2, "runCommand", "completed", "1:02:33", "", "1,234,567", "last")
    monkeypatch.setattr(_top, "_shown", lambda tasks, room: [info])
    monkeypatch.setattr(_top, "_row", lambda tasks, info: row)
    for width, first in ((80, "shell_012345678…"), (160, row[0])):
        monkeypatch.setenv("COLUMNS", str(width))
        with (console := Console(width=width, file=io.StringIO())).capture() as captured:
            console.print(_top._picture(None))
        cells = captured.get().splitlines()[3].split()
        assert cells[:5] == [first, "runCommand", "completed", "1:02:33", "1,234,567"]
