"""A call's state, its one end, and the two views of it that are handed out."""

from __future__ import annotations

import contextlib
import gc
import threading
import time

import pytest

from executor import CancelToken, ToolExecutor, current_call, get_current_tool_output_callback
from executor.calls import _state
from executor.calls._current import CurrentCall, token_of
from executor.calls._state import MARK, CallState, CancelSource, current
from executor.calls._token import source_of
from executor.errors import ToolCancelledError, ToolTimeoutError
from executor.values import Tool

SECONDS = 20.0


def state(**settings):
    return CallState("c1", "tool", {"a": 1}, None, **settings)


class Meanwhile:
    """A lock before which something else happens, once."""

    def __init__(self, happens):
        self.happens = happens
        self.seen = []

    def __enter__(self):
        if self.happens is not None:
            happens, self.happens = self.happens, None
            self.seen.append(happens().message)

    def __exit__(self, *_):
        pass


@pytest.fixture
def call():
    """A call that is current."""
    made = state()
    reset = current.set(made)
    yield made
    current.reset(reset)


# The one end ---------------------------------------------------------------------------------------------------------


def test_of_two_that_stop_some_work_the_first_makes_the_difference():
    source = CancelSource()
    assert source.error is None
    assert source.cancel("enough") is True
    assert source.cancel("again") is False
    assert source.stop(ToolTimeoutError("late")) is False
    assert type(source.error) is ToolCancelledError
    assert source.error.message == "enough"
    assert source.end() is source.error


def test_without_a_reason_it_says_that_the_call_was_cancelled():
    source = CancelSource()
    source.cancel()
    assert source.error.message == "The call was cancelled"


def test_the_end_of_stopped_work_leaves_the_functions_to_whoever_stops_it(monkeypatch):
    source, called = CancelSource(), []
    source.call_at_stop(lambda: called.append(True))
    lock = Meanwhile(source.end)
    monkeypatch.setattr(_state, "_lists", lock)
    source.cancel("enough")
    assert (called, lock.seen) == ([True], ["enough"])


def test_work_that_is_over_cannot_be_stopped():
    source, told = CancelSource(), []
    source.on_cancel(lambda: told.append(1))
    assert source.end() is None
    assert source.end() is None
    assert source.cancel() is False
    assert source.error is None
    assert told == []
    assert source.functions is None, "functions of work that is over are kept"


def test_all_are_told_once_in_their_order_and_late_ones_at_once(caplog):
    source, told = CancelSource(), []

    def bad():
        raise SystemExit(3)

    source.on_cancel(lambda: told.append(1))
    source.on_cancel(bad)
    forget = source.on_cancel(lambda: told.append("taken back"))
    source.on_cancel(lambda: told.append(2))
    forget()
    forget()
    source.cancel()
    source.cancel()
    assert told == [1, 2]
    source.on_cancel(lambda: told.append(3))()
    assert told == [1, 2, 3]
    forget()
    assert "SystemExit" in caplog.text


def test_a_stop_is_passed_on_with_its_reason_until_that_is_ended():
    outer, inner, other = CancelSource(), CancelSource(), CancelSource()
    outer.propagate(inner)
    outer.propagate(other).end()
    outer.cancel("the session is over")
    assert inner.error.message == "the session is over"
    assert other.error is None


def test_an_end_that_comes_while_a_stop_is_made_takes_nothing_from_that(monkeypatch):
    source, told = CancelSource(), []
    source.on_cancel(lambda: told.append("stopped"))

    class EndsFirst(contextlib.nullcontext):
        def __enter__(self):
            monkeypatch.undo()
            assert source.end().message == "stop"

    monkeypatch.setattr(_state, "_lists", EndsFirst())
    assert source.cancel("stop") is True
    assert told == ["stopped"]


# The half that is handed out -----------------------------------------------------------------------------------------


