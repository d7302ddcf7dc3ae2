"""What the work of a call waits for, as pauses: its end, a time, its turn, or what somebody else settles."""

from __future__ import annotations

import time
from contextlib import nullcontext, suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from executor.calls._scope import Resume
    from executor.calls._work import Threads, Work
    from executor.threads._workers import Workers


class Settling(Protocol):
    """Something that is being done beside a call."""

    @property
    def settled(self) -> bool: ...
    def on_settled(self, fn: Callable[[], object]) -> None: ...


class Turn(Protocol):
    """A call's turn to run, where other calls keep it from running; see `calls._locks.Ticket`."""

    @property
    def granted(self) -> bool: ...

    @property
    def waiting_for(self) -> str | None: ...

    def block(self) -> None: ...
    def then(self, resume: Callable[[BaseException | None], object]) -> None: ...
    def abandon(self, error: BaseException) -> None: ...
    def release(self) -> None: ...


class Until:
    """The pause until a call's work has ended (its end), or a time has passed (None)."""

    __slots__ = ("_threads", "_when", "_work")
    quick = False

    def __init__(self, work: Work, when: float | None, threads: Threads) -> None:
        self._work = work
        self._when = when
        self._threads = threads

    def block(self) -> Any:
        work = self._work
        seconds = None if self._when is None else self._when - time.monotonic()
        if not work.holds_worker:
            return work.job.wait(seconds)
        with self._threads.workers.blocking_here():
            return work.job.wait(seconds)

    def then(self, resume: Resume) -> None:
        once = _Once(resume)
        if self._when is not None:
            once.forget = self._threads.deadlines.at(self._when, once)
        if not self._work.job.follow(once):
            once(self._work.job.result)


class FromBeginToEnd:
    """
    The pause in which a call's work begins, and is done or given up; its limit is kept by a timer.

    Whoever does the work goes on after it: one that asked for its end once it has begun may find it over by then, and
    would need another thread for what comes next.
    """

    __slots__ = ("_work",)
    quick = False

    def __init__(self, work: Work) -> None:
        self._work = work

    def block(self) -> Any:
        self._work.begin_timed()
        return self._work.job.wait(None)

    def then(self, resume: Resume) -> None:
        once = _Once(resume)
        if not self._work.job.follow(once):
            once(self._work.job.result)
        self._work.begin_timed()


class UntilSettled:
    """The pause until a call's work has ended (its end), or something else is settled or a time has passed (None)."""

    __slots__ = ("_other", "_threads", "_when", "_work")
    quick = False

    def __init__(self, work: Work, other: Settling, when: float | None, threads: Threads) -> None:
        self._work = work
        self._other = other
        self._when = when
        self._threads = threads

    def block(self) -> Any:
        gate: SimpleQueue[Any] = SimpleQueue()
        self._other.on_settled(partial(gate.put, None))
        if self._work.job.follow(gate.put):
            workers = self._threads.workers
            with workers.blocking_here() if workers.here else nullcontext(), suppress(Empty):
                gate.get(timeout=None if self._when is None else max(0.0, self._when - time.monotonic()))
        return self._work.job.result

    def then(self, resume: Resume) -> None:
        once = _Once(resume)
        if self._when is not None:
            once.forget = self._threads.deadlines.at(self._when, once)
        if not self._work.job.follow(once):
            once(self._work.job.result)
        spawn = self._threads.spawn  # what settles it must not be kept
        self._other.on_settled(lambda: spawn(once))


class _Once:
    """Resumes at the first of two events."""

    __slots__ = ("_resume", "forget")

    def __init__(self, resume: Resume) -> None:
        self._resume: list[Resume] = [resume]  # popping is atomic: one of the two gets it
        self.forget: Callable[[], None] | None = None

    def __call__(self, ended: Any = None) -> None:
        try:
            resume = self._resume.pop()
        except IndexError:
            return
        if self.forget is not None:
            self.forget()
        resume(ended, None)


class TurnPause:
    """The pause until a call's turn, for a call that then runs in its own thread."""

    __slots__ = ("_turn", "_workers")
    quick = True

    def __init__(self, turn: Turn, workers: Workers) -> None:
        self._turn = turn
        self._workers = workers

    def block(self) -> None:
        with self._workers.blocking_here() if self._workers.here else nullcontext():
            self._turn.block()

    def then(self, resume: Resume) -> None:
        self._turn.then(lambda error: resume(None, error))
