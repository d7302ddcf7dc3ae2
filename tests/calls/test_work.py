"""The work of a call that is not done in its caller's thread: its turn, its limit, and its one end."""

from __future__ import annotations

import threading
import time

import pytest

from executor.calls._clock import timed_out
from executor.calls._scope import block
from executor.calls._state import CallState
from executor.calls._until import TurnPause, Until
from executor.calls._work import Threads, Work, waited
from executor.errors import ExecutorUnavailableError, ToolCancelledError, ToolTimeoutError
from executor.threads._deadlines import Deadlines
from executor.threads._workers import Workers

SECONDS = 20.0


class Clock:
    """Deadlines that come when the test says so."""

    def __init__(self):
        self.due = []

    def at(self, when, fn):
        entry = (when, fn)
        self.due.append(entry)
        return lambda: self.due.remove(entry) if entry in self.due else None

    def strike(self):
        for entry in [*self.due]:
            self.due.remove(entry)
            entry[1]()


class Turn:
    """A turn that the test grants."""

    def __init__(self, *, granted=False):
        self.granted, self.waiting_for = granted, "a file"
        self.resumes, self.abandoned, self.released = [], [], 0

    def then(self, resume):
        self.resumes.append(resume)

    def abandon(self, error):
        self.abandoned.append(error)

    def release(self):
        self.released += 1


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def threads(clock):
    workers = Workers(warm=0, limit=4)
    yield Threads(workers, clock)
    assert workers.close(SECONDS)


@pytest.fixture
def call():
    return CallState("c1", "tool", {}, None)


@pytest.fixture
def held():
    """Work that lasts until it is let go, and the event of its start."""
    started, release = threading.Event(), threading.Event()

    def hold():
        started.set()
        assert release.wait(SECONDS)
        return "done"

    hold.started, hold.release = started, release
    yield hold
    release.set()


def test_work_without_a_limit_ends_in_what_it_came_to(call, threads, clock):
    work = Work(call, lambda: "done", None, threads)
    assert block(waited(work, None, lambda _: None)) == "done"
    assert work.deadline is None
    assert call.deadline is None
    assert clock.due == []
    assert not work.abandoned


def test_a_limit_counts_from_the_beginning_and_is_the_calls_deadline(call, threads):
    before = time.monotonic()
    work = Work(call, lambda: "done", 50.0, threads)
    assert block(waited(work, None, lambda _: None)) == "done"
    assert before + 50 <= work.deadline == call.deadline <= time.monotonic() + 50


def test_whoever_waits_gives_up_at_the_limit_and_the_thread_is_counted_until_it_is_back(call, threads, held):
    work, back = Work(call, held, 0.01, threads), threading.Event()
    work.came_back = back.set
    ended = block(waited(work, None, lambda _: None))
    assert isinstance(ended, ToolTimeoutError)
    assert ended.message == "tool timed out after 0.01 s"
    assert ended.tool_id == "tool"
    assert call.source.error is ended
    if held.started.wait(SECONDS):
        assert work.abandoned
        assert not back.is_set()
        held.release.set()
        assert back.wait(SECONDS)
    assert not work.abandoned
    assert threads.abandoned == {}


def test_a_limit_is_told_in_short():
    call = CallState("c1", "tool", {}, None)
    assert timed_out(call, 2.0).message == "tool timed out after 2 s"
    assert timed_out(call, None).message == "tool timed out after 0 s"


def test_past_its_threshold_it_is_handed_over_and_a_timer_keeps_its_limit(call, threads, clock, held):
    work, given = Work(call, held, 50.0, threads), []

    def hand_over(work):
        given.append(work)
        work.leave()
        return "handed over"

    assert block(waited(work, 0.01, hand_over)) == "handed over"
    assert given == [work]
    assert work.deadline is None
    (entry,) = clock.due
    assert entry[0] == call.deadline
    clock.strike()
    found = work.job.wait(SECONDS)
    assert isinstance(found, ToolTimeoutError)


