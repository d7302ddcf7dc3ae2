"""
One request to a server: the caller's thread waits, the work is done on the loop.

Everything that may block (progress callbacks, output callbacks) runs in the thread that waits, so that no callback
ever holds up another call.
"""

from __future__ import annotations

import math
import queue
import threading
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from executor._log import warn
from executor.calls._clock import standing_still
from executor.errors import ToolCancelledError, ToolTimeoutError

if TYPE_CHECKING:
    from collections.abc import Callable

    from executor.calls._host import Approvals
    from executor.calls._state import CallState
    from executor.calls._token import CancelToken
    from executor.mcp._failures import Refusal
    from executor.values import ProgressCallback, ToolOutputCallback

T = TypeVar("T")
MOST_NEWS = 1000  # notifications waiting for a slow callback; a flood of more is dropped


class Call(Generic[T]):
    """
    One request.

    Args:
        what: Whose it is, for messages: ``server: tool``.
        timeout: Seconds; the time that a person takes to answer the server's questions is not counted.

    Attributes:
        inbox: Gives where questions about it are put, or None.
        made_in: The call of an executor that waits for it, whose time stands still with its own; or None.
        refusal: What went wrong with its last request over HTTP, or None. Set and read on the loop.
        warnings: What was wrong with the answer, that did not keep it from being one.
    """

    __slots__ = (
        "_deadline",
        "_limit",
        "_lock",
        "_mail",
        "_on_output",
        "_on_progress",
        "_open",
        "_over",
        "_paused",
        "_still",
        "inbox",
        "made_in",
        "refusal",
        "warnings",
        "what",
    )

    def __init__(
        self,
        what: str,
        timeout: float,
        on_progress: ProgressCallback | None = None,
        on_output: ToolOutputCallback | None = None,
    ) -> None:
        self.what = what
        self.inbox: Callable[[], Approvals | None] = _nowhere
        self.refusal: Refusal | None = None
        self.warnings: list[str] = []
        self._limit = timeout
        self._deadline = time.monotonic() + timeout
        self.made_in: CallState | None = None
        self._lock = threading.Lock()  # guards what follows, and _deadline
        self._paused: float | None = None
        self._open = 0
        self._over = False
        self._still = ExitStack()
        self._mail: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
        self._on_progress = on_progress
        self._on_output = on_output

    # On the loop -------------------------------------------------------------------------------------------------

    def ended(self, value: T | None, error: BaseException | None) -> None:
        """The work is done, or failed; as `LoopThread.start` tells it."""
        self._mail.put(("done", value) if error is None else ("failed", error))

    def progressed(self, done: float, total: float | None, message: str | None) -> None:
        """The server says how far it is."""
        if self._on_progress is not None and self._mail.qsize() < MOST_NEWS:
            self._mail.put(("progress", (done, total, message)))

    @property
    def listens(self) -> bool:
        """Whether anybody wants to hear what the server says."""
        return self._on_output is not None

    def said(self, text: str) -> None:
        """The server says something."""
        if self._on_output is not None and self._mail.qsize() < MOST_NEWS:
            self._mail.put(("output", (text,)))

    def pause(self) -> None:
        """A person is being asked: the clock stands still, and that of the call that it is made in."""
        with self._lock:
            self._open += 1
            if self._open == 1:
                self._paused = time.monotonic()
                if self.made_in is not None and not self._over:
                    self._still.enter_context(standing_still(self.made_in))
                    self.made_in.begin_wait("the answer of a person")
                    self._still.callback(self.made_in.end_wait)

    def resume(self) -> None:
        """The person has answered."""
        with self._lock:
            self._open -= 1
            if self._open == 0 and self._paused is not None:
                self._deadline += time.monotonic() - self._paused
                self._paused = None
            still = ExitStack() if self._open else self._still.pop_all()
        self._mail.put(("clock", ()))
        still.close()

    # In the caller's thread --------------------------------------------------------------------------------------

    def wait(self, stop: Callable[[], object], cancel: CancelToken | None) -> T:
        """
        Carry out callbacks until the answer is there.

        Args:
            stop: Ends the work on the loop; called when it is cancelled, out of time, or the caller is interrupted.

        Raises:
            ToolTimeoutError: Its time is over.
            ToolCancelledError: *cancel* was cancelled.
            Exception: What the work raised.
        """
        forget = cancel.on_cancel(lambda: self._mail.put(("cancelled", ()))) if cancel is not None else None
        try:
            while True:
                kind, value = self._next_mail(cancel)
                if kind == "done":
                    return cast("T", value)
                self._notify(kind, value)
        except BaseException:
            stop()
            raise
        finally:
            if forget is not None:
                forget()
            with self._lock:  # a server may wait for the answer longer than anybody waits for the server
                self._over, still = True, self._still.pop_all()
            still.close()

    def _next_mail(self, cancel: CancelToken | None) -> tuple[str, Any]:
        try:
            kind, value = self._mail.get(timeout=self._left())
        except queue.Empty:
            if self._left() == 0:
                limit = round(self._limit, 2) or self._limit  # what was left of a call's time: 0.99928 of 1
                raise ToolTimeoutError(f"{self.what}: no answer within {limit:g} s") from None
            return "clock", ()  # a person was asked meanwhile
        if kind == "failed":
            raise value
        if kind == "cancelled":
            error = cancel.error if cancel is not None else None
            raise error or ToolCancelledError(f"{self.what}: the call was cancelled")
        return kind, value

    def _left(self) -> float | None:
        with self._lock:
            if self._paused is not None or self._deadline == math.inf:
                return None
            return min(max(0.0, self._deadline - time.monotonic()), threading.TIMEOUT_MAX)

    def _notify(self, kind: str, value: tuple[Any, ...]) -> None:
        callback: Callable[..., object] | None = self._on_progress if kind == "progress" else self._on_output
        if kind == "clock" or callback is None:
            return
        try:
            callback(*value)
        except Exception as error:  # noqa: BLE001 -- who is told of progress does not decide how a call ends
            self._on_progress = self._on_output = None
            warn(f"{self.what}: a callback raised and is left out from now on: {error!r}", error=error)


def _nowhere() -> None:
    """There is no executor around the call."""
