"""The half of a call's end that is handed out: it says "stop". See `_state.CancelSource` for the engine's half."""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING

from executor.calls._state import CancelSource

if TYPE_CHECKING:
    from collections.abc import Callable

    from executor.calls._state import CallState, Spawn
    from executor.errors import ToolError


class CancelToken:
    """
    Says "stop" to work, once. Any thread may cancel it and wait on it.

    The token of a call that has ended can no longer be cancelled.
    """

    __slots__ = ("_source", "_spawn")

    def __init__(self) -> None:
        self._source = CancelSource()
        self._spawn: Spawn | None = None

    @property
    def cancelled(self) -> bool:
        """Whether somebody said stop."""
        return self._source.error is not None

    @property
    def error(self) -> ToolError | None:
        """What the work is to end in: ToolCancelledError, ToolTimeoutError, or None while nobody said stop."""
        return self._source.error

    def cancel(self, reason: str | None = None) -> bool:
        """
        Say stop: wake every `wait`, run every `on_cancel` function.

        Functions of a stop in the main thread are run on a thread of their own, which is waited for: a Ctrl-C loses
        none of them. A signal handler may call this; there they are waited for a moment only.

        Returns:
            Whether this made the difference; False when it had been cancelled, or its work had ended.
        """
        return self._source.cancel(reason)

    def wait(self, seconds: float | None = None) -> bool:
        """Sleep for *seconds* (None: without end), or until somebody says stop. Returns whether somebody did."""
        gate = threading.Lock()
        gate.acquire()
        forget = self._source.on_cancel(gate.release)
        try:
            gate.acquire(timeout=-1 if seconds is None else max(0.0, min(seconds, threading.TIMEOUT_MAX)))
        finally:
            forget()
        return self.cancelled

    def on_cancel(self, fn: Callable[[], object]) -> Callable[[], None]:
        """
        Run *fn* when somebody says stop; at once, if somebody has. Of a call, on a thread of its own.

        Returns:
            A function that takes *fn* back.
        """
        return self._source.on_cancel(
            partial(fn), self._spawn
        )  # which is equal to itself alone, whatever *fn* is equal to


def of_call(call: CallState) -> CancelToken:
    """The half of its source that may be handed out."""
    token = CancelToken.__new__(CancelToken)
    token._source, token._spawn = call.source, call.spawn  # noqa: SLF001 -- of this very module
    return token


def source_of(token: CancelToken) -> CancelSource:
    """The engine's half of *token*. Raises TypeError: it is none."""
    if not isinstance(token, CancelToken):
        raise TypeError(f"cancel is {token!r}: give a CancelToken, or None")
    return token._source  # noqa: SLF001 -- of this very module
