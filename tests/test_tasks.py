"""The table of background tasks: contract tests, for every implementation of it."""

from __future__ import annotations

import json
import math
import queue
import random
import threading
import time
from collections import Counter, OrderedDict, defaultdict

import pytest

from executor import CancelToken, TaskStatus, ToolCall, ToolExecutor, current_call
from executor.errors import CapacityError, TaskNotFoundError, ToolExecutorError
from executor.tasks import TaskManager
from executor.tasks import _delivery as delivery
from executor.tasks import _table as table_module
from executor.tasks._manager import engine_of

SECONDS = 10.0
MANAGERS = {"in memory": TaskManager.in_memory, "durable": TaskManager.open}  # made without arguments


@pytest.fixture(params=MANAGERS.values(), ids=MANAGERS.keys())
def tasks(request):
    made = request.param()
    yield made
    made.close()


def enter(tasks, name="tool", plugin="local", *, spool=None, started=None, cancel=lambda reason: True, **options):
    spool = spool if spool is not None else engine_of(tasks).new_spool()
    return engine_of(tasks).add(
        name, plugin, f"call of {name}", spool, cancel=cancel, reached=lambda: None, started=started, **options
    )


def finish(tasks, task_id, value="done"):
    return engine_of(tasks).finish(task_id, TaskStatus.COMPLETED, (True, value))


# States --------------------------------------------------------------------------------------------------------------


def test_a_task_is_pending_then_running_then_final(tasks):
    task_id = enter(tasks)
    assert tasks.open_count() == 1
    info = tasks.get(task_id)
    assert (info.status, info.started, info.ended, info.duration) == (TaskStatus.PENDING, None, None, 0.0)
    assert (info.tool_name, info.plugin_name, info.call_id) == ("tool", "local", "call of tool")
    engine_of(tasks).start(task_id)
    info = tasks.get(task_id)
    assert info.status is TaskStatus.RUNNING
    assert info.created <= info.started
    assert finish(tasks, task_id, {"answer": 42}).status is TaskStatus.COMPLETED
    info = tasks.get(task_id)
    assert info.status is TaskStatus.COMPLETED
    assert info.started <= info.ended
    assert tasks.get(task_id).duration == info.duration, "the duration of an ended task goes on"
    assert tasks.result(task_id) == (True, {"answer": 42})
    assert tasks.open_count() == 0


@pytest.mark.parametrize("status", [status for status in TaskStatus if status.final])
def test_a_final_state_never_changes(tasks, status):
    task_id = enter(tasks, started=time.monotonic())
    outcome = (status is TaskStatus.COMPLETED, {"error": "first"})
    first = engine_of(tasks).finish(task_id, status, outcome)
    for late in TaskStatus:
        if late.final:
            assert engine_of(tasks).finish(task_id, late, (True, "late")) is None
    engine_of(tasks).start(task_id)
    assert tasks.cancel(task_id) is False
    assert tasks.get(task_id) == first
    assert tasks.result(task_id) == outcome
    assert tasks.open_count() == 0


def test_the_start_is_reckoned_from_when_the_work_began(tasks):
    task_id = enter(tasks, started=time.monotonic() - 100)
    assert tasks.get(task_id).status is TaskStatus.RUNNING
    assert 100 <= tasks.get(task_id).duration < 110
    assert finish(tasks, task_id).duration >= 100


def test_ids_are_the_plugins_name_and_at_least_96_random_bits(tasks):
    ids = {enter(tasks, plugin="shell") for _ in range(200)}
    assert len(ids) == 200
    for task_id in ids:
        plugin, _, number = task_id.rpartition("_")
        assert plugin == "shell"
        assert len(number) * 4 >= 96
        int(number, 16)


def test_every_question_about_an_unknown_task_is_an_error_that_names_it(tasks):
    for question in (tasks.get, tasks.output, tasks.result, tasks.wait, tasks.cancel, tasks.ack):
        with pytest.raises(TaskNotFoundError) as unknown:
            question("nothing_1")
        assert unknown.value.task_id == "nothing_1"
    engine_of(tasks).start("nothing_1")
    assert finish(tasks, "nothing_1") is None


