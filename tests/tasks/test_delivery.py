"""From the end of a task to whom it is for: waiting, conversations, subscribers, and who may write."""

from __future__ import annotations

import inspect
import sqlite3
import threading
import time

import pytest

from executor import CancelToken, TaskStatus, ToolExecutor
from executor.calls._host import TaskAccess
from executor.errors import ToolExecutorError
from executor.tasks import TaskManager
from executor.tasks._manager import engine_of

SECONDS = 10.0


@pytest.fixture(params=[TaskManager.in_memory, TaskManager.open], ids=["in memory", "durable"])
def tasks(request):
    made = request.param()
    yield made
    made.close()


def enter(tasks, **options):
    engine = engine_of(tasks)
    return engine.add("tool", "local", "1", engine.new_spool(), cancel=lambda _: True, reached=lambda: None, **options)


def finish(tasks, task_id):
    assert engine_of(tasks).finish(task_id, TaskStatus.COMPLETED, (True, "done"))


def in_thread(work):
    """Run *work* in a thread; returns a function that joins it and gives what it returned."""
    results = []
    thread = threading.Thread(target=lambda: results.append(work()))
    thread.start()

    def join():
        thread.join(SECONDS)
        assert not thread.is_alive()
        return results[0]

    return join


def wait_for_waiter(tasks, count=1):
    """Until *count* threads wait for the next task: asked of the table, for nothing else shows it."""
    rest, deadline = threading.Event(), time.monotonic() + SECONDS
    while len(engine_of(tasks).waiting) < count and time.monotonic() < deadline:
        rest.wait(0.001)
    assert len(engine_of(tasks).waiting) == count


# The next one --------------------------------------------------------------------------------------------------------


def test_the_next_undelivered_is_the_same_until_it_is_acknowledged(tasks):
    ids = [enter(tasks) for _ in range(3)]
    for task_id in (ids[1], ids[2], ids[0]):
        finish(tasks, task_id)
    seen = []
    while (info := tasks.next_undelivered(0)) is not None:
        assert tasks.next_undelivered(0).id == info.id
        tasks.ack(info.id)
        seen.append(info.id)
    assert seen == [ids[1], ids[2], ids[0]]
    assert tasks.next_undelivered(-1) is None
    assert engine_of(tasks).waiting == []


def test_the_end_of_a_task_wakes_all_who_wait_for_the_next(tasks):
    task_id = enter(tasks)
    joins = [in_thread(lambda: tasks.next_undelivered(SECONDS)) for _ in range(3)]
    wait_for_waiter(tasks, 3)
    finish(tasks, task_id)
    assert [join().id for join in joins] == [task_id] * 3
    assert engine_of(tasks).waiting == []


def test_a_wait_for_the_next_goes_on_when_a_task_of_another_conversation_ends(tasks):
    other, mine = enter(tasks, conversation="b"), enter(tasks, conversation="a")
    join = in_thread(lambda: tasks.next_undelivered(SECONDS, conversation="a"))
    wait_for_waiter(tasks)
    finish(tasks, other)
    finish(tasks, mine)
    assert join().id == mine


@pytest.mark.parametrize("end", ["time", "token", "close"])
def test_a_wait_for_the_next_ends_with_its_time_its_token_or_the_manager(tasks, end):
    enter(tasks)
    token = CancelToken()
    join = in_thread(lambda: tasks.next_undelivered(0.05 if end == "time" else None, cancel=token))
    if end != "time":
        wait_for_waiter(tasks)
        token.cancel() if end == "token" else tasks.close()
    assert join() is None
    assert engine_of(tasks).waiting == []
    assert not token._source.functions


def test_nobody_waits_with_a_token_that_was_cancelled_before(tasks):
    token = CancelToken()
    token.cancel()
    assert tasks.next_undelivered(cancel=token) is None


def test_of_many_ends_and_many_readers_every_one_is_delivered_once(tasks):
    ids = [enter(tasks) for _ in range(40)]
    delivered, lock = [], threading.Lock()

    def deliver():
        while True:
            with lock:  # claims nothing: who has several readers agrees among them
                info = tasks.next_undelivered(SECONDS) if len(delivered) < len(ids) else None
                if info is None:
                    return True
                tasks.ack(info.id)
                delivered.append(info.id)

    joins = [in_thread(deliver) for _ in range(3)]
    for task_id in ids:
        finish(tasks, task_id)
    assert [join() for join in joins] == [True] * 3
    assert sorted(delivered) == sorted(ids)
    assert tasks.undelivered() == []


