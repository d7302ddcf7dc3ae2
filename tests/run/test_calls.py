"""Time limits, cancellation, progress and batches of single calls; and that nothing of them stays behind."""

from __future__ import annotations

import copy
import dataclasses
import gc
import pickle
import threading

import pytest

from executor import CancelToken, ToolCall, ToolExecutor, current_call, errors
from executor.calls._current import CurrentCall
from executor.calls._token import source_of
from executor.run import ProgressEvent, Runner, Tool, ToolBackend
from executor.testing import Answer, HeldTool, StubBackend, StubIndex

# Time limits and cancellation ----------------------------------------------------------------------------------------


def test_a_handler_that_ignores_its_deadline_does_not_turn_into_a_success(runner_of):
    with HeldTool("late") as deaf:
        runner = runner_of({"deaf": deaf})
        with pytest.raises(errors.ToolTimeoutError, match=r"deaf timed out after 0\.02 s") as caught:
            runner.run("deaf", timeout=0.02)
    assert caught.value.tool_id == "deaf"
    assert deaf.calls == 1


def test_a_handler_that_heeds_its_deadline_ends_in_the_same_error(runner_of):
    def heed(args):
        current_call().wait(30)
        raise TimeoutError("I gave up")

    with pytest.raises(errors.ToolTimeoutError):
        runner_of({"heed": heed}).run("heed", timeout=0.02)


def test_a_tools_own_time_limit_holds_unless_the_caller_has_another(runner_of):
    with HeldTool() as held:
        runner = runner_of({"held": held}, options={"held": {"timeout": 0.02}})
        with pytest.raises(errors.ToolTimeoutError, match=r"0\.02"):
            runner.run("held")
        with pytest.raises(errors.ToolTimeoutError, match=r"0\.03"):
            runner.run("held", timeout=0.03)


def test_the_wait_for_a_cancelled_call_ends_at_once_heeded_or_not(runner_of):
    token = CancelToken()
    with HeldTool() as held:
        runner = runner_of({"held": held})
        threading.Thread(target=lambda: held.started.wait(10) and token.cancel("enough")).start()
        with pytest.raises(errors.ToolCancelledError, match="enough"):
            runner.run("held", cancel=token)


def test_a_token_cancelled_before_calls_nothing(runner_of):
    token, called = CancelToken(), []
    token.cancel()
    with pytest.raises(errors.ToolCancelledError):
        runner_of({"x": called.append}).run("x", cancel=token)
    assert called == []


def test_a_call_inside_a_call_is_stopped_with_it(runner_of):
    stopped, token = threading.Event(), CancelToken()

    def inner(args):
        token.cancel("enough")
        if current_call().wait(30):
            stopped.set()

    functions = {"inner": inner, "outer": lambda args: runner.run("inner")}
    runner = runner_of(functions)
    with pytest.raises(errors.ToolCancelledError, match="enough"):
        runner.run("outer", cancel=token)
    assert stopped.wait(10)


@pytest.mark.parametrize("limit", [0, -1, "5", True, float("nan")])
def test_a_time_limit_that_is_none_is_refused(runner_of, limit):
    with pytest.raises(ValueError, match="timeout"):
        runner_of({"x": lambda args: 1}).run("x", timeout=limit)


def test_an_endless_time_limit_is_no_time_limit(runner_of):
    assert runner_of({"x": lambda args: current_call().remaining}).run("x", timeout=float("inf")).structured is None


def test_a_runner_that_is_closed_says_so(runner_of):
    runner = runner_of({"x": lambda args: 1})
    runner.run("x", timeout=10)
    runner.close()
    with pytest.raises(errors.ExecutorUnavailableError):
        runner.run("x", timeout=10)


def test_ten_thousand_cancelled_calls_leave_nothing_behind():
    now = {}

    def work(args):
        now["token"].cancel()
        yield current_call().wait(30)

    before = threading.active_count()
    with Runner(StubIndex([Tool("ended")]), local={"ended": work}) as runner:
        for number in range(10_000):
            token = now["token"] = CancelToken()
            if number % 2:
                with pytest.raises(errors.ToolCancelledError):
                    runner.run("ended", cancel=token, timeout=60)
            else:
                (end,) = runner.run_stream("ended", cancel=token, timeout=60)
                assert isinstance(end.error, errors.ToolCancelledError)
        assert runner.way.threads.workers.count <= 8
    assert runner.way.threads.workers.close(10)
    assert runner.way.threads.deadlines._heap == []
    assert not source_of(token).functions
    del end, token, now["token"]  # an error holds the frames it came through
    gc.collect()
    assert [thing for thing in gc.get_objects() if type(thing) is CurrentCall and thing.name == "ended"] == []
    assert threading.active_count() <= before + 1  # the thread that keeps deadlines may be about to end


