"""Several processes and one store: transitions at once, waiting, cancelling, orphans, restarts, forks."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from executor import TaskStatus, ToolCall, ToolExecutor
from executor.tasks import TaskManager
from executor.tasks._manager import engine_of
from executor.tasks._processes import birth
from executor.tasks._store import Store
from executor.testing import HeldTool

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 30.0


class Child:
    """A process that runs *code* and talks line by line."""

    def __init__(self, code, *arguments):
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "plugins")])}
        self.process = subprocess.Popen(
            [sys.executable, "-c", code, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def hear(self):
        return self.process.stdout.readline().strip()

    def tell(self, text=""):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def kill(self):
        self.process.kill()
        self.process.wait(SECONDS)
        self.process.stdin.close()
        self.process.stdout.close()


@pytest.fixture
def child():
    made = []

    def make(code, *arguments):
        made.append(Child(code, *arguments))
        return made[-1]

    yield make
    for process in made:
        process.kill()


@pytest.fixture
def tasks(tmp_path):
    made = TaskManager.open(tmp_path, host="test")
    yield made
    made.close()


ENTER = """
import sys, time
from executor import TaskStatus
from executor.tasks import TaskManager
from executor.tasks._manager import engine_of
tasks = TaskManager.open(sys.argv[1], host="test")
def enter(text="", cancel=lambda _: False):
    spool = engine_of(tasks).new_spool()
    spool.append(text)
    started = time.monotonic()
    return engine_of(tasks).add("tool", "local", "1", spool, cancel=cancel, reached=lambda: None, started=started)
"""

TRANSITIONS = """
import os, pathlib, random, sys, threading, time
from dataclasses import replace
from executor import TaskStatus
from executor.tasks import _changes
from executor.tasks._rows import End, Entry
from executor.tasks._store import Store
from executor.tasks._thread import Change, StoreThread
store = Store(pathlib.Path(sys.argv[1]) / "tasks.db")
thread = StoreThread(store, lambda: False)
chance = random.Random(int(sys.argv[2]))
ids = sys.stdin.readline().split()
finals = [status for status in TaskStatus if status.final]
won = 0
for _ in range(int(sys.argv[3])):
    row = store.get(chance.choice(ids))
    info = replace(row.info(0), status=TaskStatus.RUNNING, started=1.0)
    entry = Entry(info, 100)
    if chance.random() >= 0.4:
        status, error = chance.choice(finals), {"error": "x"}
        entry = Entry(replace(info, status=status, ended=time.time()), 100, end=End.of((False, error), None))
    values = entry.values(row.owner, "h", detached=False)
    gate = threading.Event()
    apply = lambda c: _changes.put(c, entry, values, filed=False, output=None)
    change = thread.put(Change(apply, kept=True, after=gate.set))
    assert gate.wait(30)
    first = change.result
    after = store.get(row.id)
    if row.ended is not None:
        assert after == row, "a final state changed"
    elif entry.end is not None:
        won += first
        assert after.ended is not None
        assert not first or after.status == status
