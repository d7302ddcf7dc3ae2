"""Several calls side by side: the one way in which batches, groups of a chain and `execute_many` run."""

from __future__ import annotations

import contextvars
from contextlib import nullcontext
from queue import SimpleQueue
from typing import TYPE_CHECKING, TypeVar, cast

from executor.calls._token import CancelToken, source_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from executor.threads._workers import Workers

Q = TypeVar("Q")
R = TypeVar("R")


def check_bound(value: int | None) -> int | None:
    """*value*, a number of calls at once, or None for as many as may be. Raises ValueError for anything else."""
    if value is not None and (type(value) is not int or value < 1):
        raise ValueError(f"max_concurrency is {value!r}, not a whole number from 1 on, or None")
    return value


def as_completed(
    call: Callable[[Q, CancelToken], R],
    requests: Sequence[Q],
    workers: Workers,
    max_concurrency: int | None = None,
    cancel: CancelToken | None = None,
    *,
    nested: bool = False,
) -> Iterator[tuple[int, R]]:
    """
    Each request's place and result, as soon as it is there. Closing the iterator stops the rest.

    So many workers as may be used at once each take the next request until none is left.

    Args:
        call: Carries one out. What it raises is raised here, and stops the rest.
        nested: Whether the caller is itself inside a call, whose place on a worker may then be taken.
    """
    stop = CancelToken()
    forget = source_of(cancel).propagate(source_of(stop)) if cancel is not None else None
    remaining = iter(range(len(requests)))  # next() on it is atomic
    ended: SimpleQueue[tuple[int, R | None, BaseException | None]] = SimpleQueue()

    def work() -> None:
        for index in remaining:
            try:
                ended.put((index, call(requests[index], stop), None))
            except BaseException as error:  # noqa: BLE001 -- raised again where the results are read
                ended.put((index, None, error))

    def blocking_here() -> AbstractContextManager[None]:
        return workers.blocking_here() if nested or workers.here else nullcontext()

    try:
        with blocking_here():
            width = min(len(requests), max(1, workers.free), max_concurrency or len(requests))
            started = sum(workers.submit(_in_context(work)) for _ in range(width))
        if started == 0:
            work()  # without workers the calls are still answered, one after the other
        for _ in requests:
            with blocking_here():
                index, result, error = ended.get()
            if error is not None:
                raise error  # noqa: TRY301 -- the rest is stopped, as for every other end
            yield index, cast("R", result)
    except BaseException:  # the reader went away, or was interrupted: whatever has not ended is not wanted
        stop.cancel("Nobody waits for this call any more")
        raise
    finally:
        if forget is not None:
            forget()


def run_many(
    call: Callable[[Q, CancelToken], R],
    requests: Sequence[Q],
    workers: Workers,
    max_concurrency: int | None = None,
    cancel: CancelToken | None = None,
    *,
    nested: bool = False,
) -> list[R]:
    """The results of `as_completed`, in the order of the requests."""
    found = dict(as_completed(call, requests, workers, max_concurrency, cancel, nested=nested))
    return [found[index] for index in range(len(requests))]


def _in_context(fn: Callable[[], None]) -> Callable[[], None]:
    context = contextvars.copy_context()
    return lambda: context.run(fn)
