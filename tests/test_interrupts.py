"""A Ctrl-C at each step of a call that stands in line: afterwards nobody holds a place, the next call has its own."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import executor
from executor import ToolCall, ToolExecutor
from executor.errors import ToolFailedError

PACKAGE = str(Path(executor.__file__).parent)
CALL = ToolCall("1", "held", {})
ROUTES = {
    "execute": lambda ex: ex.execute("held"),
    "timed": lambda ex: ex.call(CALL, timeout=20),
    "submitted": lambda ex: ex.submit(CALL).result(20),
    "many": lambda ex: ex.execute_many([CALL, ToolCall("2", "held", {})]),
    "stream": lambda ex: list(ex.execute_stream("held", adapt=True)),
    "inner": lambda ex: ex.execute("outer"),
}


class Interrupt:
    """Raises KeyboardInterrupt in this thread as the function of ours with a number is entered, or is left."""

    def __init__(self, number, event):
        self.left, self.event, self.where = number, event, None

    def __enter__(self):
        sys.settrace(self._entered)

    def __exit__(self, *_):
        sys.settrace(None)

    def _entered(self, frame, _event, _arg):
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        if self.event == "call":
            self._count(frame)
        return self._inside if self.event == "return" else None

    def _inside(self, frame, event, _arg):
        frame.f_trace_lines = False
        if event == "return":
            self._count(frame)
        return self._inside

    def _count(self, frame):
        self.left -= 1
        if self.left == 0:
            sys.settrace(None)
            self.where = f"{frame.f_code.co_qualname} of {frame.f_code.co_filename}"
            raise KeyboardInterrupt


def lines(ex):
    made = ex._way._turns._locks
    return {} if made is None else dict(made._lines)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore:coroutine")
@pytest.mark.parametrize("event", ["call", "return"])
@pytest.mark.parametrize("route", ROUTES)
def test_wherever_a_ctrl_c_comes_the_next_call_has_its_turn(route, event):
    with ToolExecutor() as ex:
        ex.register("held", lambda _: 1, resources=lambda _: ["one"], max_concurrent=2, rate="100000/s")
        ex.register("outer", lambda _: ex.execute("held"), max_concurrent=1)
        ROUTES[route](ex)  # what is needed is imported
        number = 0
        while True:
            number += 1
            interrupt = Interrupt(number, event)
            try:
                with interrupt:
                    ROUTES[route](ex)
            except (KeyboardInterrupt, ToolFailedError):  # of a stream it may be the tool's
                pass
            if interrupt.where is None:
                break
            assert ex.call(CALL, timeout=20).success, interrupt.where
            assert ex.call(ToolCall("3", "outer", {}), timeout=20).success, interrupt.where
        assert number > 20
        ex.shutdown()
        assert not any(line.holders or line.waiting for line in lines(ex).values())
