"""Calls on workers: thresholds, time limits, hand-over, cancelling, capacity, shutdown."""

from __future__ import annotations

import logging
import os
import random
import signal
import threading
import time

import pytest

from executor import CancelToken, TaskStatus, ToolCall, ToolExecutor, current_call, get_current_tool_output_callback
from executor.errors import CapacityError, TaskNotFoundError, ToolCancelledError, ToolExecutorError
from executor.tasks import _own
from executor.tasks._manager import engine_of
from executor.tasks._table import TaskTable
from executor.tasks._thread import StoreThread
from executor.testing import HeldTool
from executor.threads._jobs import Job

SECONDS = 10.0  # how long a test waits for what must come at once


class Allow:
    """A permission plugin that allows everything, after having done something."""

    def __init__(self, first=lambda: None):
        self.first = first

    def check_permission(self, name, args, context, call_id):
        self.first()
        return True, {"reason": "ok", "method": "whitelist"}


class Done:
    """A done-callback that keeps what it was told, by task."""

    def __init__(self):
        self.told = []
        self.came = threading.Semaphore(0)

    def __call__(self, *told):
        self.told.append(told)
        self.came.release()

    def wait(self):
        assert self.came.acquire(timeout=SECONDS)


def in_thread(fn):
    """Run *fn* in a thread; returns a function that gives its result."""
    results = []
    thread = threading.Thread(target=lambda: results.append(fn()), daemon=True)
    thread.start()

    def result():
        thread.join(SECONDS)
        assert not thread.is_alive(), "the call hangs"
        return results[0]

    return result


def ended(executor, task_id):
    info = executor.tasks.wait(task_id, SECONDS)
    assert info.status.final, f"still {info.status}"
    return info


# The threshold -------------------------------------------------------------------------------------------------------


def test_a_call_that_ends_before_its_threshold_returns_when_it_ends(executor):
    executor.register("quick", lambda args: {"answer": 42}, auto_background=30)
    began = time.monotonic()
    assert executor.execute("quick", {}) == (True, {"answer": 42})
    assert time.monotonic() - began < 1.0
    assert executor.tasks.list() == []


def test_a_call_past_its_threshold_is_answered_then_and_goes_on(executor):
    with HeldTool({"answer": 42}) as tool:
        executor.register("slow", tool, auto_background=0.05)
        began = time.monotonic()
        ok, told = executor.execute("slow", {})
        took = time.monotonic() - began
        assert 0.05 <= took < 0.5
        assert ok
        assert told["auto_backgrounded"] is True
        assert (told["plugin_name"], told["tool_name"], told["threshold_seconds"]) == ("local", "slow", 0.05)
        assert told["task_id"] in told["message"]
        assert executor.tasks.get(told["task_id"]).status is TaskStatus.RUNNING
    assert ended(executor, told["task_id"]).status is TaskStatus.COMPLETED
    assert executor.tasks.result(told["task_id"]) == (True, {"answer": 42})
    assert tool.calls == 1


def test_a_threshold_of_zero_hands_over_at_once(executor):
    with HeldTool() as tool:
        executor.register("slow", tool, auto_background=0)
        began = time.monotonic()
        _, told = executor.execute("slow", {})
        assert time.monotonic() - began < 0.5
        assert executor.tasks.get(told["task_id"]).status in (TaskStatus.PENDING, TaskStatus.RUNNING)
    ended(executor, told["task_id"])


def test_without_auto_background_the_caller_waits_for_the_end():
    with ToolExecutor(auto_background_enabled=False) as executor:
        executor.register("slow", lambda args: threading.current_thread().name, auto_background=0)
        assert executor.execute("slow", {}) == (True, threading.current_thread().name)


def test_a_task_runs_on_in_the_same_thread_with_the_same_callback_and_context(executor, recorder):
    go_on = threading.Event()
    seen = []

    def tool(args):
        seen.append((threading.get_ident(), current_call().id, get_current_tool_output_callback()))
        current_call().emit("before ")
        assert go_on.wait(SECONDS)
        seen.append((threading.get_ident(), current_call().id, get_current_tool_output_callback()))
        current_call().emit("after")

    executor.register("slow", tool, auto_background=0.02)
    _, told = executor.execute("slow", {}, recorder, call_id="mine")
    go_on.set()
    ended(executor, told["task_id"])
    assert seen[0] == seen[1]
    assert seen[0][1] == "mine"
    assert recorder.text == "before after"
    assert executor.tasks.output(told["task_id"]) == ("before after", 12, 0)


def test_output_from_before_the_hand_over_is_in_the_tasks_output_from_byte_zero(executor):
    go_on, spoke = threading.Event(), threading.Event()

    def tool(args):
        current_call().emit("é" * 10)
        spoke.set()
        assert go_on.wait(SECONDS)

    executor.register("slow", tool, auto_background=0.05)
    _, told = executor.execute("slow", {})
    assert spoke.wait(SECONDS)
    assert executor.tasks.output(told["task_id"]) == ("é" * 10, 20, 0)
    go_on.set()
    ended(executor, told["task_id"])