def test_the_result_of_a_task_that_has_not_ended_is_an_error(tasks):
    task_id = enter(tasks)
    with pytest.raises(ToolExecutorError, match="pending"):
        tasks.result(task_id)


def test_the_error_of_a_failed_task_is_its_text(tasks):
    task_id = enter(tasks)
    info = engine_of(tasks).finish(task_id, TaskStatus.FAILED, (False, {"error": "bad", "traceback": "…"}))
    assert info.error == "bad"
    assert tasks.get(finish(tasks, enter(tasks)).id).error is None


def test_no_more_tasks_than_there_may_be(tasks):
    ids = [enter(tasks, most=2) for _ in range(2)]
    with pytest.raises(CapacityError) as full:
        enter(tasks, most=2)
    assert all(any(task_id in text for text in full.value.running) for task_id in ids)
    finish(tasks, ids[0])
    enter(tasks, most=2)
    assert tasks.open_count() == 2


def test_progress_and_the_thread_that_has_not_come_back_are_told(tasks):
    reached = [(1, 4, "first")]
    task_id = engine_of(tasks).add(
        "tool", "local", "1", engine_of(tasks).new_spool(), cancel=lambda reason: True, reached=lambda: reached[0]
    )
    assert tasks.get(task_id).progress == (1, 4, "first")
    engine_of(tasks).finish(task_id, TaskStatus.TIMEOUT, (False, {"error": "x"}), abandoned=True)
    reached[0] = (4, 4, "too late")
    assert tasks.get(task_id).progress == (1, 4, "first")
    assert tasks.get(task_id).abandoned
    engine_of(tasks).came_back(task_id)
    assert not tasks.get(task_id).abandoned
    engine_of(tasks).came_back("nothing_1")


# Listing -------------------------------------------------------------------------------------------------------------


def test_the_list_is_newest_first_and_can_be_narrowed(tasks):
    ids = [enter(tasks, name) for name in ("a", "b", "a", "b")]
    finish(tasks, ids[0])
    assert [info.id for info in tasks.list()] == ids[::-1]
    assert [info.id for info in tasks.list(tool="a")] == [ids[2], ids[0]]
    assert [info.id for info in tasks.list("completed")] == [ids[0]]
    assert [info.id for info in tasks.list(TaskStatus.PENDING, tool="b", limit=1)] == [ids[3]]
    assert tasks.list(limit=0) == []
    with pytest.raises(ValueError, match="nonsense"):
        tasks.list("nonsense")


def test_live_has_the_tasks_of_this_manager_that_have_not_ended(tasks):
    first, ended, last = enter(tasks), enter(tasks), enter(tasks, started=time.monotonic())
    finish(tasks, ended)
    assert [info.id for info in tasks.live()] == [last, first]


def test_what_has_ended_is_undelivered_until_it_is_acknowledged(tasks):
    ids = [enter(tasks) for _ in range(4)]
    assert tasks.undelivered() == []
    for task_id in (ids[2], ids[0], ids[3]):
        finish(tasks, task_id)
    assert [info.id for info in tasks.undelivered()] == [ids[2], ids[0], ids[3]]
    tasks.ack(ids[0])
    tasks.ack(ids[0])
    assert [info.id for info in tasks.undelivered()] == [ids[2], ids[3]]
    assert tasks.result(ids[0]) == (True, "done")


def test_undelivered_keeps_the_order_of_the_ends_when_the_clock_is_set_back(tasks, monkeypatch):
    first, second = enter(tasks), enter(tasks)
    finish(tasks, second)
    now = time.time()
    monkeypatch.setattr(table_module.time, "time", lambda: now - 3600)
    finish(tasks, first)
    assert [info.id for info in tasks.undelivered()] == [second, first]


def test_of_acknowledged_tasks_a_bounded_output_stays_in_memory(monkeypatch):
    tasks = TaskManager.in_memory(output_cap=100)
    monkeypatch.setattr(delivery, "KEPT_OUTPUT", 250)
    with ToolExecutor(tasks=tasks) as executor:
        executor.register("say", lambda args: current_call().emit("x" * args["n"]), auto_background=10)
        ids = []
        for n in (0, 500, 100, 50, 0, 1):  # of the second one 100 are kept
            ids.append(executor.start(ToolCall("c", "say", {"n": n})).task_id)
            tasks.wait(ids[-1], 30)
            tasks.ack(ids[-1])
    assert {info.id for info in tasks.list()} == set(ids[2:])


