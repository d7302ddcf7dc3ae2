"""What a `LoopThread` has while it runs: the loop, its thread, and the coroutines that were given to it."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from executor._log import warn
from executor.errors import ToolCancelledError
from executor.threads import _fork

T = TypeVar("T")
if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    Done: TypeAlias = Callable[[T | None, BaseException | None], object]

FINAL_SECONDS = 1.0  # of the time to close in: for what is cancelled to end in


class Serving:
    """
    One event loop on one thread, from its start to its end.

    Raises:
        RuntimeError, OSError: The system has no thread or file handle left, or the interpreter is ending.
    """

    def __init__(self, name: str) -> None:
        # It keeps the context that it is made in: that of a call, with its executor, would never be free.
        self._loop = contextvars.Context().run(asyncio.new_event_loop)
        self._loop.set_default_executor(_DaemonThreads())
        self._coming: deque[tuple[Callable[[], object], contextvars.Context]] = deque()
        self._told = False  # the loop, that something is coming
        # From here to `_ending`: used on the loop's thread only.
        self._given: set[asyncio.Task[Any]] = set()
        self._retired = self._over = False
        self._ending: asyncio.Task[None] | None = None
        self.thread = threading.Thread(target=self._run, name=name, daemon=True)
        try:
            self.thread.start()
        except RuntimeError:
            self._loop.close()
            raise

    @property
    def here(self) -> bool:
        """Whether the calling thread is its own."""
        return threading.get_ident() == self.thread.ident

    def given(self, coroutine: Coroutine[Any, Any, T], done: Done[T]) -> Given[T]:
        """*coroutine*, to be started here."""
        return Given(coroutine, done, self)

    def come(self, fn: Callable[[], object]) -> None:
        """
        Call *fn* on the loop, in a context like the caller's; by one thread at a time.

        Raises:
            RuntimeError: The loop is closed, and *fn* is not called. After a Ctrl-C it may be.
        """
        # A task copies the context it is made in, so the call, its callback and the caller's variables go along.
        coming = fn, contextvars.copy_context()
        self._coming.append(coming)
        if not self._told:  # of many that come at once it is told once: that costs more than all the rest
            try:
                self._told = True
                self._loop.call_soon_threadsafe(self.take)
            except RuntimeError:  # it is closed
                with contextlib.suppress(ValueError):  # it was taken after all
                    self._coming.remove(coming)
                raise
            except BaseException:  # Ctrl-C: it is told of the next one, maybe of this one, too
                self._told = False
                raise

    def soon(self, fn: Callable[..., object], *args: Any) -> None:
        """Call *fn* on the loop, soon; from any thread."""
        with contextlib.suppress(RuntimeError):  # the loop is closed, and all that ran on it has ended
            self._loop.call_soon_threadsafe(fn, *args)

    def retire(self) -> None:
        """No coroutine will come any more: end after the last one."""
        self.soon(self._retire)

    def close(self, timeout: float, last: Callable[[], Coroutine[Any, Any, object]] | None) -> None:
        """As `LoopThread.close`, without waiting."""
        self.soon(self._close, max(0.0, timeout - FINAL_SECONDS), last)

    def _run(self) -> None:
        while not self._over:
            try:
                self._loop.run_forever()
            except BaseException as error:  # noqa: BLE001 -- SystemExit in a task that a coroutine started beside itself
                warn(f"A task or callback on the thread {self.thread.name} raised {error!r}", error=error)
        self._loop.close()

    # On the loop -------------------------------------------------------------------------------------------------

    def take(self) -> None:
        """Call what has come; what comes meanwhile has its turn after what these have begun."""
        try:
            for _ in range(len(self._coming)):
                fn, context = self._coming.popleft()
                context.run(fn)
        finally:
            self._told = bool(self._coming)
            if self._told or self._coming:  # looked at again: what came before the loop was to be told again
                self._told = True
                self._loop.call_soon(self.take)
            self._go_if_unused()

    def begun(self, task: asyncio.Task[Any]) -> None:
        """*task* runs a coroutine that was given to the loop."""
        self._given.add(task)

    def ended(self, task: asyncio.Task[Any]) -> None:
        """It has ended, and whoever gave it was told."""
        self._given.discard(task)
        self._go_if_unused()

    def _retire(self) -> None:
        self._retired = True
        self.take()  # also what the loop was not told of

    def _go_if_unused(self) -> None:
        if self._retired and not self._given and not self._coming:
            self._close(0.0, None)

    def _close(self, seconds: float, last: Callable[[], Coroutine[Any, Any, object]] | None) -> None:
        if self._ending is None:
            # Not in the context of the call whose end has ended the loop: that would never be free, with its executor.
            self._ending = self._loop.create_task(self._end(seconds, last), context=contextvars.Context())
            self._ending.add_done_callback(self._stop)

    def _stop(self, _: object) -> None:
        self._over = True
        self._loop.stop()

    async def _end(self, seconds: float, last: Callable[[], Coroutine[Any, Any, object]] | None) -> None:
        while self._coming:  # what was taken gets its end
            self.take()
        given = set(self._given)
        for task in given:
            task.cancel()
        if last is not None:
            await asyncio.wait({self._loop.create_task(_attempt(last)), *given}, timeout=seconds)
        others = asyncio.all_tasks() - given - {self._ending}
        for task in others:  # those of `given` are not cancelled twice: that would cut short how they end
            task.cancel()
        await asyncio.gather(*given, *others, return_exceptions=True)
        await self._loop.shutdown_asyncgens()


class Given(Generic[T]):
    """A coroutine for the loop, and whoever wants to know its end."""

    __slots__ = ("_cancelled", "_coroutine", "_done", "_serving", "_task", "_unwanted")

    def __init__(self, coroutine: Coroutine[Any, Any, T], done: Done[T], serving: Serving) -> None:
        self._coroutine = coroutine
        self._done = done
        self._serving = serving
        self._task: asyncio.Task[tuple[T | None, BaseException | None]] | None = None
        self._unwanted = self._cancelled = False

    def start(self) -> None:
        """Put it on the loop; by one thread at a time. Raises RuntimeError: the loop is closed."""
        if self._serving.here:
            self.begin()
        else:
            self._serving.come(self.begin)

    def begin(self) -> None:
        """Make its task; on the loop."""
        if self._task is not None:
            return
        self._task = asyncio.get_running_loop().create_task(_guarded(self._coroutine))
        self._serving.begun(self._task)
        self._task.add_done_callback(self._ended)
        if self._unwanted:
            self._cancel()

    def cancel(self) -> None:
        """Cancel it, from any thread; what has not begun gets its end all the same."""
        self._unwanted = True  # also for `begin`, should a second Ctrl-C keep the loop from being told
        self._serving.soon(self._cancel)

    def _cancel(self) -> None:
        if self._task is None:
            self._serving.take()  # the loop may have been told of this before it has taken what came earlier
            self.begin()  # else whoever gave it was interrupted before the loop had it
        if self._task is not None and not self._cancelled:  # a second time would cut short how it ends
            self._cancelled = True
            self._task.cancel()

    def _ended(self, task: asyncio.Task[tuple[T | None, BaseException | None]]) -> None:
        if task.cancelled():
            self._coroutine.close()  # it may have been cancelled before its first step
            error: BaseException | None = ToolCancelledError("The call was cancelled")
            value = None
        else:
            value, error = task.result()
        try:
            self._done(value, error)
        except BaseException as failure:  # noqa: BLE001 -- the loop and all that runs on it go on
            warn(f"The end of a coroutine could not be told: {failure!r}", error=failure)
        self._serving.ended(task)


async def _guarded(coroutine: Coroutine[Any, Any, T]) -> tuple[T | None, BaseException | None]:
    forks = _fork.forks
    try:
        return await coroutine, None
    except asyncio.CancelledError:
        raise
    except BaseException as error:  # noqa: BLE001 -- SystemExit would leave the loop, whoever's work it is in the midst of
        return None, error
    finally:
        _fork.leave_child(forks)


async def _attempt(last: Callable[[], Coroutine[Any, Any, object]]) -> None:
    try:
        await last()
    except Exception as error:  # noqa: BLE001 -- the loop ends all the same
        warn(f"What was to be done last on a loop failed: {error!r}", error=error)


class _DaemonThreads(ThreadPoolExecutor):
    """For `asyncio.to_thread`: the threads of asyncio's own pool hold up the end of the process until they are done."""

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
