"""One thread with one event loop, started by the first coroutine."""

from __future__ import annotations

import contextvars
import threading
from typing import TYPE_CHECKING, Any, TypeVar

from executor.errors import ExecutorUnavailableError, ToolCancelledError
from executor.threads._fork import of_this_process
from executor.threads._workers import waiting_threads

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Coroutine
    from concurrent.futures import ThreadPoolExecutor

T = TypeVar("T")


class LoopThread:
    """One thread with one event loop, started by the first coroutine, for tools that are ``async def``."""

    def __init__(self) -> None:
        self._closed = False
        self._begin()
        of_this_process.add(self)

    def _begin(self) -> None:
        """As in `Workers`."""
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def run(
        self, coroutine: Coroutine[Any, Any, T], on_stop: Callable[[Callable[[], object]], Callable[[], None]]
    ) -> T:
        """
        Run *coroutine* and wait for it, in the caller's context.

        Args:
            on_stop: Registers the function that cancels it (the `on_cancel` of the call's token).

        Raises:
            ToolCancelledError: It was cancelled.
            RuntimeError: The loop itself waits for this work.
            ExecutorUnavailableError: After `close`.
        """
        thread = self._thread
        if thread is not None and (thread is threading.current_thread() or thread.ident in waiting_threads.get()):
            coroutine.close()
            raise RuntimeError("an async tool called another one and blocked: use `await asyncio.to_thread(...)`")
        gate = threading.Lock()
        gate.acquire()
        tasks: list[asyncio.Task[tuple[bool, Any]]] = []

        def start() -> None:
            task = loop.create_task(_guarded(coroutine))
            tasks.append(task)
            task.add_done_callback(lambda _: gate.release())

        with self._lock:  # against close(): what is queued before the loop is told to stop still starts and ends
            if self._closed:
                coroutine.close()
                raise ExecutorUnavailableError("The executor has been shut down")
            loop = self._running_loop()
            # A task copies the context it is made in, so the call, its callback and the caller's variables go along.
            loop.call_soon_threadsafe(start, context=contextvars.copy_context())

        def stop() -> None:
            loop.call_soon_threadsafe(lambda: [task.cancel() for task in tasks])

        forget = on_stop(stop)
        try:
            gate.acquire()
        except BaseException:  # the waiting thread's own Ctrl-C
            stop()
            raise
        finally:
            forget()
        if tasks[0].cancelled():
            coroutine.close()  # it may have been cancelled before its first step
            raise ToolCancelledError("The call was cancelled")
        ok, value = tasks[0].result()
        if ok:
            return value  # type: ignore[no-any-return]  # the coroutine's own result, passed through a pair
        raise value

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        import asyncio

        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=_serve, args=(self._loop,), name="executor-loop", daemon=True)
            self._thread.start()
        return self._loop

    def close(self) -> None:
        """Cancel what runs, and end the thread. There will be no other."""
        with self._lock:
            self._closed = True
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
            if loop is not None:
                loop.call_soon_threadsafe(loop.stop)
        if thread is not None and thread is not threading.current_thread():
            thread.join(1.0)  # a coroutine that blocks its loop is left behind with its daemon thread


async def _guarded(coroutine: Coroutine[Any, Any, Any]) -> tuple[bool, Any]:
    import asyncio

    try:
        return True, await coroutine
    except asyncio.CancelledError:
        raise
    except BaseException as error:  # noqa: BLE001 -- SystemExit would end the loop, and with it every other tool's work
        return False, error


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    import asyncio

    asyncio.set_event_loop(loop)
    loop.set_default_executor(_daemon_threads())
    try:
        loop.run_forever()
        pending = asyncio.all_tasks(loop)
        for task in pending:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*pending, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        loop.close()


def _daemon_threads() -> ThreadPoolExecutor:
    """For `asyncio.to_thread`: the threads of asyncio's own pool hold up the end of the process until they are done."""
    from concurrent.futures import Future, ThreadPoolExecutor

    class DaemonThreads(ThreadPoolExecutor):
        def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
            future: Future[T] = Future()

            def work() -> None:
                if future.set_running_or_notify_cancel():
                    try:
                        future.set_result(fn(*args, **kwargs))
                    except BaseException as error:  # noqa: BLE001 -- whatever it is, it is this future's result
                        future.set_exception(error)

            threading.Thread(target=work, name="executor-loop-aside", daemon=True).start()
            return future

    return DaemonThreads()