def test_of_acknowledged_tasks_a_bounded_number_stays_in_memory(monkeypatch):
    tasks = TaskManager.in_memory()
    monkeypatch.setattr(delivery, "KEPT", 10)
    running = enter(tasks)
    tasks.ack(running)
    ids = [enter(tasks) for _ in range(30)]
    for task_id in ids:
        finish(tasks, task_id)
    for task_id in ids[:25]:
        tasks.ack(task_id)
    kept = {info.id for info in tasks.list()}
    assert kept == {running, *ids[15:]}
    finish(tasks, running)
    assert {info.id for info in tasks.list()} == {running, *ids[16:]}


def test_prune_forgets_what_ended_long_enough_ago(tasks):
    old, running = enter(tasks), enter(tasks)
    finish(tasks, old)
    assert tasks.prune(older_than=60) == 0
    assert tasks.prune() == 1
    assert tasks.prune() == 0
    assert [info.id for info in tasks.list()] == [running]
    tasks.ack(running)
    finish(tasks, running)
    assert tasks.prune() == 1
    assert tasks.list() == []


def test_get_is_quick_however_many_tasks_there_are(tasks):
    ids = [enter(tasks) for _ in range(500)]
    for task_id in ids:
        finish(tasks, task_id)
    began = time.perf_counter()
    for task_id in ids[::5]:
        tasks.get(task_id)
    assert (time.perf_counter() - began) / 100 < 0.001


# Output --------------------------------------------------------------------------------------------------------------


def test_output_is_read_from_an_offset_on(tasks):
    spool = engine_of(tasks).new_spool()
    spool.append("früh ")
    task_id = enter(tasks, spool=spool)
    assert tasks.output(task_id) == ("früh ", 6, 0)
    spool.append("spät")
    assert tasks.output(task_id, 6) == ("spät", 11, 0)
    assert tasks.output(task_id, 6, 3) == ("sp", 8, 0)
    assert tasks.output(task_id, 11) == ("", 11, 0)
    assert tasks.get(task_id).output_bytes == 11
    finish(tasks, task_id)
    assert tasks.output(task_id) == ("früh spät", 11, 0)


@pytest.mark.parametrize("bad", [-1, 1.0, "1", True, None])
def test_an_offset_or_limit_that_is_no_whole_number_is_an_error(tasks, bad):
    task_id = enter(tasks)
    if bad is not None:
        with pytest.raises(ValueError, match="offset"):
            tasks.output(task_id, bad)
        with pytest.raises(ValueError, match="limit"):
            tasks.output(task_id, 0, bad)
    assert tasks.output(task_id, 0, None) == ("", 0, 0)


# Waiting -------------------------------------------------------------------------------------------------------------


def test_every_waiter_wakes_at_the_end(tasks):
    task_id, waiting, seen = enter(tasks), threading.Barrier(9), []

    def wait():
        waiting.wait(SECONDS)
        seen.append(tasks.wait(task_id, SECONDS).status)

    threads = [threading.Thread(target=wait) for _ in range(8)]
    for thread in threads:
        thread.start()
    waiting.wait(SECONDS)
    finish(tasks, task_id)
    for thread in threads:
        thread.join(SECONDS)
    assert seen == [TaskStatus.COMPLETED] * 8


def test_a_wait_ends_with_its_time_and_tells_how_it_stands(tasks):
    task_id = enter(tasks)
    for seconds in (0, -1, 0.01):
        assert tasks.wait(task_id, seconds).status is TaskStatus.PENDING
    finish(tasks, task_id)
    for seconds in (None, 0, 1e300, math.inf):
        assert tasks.wait(task_id, seconds).status is TaskStatus.COMPLETED


@pytest.mark.parametrize("seconds", [1e12, math.inf])
def test_a_wait_may_be_longer_than_any_clock(tasks, seconds):
    task_id, token = enter(tasks), CancelToken()
    threading.Timer(0.01, token.cancel).start()
    assert tasks.wait(task_id, seconds, cancel=token).status is TaskStatus.PENDING