@pytest.mark.parametrize(
    ("tool", "has"),
    [
        (
            lambda args: {"x": 1},
            {"x": 1, "_permission": {"decision": "allowed", "reason": "ok", "method": "whitelist"}},
        ),
        (lambda args: ({"x": 1}, {"continuation_id": "c"}), {"x": 1, "continuation_id": "c"}),
        (lambda args: ("text", 2), None),
        (lambda args: {"error": "but it worked"}, {"error": "but it worked"}),
        (lambda args: 1 / 0, {"error": "division by zero"}),
        (lambda args: (_ for _ in ()).throw(SystemExit("bye")), {"error": "SystemExit: bye"}),
        (lambda args: (_ for _ in ()).throw(KeyboardInterrupt), {"error": "KeyboardInterrupt", "interrupted": True}),
        (lambda args: (_ for _ in ()).throw(GeneratorExit("x")), {"error": "GeneratorExit: x"}),
    ],
)
def test_results_have_one_shape_on_every_route(tool, has):
    with ToolExecutor(permission_plugin=Allow()) as executor:
        executor.register("inline", tool)
        executor.register("worker", tool, timeout=60)
        executor.register("background", tool, auto_background=60)
        inline, worker = executor.execute("inline", {}), executor.execute("worker", {})
        foreground = executor.execute("background", {})
        task_id = executor.start(ToolCall("1", "background")).task_id
        assert ended(executor, task_id).status is (TaskStatus.COMPLETED if inline[0] else TaskStatus.FAILED)
        started = executor.tasks.result(task_id)
    for outcome in (inline, worker, foreground, started):
        assert outcome[0] is inline[0]
        if has is None:
            assert outcome == inline
            continue
        assert outcome[1].keys() == inline[1].keys()
        assert outcome[1]["_permission"]["decision"] == "allowed"
        assert has.items() <= outcome[1].items()
        assert ("traceback" in outcome[1]) is not outcome[0]


class EvilText(Exception):
    def __str__(self):
        raise SystemExit("from __str__")


class EvilDict(dict):
    def keys(self):
        raise RuntimeError("no keys")

    __iter__ = keys


def _raise(error):
    raise error


@pytest.mark.parametrize(
    "options", [{}, {"timeout": 5}, {"auto_background": 5}], ids=["inline", "worker", "background"]
)
@pytest.mark.parametrize("tool", [lambda args: _raise(EvilText()), lambda args: EvilDict()], ids=["error", "result"])
def test_an_error_or_result_that_raises_when_looked_at_is_still_one_answer(tool, options):
    executor = ToolExecutor(permission_plugin=Allow())
    executor.register("evil", tool, **options)
    outcome = in_thread(lambda: executor.execute("evil", {}))()
    assert outcome[0] in (True, False)
    executor.shutdown(timeout=SECONDS)


# Time limits ---------------------------------------------------------------------------------------------------------


def test_a_time_limit_ends_a_call_in_the_foreground_and_its_late_result_is_dropped(executor):
    with HeldTool("late") as tool:
        executor.register("stuck", tool, timeout=0.05)
        ok, told = executor.execute("stuck", {})
        assert (ok, told) == (False, {"error": "stuck timed out after 0.05 s", "timed_out": True})
        assert executor.abandoned == 1
    assert executor._way.threads.workers.close(SECONDS)
    assert executor.abandoned == 0


def test_a_time_limit_goes_on_after_the_hand_over_and_ends_in_timeout(executor):
    with HeldTool("late") as tool:
        executor.register("stuck", tool, auto_background=0.02, timeout=0.1)
        _, told = executor.execute("stuck", {})
        info = ended(executor, told["task_id"])
        assert info.status is TaskStatus.TIMEOUT
        assert info.abandoned
        assert executor.tasks.result(info.id)[1]["timed_out"] is True
        assert executor.abandoned == 1
    executor._way.threads.workers.close(SECONDS)
    info = executor.tasks.get(info.id)
    assert info.status is TaskStatus.TIMEOUT, "a late result changed a final state"
    assert not info.abandoned
    assert executor.abandoned == 0


def test_a_limit_at_or_below_the_threshold_is_what_counts(executor):
    with HeldTool() as tool:
        executor.register("stuck", tool, auto_background=0.05, timeout=0.05)
        assert executor.execute("stuck", {})[1].get("timed_out") is True
        assert executor.tasks.list() == []


def test_a_limit_is_kept_while_every_worker_is_stuck():
    executor = ToolExecutor(max_workers=1)
    with HeldTool() as tool:
        executor.register("stuck", tool, auto_background=0, timeout=0.1)
        _, first = executor.execute("stuck", {})
        _, second = executor.execute("stuck", {})
        assert ended(executor, first["task_id"]).status is TaskStatus.TIMEOUT
        assert ended(executor, second["task_id"]).status is TaskStatus.TIMEOUT
        assert executor.tasks.get(second["task_id"]).started is None
        assert tool.calls <= 1
    executor.shutdown(cancel=True)


def test_the_functions_that_stop_a_tool_run_while_every_worker_is_busy():
    stopped, listens = threading.Event(), threading.Event()

    def tool(args):
        current_call().on_cancel(stopped.set)
        listens.set()
        assert stopped.wait(SECONDS)
        return "stopped"

    executor = ToolExecutor(max_workers=1)
    executor.register("listens", tool, auto_background=0)
    _, told = executor.execute("listens", {})
    assert listens.wait(SECONDS)
    assert executor.tasks.cancel(told["task_id"])
    assert stopped.wait(2), "the function that was to stop the tool waits for the tool"
    assert executor._way.threads.workers.submit(stopped.clear)
    executor.shutdown()


