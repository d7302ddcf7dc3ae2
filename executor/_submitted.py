"""The future of a submitted call."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from contextlib import nullcontext
from typing import TYPE_CHECKING

from executor.run._on_loop import BLOCKED
from executor.threads._condition import Entered
from executor.values import ToolResult

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from executor.calls._state import CancelSource
    from executor.threads._loop import LoopThread
    from executor.threads._workers import Workers


class CallFuture(Future[ToolResult]):
    """
    The `ToolResult` that is to come. It never holds an exception: a call that fails has a result that says so.

    Cancelling it stops the call, also once that runs; then `result` raises `concurrent.futures.CancelledError`.

    A tool that waits for the calls that it has submitted does so by `result`, which lends its worker to them;
    `concurrent.futures.wait` keeps the worker.
    """

    def __init__(self, source: CancelSource, workers: Workers, loop: LoopThread | None = None) -> None:
        """*loop*: on which it ends, if it does on one."""
        super().__init__()
        self._condition = Entered()  # with that of the library a Ctrl-C in `result` may keep the worker for ever
        self._source = source
        self._workers = workers
        self._loop = loop
        self._lock = threading.Lock()  # guards the two below; nothing is called under it
        self._cancelling: set[object] = set()  # an object for each thread that does
        self._held: ToolResult | None = None  # came while it was being cancelled

    def cancel(self) -> bool:
        """Stop the call. Returns False when it has ended."""
        this = object()
        try:
            with self._lock:
                if self.done():
                    return self.cancelled()
                self._cancelling.add(this)
            if self._source.cancel("The future of this call was cancelled") and super().cancel():
                self.set_running_or_notify_cancel()
        finally:  # a Ctrl-C does not keep what came meanwhile from whoever waits
            with self._lock:
                self._cancelling.discard(this)
                held, self._held = (None, self._held) if self._cancelling else (self._held, None)
            if held is not None:
                self.deliver(held)
        return self.cancelled()

    def result(self, timeout: float | None = None) -> ToolResult:
        """
        As `Future.result`; a tool that waits here lends its worker to those it waits for.

        Raises:
            RuntimeError: An async tool waits for another one: what it waits for could not go on. It is to be awaited.
        """
        with self._blocked():
            return super().result(timeout)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """As `Future.exception`: None, since a failure is a result."""
        with self._blocked():
            return super().exception(timeout)

    def _blocked(self) -> AbstractContextManager[None]:
        if self.done():
            return nullcontext()
        if self._loop is not None and self._loop.would_deadlock:
            raise RuntimeError(BLOCKED)
        return self._workers.blocking_here() if self._workers.here else nullcontext()

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