thread.close(10.0)
print(won)
"""


def transitions(tmp_path, child, processes, each):
    """How many ends were given by *processes* that all change the same tasks."""
    tasks = TaskManager.open(tmp_path)
    ids = [
        engine_of(tasks).add("t", "p", "c", engine_of(tasks).new_spool(), cancel=lambda _: False, reached=lambda: None)
        for _ in range(processes * each // 4)
    ]
    others = [child(TRANSITIONS, tmp_path, seed, each) for seed in range(processes)]
    for other in others:
        other.tell(" ".join(ids))
    won = [other.hear() for other in others]
    assert all(won), "a process failed"
    store = Store(tmp_path / "tasks.db")
    ended = [row for row in store.newest(None, None, None) if row.ended is not None]
    assert sum(map(int, won)) == len(ended), "two processes ended one task"
    store.close()
    with contextlib.closing(sqlite3.connect(tmp_path / "tasks.db")) as connection:
        assert connection.execute("PRAGMA quick_check").fetchone() == ("ok",)
    tasks.close()
    return len(ended)


def test_four_processes_change_states_at_once(tmp_path, child):
    assert transitions(tmp_path, child, 4, 60) > 0


@pytest.mark.long
def test_four_processes_with_500_transitions_each(tmp_path, child):
    print(f"\n4 x 500: {transitions(tmp_path, child, 4, 500)} ends")


def test_a_task_of_another_process_is_seen_read_and_waited_for(tasks, tmp_path, child):
    other = child(
        ENTER + "\ntask_id = enter('héllo')\nprint(task_id, flush=True)\nsys.stdin.readline()\n"
        "engine_of(tasks).finish(task_id, TaskStatus.COMPLETED, (True, {'answer': 42}))\nsys.stdin.readline()",
        tmp_path,
    )
    task_id = other.hear()
    info = tasks.get(task_id)
    assert (info.status, info.owner, info.output_bytes) == (TaskStatus.RUNNING, str(other.process.pid), 6)
    assert tasks.output(task_id) == ("héllo", 6, 0)
    assert tasks.wait(task_id, 0.15).status is TaskStatus.RUNNING
    other.tell()
    assert tasks.wait(task_id, SECONDS).status is TaskStatus.COMPLETED
    assert tasks.result(task_id) == (True, {"answer": 42})
    assert tasks.undelivered() == [], "it is the other process's to deliver as long as that lives"


def test_cancelling_a_task_of_another_process_is_done_by_its_owner(tasks, tmp_path, child):
    other = child(
        ENTER + "def stop(reason):\n"
        "    engine_of(tasks).finish(task_id, TaskStatus.CANCELLED, (False, {'error': reason, 'cancelled': True}))\n"
        "    return True\n"
        "task_id = enter(cancel=stop)\nprint(task_id, flush=True)\nsys.stdin.readline()",
        tmp_path,
    )
    task_id = other.hear()
    assert tasks.cancel(task_id, "not wanted") is True
    assert tasks.cancel(task_id) is False
    info = tasks.get(task_id)
    assert (info.status, info.error) == (TaskStatus.CANCELLED, "not wanted")


def test_who_waits_for_the_task_of_a_process_that_dies_is_told(tasks, tmp_path, child):
    other = child(ENTER + "print(enter('so far'), flush=True)\nsys.stdin.readline()", tmp_path)
    task_id = other.hear()
    ends = []
    waiting = threading.Thread(target=lambda: ends.append(tasks.wait(task_id, SECONDS)))
    waiting.start()
    other.kill()
    waiting.join(SECONDS)
    assert [info.status for info in ends] == [TaskStatus.INTERRUPTED]
    assert str(other.process.pid) in ends[0].error
    success, value = tasks.result(task_id)
    assert (success, value["interrupted"]) == (False, True)
    assert tasks.output(task_id) == ("so far", 6, 0)
    assert tasks.cancel(task_id) is False


RUN = """
import sys
from executor import PluginRegistry, ToolCall, ToolExecutor
from executor.tasks import TaskManager
from executor.tasks._manager import engine_of
registry = PluginRegistry(entry_points=False)
registry.expose('shell')
executor = ToolExecutor(registry=registry, tasks=TaskManager.open(sys.argv[1], host="test"))
result = executor.start(ToolCall("1", "runCommand", {"command": sys.argv[2]}))
print(result.task_id, flush=True)
sys.stdin.readline()
"""


@pytest.mark.parametrize("command", ["echo $$; exec sleep 300", "echo $$; trap '' TERM; sleep 300; true"])
def test_the_command_of_a_process_that_was_killed_is_ended_by_the_next(tasks, tmp_path, child, command):
    other = child(RUN, tmp_path, command)
    task_id = other.hear()
    deadline, rest = time.monotonic() + SECONDS, threading.Event()
    while not (pid := tasks.output(task_id)[0].strip()) and time.monotonic() < deadline:
        rest.wait(0.05)  # another process's output: there is no event
    born = birth(int(pid))
    assert born is not None
    other.kill()
    assert birth(int(pid)) == born, "the command should have outlived its owner here"
    assert tasks.get(task_id).status is TaskStatus.INTERRUPTED
    assert birth(int(pid)) != born


@pytest.mark.parametrize("way", ["start", "threshold"])
def test_a_process_that_exits_leaves_its_tasks_interrupted_and_no_command_running(tasks, tmp_path, child, way):
    code = RUN.replace("sys.stdin.readline()", "executor.tasks.wait(result.task_id, 0.3)")
    if way == "threshold":
        code = code.replace("executor.start(", "executor.call(").replace(
            "registry.expose('shell')", "registry.expose('shell', {'threshold': 0.2})"
        )
    other = child(code, tmp_path, "echo $$; exec sleep 300")
    task_id = other.hear()
    assert other.process.wait(SECONDS) == 0
    info = tasks.get(task_id)
    assert info.status is TaskStatus.INTERRUPTED
    assert birth(int(tasks.output(task_id)[0])) is None


def test_a_thread_that_was_abandoned_is_gone_with_its_process(tasks, tmp_path, child):
    code = ENTER + (
        "task_id = enter()\n"
        "end = (False, {'error': 'x', 'cancelled': True})\n"
        "engine_of(tasks).finish(task_id, TaskStatus.CANCELLED, end, abandoned=True)\n"
        "print(task_id, flush=True)\nsys.stdin.readline()"
    )
    other = child(code, tmp_path)
    task_id = other.hear()
    assert tasks.get(task_id).abandoned
    other.kill()
    assert not tasks.get(task_id).abandoned
    assert tasks.get(task_id).status is TaskStatus.CANCELLED


def test_what_was_not_delivered_before_a_restart_is_delivered_once_after_it(tmp_path, child):
    code = ENTER + (
        "ids = [enter() for _ in range(4)]\n"
        "for task_id in ids[:3]:\n"
        "    engine_of(tasks).finish(task_id, TaskStatus.COMPLETED, (True, task_id))\n"
        "tasks.ack(ids[0])\nassert engine_of(tasks).claim(ids[1])\nengine_of(tasks).told(ids[1])\n"
        "engine_of(tasks).durable.place.write(lambda _: None)\nprint(*ids, flush=True)\nsys.stdin.readline()"
    )
    other = child(code, tmp_path)
    ids = other.hear().split()
    other.kill()
    told = []
    with ToolExecutor(tasks=TaskManager.open(tmp_path, host="test")) as executor:
        executor.set_task_done_callback(lambda *end: told.append(end))
        assert {end[0] for end in told} == {ids[0], ids[2], ids[3]}, "the end of one had been told of"
        assert [end[1] for end in told if end[0] == ids[3]] == [False]
        undelivered = {info.id: info.status for info in executor.tasks.undelivered()}
        assert undelivered == {
            ids[1]: TaskStatus.COMPLETED,
            ids[2]: TaskStatus.COMPLETED,
            ids[3]: TaskStatus.INTERRUPTED,
        }
        for task_id in ids[1:]:
            executor.tasks.ack(task_id)
        executor.tasks.close()
    with ToolExecutor(tasks=TaskManager.open(tmp_path, host="test")) as executor:
        again = []
        executor.set_task_done_callback(lambda *end: again.append(end))
        assert again == []
        assert executor.tasks.undelivered() == []
        executor.tasks.close()
    stranger = TaskManager.open(tmp_path, host="another")
    assert stranger.undelivered() == []
    assert len(stranger.list()) == 4
    stranger.close()


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_neither_keeps_the_owner_alive_nor_ends_its_tasks(tasks, tmp_path, child):
    code = ENTER + (
        "import os\ntask_id = enter()\npid = os.fork()\n"
        "if pid == 0:\n"
        "    assert tasks.get(task_id).status is TaskStatus.RUNNING\n"
        "    own = enter()\n"
        "    engine_of(tasks).finish(own, TaskStatus.COMPLETED, (True, 1))\n"
        "    tasks.close()\n"
        "    print(own, flush=True)\n"
        "    sys.stdin.readline()\n"
        "    os._exit(0)\n"
        "print(task_id, pid, flush=True)\n"
        "os.waitpid(pid, 0)\n"
    )
    other = child(code, tmp_path)
    lines = sorted([other.hear(), other.hear()], key=len)
    own, (task_id, pid) = lines[0], lines[1].split()
    assert tasks.get(own).status is TaskStatus.COMPLETED
    assert tasks.get(task_id).status is TaskStatus.RUNNING
    other.process.kill()
    other.process.wait(SECONDS)
    assert birth(int(pid)) is not None, "the forked child should still be there"
    assert tasks.get(task_id).status is TaskStatus.INTERRUPTED
    other.tell()


def test_a_manager_that_is_closed_or_dropped_leaves_no_task_running(tmp_path):
    import gc

    first = TaskManager.open(tmp_path)
    closed = engine_of(first).add(
        "t", "p", "c", engine_of(first).new_spool(), cancel=lambda _: False, reached=lambda: None
    )
    first.close()
    second = TaskManager.open(tmp_path)
    dropped = engine_of(second).add(
        "t", "p", "c", engine_of(second).new_spool(), cancel=lambda _: False, reached=lambda: None
    )
    del first, second
    gc.collect()
    third = TaskManager.open(tmp_path)
    third.wait(dropped, SECONDS)  # what is dropped is closed beside whoever dropped it
    assert [third.get(task_id).status for task_id in (closed, dropped)] == [TaskStatus.INTERRUPTED] * 2
    for thread in threading.enumerate():
        if thread.name == "executor-beside":
            thread.join(SECONDS)
    third.close()
    assert list((tmp_path / "owners").iterdir()) == []


def test_the_tasks_of_an_executor_outlive_it(tmp_path):
    with HeldTool({"answer": 42}) as tool, ToolExecutor(tasks=TaskManager.open(tmp_path)) as executor:
        executor.register("slow", tool, auto_background=5)
        task_id = executor.start(ToolCall("1", "slow")).task_id
        tool.go_on()
        executor.tasks.wait(task_id, SECONDS)
        executor.tasks.close()
    later = TaskManager.open(tmp_path)
    assert later.result(task_id) == (True, {"answer": 42})
    later.close()