def test_a_callers_time_limit_is_one_for_calls_that_have_none(executor):
    with HeldTool() as tool:
        executor.register("stuck", tool)
        result = executor.call(ToolCall("1", "stuck"), timeout=0.05)
        assert (result.success, result.value["timed_out"]) == (False, True)


def test_a_limit_that_passes_while_the_call_waits_for_a_worker_keeps_the_tool_from_running():
    executor = ToolExecutor(max_workers=1)
    with HeldTool() as holder:
        ran = []
        executor.register("holder", holder, auto_background=0)
        executor.register("waits", ran.append, timeout=0.05)
        executor.execute("holder", {})
        assert executor.execute("waits", {})[1].get("timed_out") is True
        assert executor.abandoned == 0
    executor.shutdown()
    assert ran == []


# Cancelling ----------------------------------------------------------------------------------------------------------


def test_cancel_wakes_the_caller_at_once_and_says_so_once(executor):
    with HeldTool() as tool:
        executor.register("stuck", tool, timeout=60)
        result = in_thread(lambda: executor.execute("stuck", {}, call_id="it"))
        assert tool.started.wait(SECONDS)
        assert executor.cancel("it") is True
        assert executor.cancel("it") is False
        assert result() == (False, {"error": "The call was cancelled", "cancelled": True})


def test_a_call_cancelled_while_the_gate_decides_never_runs():
    executor = ToolExecutor()
    ran = []
    executor.set_permission_plugin(Allow(lambda: executor.cancel("it")))
    executor.register("inline", ran.append)
    executor.register("worker", ran.append, timeout=60)
    executor.register("background", ran.append, auto_background=0)
    for name in ("inline", "worker", "background"):
        assert executor.execute(name, {}, call_id="it")[1].get("cancelled") is True
    assert ran == []
    assert executor.tasks.open_count() == 0
    assert executor.shutdown(timeout=SECONDS)


def test_a_start_cancelled_while_the_gate_decides_leaves_no_task_behind():
    executor = ToolExecutor()
    ran = []
    executor.set_permission_plugin(Allow(lambda: executor.cancel("it")))
    executor.register("background", ran.append, auto_background=0)
    with pytest.raises(ToolCancelledError):
        executor.start(ToolCall("it", "background"))
    assert executor.tasks.list() == []
    assert executor.tasks.open_count() == 0
    assert executor.shutdown(timeout=SECONDS), "the call that never ran is waited for"
    assert ran == []


def test_a_start_that_was_taken_back_is_never_seen_however_slow_the_store_is(monkeypatch):
    go_on = threading.Event()
    remove = _own._remove

    def slowly(*args):
        assert go_on.wait(SECONDS)
        remove(*args)

    monkeypatch.setattr(_own, "_remove", slowly)
    wait = StoreThread.wait
    # Its row is there by then, however slow this machine is.
    monkeypatch.setattr(StoreThread, "wait", lambda self, change: wait(self, change, SECONDS))
    executor = ToolExecutor()
    executor.set_permission_plugin(Allow(lambda: executor.cancel("it")))
    executor.register("background", lambda: None, auto_background=0)
    with pytest.raises(ToolCancelledError):
        executor.start(ToolCall("it", "background"))
    durable = executor.tasks._table.durable
    assert executor.tasks.list() == []
    (row,) = durable.all.newest(None, None, None)
    assert row.call_id == "it", "its row is still there"
    with pytest.raises(TaskNotFoundError):
        executor.tasks.get(row.id)
    go_on.set()
    assert executor.shutdown(timeout=SECONDS)
    durable.close()
    assert ToolExecutor().tasks.list() == []


def test_tasks_are_listed_by_the_state_they_are_in_however_slow_the_store_is(monkeypatch):
    go_on = threading.Event()
    put = _own.put

    def slowly(connection, entry, *args, **options):
        if entry.info.status is not TaskStatus.PENDING:
            assert go_on.wait(SECONDS)
        return put(connection, entry, *args, **options)

    monkeypatch.setattr(_own, "put", slowly)
    with ToolExecutor() as executor, HeldTool() as holder:
        executor.register("hold", holder, auto_background=0)
        task_id = executor.start(ToolCall("it", "hold")).task_id
        assert holder.started.wait(SECONDS)
        assert [info.id for info in executor.tasks.list("running")] == [task_id]
        assert executor.tasks.list("pending") == []
        go_on.set()


def test_a_task_cancelled_before_it_began_never_runs_and_was_never_running():
    executor = ToolExecutor(max_workers=1)
    with HeldTool() as holder:
        ran = []
        executor.register("holder", holder, auto_background=0)
        executor.register("waits", ran.append, auto_background=0)
        executor.execute("holder", {})
        _, told = executor.execute("waits", {})
        assert executor.tasks.get(told["task_id"]).status is TaskStatus.PENDING
        assert executor.tasks.cancel(told["task_id"], "no longer wanted")
        info = executor.tasks.get(told["task_id"])
        assert (info.status, info.started, info.duration) == (TaskStatus.CANCELLED, None, 0.0)
        assert info.error == "no longer wanted"
    executor.shutdown()
    assert ran == []


