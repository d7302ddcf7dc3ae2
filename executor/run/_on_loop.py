"""Carrying an async tool out without a worker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from executor.errors import ExecutorUnavailableError

if TYPE_CHECKING:
    from executor.calls._work import Threads
    from executor.run._backends import Prepared, RunResult
    from executor.run._pipeline import Pipeline
    from executor.threads._jobs import Job


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

    if not job.begin():
        return True
    try:
        stop = job.context.run(prepared.setup.loop.start, pipeline.finish_async(prepared), done)
    except ExecutorUnavailableError as error:
        job.complete(error)
        return True
    prepared.call.source.on_cancel(stop)
    return True
