"""Carrying an async tool out without a worker."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, TypeGuard

from executor.errors import ExecutorUnavailableError, ToolCancelledError
from executor.run._backends import Prepared

if TYPE_CHECKING:
    from collections.abc import Callable

    from executor.calls._work import Threads
    from executor.run._backends import RunResult
    from executor.run._options import Done
    from executor.run._pipeline import Pipeline
    from executor.run._way import Way
    from executor.threads._jobs import Job

BLOCKED = "an async tool called another one and blocked: use `await executor.acall(...)`, or `asyncio.to_thread`"


def only_runs_on_loop(made: Prepared | BaseException | None, pipeline: Pipeline) -> TypeGuard[Prepared]:
    """Whether a call may run, and only has to be put on the loop: nothing else about its tool has to be waited for."""
    if not isinstance(made, Prepared):
        return False
    return made.entry.only_awaited and made.judging is None and pipeline.finishes_on_loop(made)


class OnLoop:
    """
    A submitted call that nothing has to be waited for but its async tool; no thread waits for that.

    It has one end: what the tool comes to, or its stop. Whoever comes first tells it, for the other may never come: a
    tool need not heed a stop, and who says stop may be interrupted.
    """

    __slots__ = ("_cancel", "_done", "_prepared", "_running", "_way")

    def __init__(self, way: Way, prepared: Prepared, done: Done) -> None:
        self._way = way
        self._prepared = prepared
        self._done = [done]  # popping is atomic: one of the two has it
        self._cancel: Callable[[], object] | None = None
        self._running = True

    def begin(self) -> None:
        """Put it on the loop."""
        prepared, way = self._prepared, self._way
        source = prepared.call.source
        if not source.call_at_stop(self._stopped):
            return
        try:
            self._cancel = prepared.setup.loop.start(way.pipeline.finish_async(prepared), self)
        except ExecutorUnavailableError as error:
            self(None, error)
            return
        if source.fate:  # whoever stopped it may have come too early to cancel it
            self._cancel()

    def __call__(self, result: RunResult | None, error: BaseException | None) -> None:
        """It has left the loop, late or not."""
        self._running = False
        way, call = self._way, self._prepared.call
        if self in way.threads.abandoned:
            way.threads.came_back(self)
        ended = call.source.end() or result or error
        assert ended is not None, "one of them is there"
        try:
            done = self._done.pop()
        except IndexError:
            return
        way.over(call)
        if ended is result and done.at_once(result):
            way.promises.kept(call)
        else:
            way.promises.keep_beside(call, done, ended)

    def _stopped(self) -> None:
        """The call was stopped, and ends now, whether or not the tool heeds that."""
        way, call, error = self._way, self._prepared.call, self._prepared.call.source.error
        assert error is not None, "what it was stopped with"
        # Entered before it is looked at: a tool that comes back now either is seen here, or finds itself there.
        way.threads.abandoned[self] = time.monotonic()
        if not self._running or self._cancel is None:
            way.threads.abandoned.pop(self, None)
        if self._cancel is not None:
            self._cancel()
        try:
            done = self._done.pop()
        except IndexError:
            return
        way.over(call)
        way.promises.keep_beside(call, done, error)


def start_on_loop(prepared: Prepared, pipeline: Pipeline, threads: Threads, job: Job[Any]) -> bool:
    """
    Begin *job* on the event loop; whoever is told of its end, instead of waiting for it, is told on a worker.

    Returns:
        True: it has its end, or will get it.
    """

    def done(ended: RunResult | None, error: BaseException | None) -> None:
        result = ended if error is None else error
        if job.followed:
            threads.spawn(lambda: job.complete(result))
        else:
            job.complete(result)

    work = None
    try:
        if not job.begin():
            return True
        work = pipeline.finish_async(prepared)
        stop = job.context.run(prepared.setup.loop.start, work, done)
    except ExecutorUnavailableError as error:
        job.complete(error)
        return True
    except BaseException:  # the caller's own Ctrl-C: what has not begun by now never does
        from inspect import CORO_CREATED, getcoroutinestate  # for this alone

        if work is None or getcoroutinestate(work) == CORO_CREATED:
            if work is not None:
                work.close()
            job.complete(ToolCancelledError("The caller was interrupted while waiting"))
        raise
    prepared.call.source.on_cancel(stop)
    return True