def test_cancelling_an_ended_task_says_no_and_changes_nothing(executor):
    executor.register("quick", lambda args: 1, auto_background=5)
    task_id = executor.start(ToolCall("1", "quick")).task_id
    before = ended(executor, task_id)
    assert executor.tasks.cancel(task_id) is False
    assert executor.tasks.get(task_id) == before


def test_a_cancel_at_the_moment_of_the_hand_over_loses_nothing(monkeypatch):
    """The work ends between the entry of the task and the hand-over."""
    executor = ToolExecutor()
    with HeldTool("in time") as tool:
        executor.register("slow", tool, auto_background=0.02)
        add = TaskTable.add

        def add_and_end(self, *args, **options):
            task_id = add(self, *args, **options)
            stop = threading.Thread(target=executor.cancel, args=("it",))
            stop.start()
            stop.join(SECONDS)
            return task_id

        monkeypatch.setattr(TaskTable, "add", add_and_end)
        assert executor.execute("slow", {}, call_id="it")[1].get("cancelled") is True
        assert executor.tasks.list() == []
        assert executor.tasks.open_count() == 0
    assert executor.shutdown(timeout=SECONDS)


def test_a_task_that_began_and_ended_during_the_hand_over_has_its_times(monkeypatch):
    """The work is taken up after the task was entered as pending, and ends before the caller can say that it runs."""
    executor = ToolExecutor(max_workers=1)
    holder = HeldTool()
    executor.register("holder", holder, auto_background=0)
    tool = HeldTool()
    executor.register("slow", tool, auto_background=0.02)
    executor.execute("holder", {})
    add, start = TaskTable.add, TaskTable.start

    def add_then_begin(self, *args, **options):
        task_id = add(self, *args, **options)
        holder.go_on()
        assert tool.started.wait(SECONDS)
        return task_id

    def start_late(self, task_id, started=None):
        if threading.current_thread() is threading.main_thread():
            tool.go_on()
            assert executor.tasks.wait(task_id, SECONDS).status.final
        start(self, task_id, started)

    monkeypatch.setattr(TaskTable, "add", add_then_begin)
    monkeypatch.setattr(TaskTable, "start", start_late)
    _, told = executor.execute("slow", {})
    info = executor.tasks.get(told["task_id"])
    assert info.status is TaskStatus.COMPLETED
    assert info.started is not None
    executor.shutdown()


def test_a_token_stops_a_call_before_and_after_its_hand_over(executor):
    with HeldTool() as tool:
        executor.register("slow", tool, auto_background=0.02)
        token = CancelToken()
        result = executor.call(ToolCall("1", "slow"), cancel=token)
        assert result.backgrounded
        token.cancel("enough")
        info = ended(executor, result.task_id)
        assert (info.status, info.error) == (TaskStatus.CANCELLED, "enough")
        again = executor.call(ToolCall("2", "slow"), cancel=token)
        assert (again.success, again.error) == (False, "enough")


def test_a_function_that_raises_on_cancel_keeps_no_other_from_being_told(executor, caplog):
    told = []
    for error in (ValueError("x"), SystemExit("x"), GeneratorExit(), KeyboardInterrupt()):
        token = CancelToken()
        token.on_cancel(lambda error=error: _raise(error))
        token.on_cancel(lambda: told.append(1))
        assert token.cancel() is True
    assert told == [1, 1, 1, 1]
    assert caplog.text.count("on_cancel raised") == 4


def test_what_an_ended_call_still_says_reaches_nobody(executor, recorder):
    go_on, said = threading.Event(), threading.Event()
    started = threading.Event()

    def tool(args):
        call = current_call()
        call.emit("in time")
        call.progress(1, 2)
        started.set()
        assert go_on.wait(SECONDS)
        call.emit("too late")
        call.progress(2, 2, "too late")
        said.set()

    executor.register("slow", tool, auto_background=0)
    result = executor.call(ToolCall("1", "slow"), on_output=recorder, on_progress=lambda *told: recorder(str(told)))
    assert started.wait(SECONDS)
    executor.tasks.cancel(result.task_id)
    before = executor.tasks.get(result.task_id)
    go_on.set()
    assert said.wait(SECONDS)
    executor._way.threads.workers.close(SECONDS)
    assert recorder.text == "in time(1, 2, None)"
    after = executor.tasks.get(result.task_id)
    assert (after.output_bytes, after.progress) == (before.output_bytes, before.progress) == (7, (1, 2, None))


# Done-callbacks ------------------------------------------------------------------------------------------------------


def test_done_callbacks_are_told_exactly_once_each(executor):
    everything, own = Done(), Done()
    executor.set_task_done_callback(everything)
    executor.register("quick", lambda args: args["x"], auto_background=5)
    ids = [executor.start(ToolCall("1", "quick", {"x": x}), on_done=own).task_id for x in range(20)]
    for _ in ids:
        everything.wait()
        own.wait()
    executor.shutdown()
    assert sorted(told[0] for told in everything.told) == sorted(ids)
    assert all(told[1:3] == (True, None) and told[3] >= 0 for told in everything.told)
    assert sorted(result.task_id for (result,) in own.told) == sorted(ids)
    assert all(result.success and not result.backgrounded for (result,) in own.told)


def test_a_done_callback_set_after_the_end_is_told_and_only_once(executor):
    executor.register("fails", lambda args: 1 / 0, auto_background=5)
    task_id = executor.start(ToolCall("1", "fails")).task_id
    ended(executor, task_id)
    executor.shutdown()
    first, second = Done(), Done()
    executor.set_task_done_callback(first)
    executor.set_task_done_callback(second)
    assert [told[:3] for told in first.told] == [(task_id, False, "division by zero")]
    assert second.told == []


