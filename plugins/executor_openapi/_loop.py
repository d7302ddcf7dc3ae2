"""One thread with one event loop, started by the first request: a request on it can be stopped at any moment."""

from __future__ import annotations

import concurrent.futures
import threading
from typing import TYPE_CHECKING, Any, TypeVar

from executor.errors import BackendUnavailableError, ToolCancelledError

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Coroutine

T = TypeVar("T")
CLOSE_SECONDS = 2.0


class RequestLoop:
    """`_lock` guards starting and closing."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._closed = False

    def run(
        self,
        work: Coroutine[Any, Any, T],
        on_cancel: Callable[[Callable[[], object]], Callable[[], None]] | None,
    ) -> T:
        """
        Run *work* and wait for it.

        Args:
            on_cancel: Registers the function that stops it (the ``on_cancel`` of the call).

        Raises:
            ToolCancelledError: It was stopped.
            Exception: What *work* raised.
        """
        import asyncio

        with self._lock:
            if self._closed:
                work.close()
                raise BackendUnavailableError("The HTTP services have been closed", started=False)
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=_serve, args=(self._loop,), name="executor-openapi", daemon=True)
                self._thread.start()
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
        forget = on_cancel(future.cancel) if on_cancel is not None else None
        try:
            return future.result()
        except concurrent.futures.CancelledError:
            raise ToolCancelledError("The call was cancelled") from None
        except BaseException:
            future.cancel()  # the caller was interrupted
            raise
        finally:
            if forget is not None:
                forget()

    def close(self, last: Callable[[], Coroutine[Any, Any, object]]) -> None:
        """Run *last*, cancel what is left, and end the thread."""
        import asyncio

        with self._lock:
            self._closed = True
            loop, thread = self._loop, self._thread
            self._loop = None
        if loop is None or thread is None:
            return

        async def end() -> None:
            others = asyncio.all_tasks() - {asyncio.current_task()}
            for task in others:
                task.cancel()
            await asyncio.wait({asyncio.ensure_future(last()), *others}, timeout=CLOSE_SECONDS)
            loop.stop()

        asyncio.run_coroutine_threadsafe(end(), loop)
        thread.join(CLOSE_SECONDS + 1)


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    import asyncio

    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        asyncio.set_event_loop(None)
        loop.close()
