"""
The work of a call that is not done in its caller's thread, and the one wait for it: until its threshold, its limit or
its end.
"""

from __future__ import annotations

import contextvars
import threading
import time
from typing import TYPE_CHECKING, Any

from executor.calls._clock import due, give_up
from executor.calls._scope import block
from executor.calls._until import FromBeginToEnd, Until, UntilSettled
from executor.errors import ExecutorUnavailableError, ToolCancelledError
from executor.threads._beside import beside
from executor.threads._condition import Condition
from executor.threads._fork import of_this_process
from executor.threads._jobs import Job
from executor.threads._workers import waited_for_here

if TYPE_CHECKING:
    from collections.abc import Callable

    from executor.calls._scope import Steps
    from executor.calls._state import CallState
    from executor.calls._until import Settling, Turn
    from executor.errors import ToolError
    from executor.threads._deadlines import Deadlines
    from executor.threads._loop import LoopThread
    from executor.threads._workers import Workers


HEEDING = 0.5  # seconds that tools have to come back after a stop, before their executor has been shut down
GRACE = 0.3  # seconds past its threshold that a call waits at most until it is stored


class Threads:
    """
    What calls run on: workers, and one thread that keeps their times.

    `_lock` guards nothing but the wait for work to come back that was given up.

    Attributes:
        abandoned: Work that was given up, but is still on a thread, each with the monotonic time of that. Changed by
            single operations, which are atomic.
    """

    __slots__ = ("__weakref__", "_back", "_lock", "abandoned", "deadlines", "workers")

    def __init__(self, workers: Workers, deadlines: Deadlines) -> None:
        self.workers = workers
        self.deadlines = deadlines
        self._begin()
        of_this_process.add(self)

    def _begin(self) -> None:
        """Nothing was given up; in the child of a fork again, where none of the threads exists."""
        self.abandoned: dict[object, float] = {}
        self._lock = threading.RLock()
        self._back = Condition(self._lock)

    def came_back(self, job: object) -> None:
        """The thread of *job*, which was given up, has come back."""
        self.abandoned.pop(job, None)
        with self._lock:
            self._back.notify_all()

    def wait_for_heeding(self, seconds: float) -> None:
        """What was given up just now has `HEEDING` to come back, *seconds* at most: most tools do in milliseconds."""
        given_up = self.abandoned.copy()
        latest = max(given_up.values(), default=0.0) + HEEDING - time.monotonic()
        if latest > 0:
            late = {job for job, since in given_up.items() if since + HEEDING > time.monotonic()}
            with self._lock:
                self._back.wait_for(lambda: late.isdisjoint(self.abandoned.copy()), min(latest, seconds))

    def free(self, loop: LoopThread) -> None:
        """Nobody makes calls any more: no thread is kept for them, nor *loop*'s."""
        self.workers.close()
        loop.close()

    def drop(self, loop: LoopThread) -> None:
        """`free` by the garbage collector, which may have come while this thread holds the locks of one of them."""
        beside(self.free, loop)

    def spawn(self, fn: Callable[[], object]) -> None:
        """Run *fn* on a worker now, so that it may block; in this thread when the system has no other left."""
        if not self.workers.spawn(fn):
            fn()

    def at(self, when: float, fn: Callable[[], object]) -> Callable[[], None]:
        """Run *fn* on a worker at the monotonic time *when*; the returned function takes it back."""
        return self.deadlines.at(when, lambda: self.spawn(fn))


