"""Owners that do not run for a while: stopped, or in the middle of writing; and thousands of ends at one moment."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from executor import TaskStatus, ToolExecutor
from executor.tasks import TaskManager, _table
from executor.tasks._manager import engine_of
from executor.testing import HeldTool

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 30.0
OWNER = """
import sys, threading
from executor import PluginRegistry, ToolCall, ToolExecutor, current_call
from executor.tasks import TaskManager
from executor.tasks._manager import engine_of
from executor.tasks._thread import StoreThread
import os, signal

folder, way = sys.argv[1:]
registry = PluginRegistry(entry_points=False)
registry.expose("shell", {})
executor = ToolExecutor(registry=registry, tasks=TaskManager.open(folder, host="stopped"))
go_on = threading.Event()
executor.register("work", lambda args: go_on.wait() and "whole", auto_background=10)
work = executor.start(ToolCall("1", "work")).task_id
line = "read line < " + folder + "/fifo; echo $line"
command = executor.start(ToolCall("2", "runCommand", {"command": line})).task_id
place = engine_of(executor.tasks).durable.place
place.thread.do(lambda connection: None, 30)  # both are stored
begin = StoreThread._begin

def stop_in_the_middle(thread):
    connection = begin(thread)
    StoreThread._begin = begin
    os.kill(os.getpid(), signal.SIGSTOP)
    return connection

if way == "in the middle":
    print(work, command, flush=True)
    StoreThread._begin = stop_in_the_middle
    executor.tasks.ack(executor.start(ToolCall("3", "work")).task_id)
else:
    print(work, command, flush=True)
    assert place.hold(30), "it is not to be in the middle of writing"
    os.kill(os.getpid(), signal.SIGSTOP)
    place.release()
go_on.set()
for task_id in (work, command):
    executor.tasks.wait(task_id, 30)
executor.shutdown()
executor.tasks.close()
"""

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="processes are stopped by a signal")


@pytest.fixture
def owner(tmp_path):
    """Starts a process that stops itself while it has two tasks; gives it and their ids."""
    os.mkfifo(tmp_path / "fifo")
    started = []

    def start(way):
        process = subprocess.Popen(
            [sys.executable, "-c", OWNER, str(tmp_path), way], stdout=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "plugins")])},
        )  # fmt: skip
        started.append(process)
        ids = process.stdout.readline().split()
        status = os.waitpid(process.pid, os.WUNTRACED)[1]
        assert os.WIFSTOPPED(status)
        return process, ids

    yield start
    for process in started:
        process.kill()
        process.stdout.close()
        process.wait(SECONDS)


@pytest.mark.parametrize("seconds", [0.0, pytest.param(60.0, marks=[pytest.mark.long, pytest.mark.timeout(300)])])
def test_a_process_that_is_stopped_is_not_taken_for_dead(tmp_path, owner, seconds):
    process, ids = owner("at work")
    threading.Event().wait(seconds)
    tasks = TaskManager.open(tmp_path, host="stopped")
    assert {info.id: info.status.final for info in tasks.list()} == dict.fromkeys(ids, False)
    assert tasks.undelivered() == []
    assert engine_of(tasks).durable.place.sweep(None) == 0
    assert not tasks.wait(ids[0], 0.2).status.final
    os.kill(process.pid, signal.SIGCONT)
    (tmp_path / "fifo").write_text("told\n")
    for task_id in ids:
        assert tasks.wait(task_id, SECONDS).status is TaskStatus.COMPLETED
    assert tasks.result(ids[0]) == (True, "whole")
    assert tasks.result(ids[1])[1]["stdout"] == "told\n"
    tasks.close()


def test_a_process_that_is_stopped_while_it_writes_keeps_nobody_waiting(tmp_path, owner):
    process, ids = owner("in the middle")
    with HeldTool("whole") as tool, ToolExecutor(tasks=TaskManager.open(tmp_path, host="other")) as executor:
        executor.register("work", tool, auto_background=0.02)
        told = executor.execute("work", {})[1]
        assert told["durable"] is False
        tool.go_on()
        assert executor.tasks.wait(told["task_id"], SECONDS).status is TaskStatus.COMPLETED
        os.kill(process.pid, signal.SIGCONT)
        (tmp_path / "fifo").write_text("told\n")
        assert process.wait(SECONDS) == 0
        executor.shutdown()
        executor.tasks.close()
    again = TaskManager.open(tmp_path, host="other")
    assert again.get(told["task_id"]).status is TaskStatus.COMPLETED
    assert [again.get(task_id).status for task_id in ids] == [TaskStatus.COMPLETED] * 2
    again.close()


def ended_at_once(folder, count, threads=8):
    """Have so many tasks of one process end together; returns their ids."""
    tasks = TaskManager.open(folder, host="many")
    engine, begin = engine_of(tasks), threading.Barrier(threads)
    ids = []
    for number in range(count):
        spool = engine.new_spool()
        spool.append(f"{number}\n")
        ids.append(engine.add("tool", "local", "c", spool, cancel=lambda _: False, reached=lambda: None, started=0.0))

    def end(first):
        begin.wait(SECONDS)
        for number in range(first, count, threads):
            engine.finish(ids[number], TaskStatus.COMPLETED, (True, number))

    running = [threading.Thread(target=end, args=(first,)) for first in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    tasks.close()
    return ids


@pytest.mark.parametrize("count", [40, pytest.param(10_000, marks=[pytest.mark.long, pytest.mark.timeout(1800)])])
def test_many_ends_at_once_are_all_stored_and_told_once(tmp_path, count):
    began = time.monotonic()
    ids = ended_at_once(tmp_path, count)
    took = time.monotonic() - began
    told = []
    with ToolExecutor(tasks=TaskManager.open(tmp_path, host="many")) as executor:
        all_told = threading.Event()
        executor.set_task_done_callback(
            lambda task_id, *_: (told.append(task_id), all_told.set() if len(told) == count else None)
        )
        assert all_told.wait(20 * SECONDS)
        assert [info.id for info in executor.tasks.list("completed")][::-1] == ids
        assert all(executor.tasks.result(ids[number]) == (True, number) for number in range(0, count, 97))
        assert executor.tasks.output(ids[-1])[0] == f"{count - 1}\n"
        executor.tasks.close()
    assert sorted(told) == sorted(ids)
    print(
        f"\n{count} ends at once: entered and stored in {took:.1f} s, told in {time.monotonic() - began - took:.1f} s"
    )


@pytest.mark.parametrize("jump", [-400 * 86400.0, 400 * 86400.0])
def test_a_clock_that_jumps_neither_ends_nor_hurries_nor_forgets_anything(tmp_path, jump, monkeypatch):
    with HeldTool("whole") as tool, ToolExecutor(tasks=TaskManager.open(tmp_path, host="clock")) as executor:
        executor.register("work", tool, auto_background=0.02)
        task_id = executor.execute("work", {})[1]["task_id"]
        now = time.time
        monkeypatch.setattr(_table.time, "time", lambda: now() + jump)  # of all modules: there is one
        assert executor.execute("work", {}, timeout=30)[1]["auto_backgrounded"]
        assert not executor.tasks.wait(task_id, 0.05).status.final
        tool.go_on()
        info = executor.tasks.wait(task_id, SECONDS)
        assert info.status is TaskStatus.COMPLETED
        assert info.duration < SECONDS
        other = TaskManager.open(tmp_path, host="clock")
        assert other.get(task_id).duration == info.duration
        other.close()
        executor.shutdown()
        executor.tasks.close()
