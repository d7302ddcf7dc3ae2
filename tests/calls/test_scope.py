"""The two ways through the steps of a call: a thread that waits at each pause, and none."""

from __future__ import annotations

import contextvars
import threading
from concurrent.futures import Future

import pytest

from executor import CancelToken
from executor.calls._scope import Blocking, Submitted, UntilStopped, block, link, unlink
from executor.calls._state import CallState, current
from executor.calls._token import source_of
from executor.errors import ExecutorUnavailableError, ToolCancelledError
from executor.threads._workers import Workers

SECONDS = 20.0
variable = contextvars.ContextVar("variable", default="")


def state(parent=None):
    return CallState("c1", "tool", {}, None, parent=parent)


@pytest.fixture
def workers():
    made = Workers(warm=1, limit=2)
    yield made
    assert made.close(SECONDS)


class Given:
    """A pause that the test ends."""

    def __init__(self, value=None, error=None, *, quick=False):
        self.value, self.error, self.quick = value, error, quick
        self.resumes = []

    def block(self):
        if self.error is not None:
            raise self.error
        return self.value

    def then(self, resume):
        self.resumes.append(resume)


def collected(*pauses):
    """Steps that return what each pause gave, its errors too."""
    found = []
    for pause in pauses:
        try:
            found.append((yield pause))
        except Exception as error:
            found.append(error)
    return found


# A thread that waits -------------------------------------------------------------------------------------------------


def test_a_thread_gives_the_steps_what_each_pause_came_to():
    error = ValueError("no")
    assert block(collected(Given(1), Given(error=error), Given(2))) == [1, error, 2]


def test_what_the_steps_raise_comes_out():
    with pytest.raises(KeyboardInterrupt):
        block(collected(Given(error=KeyboardInterrupt())))


# No thread that waits ------------------------------------------------------------------------------------------------


def submitted(workers, steps, call=None):
    future = Future()
    reset = current.set(call or state())
    try:
        Submitted(steps, workers, future.set_result).go()
    finally:
        current.reset(reset)
    return future


def test_steps_go_on_on_a_worker_when_their_pause_is_over(workers):
    threads, pauses = [], [Given(), Given()]

    def steps():
        for pause in pauses:
            threads.append(threading.get_ident())
            yield pause
        threads.append(threading.get_ident())
        return "done"

    future = submitted(workers, steps())
    (first,) = pauses[0].resumes
    assert not future.done()
    reached = threading.Event()
    pauses[1].then = lambda resume: (pauses[1].resumes.append(resume), reached.set())
    first(None, None)
    assert reached.wait(SECONDS)
    assert not future.done()
    pauses[1].resumes[0](None, None)
    assert future.result(SECONDS) == "done"
    assert threads[0] == threading.get_ident()
    assert threading.get_ident() not in threads[1:]


def test_a_worker_that_ends_a_pause_goes_on_itself(workers):
    pause, threads, ended = Given(), [], threading.Event()

    def steps():
        yield pause
        threads.append(threading.get_ident())

    def end():
        threads.append(threading.get_ident())
        pause.resumes[0](None, None)
        ended.set()

    future = submitted(workers, steps())
    workers.submit(end)
    assert future.result(SECONDS) is None
    assert ended.wait(SECONDS)
    assert threads[0] == threads[1]


@pytest.mark.parametrize("error", [None, ValueError("no")])
def test_what_quickly_leads_to_the_next_pause_is_done_by_whoever_ends_it_unless_it_failed(workers, error):
    pause, threads = Given(quick=True), []

    def steps():
        try:
            yield pause
        except ValueError:
            threads.append(error)
        threads.append(threading.get_ident())

    future = submitted(workers, steps())
    pause.resumes[0](None, error)
    assert future.result(SECONDS) is None
    assert (threads[-1] == threading.get_ident()) is (error is None)
    assert threads[:-1] == [each for each in (error,) if each is not None]