def test_what_nobody_takes_over_is_waited_for(call, threads, held):
    asked = []

    def refuse(work):
        asked.append(work)
        held.release.set()

    work = Work(call, held, None, threads)
    assert block(waited(work, 0.01, refuse)) == "done"
    assert asked == [work]


def test_with_a_threshold_of_nothing_it_is_handed_over_before_it_begins(call, threads):
    work = Work(call, lambda: "done", None, threads)
    assert block(waited(work, 0, lambda work: ("handed", work.job.started))) == ("handed", None)
    assert work.job.wait(SECONDS) == "done"
    other = Work(call, lambda: "done", None, threads)
    assert block(waited(other, 0, lambda _: None)) == "done"


def test_what_ends_before_its_threshold_is_not_handed_over(call, threads):
    work = Work(call, lambda: "done", None, threads)
    assert block(waited(work, SECONDS, pytest.fail)) == "done"


def test_an_interrupt_of_whoever_waits_stops_the_work(call, threads, clock, held):
    work = Work(call, held, 50.0, threads)
    steps = waited(work, 10.0, lambda _: None)
    next(steps)
    work.leave()
    assert len(clock.due) == 1
    with pytest.raises(KeyboardInterrupt):
        steps.throw(KeyboardInterrupt())
    assert call.source.error.message == "The caller was interrupted while waiting"
    assert clock.due == [], "its timer is left"
    assert isinstance(work.job.wait(0), ToolCancelledError)


# Its turn ------------------------------------------------------------------------------------------------------------


def test_it_begins_when_its_turn_comes_and_gives_it_back_when_its_thread_is_back(call, threads, clock):
    turn = Turn()
    work = Work(call, lambda: turn.released, 50.0, threads, turn)
    work.submit()
    assert call.waiting_for == "a file"
    assert call.deadline is None, "its limit does not count before it begins"
    (resume,) = turn.resumes
    resume(None)
    assert work.job.wait(SECONDS) == 0
    assert call.waiting_for is None
    assert call.deadline is not None
    threads.workers.close(SECONDS)
    assert turn.released == 1
    assert work.deadline is None, "a timer keeps it"
    work.close()
    assert clock.due == []


def test_a_turn_that_is_there_is_not_waited_for(call, threads):
    turn = Turn(granted=True)
    work = Work(call, lambda: "done", None, threads, turn)
    work.submit()
    assert work.job.wait(SECONDS) == "done"
    assert turn.resumes == []
    threads.workers.close(SECONDS)
    assert turn.released == 1


def test_a_turn_that_never_comes_is_its_end(call, threads):
    turn, error = Turn(), ToolCancelledError("no turn")
    work = Work(call, pytest.fail, None, threads, turn)
    work.submit()
    turn.resumes[0](error)
    assert work.job.wait(0) is error
    assert call.waiting_for is None


def test_a_stop_while_it_waits_for_its_turn_leaves_the_line(call, threads):
    turn = Turn()
    work = Work(call, pytest.fail, None, threads, turn)
    work.submit()
    call.source.cancel("enough")
    assert work.job.wait(0) is call.source.error
    assert turn.abandoned == [call.source.error]
    assert turn.released == 1
    assert not work.abandoned


def test_a_stop_while_it_runs_keeps_its_turn_until_the_thread_is_back(call, threads, held):
    turn = Turn(granted=True)
    work = Work(call, held, None, threads, turn)
    work.submit()
    assert held.started.wait(SECONDS)
    call.source.cancel("enough")
    assert work.job.wait(0) is call.source.error
    assert (turn.released, work.abandoned) == (0, True)
    held.release.set()
    threads.workers.close(SECONDS)
    assert (turn.released, work.abandoned) == (1, False)