def test_a_token_wakes_whoever_waits():
    token, answers = CancelToken(), []
    assert token.wait(0) is False
    assert token.wait(-1) is False
    waiting = threading.Thread(target=lambda: answers.append(token.wait()))
    waiting.start()
    assert token.cancel("stop") is True
    waiting.join(SECONDS)
    assert answers == [True]
    assert token.wait() is True
    assert token.cancelled
    assert token.error.message == "stop"
    assert token.cancel() is False


def test_a_wait_that_is_over_leaves_nothing_in_the_token():
    token = CancelToken()
    token.wait(0)
    assert not source_of(token).functions


def test_the_token_of_a_call_is_one_and_stops_it(call):
    token = token_of(call)
    assert token_of(call) is token
    assert current_call().token is token
    assert source_of(token) is call.source
    token.cancel()
    assert current_call().cancelled


# Output and progress -------------------------------------------------------------------------------------------------


class Sink:
    def __init__(self):
        self.got = []
        self.groups = []

    def append(self, text):
        self.got.append(text)

    def expect_process_group(self):
        return "mark"

    def add_process_group(self, pid, mark=""):
        self.groups.append((pid, mark))


def test_output_goes_to_the_listener_and_the_sink_as_text():
    shown, sink = [], Sink()
    call = state(listener=shown.append)
    call.sink = sink
    for chunk in ("a", b"b\xff", bytearray(b"c"), 4):
        call.emit(chunk)
    assert shown == sink.got == ["a", "b\ufffd", "c", "4"]
    assert call.expect_process_group() == {MARK: "mark"}
    call.add_process_group(77, call.expect_process_group())
    assert sink.groups == [(77, "mark")]
    assert state().expect_process_group() == {}
    state().add_process_group(77)  # nobody keeps it
    call.source.cancel("enough")
    with pytest.raises(ToolCancelledError, match="enough"):
        call.expect_process_group()


@pytest.mark.parametrize("error", [ValueError, SystemExit])
def test_who_is_told_and_raises_is_left_out(error, caplog):
    def bad(*_):
        told.append(1)
        raise error("no")

    told, sink = [], Sink()
    call = state(listener=bad, on_progress=bad)
    call.sink = sink
    for _ in range(2):
        call.emit("x")
        call.progress(1)
    assert len(told) == 2
    assert call.listener is None
    assert call.on_progress is None
    assert sink.got == ["x", "x"]
    assert caplog.text.count("left out") == 2


def test_an_interrupt_in_who_is_told_is_the_callers():
    def interrupted(*_):
        raise KeyboardInterrupt

    call = state(listener=interrupted, on_progress=interrupted)
    with pytest.raises(KeyboardInterrupt):
        call.emit("x")
    with pytest.raises(KeyboardInterrupt):
        call.progress(1)
    assert call.listener is interrupted
    assert call.on_progress is interrupted


def test_progress_never_goes_back():
    told = []
    call = state(on_progress=lambda *reached: told.append(reached))
    call.progress(-1)
    call.progress(2, 4, "half")
    call.progress(1, 4, "less?")
    call.progress(3)
    assert told == [(-1, None, None), (2, 4, "half"), (2, 4, "less?"), (3, None, None)]
    assert call.reached == (3, None, None)


# What is seen of it --------------------------------------------------------------------------------------------------


def test_what_remains_is_never_less_than_nothing():
    call = state()
    assert call.remaining is None
    call.deadline = time.monotonic() + 50
    assert 40 < call.remaining <= 50
    call.deadline = time.monotonic() - 50
    assert call.remaining == 0.0


def test_calls_know_how_deep_they_are():
    outer = state()
    inner = CallState("c2", "tool", {}, None, parent=outer)
    assert (outer.depth, inner.depth) == (0, 1)
    assert CurrentCall(inner).depth == 1


def test_a_call_waits_as_long_as_a_call_that_it_makes():
    outer = state()
    inner, other = (CallState(f"c{n}", "tool", {}, None, parent=outer) for n in (2, 3))
    inner.begin_wait("a file")
    other.begin_wait("a person")
    assert (inner.waiting_for, outer.waiting_for) == ("a file", "c2 (tool), which waits for a file")
    inner.end_wait()
    assert (inner.waiting_for, outer.waiting_for) == (None, "c3 (tool), which waits for a person")
    outer.begin_wait("a place")
    other.end_wait()
    assert (other.waiting_for, outer.waiting_for) == (None, "a place")
    outer.end_wait()
    outer.end_wait()
    assert outer.waiting_for is None


