"""The loop thread: coroutines with a waiting thread (`run`) and without (`start`)."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import gc
import os
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path

import pytest

from executor.errors import BackendUnavailableError, ExecutorUnavailableError, ToolCancelledError
from executor.threads import LoopThread, _fork

SECONDS = 10.0
ROOT = Path(__file__).parents[2]
variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="nobody's")


@pytest.fixture
def loop():
    made = LoopThread("executor-loop-tested")
    yield made
    assert made.close(SECONDS), "a coroutine is still at work"


class Ends:
    """Is told how a coroutine ended, as `done`."""

    def __init__(self):
        self.told, self.thread = [], None
        self._first = threading.Event()

    def __call__(self, value, error):
        self.thread = threading.current_thread()
        self.told.append((value, error))
        self._first.set()

    def wait(self):
        assert self._first.wait(SECONDS), "nobody was told"
        return self.told[0]


class InThread:
    """*fn* in a thread: what it returned or raised."""

    def __init__(self, fn):
        self._told = []
        self._thread = threading.Thread(target=self._run, args=(fn,), daemon=True)
        self._thread.start()

    def _run(self, fn):
        try:
            self._told.append((fn(), None))
        except BaseException as error:
            self._told.append((None, error))

    def wait(self):
        self._thread.join(SECONDS)
        assert not self._thread.is_alive(), "it hangs"
        return self._told[0]


def by_run(loop, coroutine, on_stop=None):
    """`run`, in a thread of its own."""
    context = contextvars.copy_context()
    return InThread(lambda: context.run(loop.run, coroutine, on_stop))


def by_start(loop, coroutine, on_stop=None):
    """`start`."""
    ends = Ends()
    stop = loop.start(coroutine, ends)
    if on_stop is not None:
        on_stop(stop)
    return ends


@pytest.fixture(params=[by_run, by_start])
def give(request):
    return request.param


class Stuck:
    """A coroutine that waits for ever, or until it is cancelled."""

    def __init__(self):
        self.started, self.cancelled = threading.Event(), threading.Event()
        self.stop = None
        self.registered = threading.Event()

    async def __call__(self):
        self.started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise

    def on_stop(self, stop):
        self.stop = stop
        self.registered.set()
        return lambda: None


async def value(what):
    await asyncio.sleep(0)
    return what


# Both ways -----------------------------------------------------------------------------------------------------------


def test_the_value_of_a_coroutine_comes_back(loop, give):
    assert give(loop, value(1)).wait() == (1, None)
    assert give(loop, value(2)).wait() == (2, None)


def test_an_error_that_is_returned_is_a_value(loop, give):
    error = ValueError("not raised")
    assert give(loop, value(error)).wait() == (error, None)


@pytest.mark.parametrize("error", [ValueError("x"), SystemExit("x"), KeyboardInterrupt(), GeneratorExit()])
def test_what_a_coroutine_raises_comes_back_and_the_loop_lives_on(loop, give, error):
    async def fails():
        raise error

    assert give(loop, fails()).wait() == (None, error)
    assert give(loop, value(1)).wait() == (1, None)


@pytest.mark.parametrize("error", [SystemExit("x"), KeyboardInterrupt()])
def test_what_a_task_beside_a_coroutine_raises_does_not_end_the_loop(loop, give, error, caplog):
    async def beside():
        raise error

    async def waits_for_it():
        await asyncio.create_task(beside())

    assert give(loop, waits_for_it()).wait() == (None, error)
    assert "executor-loop-tested" in caplog.text
    assert give(loop, value(1)).wait() == (1, None)


def test_a_coroutine_that_stops_the_loop_stops_no_other(loop, give):
    async def stops():
        asyncio.get_running_loop().stop()
        return await value("went on")

    assert give(loop, stops()).wait() == ("went on", None)


def test_a_coroutine_has_the_callers_context(loop, give):
    async def reads():
        await asyncio.sleep(0)
        seen = variable.get()
        variable.set("the coroutine's")
        return seen

    variable.set("the caller's")
    assert give(loop, reads()).wait() == ("the caller's", None)
    assert variable.get() == "the caller's"


def test_coroutines_run_side_by_side_on_one_thread(loop, give):
    count, everybody, threads = 0, asyncio.Event(), set()

    async def meets():
        nonlocal count
        count += 1
        threads.add(threading.current_thread())
        if count == 20:
            everybody.set()
        await everybody.wait()
        return "met"

    given = [give(loop, meets()) for _ in range(20)]
    assert [each.wait() for each in given] == [("met", None)] * 20
    assert [(thread.name, thread.daemon) for thread in threads] == [("executor-loop-tested", True)]


def test_it_is_cancelled_from_any_thread(loop, give):
    stuck = Stuck()
    given = give(loop, stuck(), stuck.on_stop)
    assert stuck.started.wait(SECONDS)
    assert stuck.registered.wait(SECONDS)
    InThread(stuck.stop).wait()
    _, error = given.wait()
    assert isinstance(error, ToolCancelledError)
    assert stuck.cancelled.is_set()
    stuck.stop()  # once more, when there is nothing left to cancel
    assert give(loop, value(1)).wait() == (1, None)


def test_one_that_is_cancelled_before_its_first_step_ends_too(loop, give):
    def stop_now(stop):
        stop()
        return lambda: None

    stuck = Stuck()
    _, error = give(loop, stuck(), stop_now).wait()
    assert isinstance(error, ToolCancelledError)


def test_one_that_does_not_heed_its_cancelling_still_has_its_value(loop, give):
    stuck = Stuck()

    async def deaf():
        try:
            await stuck()
        except asyncio.CancelledError:
            return "my own end"

    given = give(loop, deaf(), stuck.on_stop)
    assert stuck.started.wait(SECONDS)
    assert stuck.registered.wait(SECONDS)
    stuck.stop()
    assert given.wait() == ("my own end", None)


def test_close_cancels_what_runs_and_nothing_starts_afterwards(give):
    loop, stuck = LoopThread(), Stuck()
    given = give(loop, stuck(), stuck.on_stop)
    assert stuck.started.wait(SECONDS)
    assert stuck.registered.wait(SECONDS)
    assert loop.close(SECONDS)
    assert not loop.running
    assert isinstance(given.wait()[1], ToolCancelledError)
    coroutine = value(1)
    with pytest.raises(ExecutorUnavailableError):
        loop.run(coroutine)
    with pytest.raises(ExecutorUnavailableError):
        loop.start(value(1), pytest.fail)
    with pytest.raises(RuntimeError, match="cannot reuse"):
        coroutine.send(None)  # it was closed, so nobody is warned that it was never awaited
    stuck.stop()  # after the loop is gone
    assert loop.close(SECONDS)


def test_threads_of_a_coroutine_do_not_hold_up_the_process(loop, give):
    async def aside():
        return await asyncio.to_thread(lambda: (variable.get(), threading.current_thread().daemon))

    variable.set("the caller's")
    assert give(loop, aside()).wait() == (("the caller's", True), None)


def test_what_a_coroutines_thread_raises_comes_back(loop, give):
    error = ValueError("from the thread")

    def fails():
        raise error

    assert give(loop, asyncio.to_thread(fails)).wait() == (None, error)


def test_without_a_thread_a_coroutine_is_refused_and_the_next_one_tries_again(loop, give, monkeypatch):
    def no_thread(self):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", no_thread)
        with pytest.raises(ExecutorUnavailableError, match="can't start new thread"):
            loop.run(value(1))
    assert not loop.running
    assert give(loop, value(1)).wait() == (1, None)


def test_closing_while_coroutines_arrive_answers_each(often_switching):
    for _ in range(20):
        loop, barrier = LoopThread(), threading.Barrier(5)

        def gives(n, loop=loop, barrier=barrier):
            barrier.wait(SECONDS)
            try:
                return (by_run if n % 2 else by_start)(loop, value(n)).wait()
            except ExecutorUnavailableError as error:  # told at once by `start`
                return None, error

        given = [InThread(lambda n=n: gives(n)) for n in range(4)]
        barrier.wait(SECONDS)
        assert loop.close(SECONDS)
        for n, each in enumerate(given):
            answer, failed = each.wait()
            assert failed is None
            assert answer == (n, None) or isinstance(answer[1], ToolCancelledError | ExecutorUnavailableError)
        assert not loop.running


# start ---------------------------------------------------------------------------------------------------------------


def test_the_end_is_told_once_on_the_loops_thread_in_the_callers_context(loop):
    seen, told = [], threading.Event()

    def done(value, error):
        seen.append((value, error, threading.current_thread().name, variable.get()))
        told.set()

    variable.set("the caller's")
    stop = loop.start(value(1), done)
    assert told.wait(SECONDS)
    stop()
    assert loop.close(SECONDS)
    assert seen == [(1, None, "executor-loop-tested", "the caller's")]


@pytest.mark.parametrize("error", [ValueError("x"), SystemExit("x")])
def test_who_raises_when_told_holds_up_nobody(loop, error, caplog):
    def done(value, _):
        raise error

    loop.start(value(1), done)
    assert loop.run(value(2)) == 2
    assert loop.close(SECONDS)
    assert repr(error) in caplog.text


def test_no_thread_waits_for_what_was_started(loop):
    stuck = [Stuck() for _ in range(50)]
    ends = [by_start(loop, each(), each.on_stop) for each in stuck]
    for each in stuck:
        assert each.started.wait(SECONDS)
    assert [thread.name for thread in threading.enumerate() if thread.name.startswith("executor-loop")] == [
        "executor-loop-tested"
    ]
    for each in stuck:
        each.stop()
    assert {type(end.wait()[1]) for end in ends} == {ToolCancelledError}


# run -----------------------------------------------------------------------------------------------------------------


def test_who_waits_for_its_own_loop_is_told_so(loop):
    async def blocks():
        return loop.would_deadlock, loop.run(value(1))

    with pytest.raises(RuntimeError, match="to_thread"):
        loop.run(blocks())
    assert not loop.would_deadlock


def test_one_loop_may_wait_for_another(loop):
    other = LoopThread("executor-loop-other")

    async def blocks():
        return other.run(value(1))

    assert loop.run(blocks()) == 1
    assert other.close(SECONDS)


def test_the_function_that_stops_is_taken_back_at_the_end(loop):
    taken_back = []
    assert loop.run(value(1), lambda stop: lambda: taken_back.append(stop)) == 1
    assert len(taken_back) == 1


# close ---------------------------------------------------------------------------------------------------------------


def test_close_ends_calls_then_runs_the_last_then_ends_the_owners():
    loop, order, owns, stuck = LoopThread(), [], threading.Event(), Stuck()

    async def owner():
        owns.set()
        try:
            await asyncio.Event().wait()
        finally:
            order.append("owner")

    async def call():
        background.append(asyncio.create_task(owner()))
        try:
            await stuck()
        finally:
            order.append("call")

    async def last():
        await asyncio.sleep(0)
        order.append("last")

    background = []
    ends = by_start(loop, call())
    assert owns.wait(SECONDS)
    assert loop.close(SECONDS, last)
    assert order == ["call", "last", "owner"]
    assert isinstance(ends.wait()[1], ToolCancelledError)


def test_what_goes_wrong_at_last_is_told_and_the_loop_ends(loop, caplog):
    async def last():
        raise ValueError("no end")

    loop.run(value(1))
    assert loop.close(SECONDS, last)
    assert "no end" in caplog.text


def test_a_last_that_takes_too_long_is_cancelled():
    loop, stuck = LoopThread(), Stuck()
    loop.run(value(1))
    loop.close(0.0, stuck)
    assert loop.close(SECONDS)
    assert stuck.cancelled.is_set()


def test_close_closes_async_generators():
    loop, closed = LoopThread(), threading.Event()

    async def pieces():
        try:
            yield 1
            yield 2
        finally:
            closed.set()

    generator = pieces()

    async def first():
        return await anext(generator)

    assert loop.run(first()) == 1
    assert loop.close(SECONDS)
    assert closed.is_set()


def test_a_call_that_tidies_up_is_not_disturbed_by_a_second_cancelling():
    loop, stuck, tidied = LoopThread(), Stuck(), threading.Event()

    async def tidies():
        try:
            await stuck()
        finally:
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            tidied.set()

    by_start(loop, tidies())
    assert stuck.started.wait(SECONDS)
    assert loop.close(SECONDS)
    assert tidied.is_set()


def test_a_coroutine_that_blocks_its_loop_is_left_behind_and_still_ends():
    loop, started, go_on = LoopThread(), threading.Event(), threading.Event()

    async def blocks():
        started.set()
        assert go_on.wait(SECONDS)
        return "late"

    ends = by_start(loop, blocks())
    assert started.wait(SECONDS)
    assert loop.close(0.01) is False
    assert loop.running
    go_on.set()
    assert ends.wait() == ("late", None)
    assert loop.close(SECONDS)


def test_close_on_the_loops_own_thread_does_not_wait_for_itself():
    loop = LoopThread()

    async def closes():
        return loop.close()

    assert loop.run(closes()) is False
    assert loop.close(SECONDS)


def test_close_before_the_first_coroutine():
    loop = LoopThread(closed=lambda: BackendUnavailableError("gone", started=False))
    assert loop.close()
    with pytest.raises(BackendUnavailableError, match="gone"):
        loop.run(value(1))


def test_a_loop_that_is_dropped_ends_its_thread_after_the_last_coroutine():
    def thread():
        return next((each for each in threading.enumerate() if each.name == "executor-loop-dropped"), None)

    loop, stuck = LoopThread("executor-loop-dropped"), Stuck()
    ends = by_start(loop, stuck(), stuck.on_stop)
    assert stuck.started.wait(SECONDS)
    served = thread()
    del loop
    gc.collect()
    assert not stuck.cancelled.is_set()
    assert served.is_alive()
    stuck.stop()
    assert isinstance(ends.wait()[1], ToolCancelledError)
    served.join(SECONDS)
    assert thread() is None


# The process ---------------------------------------------------------------------------------------------------------

EXITS = """
import asyncio, sys, threading, time
sys.path.insert(0, {root!r})
from executor.threads import LoopThread
loop, started = LoopThread(), threading.Event()
def ignore(value, error):
    pass