def test_the_call_is_current_in_all_steps_and_their_variables_are_the_callers(workers):
    call, pause = state(), Given()

    def steps():
        seen = [current.get(), variable.get()]
        variable.set("theirs")
        yield pause
        return [*seen, current.get(), variable.get()]

    reset = variable.set("callers")
    try:
        future = submitted(workers, steps(), call)
        assert variable.get() == "callers"
    finally:
        variable.reset(reset)
    assert current.get() is None
    pause.resumes[0](None, None)
    assert future.result(SECONDS) == [call, "callers", call, "theirs"]


def test_errors_of_a_pause_are_raised_in_the_steps(workers):
    error, pause = ValueError("no"), Given()
    future = submitted(workers, collected(pause))
    pause.resumes[0](None, error)
    assert future.result(SECONDS) == [error]


def test_a_generator_exit_does_not_close_the_steps_without_an_end(workers):
    pause = Given()
    future = submitted(workers, collected(pause))
    pause.resumes[0](None, GeneratorExit())
    (error,) = future.result(SECONDS)
    assert isinstance(error, RuntimeError)


# What is waited for --------------------------------------------------------------------------------------------------


def test_what_may_block_runs_where_a_thread_waits_or_else_on_a_worker(workers):
    def where():
        return threading.get_ident(), variable.get()

    reset = variable.set("callers")
    try:
        pause = Blocking(where, workers)
    finally:
        variable.reset(reset)
    assert pause.block()[0] == threading.get_ident()
    ((thread, seen),) = submitted(workers, collected(pause)).result(SECONDS)
    assert thread != threading.get_ident()
    assert seen == "callers"


def test_what_it_raises_is_raised_where_the_call_goes_on(workers):
    (error,) = submitted(workers, collected(Blocking(lambda: 1 / 0, workers))).result(SECONDS)
    assert isinstance(error, ZeroDivisionError)
    with pytest.raises(ZeroDivisionError):
        Blocking(lambda: 1 / 0, workers).block()


def test_without_workers_it_is_told_that_they_are_gone():
    workers = Workers(warm=0, limit=1)
    workers.close()
    told = []
    Blocking(lambda: 1, workers).then(lambda *came: told.append(came))
    ((value, error),) = told
    assert value is None
    assert isinstance(error, ExecutorUnavailableError)
    assert error.message == "The executor has been shut down, or the system has no thread left"


def test_a_pause_is_over_at_its_end_and_is_no_longer_told_of_a_stop():
    call, pause, told = state(), Given(), []
    UntilStopped(pause, call).then(lambda *came: told.append(came))
    pause.resumes[0]("answer", None)
    assert not call.source.functions
    call.source.cancel()
    assert told == [("answer", None)]


def test_a_thread_that_waits_anyway_waits_for_the_pause_itself():
    assert UntilStopped(Given("answer"), state()).block() == "answer"


def test_a_pause_is_over_at_a_stop_and_its_late_end_is_dropped():
    call, pause, told = state(), Given(), []
    UntilStopped(pause, call).then(lambda *came: told.append(came))
    call.source.cancel("enough")
    pause.resumes[0]("late", None)
    assert told == [(None, call.source.error)]


def test_what_was_stopped_before_is_not_waited_for():
    call, pause, told = state(), Given(), []
    call.source.cancel()
    UntilStopped(pause, call).then(lambda *came: told.append(came))
    assert told == [(None, call.source.error)]
    assert pause.resumes == []


# Who stops it --------------------------------------------------------------------------------------------------------


def test_a_call_is_stopped_with_the_call_around_it_and_by_its_callers_token():
    outer, token = state(), CancelToken()
    first, second = state(outer), state(outer)
    link(first, token)
    link(second, None)
    token.cancel("by the token")
    assert first.source.error.message == "by the token"
    assert second.source.error is None
    outer.source.cancel("from outside")
    assert second.source.error.message == "from outside"
    assert isinstance(second.source.error, ToolCancelledError)


def test_nothing_holds_on_to_a_call_that_is_over():
    outer, token = state(), CancelToken()
    inner = state(outer)
    link(inner, token)
    unlink(inner)
    assert inner.parent_link is inner.cancel_link is None
    assert not source_of(token).functions
    assert not outer.source.functions
    unlink(inner)
    outer.source.cancel()
    token.cancel()
    assert inner.source.error is None
