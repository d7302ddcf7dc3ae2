"""Small parts of the way of a call: options, limits, progress, and what a call came to."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest

from executor.calls._state import CallState
from executor.errors import (
    BackendUnavailableError,
    ExecutionError,
    ExecutorUnavailableError,
    PermissionDeniedError,
    ToolCancelledError,
    ToolFailedError,
    ToolNotFoundError,
    ToolTimeoutError,
)
from executor.run import ProgressEvent
from executor.run._backends import Backends, RunResult
from executor.run._ended import (
    HandedOver,
    error_of,
    outcome_of,
    result_in_any_case,
    result_of,
    run_result_of,
    status_of,
)
from executor.run._failure import fail
from executor.run._limits import count, seconds
from executor.run._normalise import failure_of
from executor.run._options import ORDINARY, Options
from executor.run._progress import Progress
from executor.values import ResultKind, TaskStatus, Tool, ToolBackend

TOOL, LOCAL = Tool("x"), ToolBackend.local("x")


def prepared(timeout=None, threshold=None, backend=LOCAL, *, carrier=False):
    tool = SimpleNamespace(timeout=timeout, auto_background=threshold)
    entry = SimpleNamespace(tool=tool, name="x", plugin_name="own", carrier=carrier)
    return SimpleNamespace(entry=entry, backend=backend, call=SimpleNamespace(secrets=()))


def state():
    return CallState("c1", "x", {}, None)


# Options and limits --------------------------------------------------------------------------------------------------


def test_a_limit_is_the_callers_else_the_tools_else_the_usual_one():
    assert Options(1.0).limit(prepared(2.0), 3.0) == 1.0
    assert Options().limit(prepared(2.0), 3.0) == 2.0
    assert Options().limit(prepared(), 3.0) == 3.0
    assert Options().limit(prepared(), None) is None


def test_a_call_goes_to_the_background_past_its_tools_threshold_unless_the_caller_says_otherwise():
    assert Options().threshold(prepared(threshold=2.0), None) == 2.0
    assert Options().threshold(prepared(), None) is None
    assert Options(background=True).threshold(prepared(threshold=2.0), None) == 0.0
    assert Options(background=True).threshold(prepared(), None) == 0.0
    assert Options(background=False).threshold(prepared(threshold=2.0), None) is None


def test_what_is_given_up_before_its_threshold_never_goes_there():
    own = prepared(threshold=2.0)
    assert [Options().threshold(own, limit) for limit in (1.0, 2.0, 2.5)] == [None, None, 2.0]


def test_options_that_leave_everything_to_the_tool_are_plain():
    assert ORDINARY.plain
    assert Options(background=False).plain
    assert not Options(1.0).plain
    assert not Options(background=True).plain
    assert not Options(away=True).plain


def test_a_time_limit_is_a_number_above_nothing():
    assert seconds(None) is None
    assert seconds(math.inf) is None
    assert (seconds(1), seconds(0.5)) == (1, 0.5)
    for bad in (0, -1, math.nan, True, "3", 0.0):
        with pytest.raises(ValueError, match=r"pause is .*, not a number of seconds above 0"):
            seconds(bad, "pause")


def test_a_number_of_things_is_whole_and_has_a_least():
    assert count(0, "most") == 0
    assert count(1, "most", least=1) == 1
    for bad in (-1, 1.0, True, "1"):
        with pytest.raises(ValueError, match=r"most is .*, not a whole number from 0 on"):
            count(bad, "most")
    with pytest.raises(ValueError, match="from 2 on"):
        count(1, "most", 2)


# Progress ------------------------------------------------------------------------------------------------------------


def test_progress_never_goes_back_and_ends_at_the_whole():
    told = []
    progress = Progress(told.append, 4)
    progress.started()
    progress.notify(3, 5, "on")
    progress.notify(2, 5, "less")
    progress.ended(None)
    assert told == [
        ProgressEvent(0.0, 4, "started"), ProgressEvent(3, 5, "on"), ProgressEvent(3, 5, "less"),
        ProgressEvent(5, 5, "completed"),
    ]  # fmt: skip


@pytest.mark.parametrize(("done", "total", "whole"), [(7, 5, 7), (3, None, 3), (0, None, 1), (0.5, 0, 1)])
def test_the_whole_is_at_least_what_was_reached(done, total, whole):
    told = []
    progress = Progress(told.append)
    progress.notify(done, total, None)
    progress.ended(None)
    assert told[-1] == ProgressEvent(whole, whole, "completed")


def test_what_fails_ends_where_it_got_to():
    for error, message in ((ToolCancelledError("x"), "cancelled"), (ValueError("x"), "error")):
        told = []
        progress = Progress(told.append)
        progress.notify(2, 5, None)
        progress.ended(error)
        assert told[-1] == ProgressEvent(2, 5, message)


def test_who_watches_and_raises_is_left_out(caplog):
    told = []

    def bad(event):
        told.append(event)
        raise ValueError("no")

    progress = Progress(bad)
    progress.started()
    progress.ended(None)
    assert told == [ProgressEvent(0, 1, "started")]
    assert "left out" in caplog.text
    Progress(None).started()


# What a call came to -------------------------------------------------------------------------------------------------

FAILED = RunResult(TOOL, LOCAL, "broken", is_error=True)
DENIED = PermissionDeniedError("no", info={"decision": "denied"})


def test_a_call_that_was_handed_over_says_how_to_go_on():
    start, late = HandedOver("t1", prepared(), None), HandedOver("t1", prepared(), 2.0)
    told = {"task_id": "t1", "plugin_name": "own", "tool_name": "x"}
    then = "Use task_id 't1' to check status and output."
    assert start.told() == {**told, "message": f"Started in the background. {then}"}
    assert late.told() == {
        "auto_backgrounded": True,
        **told,
        "threshold_seconds": 2.0,
        "message": f"Task exceeded 2s threshold, continuing in background. {then}",
    }


@pytest.mark.parametrize(
    ("ended", "kind", "status"),
    [
        (RunResult(TOOL, LOCAL, 1), "ok", "completed"),
        (FAILED, "failed", "failed"),
        (DENIED, "denied", None),
        (ToolTimeoutError("x"), "timed_out", "timeout"),
        (ToolCancelledError("x"), "cancelled", "cancelled"),
        (ValueError("x"), "failed", "failed"),
    ],
)
def test_kind_and_state_of_what_a_call_came_to(ended, kind, status):
    call = state()
    call.permission = {"decision": "allowed"}
    result = result_of(ended, call)
    assert result.kind == kind
    assert result.call_id == "c1"
    assert result.success is (kind == "ok")
    assert outcome_of(ended, call)[0] is (kind == "ok")
    assert (error_of(ended) is None) is (kind == "ok")
    assert status is None or status_of(ended) is TaskStatus(status)


def test_a_call_that_was_handed_over_is_no_failure():
    handed = HandedOver("t1", prepared(), None)
    result = result_of(handed, state())
    assert (result.kind, result.task_id, result.success) == (ResultKind.BACKGROUNDED, "t1", True)
    assert result.value == handed.told()
    assert error_of(handed) is None
    assert result_in_any_case(RunResult(TOOL, LOCAL, 1), state(), task_id="t2")[1].task_id == "t2"


def test_the_run_layer_gives_results_and_raises_errors():
    result = RunResult(TOOL, LOCAL, 1)
    assert run_result_of(result) is result
    with pytest.raises(ToolTimeoutError):
        run_result_of(ToolTimeoutError("x"))
    with pytest.raises(AssertionError):
        run_result_of(HandedOver("t1", prepared(), None))


@pytest.mark.parametrize(
    ("result", "message", "held"),
    [
        (RunResult(TOOL, LOCAL, {"a": 1}, is_error=True), '{"a":1}', {"a": 1}),
        (RunResult(TOOL, LOCAL, None, is_error=True),
         "The tool answered with an error and said nothing about it", None),
        (RunResult(TOOL, LOCAL, "x", ({"type": "text", "text": "a"}, {"type": "text", "text": "b"}), is_error=True),
         "a\nb", "x"),
        (RunResult(TOOL, LOCAL, "said", ({"type": "text", "text": "said"},), object(), is_error=True), "said", None),
        (RunResult(TOOL, LOCAL, [1], (), object(), is_error=True), "[1]", [1]),
    ],
)  # fmt: skip
def test_an_answer_that_is_an_error_says_what_it_says(result, message, held):
    error = failure_of(result)
    assert (error.message, error.tool_id, error.backend, error.result) == (message, "x", LOCAL, held)


# What comes out of a backend -----------------------------------------------------------------------------------------

MCP = ToolBackend.mcp("server", "x")


@pytest.mark.parametrize(
    ("error", "backend", "carrier", "raised"),
    [
        (ValueError("v"), LOCAL, False, ToolFailedError),
        (OSError("v"), LOCAL, False, ToolFailedError),
        (SystemExit("v"), MCP, False, ToolFailedError),
        (ValueError("v"), MCP, False, ExecutionError),
        (OSError("v"), MCP, False, BackendUnavailableError),
        (ExecutorUnavailableError("v"), LOCAL, False, ToolFailedError),
        (ToolNotFoundError("v"), LOCAL, False, ToolFailedError),
        (ToolNotFoundError("v"), MCP, False, ToolNotFoundError),
        (ToolNotFoundError("v"), LOCAL, True, ToolNotFoundError),
        (ToolTimeoutError("v"), LOCAL, False, ToolTimeoutError),
    ],
)
def test_an_error_becomes_the_one_of_its_kind(error, backend, carrier, raised):
    with pytest.raises(BaseException) as caught:
        fail(error, prepared(backend=backend, carrier=carrier))
    found = caught.value
    assert type(found) is raised
    assert found is error or found.__cause__ is error
    assert (found.tool_id, found.backend) == ("x", backend)


def test_an_error_that_says_where_it_happened_goes_on_saying_so():
    error = ExecutionError("v", tool_id="inner", backend=MCP)
    with pytest.raises(ExecutionError):
        fail(error, prepared())
    assert (error.tool_id, error.backend) == ("inner", MCP)


def test_backends_of_plugins_are_used_where_nobody_configured_any():
    own, other = object(), object()
    assert Backends(mcp=own).with_others({"mcp": other, "provider": other}) == Backends(None, own, other)
    assert Backends(provider=own).with_others({"provider": other}) == Backends(None, None, own)
    assert Backends(local=own).with_others({}) == Backends(own)
