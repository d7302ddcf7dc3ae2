"""
A thread with an event loop, for whatever is written with asyncio: async tools, MCP servers, HTTP requests.

Nothing here imports asyncio; `executor.threads._serving` does, with the first coroutine.
"""

from __future__ import annotations

import sys
import threading
import weakref
from typing import TYPE_CHECKING, Any, TypeVar

from executor.errors import ExecutorUnavailableError, ToolCancelledError
from executor.threads._fork import of_this_process
from executor.threads._workers import waiting_threads

T = TypeVar("T")
# What loading a module raises where the process may open or read no file any more, or has no memory left.
UNLOADABLE = (OSError, ImportError, MemoryError)
if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from executor.threads._serving import Done, Given, Serving


def _shut_down() -> Exception:
    return ExecutorUnavailableError("The executor has been shut down")


class LoopThread:
    """
    One daemon thread with one event loop, started by the first coroutine. It may be used from any thread.

    Coroutines run side by side, each in a copy of the context (`contextvars`) of whoever gave it. Nothing that one
    raises ends the loop, `SystemExit` and `KeyboardInterrupt` included. One that blocks holds up all the others, so
    what must not be held up by somebody else's code has a `LoopThread` of its own. `asyncio.to_thread` uses daemon
    threads: neither they nor the loop keep the process from ending. In the child of a fork there is no coroutine; the
    first one starts another thread. A loop that is dropped without `close` ends its thread after the last coroutine.

    Args:
        name: Of the thread: ``executor-`` and whose it is.
        closed: Makes the error of whoever comes after `close`.
    """

    def __init__(self, name: str = "executor-loop", closed: Callable[[], Exception] = _shut_down) -> None:
        self._name = name
        self._closed_error = closed
        self._closed = False
        self._begin()
        of_this_process.add(self)

    def _begin(self) -> None:
        """As in `Workers`."""
        self._lock = threading.Lock()  # guards starting and closing: what was taken before `close` still gets its end
        self._serving: Serving | None = None

    @property
    def running(self) -> bool:
        """Whether the thread is there."""
        return self._serving is not None and self._serving.thread.is_alive()

    @property
    def here(self) -> bool:
        """Whether the caller is on its thread."""
        return self._serving is not None and self._serving.here

    @property
    def would_deadlock(self) -> bool:
        """Whether the caller must not wait for this loop: it is on its thread, or on one that the loop waits for."""
        if self._serving is None:
            return False
        served = self._serving.thread.ident
        return served == threading.get_ident() or served in waiting_threads.get()

    def start(self, coroutine: Coroutine[Any, Any, T], done: Done[T]) -> Callable[[], None]:
        """
        Run *coroutine*; nobody waits.

        Args:
            done: Called once, on the loop's thread and in the caller's context, when it has ended: with its value and
                None, or with None and what it raised (`ToolCancelledError` where it was cancelled). It must not block.

        Returns:
            A function that cancels it, from any thread. It does nothing once *coroutine* has ended.

        Raises:
            ExecutorUnavailableError: After `close` (or what was given as *closed*), or the thread cannot be started.
                *done* is not called then. After a Ctrl-C it is, once the coroutine was cancelled, or at once.
        """
        given: Given[T] | None = None
        try:
            if self.here and not self._closed:
                given = self._served().given(coroutine, done)  # `close` has its turn after this one
                given.start()
            else:
                with self._lock:
                    given = self._served().given(coroutine, done)
                    given.start()
        except BaseException as error:
            if given is not None and not isinstance(error, RuntimeError):
                given.cancel()  # Ctrl-C: the loop may have it by now
                raise
            coroutine.close()
            if not isinstance(error, Exception):
                done(None, ToolCancelledError("The call was cancelled"))
            raise
        return given.cancel

    def call(self, fn: Callable[[], object]) -> bool:
        """
        Call *fn*, which must not block, on the loop's thread, in a context like the caller's.

        Returns:
            False: it is not called, since there is no such thread any more, or none can be started.
        """
        try:
            with self._lock:
                self._served().come(fn)
        except (ExecutorUnavailableError, RuntimeError):
            return False
        return True

    def run(
        self,
        coroutine: Coroutine[Any, Any, T],
        on_stop: Callable[[Callable[[], object]], Callable[[], None]] | None = None,
    ) -> T:
        """
        Run *coroutine* and wait for its end.

        Args:
            on_stop: Registers the function that cancels it, and returns what takes that back (`on_cancel` of a call).

        Returns:
            Its value; what it raises is raised here.

        Raises:
            ToolCancelledError: It was cancelled.
            RuntimeError: The loop itself waits for the caller (see `would_deadlock`).
            ExecutorUnavailableError: As for `start`.
        """
        if self.would_deadlock:
            coroutine.close()
            raise RuntimeError("an async tool called another one and blocked: use `await asyncio.to_thread(...)`")
        ended = threading.Lock()
        ended.acquire()
        outcome: list[tuple[Any, BaseException | None]] = []

        def done(value: T | None, error: BaseException | None) -> None:
            outcome.append((value, error))
            ended.release()

        stop = self.start(coroutine, done)
        forget = on_stop(stop) if on_stop is not None else None
        try:
            ended.acquire()
        except BaseException:  # the waiting thread's own Ctrl-C
            stop()
            raise
        finally:
            if forget is not None:
                forget()
        value, error = outcome[0]
        if error is not None:
            raise error
        return value  # type: ignore[no-any-return]  # the coroutine's own value, passed through a pair

    def _served(self) -> Serving:
        if self._closed or sys.is_finalizing():  # when its thread never comes to run again
            raise self._closed_error()
        if self._serving is None:
            try:
                from executor.threads._serving import Serving  # asyncio cannot be imported when the interpreter ends

                self._serving = Serving(self._name)
            except (RuntimeError, *UNLOADABLE) as error:
                words = str(error) or repr(error)
                raise ExecutorUnavailableError(
                    f"The thread {self._name} could not be started ({words}): end other work and try again"
                ) from error
            weakref.finalize(self, self._serving.retire).atexit = False
        return self._serving

    def close(self, timeout: float = 1.0, last: Callable[[], Coroutine[Any, Any, object]] | None = None) -> bool:
        """
        Cancel the coroutines, run *last*, cancel every other task, close async generators, and end the thread.

        No coroutine is taken any more. What blocks, or goes on after it was cancelled, is left behind with its thread,
        and still gets its end if it comes to one.

        Args:
            timeout: Seconds to wait for that.
            last: For what has to end in order, such as tasks that own connections; it is given all of *timeout* but
                the final second, in which it is cancelled itself.

        Returns:
            Whether the thread has ended. On the loop's own thread, which is not waited for: False.
        """
        with self._lock:
            first, self._closed = not self._closed, True
            serving = self._serving
            if first and serving is not None:
                serving.close(timeout, last)
        if serving is None:
            return True
        if serving.thread is not threading.current_thread():
            serving.thread.join(timeout)
        return not serving.thread.is_alive()
