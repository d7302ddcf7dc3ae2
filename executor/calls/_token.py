"""Saying "stop" to work."""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING

from executor._log import warn
from executor.errors import ToolCancelledError, ToolError

if TYPE_CHECKING:
    from collections.abc import Callable


# Guards the lists of every token. Held for list operations only; nothing else is taken or called under it. Reentrant,
# because a signal handler may cancel a token while the interrupted thread is in here.
_tokens = threading.RLock()


def _nothing() -> None:
    pass


class CancelToken:
    """
    Says "stop" to work, once. Any thread may cancel it and wait on it.

    A token that has ended (its work is over) can no longer be cancelled: whoever comes first has it.
    """

    __slots__ = ("_ended", "_functions", "error")

    def __init__(self) -> None:
        self.error: ToolError | None = None
        self._ended = False
        self._functions: list[Callable[[], object]] | None = None

    @property
    def cancelled(self) -> bool:
        """Whether somebody said stop."""
        return self.error is not None

    def cancel(self, reason: str | None = None) -> bool:
        """
        Say stop: wake every `wait`, run every `on_cancel` function.

        Returns:
            Whether this made the difference; False when it had been cancelled, or its work had ended.
        """
        return self.stop(ToolCancelledError(reason or "The call was cancelled"))

    def stop(self, error: ToolError) -> bool:
        """`cancel` with the error that the call is to end in."""
        with _tokens:
            if self._ended or self.error is not None:
                return False
            self.error = error
            functions, self._functions = self._functions, None
        for fn in functions or ():
            run_safely(fn)
        return True

    def end(self) -> ToolError | None:
        """The work is over. Returns the error that it was stopped with, if that came first."""
        # Once the flag stands, stop() refuses; had stop() come before, its error stands. Under the lock neither misses.
        with _tokens:
            if self.error is None:
                self._ended = True
            self._functions = None
            return self.error

    def wait(self, seconds: float | None = None) -> bool:
        """Sleep for *seconds* (None: without end), or until somebody says stop. Returns whether somebody did."""
        gate = threading.Lock()
        gate.acquire()
        forget = self.on_cancel(gate.release)
        try:
            gate.acquire(timeout=-1 if seconds is None else max(0.0, min(seconds, threading.TIMEOUT_MAX)))
        finally:
            forget()
        return self.cancelled

    def on_cancel(self, fn: Callable[[], object]) -> Callable[[], None]:
        """
        Run *fn* when somebody says stop; at once, if somebody has.

        Returns:
            A function that takes *fn* back.
        """
        return partial(self._forget, fn) if self.tell(fn) else _nothing

    def tell(self, fn: Callable[[], object]) -> bool:
        """`on_cancel` for good, with nothing to take *fn* back by. Returns whether the stop was still to come."""
        with _tokens:
            if self.error is None:
                if self._functions is None:
                    self._functions = [fn]
                else:
                    self._functions.append(fn)
                return True
        run_safely(fn)
        return False

    def pass_on(self, to: CancelToken) -> Callable[[], None]:
        """Cancel *to* as well when somebody cancels this one; the returned function ends that."""
        return self.on_cancel(lambda: to.cancel(self.error.message if self.error is not None else None))

    def _forget(self, fn: Callable[[], object]) -> None:
        with _tokens:
            if self._functions is not None and fn in self._functions:
                self._functions.remove(fn)


def run_safely(fn: Callable[[], object]) -> None:
    try:
        fn()
    except BaseException as error:  # noqa: BLE001 -- one bad function must not keep the others from stopping their work
        warn(f"A function given to on_cancel raised: {error!r}", error=error)