def test_a_wait_ends_when_its_own_token_is_cancelled(tasks):
    task_id, token = enter(tasks), CancelToken()
    token.cancel()
    assert tasks.wait(task_id, cancel=token).status is TaskStatus.PENDING
    assert not token._source.functions


def test_who_waits_for_an_id_that_is_taken_back_wakes(tasks):
    task_id, statuses = enter(tasks), []
    token = CancelToken()
    waiting = threading.Event()
    on_cancel = token.on_cancel

    def told(fn):
        waiting.set()
        return on_cancel(fn)

    class Token:
        on_cancel = staticmethod(told)

    thread = threading.Thread(target=lambda: statuses.append(tasks.wait(task_id, SECONDS, cancel=Token()).status))
    thread.start()
    assert waiting.wait(SECONDS)
    began = time.monotonic()
    engine_of(tasks).remove(task_id)
    engine_of(tasks).remove(task_id)
    thread.join(SECONDS)
    assert statuses == [TaskStatus.PENDING]
    assert time.monotonic() - began < 2
    assert tasks.open_count() == 0
    with pytest.raises(TaskNotFoundError):
        tasks.get(task_id)


# Callbacks and cancelling --------------------------------------------------------------------------------------------


def test_each_done_callback_is_told_once_before_or_after_the_end(tasks):
    task_id, told = enter(tasks), []
    engine_of(tasks).on_done(task_id, told.append)
    info = finish(tasks, task_id)
    finish(tasks, task_id)
    engine_of(tasks).on_done(task_id, told.append)
    assert told == [info, info]


@pytest.mark.parametrize("error", [ValueError("x"), SystemExit("x"), KeyboardInterrupt(), GeneratorExit()])
def test_a_done_callback_that_raises_keeps_no_other_from_being_told(tasks, error, caplog):
    def fails(_):
        raise error

    task_id, told = enter(tasks), []
    engine_of(tasks).on_done(task_id, fails)
    engine_of(tasks).on_done(task_id, told.append)
    assert finish(tasks, task_id) in told
    engine_of(tasks).on_done(task_id, fails)
    assert caplog.text.count("raised") == 2


def test_what_is_no_task_of_this_process_is_not_stopped(tasks):
    stopped = []
    task_id = enter(tasks, cancel=lambda reason: stopped.append(reason) or True)
    assert not tasks._table.stop("nobody", "enough")
    assert tasks._table.stop(task_id, "enough")
    assert stopped == ["enough"]


def test_a_done_callback_may_ask_and_change_the_table(tasks):
    task_id = enter(tasks)
    asked = []

    def ask(info):
        asked.append((tasks.get(info.id).status, tasks.result(info.id), tasks.open_count(), len(tasks.undelivered())))
        tasks.ack(info.id)
        tasks.prune()

    engine_of(tasks).on_done(task_id, ask)
    finish(tasks, task_id)
    assert asked == [(TaskStatus.COMPLETED, (True, "done"), 0, 1)]
    assert tasks.list() == []


def test_cancel_passes_the_reason_on_and_the_answer_back(tasks):
    reasons = []
    answers = iter([True, False])
    task_id = enter(tasks, cancel=lambda reason: reasons.append(reason) or next(answers))
    assert tasks.cancel(task_id, "enough") is True
    assert tasks.cancel(task_id) is False
    assert reasons[0] == "enough"
    assert reasons[1]


def test_what_an_ended_task_was_made_of_can_be_freed(tasks):
    import gc
    import weakref

    class Work:
        def cancel(self, reason):
            return True

        def reached(self):
            return None

    work = Work()
    task_id = engine_of(tasks).add(
        "tool", "local", "1", engine_of(tasks).new_spool(), cancel=work.cancel, reached=work.reached
    )
    gone = weakref.ref(work)
    del work
    finish(tasks, task_id)
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("seed", range(4))
def test_of_many_that_finish_a_task_one_wins_and_everybody_sees_the_same(tasks, seed):
    chance = random.Random(seed)
    for _ in range(30):
        task_id, wins, told = enter(tasks), [], []
        engine_of(tasks).on_done(task_id, told.append)
        finals = [status for status in TaskStatus if status.final]
        chance.shuffle(finals)
        barrier = threading.Barrier(len(finals) + 1)

        def end(status):
            barrier.wait(SECONDS)
            if engine_of(tasks).finish(task_id, status, (False, {"error": str(status)})) is not None:
                wins.append(status)

        threads = [threading.Thread(target=end, args=(status,)) for status in finals]
        for thread in threads:
            thread.start()
        barrier.wait(SECONDS)
        seen = tasks.wait(task_id, SECONDS)
        for thread in threads:
            thread.join(SECONDS)
        assert wins == [seen.status]
        assert [info.status for info in told] == wins
        assert tasks.result(task_id)[1]["error"] == str(wins[0])
    assert tasks.open_count() == 0