# Conversations -------------------------------------------------------------------------------------------------------


def test_each_conversation_has_its_own_undelivered_tasks(tasks):
    ids = {name: enter(tasks, conversation=name) for name in ("a", "b", None)}
    for task_id in ids.values():
        finish(tasks, task_id)
    assert [info.id for info in tasks.undelivered("a")] == [ids["a"]]
    assert [info.id for info in tasks.undelivered("b")] == [ids["b"]]
    assert tasks.undelivered("c") == []
    assert [info.conversation for info in tasks.undelivered()] == ["a", "b", None]
    assert tasks.next_undelivered(0, conversation="b").id == ids["b"]
    assert tasks.next_undelivered(0, conversation="c") is None
    assert {info.id: info.conversation for info in tasks.list()} == {task_id: name for name, task_id in ids.items()}
    tasks.prune()
    assert tasks.undelivered() == []


def test_a_conversation_outlives_its_process(tmp_path):
    tasks = TaskManager.open(tmp_path, host="test")
    task_id, live = enter(tasks, conversation="a"), enter(tasks, conversation="a")
    finish(tasks, task_id)
    tasks.close()
    again = TaskManager.open(tmp_path, host="test")
    assert [(info.id, info.conversation) for info in again.undelivered("a")] == [(task_id, "a"), (live, "a")]
    assert again.next_undelivered(0, conversation="a").id == task_id
    again.close()


def test_what_an_executor_delivers_is_of_its_own_conversation(tasks):
    with ToolExecutor(tasks=tasks, conversation="a") as executor, ToolExecutor(tasks=tasks) as whole:
        told = []
        executor.tasks.subscribe(lambda info: told.append(info.conversation))
        ids = {name: enter(tasks, conversation=name) for name in ("b", "a", None)}
        for task_id in ids.values():
            finish(tasks, task_id)
        assert [info.id for info in executor.tasks.undelivered()] == [ids["a"]]
        assert executor.tasks.next_undelivered(0).id == ids["a"]
        executor.tasks.ack(ids["a"])
        assert executor.tasks.next_undelivered(0) is None
        assert executor.tasks.next_undelivered(0, conversation="b").id == ids["b"]
        assert {info.id for info in executor.tasks.list()} == set(ids.values())
        assert [info.conversation for info in whole.tasks.undelivered()] == ["b", None]
        assert told == ["a"]


def test_earlier_ends_are_told_to_the_callback_of_their_own_conversation(tasks):
    ids = {name: enter(tasks, conversation=name) for name in ("a", "b", None)}
    for task_id in ids.values():
        finish(tasks, task_id)
    told = {}
    for name in ("a", "b", None):
        with ToolExecutor(tasks=tasks, conversation=name) as executor:
            executor.set_task_done_callback(lambda task_id, *_, name=name: told.setdefault(name, []).append(task_id))
    assert told == {name: [task_id] for name, task_id in ids.items()}


def test_a_done_callback_that_exits_is_told_of_each_end_once_and_ends_nothing(tasks):
    ids, told = [enter(tasks) for _ in range(2)], []
    for task_id in ids:
        finish(tasks, task_id)

    def exits(task_id, *_):
        told.append(task_id)
        raise SystemExit

    for _ in range(2):
        with ToolExecutor(tasks=tasks) as executor:
            executor.set_task_done_callback(exits)
    assert sorted(told) == sorted(ids)


# Subscribers ---------------------------------------------------------------------------------------------------------


def test_each_subscriber_is_told_of_each_end_once(tasks):
    before, told, twice = enter(tasks), [], []
    finish(tasks, before)
    forget = tasks.subscribe(told.append)
    both = [tasks.subscribe(twice.append) for _ in range(2)]
    ids = [enter(tasks) for _ in range(3)]
    for task_id in ids:
        finish(tasks, task_id)
        assert engine_of(tasks).finish(task_id, TaskStatus.FAILED, (False, "late")) is None
    assert [(info.id, info.status) for info in told] == [(task_id, TaskStatus.COMPLETED) for task_id in ids]
    of_one = []
    tasks.subscribe(of_one.append, conversation="a")
    finish(tasks, enter(tasks, conversation="b"))
    finish(tasks, mine := enter(tasks, conversation="a"))
    assert [info.id for info in of_one] == [mine]
    del told[3:], twice[6:]
    forget()
    forget()
    both[0]()
    finish(tasks, enter(tasks))
    assert len(told) == 3
    assert len(twice) == 3 * 2 + 1


