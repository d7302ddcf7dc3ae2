"""Work that is raced against the call's deadline and its cancellation: whoever waits gets away at once."""

from __future__ import annotations

import contextvars
import math
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from executor.errors import ExecutorUnavailableError, ToolTimeoutError
from executor.threads._jobs import Job

if TYPE_CHECKING:
    from collections.abc import Callable

    from executor.calls._current import CurrentCall
    from executor.threads._workers import Workers

T = TypeVar("T")


def seconds(value: float | None, name: str = "timeout") -> float | None:
    """*value* as a time limit; infinity is none. Raises ValueError for what is no number above 0."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise ValueError(f"{name} is {value!r}, not a number of seconds above 0, or None for no limit")
    return value if value != math.inf else None


def timed_out(call: CurrentCall, limit: float | None) -> ToolTimeoutError:
    """What a call ends in whose time is up."""
    return ToolTimeoutError(f"{call.name} timed out after {limit or 0.0:g} s", tool_id=call.name)


def raced(workers: Workers, call: CurrentCall, limit: float | None, work: Callable[[], T]) -> T:
    """
    What *work* returns, done on a worker, unless the call is stopped or its deadline passes first.

    The work is then told to stop; whatever it still comes to is dropped.

    Args:
        limit: The time limit in seconds, for the message; the time itself is the call's deadline.

    Raises:
        ToolTimeoutError, ToolCancelledError: The call was stopped.
        BaseException: What the work raised.
    """
    job: Job[tuple[Any, BaseException | None]] = Job(partial(_ended, work), contextvars.copy_context())
    forget = call.token.on_cancel(lambda: job.end((None, call.token.error)))
    try:
        with workers.lent() if call.depth > 0 or workers.here else nullcontext():
            if not workers.submit(job):
                raise ExecutorUnavailableError("The executor has been shut down")  # noqa: TRY301 -- cleaned up below
            ended = job.wait(call.remaining)
            if ended is None:
                call.token.stop(timed_out(call, limit))
                ended = job.wait(None)  # the stop has ended it, or the work had just ended by itself
    except BaseException:  # the caller's own Ctrl-C: nobody waits any more
        call.token.cancel("The caller was interrupted while waiting")
        raise
    finally:
        forget()
    assert ended is not None
    value, error = ended
    if error is not None:
        raise error
    return value  # type: ignore[no-any-return]  # what the work returned, passed through a pair


def _ended(work: Callable[[], Any]) -> tuple[Any, BaseException | None]:
    try:
        return work(), None
    except BaseException as error:  # noqa: BLE001 -- raised again in the thread that waits
        return None, error