def test_a_call_that_stays_in_the_foreground_is_no_task_and_its_result_is_told_once(executor):
    tasks, own = Done(), Done()
    executor.set_task_done_callback(tasks)
    executor.register("quick", lambda args: 1, auto_background=5)
    result = executor.call(ToolCall("1", "quick"), on_done=own)
    executor.shutdown()
    assert tasks.told == []
    assert own.told == [(result,)]


@pytest.mark.parametrize("error", [ValueError("x"), SystemExit("x"), KeyboardInterrupt(), GeneratorExit()])
def test_a_done_callback_that_raises_keeps_nobody_from_being_told(error, caplog):
    executor = ToolExecutor()
    done = Done()
    executor.set_task_done_callback(done)
    executor.register("quick", lambda args: 1, auto_background=5)
    result = executor.start(ToolCall("1", "quick"), on_done=lambda *told: _raise(error))
    done.wait()
    assert executor.tasks.result(result.task_id) == (True, 1)
    assert executor.shutdown(timeout=SECONDS)
    assert executor._way.calls == set()
    assert "raised" in caplog.text


@pytest.mark.parametrize("error", [ValueError("x"), SystemExit("x"), KeyboardInterrupt(), GeneratorExit()])
def test_the_executors_done_callback_may_raise_anything(error, caplog):
    executor = ToolExecutor()
    executor.set_task_done_callback(lambda *told: _raise(error))
    with HeldTool() as tool:
        executor.register("slow", tool, auto_background=0)
        _, told = executor.execute("slow", {})
        assert executor.tasks.cancel(told["task_id"]) is True
    assert executor.shutdown(timeout=SECONDS)
    assert "raised" in caplog.text


# Capacity ------------------------------------------------------------------------------------------------------------


def test_a_start_beyond_the_limit_is_refused_and_names_what_runs():
    executor = ToolExecutor(max_background_tasks=2)
    with HeldTool() as tool:
        executor.register("slow", tool, auto_background=0)
        ids = [executor.start(ToolCall("1", "slow")).task_id for _ in range(2)]
        with pytest.raises(CapacityError) as refused:
            executor.start(ToolCall("3", "slow"))
        assert all(any(task_id in text for text in refused.value.running) for task_id in ids)
        assert len(executor.tasks.list()) == 2
    executor.shutdown()


def test_a_call_past_its_threshold_without_room_stays_in_the_foreground_with_one_warning(caplog):
    executor = ToolExecutor(max_background_tasks=1)
    with HeldTool() as tool:
        executor.register("slow", tool, auto_background=0)
        quick = HeldTool("foreground")
        quick.go_on()
        executor.register("quick", quick, auto_background=0.0)
        executor.execute("slow", {})
        with caplog.at_level(logging.WARNING):
            assert executor.execute("quick", {}) == (True, "foreground")
            assert executor.execute("quick", {}) == (True, "foreground")
        assert caplog.text.count("stays in the foreground") <= 1
    executor.shutdown()