def test_without_workers_it_ends_and_gives_its_turn_back(call, threads):
    threads.workers.close()
    turn = Turn(granted=True)
    work = Work(call, pytest.fail, None, threads, turn)
    work.submit()
    error = work.job.wait(0)
    assert isinstance(error, ExecutorUnavailableError)
    assert error.message == "The executor has been shut down, or the system has no thread left"
    assert turn.released == 1


def test_it_runs_where_it_is_put(call, threads):
    put = []
    work = Work(call, lambda: "done", None, threads, start=lambda job: bool(put.append(job)) or True)
    work.submit()
    assert put == [work.job]
    work.job()
    assert work.job.wait(0) == "done"


# Pauses --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", ["end", "time"])
def test_a_pause_is_over_at_the_first_of_end_and_time(call, threads, clock, held, first):
    work, came = Work(call, held, None, threads), []
    work.submit()
    Until(work, time.monotonic() + 50, threads).then(lambda *given: came.append(given))
    if first == "time":
        clock.strike()
    held.release.set()
    assert work.job.wait(SECONDS) == "done"
    threads.workers.close(SECONDS)
    clock.strike()
    assert came == [("done", None) if first == "end" else (None, None)]
    assert clock.due == []


def test_a_pause_after_the_end_is_over_at_once(call, threads, clock):
    work, came = Work(call, lambda: "done", None, threads), []
    work.submit()
    work.job.wait(SECONDS)
    Until(work, None, threads).then(lambda *given: came.append(given))
    Until(work, time.monotonic() + 50, threads).then(lambda *given: came.append(given))
    assert came == [("done", None)] * 2
    assert clock.due == []


def test_the_pause_for_a_turn_passes_on_why_it_never_came(threads):
    turn, came, error = Turn(), [], ToolCancelledError("no turn")
    TurnPause(turn, threads.workers).then(lambda *given: came.append(given))
    turn.resumes[0](error)
    assert came == [(None, error)]


def test_what_may_block_runs_on_a_worker_and_here_when_there_is_no_thread(threads, monkeypatch):
    ran = threading.Event()
    threads.spawn(ran.set)
    assert ran.wait(SECONDS)
    monkeypatch.setattr(threads.workers, "spawn", lambda fn: False)
    here = []
    threads.spawn(lambda: here.append(threading.get_ident()))
    assert here == [threading.get_ident()]


def test_a_time_runs_on_a_worker_and_can_be_taken_back():
    threads, came = Threads(Workers(warm=0, limit=1), Deadlines()), threading.Event()
    where = []
    threads.at(time.monotonic() + 100, pytest.fail)()
    threads.at(time.monotonic(), lambda: (where.append(threading.current_thread().name), came.set()))
    assert came.wait(SECONDS)
    assert where[0].startswith("executor-worker-")
    assert threads.workers.close(SECONDS)


class Aside:
    """Something beside a call that the test settles."""

    def __init__(self):
        self.told, self.settled = [], False

    def on_settled(self, fn):
        self.told.append(fn)

    def settle(self):
        self.settled = True
        for fn in self.told:
            fn()


@pytest.mark.parametrize("first", ["settled", "time", "work"])
def test_a_pause_until_something_else_is_settled_ends_once_with_what_comes_first(call, threads, clock, held, first):
    work, aside, ended, resumed = Work(call, held, None, threads), Aside(), [], threading.Event()
    pause = work.until_settled(aside, 7.0)

    def resume(found, error):
        ended.append((found, error))
        resumed.set()

    steps = waited(work, SECONDS, lambda _: None)
    next(steps)  # the work has begun
    pause.then(resume)
    assert [when for when, _ in clock.due].count(7.0) == 1
    {"settled": aside.settle, "time": clock.strike, "work": held.release.set}[first]()
    assert resumed.wait(SECONDS)
    held.release.set()
    assert work.job.wait(SECONDS) == "done"
    aside.settle()
    clock.strike()
    assert ended == [("done" if first == "work" else None, None)]
    assert 7.0 not in [when for when, _ in clock.due], "it is not kept"
    steps.close()
