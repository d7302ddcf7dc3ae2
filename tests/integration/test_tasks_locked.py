"""A store that another process holds locked: nobody waits for it, nothing is lost."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time

import pytest

from executor import TaskStatus, ToolCall, ToolExecutor, current_call
from executor.errors import ExecutorUnavailableError
from executor.tasks import TaskManager

SECONDS = 30.0
AT_MOST = 0.5  # seconds that anybody waits for a store, which is promised


class Timed:
    """How long each of some questions took at most."""

    def __init__(self):
        self.longest = {}

    @contextlib.contextmanager
    def __call__(self, what, past=0.0):
        began = time.monotonic()
        yield
        took = time.monotonic() - began - past
        self.longest[what] = max(self.longest.get(what, 0.0), took)


@contextlib.contextmanager
def locked(folder, how):
    holder = sqlite3.connect(folder / "tasks.db", isolation_level=None, timeout=10, check_same_thread=False)
    holder.execute(f"BEGIN {how}")
    try:
        yield
    finally:
        holder.close()


def wait(args):
    if current_call().wait(args["seconds"]):
        return "stopped"
    return args["seconds"]


def a_round(executor, timed, ids):
    """Everything that a host asks of its own calls and tasks."""
    with timed("hand-over", past=0.1):
        told = executor.execute("wait", {"seconds": 1.5})[1]
    ids[told["task_id"]] = TaskStatus.COMPLETED, told
    with timed("limit", past=0.2):
        assert executor.execute("plain", {"seconds": 30}, timeout=0.2)[1]["timed_out"] is True
    with timed("the machine", past=0.2):  # how late it is by itself: others may be at work on it
        threading.Event().wait(0.2)
    with timed("start"):
        started = executor.start(ToolCall("1", "wait", {"seconds": 30})).value
    with timed("cancel"):
        assert executor.tasks.cancel(started["task_id"])
    ids[started["task_id"]] = TaskStatus.CANCELLED, started
    with timed("poll"):
        executor.tasks.get(told["task_id"])
        executor.tasks.output(told["task_id"])
    with timed("undelivered"):
        executor.tasks.undelivered()
    with timed("wait"):
        executor.tasks.wait(started["task_id"], 10)
    with timed("ack"):
        executor.tasks.ack(started["task_id"])


def held_for(folder, seconds, how):
    """Several callers at work while the store is locked; returns who waited how long, and the tasks."""
    timed, ids = Timed(), {}
    with ToolExecutor(tasks=TaskManager.open(folder, host="test")) as executor:
        executor.register("wait", wait, auto_background=0.1)
        executor.register("plain", wait)
        first = executor.start(ToolCall("1", "wait", {"seconds": 0.01})).task_id
        executor.tasks.wait(first, SECONDS)
        with locked(folder, how):
            end = time.monotonic() + seconds

            def work():
                while time.monotonic() < end:
                    a_round(executor, timed, ids)

            threads = [threading.Thread(target=work) for _ in range(3)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(seconds + SECONDS)
        for task_id, (status, _) in ids.items():
            assert executor.tasks.wait(task_id, SECONDS).status is status
        executor.tasks.close()
    return timed.longest, ids


def check(folder, longest, ids):
    assert ids
    assert not all(told.get("durable", True) for _, told in ids.values())
    other = TaskManager.open(folder, host="test")
    assert {task_id: other.get(task_id).status for task_id in ids} == {key: status for key, (status, _) in ids.items()}
    cancelled = {task_id for task_id, (status, _) in ids.items() if status is TaskStatus.CANCELLED}
    assert cancelled.isdisjoint(info.id for info in other.undelivered()), "these were acknowledged"
    other.close()
    late = longest.get("the machine", 0.0)
    assert {what: took for what, took in longest.items() if took > AT_MOST + late} == {}


@pytest.mark.parametrize("how", ["EXCLUSIVE", "IMMEDIATE"])
def test_while_the_store_is_locked_nobody_waits_and_every_end_is_stored_afterwards(tmp_path, how):
    longest, ids = held_for(tmp_path, 2.0, how)
    check(tmp_path, {}, ids)
    assert longest.keys() >= {"hand-over", "limit", "start", "cancel", "poll", "undelivered", "wait", "ack"}


@pytest.mark.long
@pytest.mark.timeout(120)
def test_60_seconds_locked(tmp_path):
    longest, ids = held_for(tmp_path, 60.0, "EXCLUSIVE")
    print(f"\n{len(ids)} tasks; longest, s: { {what: round(took, 3) for what, took in longest.items()} }")
    assert longest["limit"] <= 0.2 + longest["the machine"]
    check(tmp_path, longest, ids)


def test_readers_do_not_wait_for_one_who_waits_to_write(tmp_path):
    owner, reader = (TaskManager.open(tmp_path, host="test") for _ in range(2))
    with ToolExecutor(tasks=owner) as executor:
        executor.register("wait", wait, auto_background=0.1)
        task_id = executor.start(ToolCall("1", "wait", {"seconds": 30})).task_id
        with locked(tmp_path, "IMMEDIATE"):
            other = executor.start(ToolCall("1", "wait", {"seconds": 30}))
            assert other.value["durable"] is False
            for manager in (reader, owner):  # what was told and waits to be stored is listed by others too
                assert [info.id for info in manager.list()] == [other.task_id, task_id]
            assert not reader.get(task_id).status.final
        executor.shutdown(cancel=True)
        owner.close()
    assert {info.status for info in reader.list()} == {TaskStatus.CANCELLED}
    reader.close()


def test_a_reader_that_hangs_keeps_other_readers_from_nothing_while_somebody_waits_to_write(tmp_path):
    owner, reader = TaskManager.open(tmp_path, host="test"), TaskManager.open(tmp_path, host="test", patience=2.0)
    with ToolExecutor(tasks=owner) as executor, contextlib.ExitStack() as hanging:
        executor.register("wait", wait, auto_background=10)
        first = executor.start(ToolCall("1", "wait", {"seconds": 0})).task_id
        owner.wait(first, SECONDS)
        holder = hanging.enter_context(contextlib.closing(sqlite3.connect(tmp_path / "tasks.db", isolation_level=None)))
        holder.execute("BEGIN")
        holder.execute("SELECT count(*) FROM task").fetchone()
        ids = []
        for _ in range(10):
            ids.append(executor.start(ToolCall("1", "wait", {"seconds": 0})))
            assert reader.get(first).status is TaskStatus.COMPLETED
        assert not any(told.value.get("durable", True) for told in ids)
        hanging.close()
        for told in ids:
            owner.wait(told.task_id, SECONDS)
    owner.close()
    assert {reader.get(told.task_id).status for told in ids} == {TaskStatus.COMPLETED}
    reader.close()


def test_who_waits_for_a_task_of_another_process_goes_on_when_the_store_is_locked_for_a_while(tmp_path):
    owner, reader = (TaskManager.open(tmp_path, host="test") for _ in range(2))
    with ToolExecutor(tasks=owner) as executor:
        executor.register("wait", wait, auto_background=0.1)
        task_id = executor.start(ToolCall("1", "wait", {"seconds": 30})).task_id
        found = []
        waiting = threading.Thread(target=lambda: found.append(reader.wait(task_id, SECONDS)))
        with locked(tmp_path, "EXCLUSIVE"):
            waiting.start()
            for _ in range(2):
                with pytest.raises(ExecutorUnavailableError, match="tried again by itself"):
                    reader.wait(task_id, 0)
        assert owner.cancel(task_id)
        waiting.join(SECONDS)
        assert [info.status for info in found] == [TaskStatus.CANCELLED]
        owner.close()
    reader.close()


def test_a_submitted_call_is_handed_over_from_memory_too(tmp_path):
    with ToolExecutor(tasks=TaskManager.open(tmp_path, host="test")) as executor:
        executor.register("wait", wait, auto_background=0.1)
        task_id = executor.start(ToolCall("1", "wait", {"seconds": 0.01})).task_id
        executor.tasks.wait(task_id, SECONDS)
        with locked(tmp_path, "EXCLUSIVE"):
            futures = [executor.submit(ToolCall(str(n), "wait", {"seconds": 1.5})) for n in range(5)]
            values = [future.result(SECONDS).value for future in futures]
            assert [value["durable"] for value in values] == [False] * 5
        for value in values:
            assert executor.tasks.wait(value["task_id"], SECONDS).status is TaskStatus.COMPLETED
        executor.tasks.close()
    other = TaskManager.open(tmp_path)
    assert {other.get(value["task_id"]).status for value in values} == {TaskStatus.COMPLETED}
    other.close()