def test_starts_that_race_for_the_last_place_never_exceed_the_limit():
    executor = ToolExecutor(max_background_tasks=4)
    barrier, refused = threading.Barrier(16), []
    with HeldTool() as tool:
        executor.register("slow", tool, auto_background=0)

        def start(number):
            barrier.wait(SECONDS)
            for _ in range(4):
                try:
                    executor.start(ToolCall("1", "slow"))
                except CapacityError:
                    refused.append(number)

        threads = [threading.Thread(target=start, args=(number,)) for number in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(SECONDS)
        assert executor.tasks.open_count() == len(executor.tasks.list()) == 4
        assert len(refused) == 60
    executor.shutdown(cancel=True)


def test_the_limit_is_kept_between_the_look_and_the_entry(monkeypatch):
    executor = ToolExecutor(max_background_tasks=1)
    new_spool, meeting = TaskTable.new_spool, threading.Barrier(2)

    def meet(self):
        meeting.wait(SECONDS)
        return new_spool(self)

    monkeypatch.setattr(TaskTable, "new_spool", meet)

    def start():
        try:
            return executor.start(ToolCall("1", "slow")).task_id
        except CapacityError:
            return None

    with HeldTool() as tool:
        executor.register("slow", tool, auto_background=0)
        results = [in_thread(start), in_thread(start)]
        ids = [result() for result in results]
        assert ids.count(None) == 1
        assert executor.tasks.open_count() == 1
    executor.shutdown()


def test_any_tool_can_be_started_in_the_background_when_that_is_asked_for(executor):
    executor.register("plain", lambda args: 1)
    task_id = executor.start(ToolCall("1", "plain")).task_id
    assert ended(executor, task_id).status is TaskStatus.COMPLETED
    assert executor.tasks.result(task_id) == (True, 1)


def test_a_start_tells_of_progress_as_a_call_does(executor):
    seen = []
    executor.register("plain", lambda args: current_call().progress(1, 2, "half"))
    task_id = executor.start(ToolCall("1", "plain"), on_progress=lambda *told: seen.append(told)).task_id
    ended(executor, task_id)
    assert seen == [(1, 2, "half")]


def test_four_stuck_tasks_do_not_delay_a_fifth_call():
    executor = ToolExecutor(auto_background_pool_size=4)
    with HeldTool() as stuck:
        executor.register("stuck", stuck, auto_background=0)
        executor.register("instant", lambda args: "now", auto_background=30)
        for _ in range(4):
            executor.execute("stuck", {})
        began = time.monotonic()
        assert executor.execute("instant", {}) == (True, "now")
        assert time.monotonic() - began < 0.5
    executor.shutdown()


def test_a_task_that_has_no_worker_yet_is_pending():
    executor = ToolExecutor(max_workers=1)
    with HeldTool() as stuck:
        executor.register("stuck", stuck, auto_background=0)
        first = executor.execute("stuck", {})[1]["task_id"]
        assert stuck.started.wait(SECONDS)
        second = executor.execute("stuck", {})[1]["task_id"]
        assert executor.tasks.get(second).status is TaskStatus.PENDING
        assert executor.tasks.get(first).status is TaskStatus.RUNNING
    assert ended(executor, second).status is TaskStatus.COMPLETED
    executor.shutdown()


# Nested calls --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_nested_calls_never_wait_for_the_workers_they_hold(limit):
    executor = ToolExecutor(max_workers=limit)

    def nest(args):
        if args["depth"] == 0:
            return 0
        ok, value = executor.execute("nest", {"depth": args["depth"] - 1})
        assert ok
        return value + 1

    executor.register("nest", nest, timeout=SECONDS)
    results = [in_thread(lambda: executor.execute("nest", {"depth": 5})) for _ in range(4)]
    assert [result() for result in results] == [(True, 5)] * 4
    executor.shutdown()
    assert executor._way.threads.workers.close(SECONDS)


def test_a_cancelled_call_cancels_what_it_waits_for_and_starts_nothing_more(executor):
    with HeldTool() as inner:
        executor.register("inner", inner, timeout=60)
        after, finished = [], threading.Event()

        def outer(args):
            after.append(executor.execute("inner", {}))
            after.append(executor.execute("inner", {}))
            finished.set()

        executor.register("outer", outer, timeout=60)
        result = in_thread(lambda: executor.execute("outer", {}, call_id="outer"))
        assert inner.started.wait(SECONDS)
        executor.cancel("outer")
        assert result()[1].get("cancelled") is True
        assert finished.wait(SECONDS)
        assert [ok for ok, _ in after] == [False, False]
        assert all(told.get("cancelled") for _, told in after)
        assert inner.calls == 1


def test_an_inner_task_outlives_the_call_that_started_it(executor):
    with HeldTool("inner") as inner:
        executor.register("inner", inner, auto_background=0)
        executor.register("outer", lambda args: executor.execute("inner", {})[1]["task_id"], timeout=60)
        ok, task_id = executor.execute("outer", {})
        assert ok
        assert executor.tasks.get(task_id).status is TaskStatus.RUNNING or inner.started.wait(SECONDS)
    assert ended(executor, task_id).status is TaskStatus.COMPLETED


def test_the_callback_of_the_outer_call_is_current_again_after_the_inner_one(executor):
    outer_said, inner_said = [], []
    executor.register("inner", lambda args: get_current_tool_output_callback()("i"), timeout=60)

    def outer(args):
        executor.execute("inner", {}, inner_said.append)
        executor.execute("inner", {})
        get_current_tool_output_callback()("o")

    executor.register("outer", outer, timeout=60)
    assert executor.execute("outer", {}, outer_said.append)[0]
    assert (outer_said, inner_said) == (["i", "o"], ["i"])
    assert get_current_tool_output_callback() is None


def test_a_listener_that_raises_is_left_out_and_the_tool_goes_on(executor, caplog):
    said = []

    def listener(chunk):
        said.append(chunk)
        raise SystemExit("listener")

    def tool(args):
        current_call().emit("a")
        current_call().emit("b")
        return "done"

    executor.register("speaks", tool, auto_background=5)
    assert executor.execute("speaks", {}, listener) == (True, "done")
    assert said == ["a"]
    assert caplog.text.count("left out") == 1


# The callers own interrupts ------------------------------------------------------------------------------------------


@pytest.fixture
def alarm():
    """
    Sets what SIGALRM does in the main thread, and gives a tool that lets it come and then is held.

    It comes a moment later: a signal between Python's last look at signals and the wait itself would not wake the wait.
    """

    class Rings(HeldTool):
        def __call__(self, args):
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            return super().__call__(args)

    before = signal.getsignal(signal.SIGALRM)
    with Rings() as tool:
        yield lambda handler: (signal.signal(signal.SIGALRM, handler), tool)[1]
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("options", [{"timeout": 60}, {"auto_background": 60}])
def test_ctrl_c_while_waiting_is_the_callers_own_and_stops_the_call(executor, options, alarm):
    tool = alarm(signal.default_int_handler)
    executor.register("stuck", tool, **options)
    with pytest.raises(KeyboardInterrupt):
        executor.execute("stuck", {})
    assert executor._way.calls == set()
    assert executor.abandoned == 1
    assert current_call() is None
    tool.go_on()
    executor._way.threads.workers.close(SECONDS)
    assert executor.abandoned == 0


def test_ctrl_c_in_a_tool_that_runs_in_the_callers_thread_is_that_calls_result(executor, alarm):
    executor.register("stuck", alarm(signal.default_int_handler))
    ok, told = executor.execute("stuck", {})
    assert (ok, told["error"], told["interrupted"]) == (False, "KeyboardInterrupt", True)


def test_a_signal_handler_may_cancel_the_call_that_the_main_thread_waits_for(executor, alarm):
    executor.register("stuck", alarm(lambda *_: executor.cancel("it")), timeout=60)
    assert executor.execute("stuck", {}, call_id="it")[1].get("cancelled") is True


# Fork ----------------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("options", [{}, {"timeout": 20}])
def test_a_tool_may_fork(executor, options):
    def tool(args):
        child = os.fork()
        if child == 0:
            os._exit(7)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    executor.register("forks", tool, **options)
    assert executor.execute("forks", {}) == (True, 7)
    assert executor.execute("forks", {}) == (True, 7)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_an_executor_works_in_a_forked_child(executor):
    executor.register("worker", lambda args: "ok", timeout=5)
    assert executor.execute("worker", {}) == (True, "ok")  # there is an idle worker now, which no child has
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if executor.execute("worker", {}) == (True, "ok") else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


# The end -------------------------------------------------------------------------------------------------------------


def test_shutdown_waits_for_what_runs():
    executor = ToolExecutor()
    tool = HeldTool("whole")
    executor.register("slow", tool, auto_background=0)
    _, told = executor.execute("slow", {})
    result = in_thread(executor.shutdown)
    assert tool.started.wait(SECONDS)
    tool.go_on()
    assert result() is True
    assert executor.tasks.result(told["task_id"]) == (True, "whole")


def test_shutdown_with_a_timeout_says_that_something_still_runs():
    executor = ToolExecutor()
    with HeldTool() as tool:
        executor.register("slow", tool, auto_background=0)
        _, told = executor.execute("slow", {})
        assert executor.shutdown(timeout=0.02) is False
        assert executor.shutdown(wait=False) is False
        assert not executor.tasks.get(told["task_id"]).status.final
    assert ended(executor, told["task_id"]).status is TaskStatus.COMPLETED
    assert executor.shutdown(timeout=SECONDS) is True


def test_shutdown_with_cancel_ends_a_stuck_call_and_does_not_wait_for_its_thread():
    executor = ToolExecutor()
    with HeldTool() as tool:
        executor.register("stuck", tool, auto_background=0)
        _, told = executor.execute("stuck", {})
        assert tool.started.wait(SECONDS)
        assert executor.shutdown(cancel=True) is True
        assert executor.tasks.get(told["task_id"]).status is TaskStatus.CANCELLED
        assert executor.abandoned == 1


@pytest.mark.parametrize("options", [{"timeout": 30}, {"auto_background": 30}])
def test_a_call_that_waits_for_a_worker_at_shutdown_is_answered(options):
    executor = ToolExecutor(max_workers=1)
    holder = HeldTool()
    executor.register("holder", holder, auto_background=0)
    executor.register("waits", lambda args: "ran", **options)
    executor.execute("holder", {})
    queued = threading.Event()
    submit = executor._way.threads.workers.submit

    def tell(job):
        result = submit(job)
        queued.set()
        return result

    executor._way.threads.workers.submit = tell
    result = in_thread(lambda: executor.execute("waits", {}))
    assert queued.wait(SECONDS)
    executor.shutdown(wait=False)
    holder.go_on()
    assert result()[0] in (True, False)
    assert executor.shutdown(timeout=SECONDS) is True


def test_a_task_that_waits_for_a_worker_at_shutdown_gets_a_final_state():
    executor = ToolExecutor(max_workers=1)
    holder = HeldTool()
    executor.register("holder", holder, auto_background=0)
    executor.execute("holder", {})
    _, told = executor.execute("holder", {})
    executor.shutdown(wait=False)
    holder.go_on()
    assert ended(executor, told["task_id"]).status.final
    assert executor.shutdown(timeout=SECONDS) is True


def test_after_shutdown_every_route_says_that_it_is_over():
    executor = ToolExecutor()
    executor.register("inline", lambda args: 1)
    executor.register("worker", lambda args: 1, timeout=1)
    executor.register("background", lambda args: 1, auto_background=0)
    assert executor.shutdown() is True
    for name in ("inline", "worker", "background"):
        assert executor.execute(name, {}) == (False, {"error": "The executor has been shut down", "unavailable": True})
    with pytest.raises(ToolExecutorError):
        executor.start(ToolCall("1", "background"))
    assert [result.success for result in executor.execute_many([ToolCall("1", "inline")])] == [False]
    assert executor.tasks.open_count() == 0


def test_a_tool_may_shut_its_executor_down():
    executor = ToolExecutor()
    executor.register("ends", lambda args: executor.shutdown(), timeout=SECONDS)
    executor.register("outer", lambda args: executor.execute("ends", {}), timeout=SECONDS)
    assert in_thread(lambda: executor.execute("ends", {}))()[0] is True
    executor = ToolExecutor()
    executor.register("ends", lambda args: executor.shutdown(timeout=2), timeout=SECONDS)
    executor.register("outer", lambda args: executor.execute("ends", {}), timeout=SECONDS)
    began = time.monotonic()
    assert in_thread(lambda: executor.execute("outer", {}))()[0] is True
    assert time.monotonic() - began < 1.5, "the inner call waited for the outer one, which waits for it"


def test_two_threads_may_shut_down_at_once():
    for seed in range(30):
        executor = ToolExecutor()
        tool = HeldTool()
        executor.register("slow", tool, auto_background=0)
        for _ in range(random.Random(seed).randrange(1, 4)):
            executor.execute("slow", {})
        results = [in_thread(executor.shutdown) for _ in range(3)]
        tool.go_on()
        assert [result() for result in results] == [True] * 3


def test_an_executor_that_is_dropped_leaves_no_idle_worker():
    import gc

    executor = ToolExecutor()
    executor.register("worker", lambda args: threading.current_thread(), timeout=5)
    thread = executor.execute("worker", {})[1]
    del executor
    gc.collect()
    thread.join(SECONDS)
    assert not thread.is_alive()


def test_leaving_the_with_block_by_an_interrupt_stops_what_runs():
    with HeldTool() as tool:
        with pytest.raises(KeyboardInterrupt), ToolExecutor() as executor:
            executor.register("stuck", tool, auto_background=0)
            _, told = executor.execute("stuck", {})
            raise KeyboardInterrupt
        assert executor.tasks.get(told["task_id"]).status is TaskStatus.CANCELLED


# A store or a system that fails --------------------------------------------------------------------------------------


def test_a_store_that_cannot_take_the_task_does_not_lose_the_call(monkeypatch, caplog):
    def full(self, *args, **options):
        tool.go_on()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(TaskTable, "add", full)
    executor = ToolExecutor()
    tool = HeldTool("whole")
    executor.register("slow", tool, auto_background=0.02)
    assert executor.execute("slow", {}) == (True, "whole")
    assert "No space left" in caplog.text
    executor.shutdown()


def test_a_system_without_threads_left_is_an_answer(monkeypatch):
    def no_thread(self):
        raise RuntimeError("can't start new thread")

    executor = ToolExecutor()
    executor.register("worker", lambda args: 1, timeout=5)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", no_thread)
        ok, told = executor.execute("worker", {})
        assert not ok
        assert told["unavailable"] is True
    assert executor.execute("worker", {}) == (True, 1)
    executor.shutdown()


def test_a_time_limit_that_cannot_have_its_thread_now_is_kept_later(monkeypatch, caplog):
    executor = ToolExecutor()
    start = threading.Thread.start

    def no_deadlines(self):
        if self.name == "executor-deadlines":
            raise RuntimeError("can't start new thread")
        start(self)

    with HeldTool() as tool:
        executor.register("stuck", tool, auto_background=0, timeout=0.05)
        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", no_deadlines)
            ok, first = executor.execute("stuck", {})
            assert ok
        _, second = executor.execute("stuck", {})
        assert ended(executor, second["task_id"]).status is TaskStatus.TIMEOUT
        assert ended(executor, first["task_id"]).status is TaskStatus.TIMEOUT
    executor.shutdown()


def test_an_unknown_task_is_an_error_that_names_it(executor):
    with pytest.raises(TaskNotFoundError, match="local_nothing"):
        executor.tasks.get("local_nothing")


# Interrupted ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("where", "threshold"), [("add", 0), ("hand_over", 0), ("hand_over", 0.05), ("start", 0.05), ("tell", 0)]
)
def test_ctrl_c_during_a_hand_over_takes_no_place_from_later_tasks(monkeypatch, where, threshold):
    """The waiting thread is interrupted while the store takes its time; nobody was given the id."""
    with ToolExecutor(max_background_tasks=1) as executor, HeldTool() as tool:
        executor.register("slow", tool, auto_background=threshold)
        executor.register("quick", lambda args: 1)
        table = engine_of(executor.tasks)

        def interrupt(*_, **__):
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            owner = {"add": type(table.durable), "hand_over": Job}.get(where, TaskTable)
            patched.setattr(owner, where, interrupt)
            with pytest.raises(KeyboardInterrupt):
                executor.execute("slow")
        assert executor.tasks.open_count() == 0
        assert executor.tasks.live() == []
        ended(executor, executor.start(ToolCall("1", "quick")).task_id)


def test_ctrl_c_while_the_end_of_a_stopped_task_is_stored_does_not_keep_it_from_ending(executor, monkeypatch, caplog):
    with HeldTool() as tool:
        executor.register("slow", tool, auto_background=0)
        _, told = executor.execute("slow")

        def interrupt(*_):
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(StoreThread, "wait", interrupt)  # the end is in its queue by then
            executor.tasks.cancel(told["task_id"])
        assert ended(executor, told["task_id"]).status is TaskStatus.CANCELLED
    assert "may not be on the disk yet" in caplog.text
    assert executor.tasks.open_count() == 0
    assert executor.shutdown(timeout=SECONDS)


@pytest.mark.parametrize("subscribed", [False, True])
def test_whoever_is_told_of_the_end_of_a_task_may_shut_the_executor_down(executor, subscribed):
    ended, told = [], threading.Event()

    def shut_down(_):
        ended.append(executor.shutdown())
        told.set()

    executor.register("tool", lambda args: None, auto_background=0)
    if subscribed:
        executor.tasks.subscribe(shut_down)
    executor.call(ToolCall("1", "tool"), on_done=None if subscribed else shut_down)
    assert told.wait(SECONDS), "it waits for itself"
    assert ended == [True]