async def waits():
    started.set()
    await asyncio.Event().wait()
async def blocks():
    started.set()
    time.sleep(60)
async def aside():
    await asyncio.to_thread(lambda: (started.set(), time.sleep(60)))
async def deaf():
    started.set()
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            pass
{program}
assert started.wait(10)
{end}
print(repr(time.time()), flush=True)
"""


@pytest.mark.parametrize("end", ["", "loop.close(0.1)"])
@pytest.mark.parametrize(
    "program",
    [
        "loop.start(waits(), ignore)",
        "loop.start(blocks(), ignore)",
        "loop.start(aside(), ignore)",
        "loop.start(deaf(), ignore)",
        "threading.Thread(target=loop.run, args=(blocks(),), daemon=True).start()",
    ],
)
def test_the_process_ends_within_a_second_whatever_is_stuck(program, end):
    source = EXITS.format(root=str(ROOT), program=program, end=end)
    shown = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=30, check=False)
    ended = time.time()
    assert (shown.returncode, shown.stderr) == (0, "")
    assert ended - float(shown.stdout) < 1.0


def in_child(fn):
    """The exit code of a forked child: 0 where *fn* is true there."""
    child = os.fork()
    if child == 0:
        code = 2
        try:
            code = 0 if fn() else 1
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_in_a_forked_child_it_begins_anew_and_the_parents_goes_on(loop):
    stuck = Stuck()
    ends = by_start(loop, stuck(), stuck.on_stop)
    assert stuck.started.wait(SECONDS)

    def works():
        assert not loop.running
        assert loop.run(value("the child's")) == "the child's"
        assert by_start(loop, value(1)).wait() == (1, None)
        stuck.stop()  # of the parent's coroutine: nothing that could be stopped here
        return loop.close(SECONDS)

    assert in_child(works) == 0
    assert loop.run(value(1)) == 1
    assert not stuck.cancelled.is_set()
    stuck.stop()
    assert isinstance(ends.wait()[1], ToolCancelledError)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_fork_while_another_thread_starts_a_coroutine_leaves_no_lock_behind(loop):
    with loop._lock:
        assert in_child(lambda: loop.run(value(1)) == 1) == 0


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_process_knows_how_many_forks_it_is_away_from_the_first():
    here = _fork.forks
    assert in_child(lambda: _fork.forks == here + 1 and in_child(lambda: _fork.forks == here + 2) == 0) == 0
    assert _fork.forks == here


def test_a_loop_needs_no_asyncio_before_its_first_coroutine():
    source = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
        "from executor.threads import LoopThread\n"
        "LoopThread().close()\n"
        "print('asyncio' in sys.modules)"
    )
    shown = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "False"


def test_after_an_interrupt_while_the_loop_is_told_the_next_coroutines_begin(loop, monkeypatch):
    async def value(number):
        return number

    assert loop.run(value(1)) == 1
    asyncio_loop = loop._serving._loop

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    ends = []
    with monkeypatch.context() as patch:
        patch.setattr(asyncio_loop, "call_soon_threadsafe", interrupted)
        with pytest.raises(KeyboardInterrupt):
            loop.start(value(2), lambda *end: ends.append(end))
    assert loop.run(value(3)) == 3
    assert [(value, type(error)) for value, error in ends] == [(None, ToolCancelledError)]


def test_a_coroutine_that_has_begun_when_its_giver_is_interrupted_is_cancelled(loop, monkeypatch):
    assert loop.run(asyncio.sleep(0)) is None
    asyncio_loop, begun, ends = loop._serving._loop, threading.Event(), Ends()
    told = asyncio_loop.call_soon_threadsafe

    async def waits():
        begun.set()
        await asyncio.Event().wait()

    def interrupted(*args, **kwargs):
        monkeypatch.undo()
        told(*args, **kwargs)
        assert begun.wait(SECONDS)
        raise KeyboardInterrupt

    monkeypatch.setattr(asyncio_loop, "call_soon_threadsafe", interrupted)
    with pytest.raises(KeyboardInterrupt):
        loop.start(waits(), ends)
    value, error = ends.wait()
    assert (value, type(error)) == (None, ToolCancelledError)


def test_an_interrupt_before_the_loop_is_told_is_an_end_too(loop, monkeypatch):
    class Interrupted(contextlib.nullcontext):
        def __enter__(self):
            raise KeyboardInterrupt

    ends = Ends()
    with monkeypatch.context() as patch:
        patch.setattr(loop, "_lock", Interrupted())
        with pytest.raises(KeyboardInterrupt):
            loop.start(asyncio.sleep(0), ends)
    value, error = ends.wait()
    assert (value, type(error)) == (None, ToolCancelledError)


def test_a_cancel_that_overtakes_the_beginning_is_not_lost(loop):
    held, go_on, ends = threading.Event(), threading.Event(), Ends()
    loop.call(lambda: (held.set(), go_on.wait(SECONDS)))
    assert held.wait(SECONDS)
    cancel = loop.start(asyncio.Event().wait(), ends)  # comes while the loop takes what came before
    cancel()
    go_on.set()
    value, error = ends.wait()
    assert (value, type(error)) == (None, ToolCancelledError)


def test_a_loop_keeps_nothing_of_the_context_in_which_it_was_started(loop):
    class Value:
        pass

    value = Value()
    kept = weakref.ref(value)
    context = contextvars.copy_context()
    context.run(variable.set, value)
    context.run(loop.run, asyncio.sleep(0))
    del context, value
    loop.run(asyncio.sleep(0))
    gc.collect()
    assert kept() is None