class Work:
    """
    The work of one call.

    Args:
        carry_out: Does it; never raises: whatever went wrong is returned.
        limit: Seconds from its start after which it is given up.
        turn: What it waits for before it starts, or None.
        start: Puts the job where it runs; returns False when it will not run. By default on a worker.

    Attributes:
        began: The monotonic time from which its threshold counts.
        holds_worker: Whether who waits for it may be a worker, or be waited for by one.
        deadline: The monotonic time at which whoever waits gives it up; None when nobody has to (a timer does).
        came_back: Called when its thread has come back although it was given up.
        spool: Where its output is kept, if it may be handed over.
        early: What it is stored as before it is handed over, or None.
    """

    __slots__ = (
        "_forget_deadline", "_start", "_stop", "_threads", "_timed", "_turn", "began", "call", "came_back", "deadline",
        "early", "holds_worker", "job", "limit", "spool",
    )  # fmt: skip

    def __init__(
        self,
        call: CallState,
        carry_out: Callable[[], Any],
        limit: float | None,
        threads: Threads,
        turn: Turn | None = None,
        start: Callable[[Job[Any]], bool] | None = None,
    ) -> None:
        self.call = call
        self.limit = limit
        self.job: Job[Any] = Job(carry_out, contextvars.copy_context())
        self.holds_worker = call.depth > 0 or threads.workers.here
        if self.holds_worker and call.blocking:
            self.job.context.run(waited_for_here)
        self.deadline: float | None = None
        self.came_back: Callable[[], object] | None = None
        self.spool: Any = None
        self.early: Any = None
        self._threads = threads
        self._turn = turn
        self._start = start or threads.workers.submit
        self._stop: Callable[[ToolError], object] | None = None
        self.began = time.monotonic()
        self._forget_deadline: Callable[[], None] | None = None
        self._timed = False
        if turn is not None:
            self.job.on_return = self._returned
        # A stop ends the job at once, whether or not the tool heeds it: its late result is dropped.
        call.source.call_at_stop(self._stopped)

    def carry_out_elsewhere(self, start: Callable[[Job[Any]], bool], stop: Callable[[ToolError], object]) -> None:
        """
        Another process does it, and keeps its time limit; before `submit`.

        Args:
            start: Gives it to that one.
            stop: Has it stopped there; called before its end is known here, and waited for.
        """
        self._start, self._stop, self.limit = start, stop, None

    @property
    def abandoned(self) -> bool:
        """Whether it was given up, and its thread has not come back."""
        return self.job in self._threads.abandoned

    def begin_timed(self) -> None:
        """`submit`, when nobody waits for its limit: a timer keeps it."""
        self._timed = True
        self.submit()

    def submit(self) -> None:
        """Begin, on a worker; not before its turn has come."""
        if self._turn is None or self._turn.granted:
            self._begin()
        else:
            self._timed = True  # nobody knows yet from when its limit counts
            self.call.begin_wait(self._turn.waiting_for or "its turn")
            self._turn.then(self._on_turn)

    def _on_turn(self, error: BaseException | None) -> None:
        self.call.end_wait()
        if error is None:
            self._begin()
        else:
            self.job.end(error)

    def _begin(self) -> None:
        if self.limit is not None:
            self.deadline = self.call.deadline = time.monotonic() + self.limit
            if self._timed:
                self._watch_deadline()
        self.call.turn = None  # held until the thread comes back, which may be later than the call's end
        if not self._start(self.job):
            self.job.end(ExecutorUnavailableError(self._threads.workers.refusal))
            if self._turn is not None:
                self._turn.release()

    def leave(self) -> None:
        """Nobody waits for its limit any more: a timer keeps it, from its beginning on."""
        self._timed = True
        self._watch_deadline()

    def _watch_deadline(self) -> None:
        if self.deadline is not None:
            self._forget_deadline = self._threads.at(self.deadline, self.time_out)
            self.deadline = None
            if self.job.result is not None:
                self._forget_deadline()  # it ended before there was something to take back

    def time_out(self) -> None:
        """Its time is up, unless a person was asked meanwhile."""
        give_up(self.call, self.limit, self._threads, self._watch_again)

    def _watch_again(self, forget: Callable[[], None]) -> None:
        self._forget_deadline = forget
        if self.job.result is not None:
            forget()

    def close(self) -> None:
        """It has ended, and whoever it was for knows."""
        if self._forget_deadline is not None:
            self._forget_deadline()

    def until_settled(self, other: Settling, when: float | None) -> UntilSettled:
        """The pause until its end, until *other* is settled, or until *when*."""
        return UntilSettled(self, other, when, self._threads)

    def until(self, when: float | None) -> Until:
        """The pause until its end, or until *when*."""
        return Until(self, when, self._threads)

    def _stopped(self) -> None:
        error = self.call.source.error or ToolCancelledError("The call was cancelled")
        if self._stop is not None:
            self._stop(error)
        # Entered before it is looked at: a thread that comes back now either is seen here, or finds itself there.
        self.job.on_return = self._returned
        self._threads.abandoned[self.job] = time.monotonic()
        self.call.given_up = self.job.running
        if not self.job.running:
            self._threads.abandoned.pop(self.job, None)
        self.job.end(error)
        if self._turn is not None:
            self._turn.abandon(error)
            if self.job.started is None:
                self._turn.release()

    def _returned(self) -> None:
        """The thread has come back from the tool, late or not."""
        if self._turn is not None:
            self._turn.release()
        if self.job in self._threads.abandoned:
            self._threads.came_back(self.job)
            if self.came_back is not None:
                self.came_back()