def test_a_task_has_its_end_whatever_keeps_the_thread_that_ends_it_from_storing_that(tmp_path, monkeypatch):
    tasks = TaskManager.open(tmp_path / "state")
    task_id = enter(tasks, started=time.monotonic())
    durable = engine_of(tasks).durable
    with monkeypatch.context() as patched:

        def interrupt(*_):
            raise KeyboardInterrupt

        patched.setattr(type(durable), "finish", interrupt)
        with pytest.raises(KeyboardInterrupt):
            finish(tasks, task_id)
    assert tasks.get(task_id).status is TaskStatus.COMPLETED
    assert tasks.open_count() == 0
    durable.remove(task_id)  # which has no end on the disk
    tasks.close()


@pytest.mark.parametrize("by", ["its tool", "who was told"])
def test_what_a_task_came_to_stays_whatever_becomes_of_the_object_that_said_it(tasks, by):
    said = {"lines": [1], "more": ({"kept": True}, object())}
    whole = {"lines": [1], "more": ({"kept": True}, said["more"][1])}
    with ToolExecutor(tasks=tasks) as executor:
        executor.register("says", lambda args: said)
        task_id = executor.start(ToolCall("1", "says")).task_id
        tasks.wait(task_id, SECONDS)
        told = [said] if by == "its tool" else [tasks.result(task_id)[1], tasks.tool_result(task_id).value]
        for held in told:
            held["lines"].append(2)
            held["more"][0].clear()
        assert tasks.result(task_id) == (True, whole)
        assert tasks.tool_result(task_id).value == whole


class Row(dict):
    """What a tool may return, and whoever called it relies on."""


@pytest.mark.parametrize("said", [OrderedDict(b=[1], a=2), defaultdict(list, a=[1]), Counter(a=1), Row(a=[1])])
def test_what_a_task_came_to_has_the_types_that_its_tool_gave_it(tasks, said):
    with ToolExecutor(tasks=tasks) as executor:
        executor.register("says", lambda args: [said])
        task_id = executor.start(ToolCall("1", "says")).task_id
        tasks.wait(task_id, SECONDS)
        for told in (tasks.result(task_id)[1], tasks.tool_result(task_id).value):
            assert told == [said]
            assert type(told[0]) is type(said)


def test_what_a_task_came_to_is_of_one_moment_though_its_tool_still_fills_it(tasks):
    class Filled:
        """Whoever looks at it has the tool go on, as a thread of it would in between."""

        def __deepcopy__(self, memo):
            raise AssertionError("what is in a result is not copied")

        def __str__(self):
            said["lines"].append("too late")
            said["more"] = "too late"
            return "looked at"

    said = {"filled": Filled(), "lines": ["in time"]}
    with ToolExecutor(tasks=tasks) as executor:
        executor.register("says", lambda args: said)
        task_id = executor.start(ToolCall("1", "says")).task_id
        tasks.wait(task_id, SECONDS)
        result = tasks.tool_result(task_id)
    assert json.loads(result.content) == {"filled": "looked at", "lines": ["in time"]}
    assert result.value == {"filled": said["filled"], "lines": ["in time"]}


def test_who_is_told_of_an_end_has_a_result_to_write_to_that_nobody_else_has(tasks):
    told = queue.SimpleQueue()
    with ToolExecutor(tasks=tasks) as executor:
        executor.register("says", lambda args: {"lines": [1]})
        task_id = executor.start(ToolCall("1", "says"), on_done=told.put).task_id
        told.get(timeout=SECONDS).value["lines"].append(2)
        assert tasks.tool_result(task_id).value == {"lines": [1]}