# Progress ------------------------------------------------------------------------------------------------------------


def run_with_progress(runner, name, **options):
    told = []
    try:
        runner.run_with_progress(name, None, told.append, **options)
    except errors.ToolError as error:
        return [(event.progress, event.total, event.message) for event in told], type(error)
    return [(event.progress, event.total, event.message) for event in told], None


def test_a_call_tells_when_it_starts_and_when_it_is_completed(runner_of):
    runner = runner_of({"x": lambda args: 1})
    assert run_with_progress(runner, "x") == ([(0, 1, "started"), (1, 1, "completed")], None)
    assert runner.run_with_progress("x").structured == 1


def test_what_the_tool_says_is_passed_on_and_never_goes_back(runner_of):
    def work(args):
        current_call().progress(3, 10, "three")
        current_call().progress(2, 10, "two")
        current_call().progress(5)

    told, _ = run_with_progress(runner_of({"x": work}), "x")
    assert told == [(0, 1, "started"), (3, 10, "three"), (3, 10, "two"), (5, None, None), (5, 5, "completed")]


def test_a_failure_is_told_where_it_happened(runner_of):
    def work(args):
        current_call().progress(3, 10)
        raise ValueError

    runner = runner_of({"x": work})
    assert run_with_progress(runner, "x")[0][-1] == (3, 10, "error")
    assert run_with_progress(runner, "") == ([(0, 1, "started"), (0, 1, "error")], errors.InvalidToolIdError)


def test_a_cancelled_call_says_cancelled(runner_of):
    token = CancelToken()
    told, kind = run_with_progress(runner_of({"x": lambda args: token.cancel()}), "x", cancel=token)
    assert (told[-1], kind) == ((0, 1, "cancelled"), errors.ToolCancelledError)


def test_the_progress_of_a_server_is_passed_on(remote):
    class Server(StubBackend):
        def call_tool(self, *where, on_progress, **options):
            on_progress(1, 2, "half")
            return Answer.text("no", is_error=True)

    told, _ = run_with_progress(remote("mcp", Server()), "x")
    assert told == [(0, 1, "started"), (1, 2, "half"), (1, 2, "error")]


def test_a_progress_callback_that_raises_is_left_out_and_said(runner_of, caplog):
    def broken(event):
        raise RuntimeError("no screen")

    assert runner_of({"x": lambda args: 1}).run_with_progress("x", None, broken).structured == 1
    assert caplog.text.count("no screen") >= 1


# Batches -------------------------------------------------------------------------------------------------------------


def calls_of(*names):
    return [ToolCall(f"c{number}", name, {"n": number}) for number, name in enumerate(names)]


def test_a_batch_is_answered_in_the_order_of_its_calls_and_one_failure_stops_no_other(runner_of):
    runner = runner_of({"ok": lambda args: args["n"], "fail": lambda args: 1 / 0})
    records = runner.run_many(calls_of("ok", "fail", "nobody", "ok"))
    assert [(record.name, record.place, record.value) for record in records] == [
        ("c0", 0, 0),
        ("c1", 1, None),
        ("c2", 2, None),
        ("c3", 3, 3),
    ]
    assert [type(record.error) for record in records] == [
        type(None),
        errors.ToolFailedError,
        errors.ToolNotFoundError,
        type(None),
    ]
    assert runner.run_many([]) == []


def test_records_come_as_soon_as_they_are_there(runner_of):
    with HeldTool("last") as held:
        runner = runner_of({"held": held, "ok": lambda args: "first"})
        records = runner.as_completed(calls_of("held", "ok"))
        assert next(records).value == "first"
        held.go_on()
        assert next(records).value == "last"
        assert next(records, None) is None


def test_closing_a_batch_early_stops_what_still_runs(runner_of):
    started, stopped = threading.Event(), threading.Event()

    def patient(args):
        started.set()
        if current_call().wait(30):
            stopped.set()

    runner = runner_of({"patient": patient, "ok": lambda args: started.wait(10)})
    records = runner.as_completed(calls_of("patient", "ok"))
    next(records)
    records.close()
    assert stopped.wait(10)


