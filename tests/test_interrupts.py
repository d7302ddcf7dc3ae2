"""A Ctrl-C at each step of a call, a task or a stop: nobody holds a place afterwards, waits for ever, or is lost."""

from __future__ import annotations

import concurrent.futures
import os
import sys
import threading
import time
from contextlib import nullcontext
from pathlib import Path

import pytest

import executor
from executor import CancelToken, ToolCall, ToolExecutor, current_call
from executor.errors import ToolFailedError
from executor.tasks import TaskManager
from executor.tasks._manager import engine_of

SECONDS = 5
LOOKED_AT = (str(Path(executor.__file__).parent), concurrent.futures._base.__file__)
CALL = ToolCall("1", "held", {})


class Interrupt:
    """
    Raises KeyboardInterrupt in this thread at the step with a number: as a function of ours, or of futures, is
    entered or left, or one of C that it calls has come back. Those are the places at which Python looks for signals.
    """

    def __init__(self, number):
        self.left, self.where = number, None

    def __enter__(self):
        sys.setprofile(self._step)

    def __exit__(self, *_):
        sys.setprofile(None)

    def _step(self, frame, event, _arg):
        code = frame.f_code
        if event not in {"call", "return", "c_return"} or not code.co_filename.startswith(LOOKED_AT):
            return
        self.left -= 1
        if self.left == 0:
            sys.setprofile(None)
            self.where = f"{event} at {code.co_qualname}, line {frame.f_lineno} of {os.path.basename(code.co_filename)}"
            raise KeyboardInterrupt


def interrupts(act, least):
    """*act* again and again, each time interrupted one step later, until it comes to its end."""
    act(nullcontext())  # what is needed is imported
    number = 0
    while True:
        number += 1
        interrupt = Interrupt(number)
        try:
            act(interrupt)
        except (KeyboardInterrupt, ToolFailedError):  # of a stream it may be the tool's
            pass
        except RuntimeError as error:  # between the last steps of the wait for a future it is one of these
            if "un-acquired" not in str(error):
                raise
        if interrupt.where is None:
            break
        yield interrupt.where
    assert number > least


def lines(ex):
    made = ex._way.turns._locks
    return {} if made is None else dict(made._lines)


def check_nothing_is_left(ex, where):
    """Soon: what an interrupt has left to another thread may take a moment."""
    workers, table = ex._way.threads.workers, engine_of(ex.tasks)

    def left():
        return (
            set(ex._way.calls),
            set(ex._way.promises._untold),
            set(workers._starting),
            [line for line in lines(ex).values() if line.holders or line.waiting],
            set(workers._blocked),
            [*workers._urgent, *workers._waiting],
            set(table._entered),
            [task for task in list(table.tasks.values()) if not task.status.final],
        )

    _soon(lambda: not any(left()), lambda: (where, left()))


def _soon(holds, told):
    gate = threading.Event()
    end = time.monotonic() + SECONDS
    while not holds() and time.monotonic() < end:
        gate.wait(0.001)  # nobody tells that nothing is left
    assert holds(), told()


ROUTES = {
    "execute": lambda ex: ex.execute("held"),
    "timed": lambda ex: ex.call(CALL, timeout=SECONDS),
    "submitted": lambda ex: ex.submit(CALL).result(SECONDS),
    "many": lambda ex: ex.execute_many([CALL, ToolCall("2", "held", {})]),
    "stream": lambda ex: list(ex.execute_stream("held", adapt=True)),
    "inner": lambda ex: ex.execute("outer"),
    "started": lambda ex: ex.start(CALL),
    "started beside": lambda ex: ex.submit(CALL, background=True).result(SECONDS),
    "handed over": lambda ex: ex.call(ToolCall("4", "slow", {})),
}
quiet = pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning", "ignore:coroutine", "ignore:The start of a job"
)


@pytest.fixture(params=["in memory", "on the disk"])
def tasks(request, tmp_path):
    manager = TaskManager() if request.param == "in memory" else TaskManager.open(tmp_path / "tasks")
    yield manager
    manager.close()


@quiet
@pytest.mark.parametrize("route", ROUTES)
def test_wherever_a_ctrl_c_comes_the_next_call_has_its_turn(route, tasks):
    with ToolExecutor(tasks=tasks) as ex:
        ex.register("held", lambda _: 1, resources=lambda _: ["one"], max_concurrent=2, rate="100000/s")
        ex.register("outer", lambda _: ex.execute("held"), max_concurrent=1)
        ex.register("slow", lambda _: threading.Event().wait(0.004), auto_background=0.002)

        def act(interrupt):
            with interrupt:
                ROUTES[route](ex)

        for where in interrupts(act, 20):
            assert ex.call(CALL, timeout=SECONDS).success, where
            assert ex.call(ToolCall("3", "outer", {}), timeout=SECONDS).success, where
            check_nothing_is_left(ex, where)
        assert ex.shutdown(timeout=SECONDS)


@quiet
def test_wherever_a_ctrl_c_comes_those_that_stood_in_line_behind_have_their_turn(tasks):
    with ToolExecutor(tasks=tasks) as ex:
        behind, told = [], CancelToken()

        def first(_):
            behind[:] = [
                ex.submit(ToolCall("2", "held", {})),
                ex.submit(ToolCall("3", "held", {}), background=True),
                ex.submit(ToolCall("4", "around", {})),
            ]

        ex.register("held", lambda _: 1, resources=lambda _: ["one"])
        ex.register("around", lambda _: ex.execute("held"))
        ex.register("first", first, resources=lambda _: ["one"])

        def act(interrupt):
            behind.clear()
            with interrupt:
                ex.call(ToolCall("1", "first", {}), cancel=told)

        for where in interrupts(act, 100):
            for future in behind:
                assert future.result(SECONDS), where
            check_nothing_is_left(ex, where)


@quiet
@pytest.mark.parametrize("what", ["task", "call"])
def test_wherever_a_ctrl_c_comes_a_stop_is_told_to_all(what, tasks):
    with ToolExecutor(tasks=tasks) as ex:
        ex.register("waits", lambda _: current_call().wait(None))

        def act(interrupt):
            if what == "task":
                task_id = ex.start(ToolCall("1", "waits", {})).task_id
                stop = lambda: tasks.cancel(task_id)
            else:
                stop = ex.submit(ToolCall("1", "waits", {})).cancel
            try:
                with interrupt:
                    stop()
            finally:
                stop()

        for where in interrupts(act, 10):
            check_nothing_is_left(ex, where)
