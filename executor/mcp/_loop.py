"""The thread on which everything of the SDK happens."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from executor.errors import BackendUnavailableError

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Coroutine

CLOSE_SECONDS = 6.5  # a stopped process takes 4 (stdin closed, SIGTERM, SIGKILL); all servers are ended side by side


class BridgeLoop:
    """
    One daemon thread with one event loop, started by the first request; the SDK is imported there.

    `_lock` guards starting and closing: what is sent before `close` still runs, what comes later is refused.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._closed = False

    @property
    def running(self) -> bool:
        """Whether there is a thread."""
        return self._loop is not None

    def send(self, fn: Callable[..., object], *args: Any) -> None:
        """
        Run *fn* on the loop, soon, with the loop as its first argument.

        Raises:
            BackendUnavailableError: The bridge is closed, or the package mcp cannot be imported.
            RuntimeError: This is the loop's own thread, which would wait for itself.
        """
        if threading.current_thread() is self._thread:
            raise RuntimeError("an MCP server was called from the thread that all servers run on: use another thread")
        with self._lock:
            loop = self._loop or self._start()
            loop.call_soon_threadsafe(fn, loop, *args)

    def post(self, fn: Callable[..., object], *args: Any) -> None:
        """`send` for what has no effect any more once the bridge is closed."""
        with self._lock:
            if self._loop is not None:
                self._loop.call_soon_threadsafe(fn, *args)

    def _start(self) -> asyncio.AbstractEventLoop:
        if self._closed:
            raise BackendUnavailableError("The MCP servers have been closed", started=False)
        ready = threading.Event()
        made: list[asyncio.AbstractEventLoop | BaseException] = []
        self._thread = threading.Thread(target=_serve, args=(made, ready), name="executor-mcp", daemon=True)
        self._thread.start()
        ready.wait()
        loop = made[0]
        if isinstance(loop, BaseException):
            raise BackendUnavailableError(
                f"The package mcp cannot be imported ({loop}): install it with pip install 'mcp>=2.3,<3'",
                started=False,
            ) from loop
        self._loop = loop
        return loop

    def close(self, last: Callable[[], Coroutine[Any, Any, object]]) -> None:
        """Run *last*, then cancel what is left, and end the thread; within `CLOSE_SECONDS`, or leave it behind."""
        with self._lock:
            self._closed = True
            loop, thread = self._loop, self._thread
            self._loop = None
            if loop is not None:
                loop.call_soon_threadsafe(_finish, loop, last)
        if thread is not None and thread is not threading.current_thread():
            thread.join(CLOSE_SECONDS + 1)


def _finish(loop: asyncio.AbstractEventLoop, last: Callable[[], Coroutine[Any, Any, object]]) -> None:
    import asyncio

    async def end() -> None:
        await asyncio.wait({asyncio.ensure_future(last())}, timeout=CLOSE_SECONDS)
        loop.stop()

    loop.create_task(end()).add_done_callback(lambda task: task.exception())


def _serve(made: list[asyncio.AbstractEventLoop | BaseException], ready: threading.Event) -> None:
    import asyncio
    import logging

    # It logs a traceback for much that is told here as an error or kept as a server's last words. Whoever has set up
    # logging still gets it; a terminal does not.
    logging.getLogger("mcp").addHandler(logging.NullHandler())
    try:
        import mcp  # noqa: F401 -- 0.35 s, which only a process that uses a server spends, and no other thread waits for
    except BaseException as error:  # noqa: BLE001 -- told to whoever asked
        made.append(error)
        ready.set()
        return
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    made.append(loop)
    ready.set()
    try:
        loop.run_forever()
        pending = asyncio.all_tasks(loop)
        for task in pending:
            task.cancel()
        loop.run_until_complete(asyncio.wait_for(asyncio.gather(*pending, return_exceptions=True), 1.0))
        loop.run_until_complete(loop.shutdown_asyncgens())
    except TimeoutError:
        pass  # a task that does not heed its cancelling is left behind with its daemon thread
    finally:
        asyncio.set_event_loop(None)
        loop.close()
