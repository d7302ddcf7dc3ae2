"""A Stop that a signal handler presses, wherever it interrupts the main thread."""

from __future__ import annotations

import signal
import sys

import pytest

from executor import CancelToken, ToolCall, ToolExecutor, current_call

SECONDS = 20.0
# Functions that are called while a lock is held which the stop of another call needs, too.
UNDER_A_LOCK = [("calls/_locks.py", "_enter"), ("calls/_locks.py", "_grant"), ("threads/_workers.py", "_wake")]


@pytest.mark.parametrize(("file", "function"), UNDER_A_LOCK, ids=lambda text: text.rpartition("/")[2])
def test_a_handler_that_says_stop_does_not_wait_for_what_it_has_interrupted(file, function):
    token, pressed = CancelToken(), []

    def trace(frame, event, arg):
        code = frame.f_code
        if not pressed and code.co_filename.endswith(file) and code.co_name == function:
            pressed.append(function)
            sys.settrace(None)
            signal.raise_signal(signal.SIGUSR1)
        return trace

    with ToolExecutor() as executor:
        executor.register("hold", lambda a: current_call().token.wait(SECONDS), resources=lambda a: ["x"])
        executor.register("work", lambda a: 1, resources=lambda a: ["y"], timeout=SECONDS)
        holds, waits = (executor.submit(ToolCall(name, "hold", {}), cancel=token) for name in ("holds", "waits"))
        executor.execute("work")  # there is a worker that can be woken
        before, outer = signal.signal(signal.SIGUSR1, lambda *_: token.cancel("the stop button")), sys.gettrace()
        try:
            sys.settrace(trace)
            result = executor.call(ToolCall("it", "work", {}))
        finally:
            sys.settrace(outer)
            signal.signal(signal.SIGUSR1, before)
        assert pressed
        assert result.structured == 1
        assert {holds.result(SECONDS).kind, waits.result(SECONDS).kind} == {"cancelled"}


def test_outside_of_the_engine_a_stop_has_done_its_work_when_it_returns():
    token, told = CancelToken(), []
    token.on_cancel(lambda: told.append(True))
    assert token.cancel() is True
    assert told == [True]  # it was waited for, in a thread of its own: a Ctrl-C does not end it
