"""Several calls side by side."""

from __future__ import annotations

import contextvars
import threading
from typing import TYPE_CHECKING

from executor._output import CancelToken

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from executor._types import ToolCall, ToolResult
    from executor._workers import Workers


def run_many(
    call: Callable[[ToolCall, CancelToken], ToolResult],
    requests: Sequence[ToolCall],
    workers: Workers,
    max_concurrency: int | None,
    cancel: CancelToken | None,
    nested: bool,  # noqa: FBT001 -- a fact about the caller, not a choice between behaviours
) -> list[ToolResult]:
    """
    One result for each request, in their order.

    So many workers as may be used at once each take the next request until none is left.

    Args:
        call: Carries one out; never raises.
        nested: Whether the caller is itself on a worker, whose place may then be taken.
    """
    if not requests:
        return []
    stop = CancelToken()
    forget = cancel.pass_on(stop) if cancel is not None else None
    results: list[ToolResult | None] = [None] * len(requests)
    remaining = iter(range(len(requests)))  # next() on it is atomic
    done = threading.Semaphore(0)

    def work() -> None:
        try:
            for index in remaining:
                results[index] = call(requests[index], stop)
        finally:
            done.release()

    if nested:
        workers.lend()
    width = min(len(requests), max(1, workers.free), max_concurrency or len(requests))
    started = sum(workers.submit(_in_context(work)) for _ in range(width))
    try:
        if started == 0:
            work()  # without workers the calls are still answered, one after the other
            started = 1
        for _ in range(started):
            done.acquire()
    except BaseException:  # the caller's own Ctrl-C
        stop.cancel("The caller was interrupted while waiting")
        raise
    finally:
        if nested:
            workers.take_back()
        if forget is not None:
            forget()
    return [result for result in results if result is not None]


def _in_context(fn: Callable[[], None]) -> Callable[[], None]:
    context = contextvars.copy_context()
    return lambda: context.run(fn)