@pytest.mark.parametrize("error", [ValueError("x"), SystemExit("x"), KeyboardInterrupt()])
def test_a_subscriber_that_raises_is_warned_about_and_the_others_are_told(tasks, error, caplog):
    def fails(_):
        raise error

    told = []
    tasks.subscribe(fails)
    tasks.subscribe(told.append)
    finish(tasks, enter(tasks))
    assert len(told) == 1
    assert "raised" in caplog.text


def test_a_subscriber_sees_the_end_and_may_deliver_it(tasks):
    seen = []

    def deliver(info):
        seen.append((tasks.tool_result(info.id).content, tasks.open_count(), [i.id for i in tasks.undelivered()]))
        tasks.ack(info.id)

    tasks.subscribe(deliver)
    task_id = enter(tasks)
    finish(tasks, task_id)
    assert seen == [("done", 0, [task_id])]
    assert tasks.undelivered() == []


def test_the_open_tasks_are_counted(tasks):
    assert tasks.open_count() == 0
    first, second = enter(tasks), enter(tasks, started=time.monotonic())
    assert tasks.open_count() == 2
    finish(tasks, second)
    engine_of(tasks).remove(first)
    assert tasks.open_count() == 0


def test_a_forked_child_has_none_of_its_parents_tasks_waiters_and_texts():
    tasks = TaskManager.in_memory()
    table = engine_of(tasks)
    enter(tasks)
    name, told = table.save_result("text"), []
    tasks.subscribe(told.append)
    for lock in (table.lock, table.results._lock):
        lock.acquire()  # by a thread that is not in the child
    table._begin()
    assert (tasks.open_count(), tasks.list(), table.waiting) == (0, [], [])
    with pytest.raises(ToolExecutorError):
        tasks.read_result(name)
    finish(tasks, enter(tasks))
    assert told == []


# A store that is not there -------------------------------------------------------------------------------------------


def test_what_was_acknowledged_while_the_store_was_locked_is_not_delivered_again(tmp_path):
    tasks = TaskManager.open(tmp_path, host="test")
    task_id, other = enter(tasks), enter(tasks)
    with sqlite3.connect(tmp_path / "tasks.db", isolation_level=None) as holder:
        holder.execute("BEGIN EXCLUSIVE")
        finish(tasks, task_id)
        assert [info.id for info in tasks.undelivered()] == [task_id]
        tasks.ack(task_id)
        assert tasks.undelivered() == []
        finish(tasks, other)
        assert tasks.next_undelivered(0).id == other
        holder.execute("ROLLBACK")
    holder.close()
    tasks.close()
    again = TaskManager.open(tmp_path, host="test")
    assert [info.id for info in again.undelivered()] == [other]
    again.close()


# Who may write -------------------------------------------------------------------------------------------------------

PUBLIC = {
    "ack", "attach", "cancel", "close", "get", "in_memory", "list", "live", "next_undelivered", "open", "open_count",
    "output", "prune", "read_result", "result", "send_input", "subscribe", "tool_result", "undelivered", "wait",
}  # fmt: skip


def test_a_host_or_tool_cannot_forge_a_result_by_what_is_public():
    assert {name for name in dir(TaskManager) if not name.startswith("_")} - {"running"} == PUBLIC  # the older name


def test_the_manager_is_what_tools_are_promised():
    promised = {name: member for name, member in vars(TaskAccess).items() if inspect.isfunction(member)}
    promised = {name: member for name, member in promised.items() if not name.startswith("_")}
    assert promised.keys() == PUBLIC - {"attach", "close", "in_memory", "open", "prune"}
    for name, member in promised.items():
        ours = inspect.signature(getattr(TaskManager, name)).parameters
        assert list(ours) == list(inspect.signature(member).parameters), name