def test_the_current_call_shows_its_state(call):
    call.context, call.permission = {"who": "me"}, {"decision": "allowed"}
    call.begin_wait("a file")
    call.deadline = time.monotonic() + 50
    call.progress(1, 2, "on its way")
    seen = current_call()
    assert seen is current_call()
    assert (seen.id, seen.name, seen.arguments, seen.plugin_name) == ("c1", "tool", {"a": 1}, "local")
    assert (seen.context, seen.permission, seen.waiting_for) == (call.context, call.permission, "a file")
    assert seen.deadline == call.deadline
    assert 40 < seen.remaining <= 50
    assert seen.reached == (1, 2, "on its way")
    assert seen.cancelled is False
    with pytest.raises(RuntimeError, match="is no host"):
        _ = seen.host
    call.host = object()
    assert seen.host is call.host


def test_the_current_call_passes_on_what_the_tool_says(call):
    shown, call.sink = [], Sink()
    call.listener = shown.append
    seen = current_call()
    seen.emit("x")
    get_current_tool_output_callback()("y")
    seen.add_process_group(5)
    assert shown == ["x", "y"]
    assert seen.expect_process_group() == {MARK: "mark"}
    assert call.sink.groups == [(5, "")]
    assert seen.wait(0) is False
    call.source.cancel()
    assert seen.wait() is True


def test_outside_of_a_call_there_is_none():
    assert current_call() is None
    assert get_current_tool_output_callback() is None


def test_what_runs_at_a_stop_has_a_thread_of_its_own_where_there_are_threads(call, caplog):
    aside, ran = [], []
    call.spawn = aside.append
    current_call().on_cancel(lambda: ran.append(1))
    current_call().on_cancel(lambda: ran.append("taken back"))()
    current_call().on_cancel(lambda: 1 / 0)
    call.source.cancel()
    assert ran == []
    for fn in aside:
        fn()
    assert ran == [1]
    assert "ZeroDivisionError" in caplog.text


def test_where_nobody_has_threads_it_has_run_when_the_stop_returns(call):
    ran = []
    current_call().on_cancel(lambda: ran.append(True))
    call.source.cancel()
    assert ran == [True]


def test_a_path_is_answered_once_for_each_way_of_asking(call, tmp_path):
    seen = current_call()
    (tmp_path / "real").mkdir()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "real")
    assert seen.resolve_path("link", base=tmp_path) == tmp_path / "real"
    assert seen.resolve_path("link", base=tmp_path, entry=True) == link
    assert seen.resolve_path("link", base=tmp_path / "real") == tmp_path / "real" / "link"
    link.unlink()
    assert seen.resolve_path("link", base=tmp_path) == tmp_path / "real"


def test_a_relative_path_starts_in_the_folder_of_the_tool(call, tmp_path):
    call.tool = Tool("t", folder=str(tmp_path))
    assert current_call().resolve_path("a") == tmp_path / "a"
    assert current_call().resolve_path("a", base=tmp_path / "b") == tmp_path / "b" / "a"


def test_a_thread_of_the_call_sees_the_call(call):
    seen = []
    thread = current_call().run_in_thread(lambda: seen.append(current_call()))
    thread.join(SECONDS)
    assert seen == [current_call()]
    assert thread.daemon
    assert thread.name == "executor-tool-c1"


def test_a_call_that_is_over_is_freed_without_the_garbage_collector():
    calls = 300
    with ToolExecutor() as executor:
        executor.register("look", lambda args: current_call().id)
        executor.execute("look", {})
        gc.collect()
        gc.disable()
        try:
            for _ in range(calls):
                executor.execute("look", {})
            assert gc.collect() < calls  # of other threads there may be something
        finally:
            gc.enable()