def test_a_batch_keeps_to_its_bound_and_its_time(runner_of):
    lock, now, most = threading.Lock(), [], []
    pair = threading.Barrier(3)

    def work(args):
        with lock:
            now.append(1)
            most.append(len(now))
        pair.wait(10)
        with lock:
            now.pop()

    runner = runner_of({"work": work, "slow": lambda args: current_call().wait(30)})
    runner.run_many(calls_of(*["work"] * 9), 3)
    assert max(most) == 3
    (record,) = runner.run_many(calls_of("slow"), timeout=0.02)
    assert isinstance(record.error, errors.ToolTimeoutError)


@pytest.mark.parametrize("bound", [0, -1, "2", 1.5, True])
def test_a_bound_that_is_none_is_refused(runner_of, bound):
    runner = runner_of({"x": lambda args: 1})
    with pytest.raises(ValueError, match="max_concurrency"):
        runner.run_many(calls_of("x"), bound)
    with pytest.raises(ValueError, match="max_concurrency"):
        next(runner.as_completed(calls_of("x"), bound))


def test_a_cancelled_batch_answers_every_call(runner_of):
    token, ran = CancelToken(), []

    def work(args):
        ran.append(args["n"])
        token.cancel("enough")

    records = runner_of({"work": work}).run_many(calls_of(*["work"] * 5), 1, cancel=token)
    assert [type(record.error) for record in records] == [errors.ToolCancelledError] * 5
    assert ran == [0]


def test_a_batch_inside_a_batch_does_not_wait_for_itself():
    with ToolExecutor(max_workers=2) as executor:
        executor.register("leaf", lambda args: args["n"])
        executor.register("branch", lambda args: [r.value for r in executor.execute_many(calls_of("leaf", "leaf"))])
        results = executor.execute_many(calls_of(*["branch"] * 4))
        assert [result.value for result in results] == [[0, 1]] * 4


# Sources of tools ----------------------------------------------------------------------------------------------------


def test_an_index_that_knows_the_tool_but_not_where_it_runs_is_not_asked_elsewhere():
    asked = []

    class Index(StubIndex):
        def get_all_backends(self, tool_id):
            raise errors.ToolNotFoundError(tool_id)

    runner = Runner(
        Index([Tool("x")]),
        tool_resolver=lambda tool_id: None,
        backends_resolver=lambda tool_id: asked.append(tool_id) or [ToolBackend.local("x")],
        local={"x": lambda args: 1},
    )
    with pytest.raises(errors.NoBackendsError) as caught:
        runner.run("x")
    assert caught.value.op == "resolve"
    assert asked == []


@pytest.mark.parametrize("part", ["get_tool", "get_all_backends", "tool_resolver", "backends_resolver"])
def test_a_source_that_fails_is_passed_on_as_itself(part):
    down = ConnectionError("the database is down")

    def fail(tool_id):
        raise down

    index = StubIndex([Tool("x")])
    if part.startswith("get"):
        setattr(index, part, fail)
        runner = Runner(index, tool_resolver=lambda tool_id: Tool("x"), local={"x": lambda args: 1})
    else:
        resolvers = {
            "tool_resolver": lambda tool_id: Tool("x"),
            "backends_resolver": lambda tool_id: [ToolBackend.local("x")],
        }
        runner = Runner(**{**resolvers, part: fail}, local={"x": lambda args: 1})
    with pytest.raises(ConnectionError) as caught:
        runner.run("x")
    assert caught.value is down


def test_a_tool_that_changes_in_its_index_changes_in_the_runner():
    tools = {"x": Tool("x", {"required": ["a"]})}

    class Index(StubIndex):
        def get_tool(self, tool_id):
            return tools[tool_id]

    runner = Runner(Index([]), local={"x": lambda args: 1})
    with pytest.raises(errors.InvalidArgumentsError):
        runner.run("x")
    tools["x"] = Tool("x")
    assert runner.run("x").structured == 1


def test_progress_events_are_values():
    event = ProgressEvent(1)
    assert (event.progress, event.total, event.message) == (1, None, None)
    assert event == ProgressEvent(1) != ProgressEvent(2)
    assert pickle.loads(pickle.dumps(event)) == copy.deepcopy(event) == event
    with pytest.raises(dataclasses.FrozenInstanceError):
        event.progress = 2