def waited(
    work: Work,
    threshold: float | None,
    hand_over: Callable[[Work], Any],
    prepare: Callable[[Work], Settling | None] | None = None,
    lead: float | None = None,
) -> Steps[Any]:
    """
    What *work* ends in.

    Args:
        threshold: Seconds after which it is handed over; 0 before it has begun; None never.
        hand_over: Hands it over; returns what is told instead of its end, or None when it stays.
        prepare: Called *lead* seconds before the threshold, if that is not None.

    Raises:
        BaseException: The waiting thread was interrupted; the work is stopped.
    """
    try:
        if threshold is None and not work.call.blocking:
            return (yield FromBeginToEnd(work))
        if threshold == 0 and (handed := hand_over(work)) is not None:
            work.submit()
            return handed
        work.submit()
        call = work.call
        # Most calls end in time, and no person is asked meanwhile: only what is left is waited for by its clock.
        if threshold:
            if prepare is not None and lead is not None:
                ended = yield from _until_stored(work, threshold, prepare, lead)
            else:
                ended = (yield work.until(work.began + threshold)) if call.clock is None else None
                if ended is None and call.clock is not None:
                    ended = yield from _by_its_clock(work, lambda: due(call, work.began + threshold))
            if ended is not None:
                return ended
            if (handed := hand_over(work)) is not None:
                return handed
        return (yield from _to_its_end(work))
    except BaseException:  # the caller's own Ctrl-C: nobody waits for this call any more
        work.call.source.interrupted()
        work.close()
        raise


def _to_its_end(work: Work) -> Steps[Any]:
    """What *work* ends in, at its time limit at the latest."""
    call = work.call
    ended = (yield work.until(work.deadline)) if call.clock is None else None
    if ended is None and call.clock is not None:
        ended = yield from _by_its_clock(work, lambda: None if work.deadline is None else call.deadline)
    if ended is None:
        work.time_out()
        ended = yield work.until(None)  # the stop has ended the job, or the work had just ended by itself
    return ended


def wait(work: Work) -> Any:
    """`waited` in this thread, for work without a threshold, and its end."""
    try:
        work.submit()
        ended = work.until(work.deadline).block() if work.call.clock is None else None  # nearly always that is all
        if ended is None:
            ended = block(_to_its_end(work))
    except BaseException:  # as above
        work.call.source.interrupted()
        work.close()
        raise
    work.close()
    return ended


def _by_its_clock(work: Work, when: Callable[[], float | None]) -> Steps[Any]:
    """The end of *work*, or None once it is *when* on its clock, which stands still while a person is asked."""
    while True:
        clock = work.call.clock
        if clock is not None and not clock.settled:
            ended = yield work.until_settled(clock, None)
            if ended is not None:
                return ended
            continue
        waited_until = when()
        ended = yield work.until(waited_until)
        if ended is not None:
            return ended
        now_due, clock = when(), work.call.clock
        if clock is None or (clock.settled and (now_due is None or waited_until is None or now_due <= waited_until)):
            return None


def _until_stored(work: Work, threshold: float, prepare: Callable[[Work], Settling | None], lead: float) -> Steps[Any]:
    """The end of *work*, or None once its threshold is past and it is stored, if that does not take long."""
    early = work.began + threshold - min(lead, threshold / 2)
    ended = (yield work.until(early)) if work.call.clock is None else None
    if ended is None and work.call.clock is not None:
        ended = yield from _by_its_clock(work, lambda: due(work.call, early))
    if ended is not None:
        return ended
    stored = prepare(work)
    ended = yield from _by_its_clock(work, lambda: due(work.call, work.began + threshold))
    if ended is not None or stored is None or stored.settled:
        return ended
    when = due(work.call, work.began + threshold)
    limit = when + GRACE if work.deadline is None else min(when + GRACE, work.deadline)
    return (yield work.until_settled(stored, limit))
