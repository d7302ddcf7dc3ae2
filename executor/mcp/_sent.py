"""How long what was sent over HTTP is waited for: until the request is over, whichever way that became known."""

from __future__ import annotations

import contextlib
import contextvars
import math
from typing import TYPE_CHECKING, TypeVar

import anyio
import httpx2

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

T = TypeVar("T")


class GivenUpError(httpx2.SSEError):
    """Nobody waits for it any more. Of this kind, since the SDK does not ask for the rest of such a stream again."""


class Sent:
    """
    A message that was sent. Everything here runs on the loop.

    Args:
        seconds: After which it is over by itself; None: never.
    """

    def __init__(self, seconds: float | None = None) -> None:
        self._deadline = math.inf if seconds is None else anyio.current_time() + seconds
        self._over = False
        self._scope: anyio.CancelScope | None = None  # what comes of one message is awaited by one task

    def end(self) -> None:
        """It was answered, or given up: what still comes is not read."""
        self._over = True
        if self._scope is not None:
            self._scope.cancel()

    async def wait(self, work: Callable[[], Awaitable[T]]) -> T:
        """
        What *work* comes to.

        Raises:
            GivenUpError: The message is over; the work was cancelled, or has not begun.
        """
        if not self._over:
            with anyio.CancelScope(deadline=self._deadline) as self._scope:
                return await work()
        raise GivenUpError("nobody waits for the answer any more")


_sent: contextvars.ContextVar[Sent | None] = contextvars.ContextVar("executor_mcp_sent", default=None)


def sent() -> Sent | None:
    """The request for which the running task of a transport is there; None in one that belongs to none."""
    return _sent.get()


@contextlib.contextmanager
def sending(message: Sent | None) -> Iterator[None]:
    """What a transport does for what is put into its stream here, it does for *message*."""
    token = _sent.set(message)
    try:
        yield
    finally:
        _sent.reset(token)
