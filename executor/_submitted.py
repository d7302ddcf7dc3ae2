"""The future of a submitted call."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING

from executor.values import ToolResult

if TYPE_CHECKING:
    from executor.calls._state import CancelSource


class CallFuture(Future[ToolResult]):
    """
    The `ToolResult` that is to come. It never holds an exception: a call that fails has a result that says so.

    Cancelling it stops the call, also once that runs; then `result` raises `concurrent.futures.CancelledError`.
    """

    def __init__(self, source: CancelSource) -> None:
        super().__init__()
        self._source = source
        self._lock = threading.Lock()  # guards the two below; nothing is called under it
        self._cancelling = False
        self._held: ToolResult | None = None  # came while it was being cancelled

    def cancel(self) -> bool:
        """Stop the call. Returns False when it has ended."""
        with self._lock:
            if self.done():
                return self.cancelled()
            self._cancelling = True
        stopped = self._source.cancel("The future of this call was cancelled")
        with self._lock:
            self._cancelling = False
            held, self._held = self._held, None
        if stopped and super().cancel():
            self.set_running_or_notify_cancel()
            return True
        if held is not None:
            self.deliver(held)
        return False

    def deliver(self, result: ToolResult) -> None:
        """The call has come to *result*."""
        with self._lock:
            if self._cancelling:
                self._held = result
                return
            if self.done():  # cancelled: nobody waits for what it came to
                return
            self.set_running_or_notify_cancel()
        self.set_result(result)
