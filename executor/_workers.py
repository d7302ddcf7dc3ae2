"""
Threads: workers grown on demand, one thread that keeps deadlines, one that runs coroutines. All daemon, none polls.

Locks: `Workers._lock` guards the lists and counts of one pool, `Job._lock` the state of one job, `Deadlines._wake` the
heap. None is held while another is taken, or while code of somebody else's runs.
"""

from __future__ import annotations

import contextvars
import heapq
import itertools
import os
import threading
import time
import weakref
from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from executor._log import warn
from executor.errors import ExecutorUnavailableError, ToolCancelledError

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Coroutine, Iterator
    from concurrent.futures import ThreadPoolExecutor

IDLE_SECONDS = 10.0  # how long a worker beyond the warm ones waits for more work, as in trio and anyio
_thread_numbers = itertools.count(1)
# The threads that wait for the running code, directly or through further calls.
_waiting_threads: contextvars.ContextVar[frozenset[int]] = contextvars.ContextVar(
    "executor_waiting_threads", default=frozenset()
)

T = TypeVar("T")


class Job(Generic[T]):
    """
    One piece of work on a worker. It has one end, which is set by the worker or by whoever gives up on it first.

    Attributes:
        result: The end; None until there is one.
        started: Monotonic time at which a worker took it, or None.
        running: Whether the function is on a thread now, wanted or not.
        on_return: Called on the worker when the function has come back, wanted or not.
    """

    __slots__ = (
        "_context",
        "_fn",
        "_gate",
        "_lock",
        "_on_end",
        "_on_start",
        "on_return",
        "result",
        "running",
        "started",
    )

    def __init__(self, fn: Callable[[], T], context: contextvars.Context) -> None:
        self._fn = fn  # never raises: it turns every failure into its result
        self._context = context
        self._on_start: Callable[[], object] | None = None
        self._on_end: Callable[[T], object] | None = None
        self.on_return: Callable[[], object] | None = None
        self._lock = threading.Lock()
        self._gate = threading.Lock()
        self._gate.acquire()
        self.result: T | None = None
        self.started: float | None = None
        self.running = False

    def __call__(self) -> None:
        """Do the work, on a worker."""
        with self._lock:
            if self.result is not None:
                return
            self.started = time.monotonic()
            self.running = True
            on_start = self._on_start
        if on_start is not None:
            try:
                on_start()
            except BaseException as error:  # noqa: BLE001 -- work that was accepted is done, told of or not
                warn(f"The start of a job could not be told: {error!r}", error=error)
        result = self._context.run(self._fn)
        self.running = False
        try:
            self.end(result)
        finally:
            if self.on_return is not None:
                self.on_return()

    def end(self, result: T) -> bool:
        """Set the end. Returns False when it has one already: a late result is dropped."""
        with self._lock:
            if self.result is not None:
                return False
            self.result = result
            on_end = self._on_end
        self._gate.release()
        if on_end is not None:
            on_end(result)
        return True

    def wait(self, seconds: float | None) -> T | None:
        """The end, as soon as it is there; None when *seconds* passed without one. For one waiting thread."""
        if self.result is None:
            self._gate.acquire(timeout=-1 if seconds is None else max(0.0, min(seconds, threading.TIMEOUT_MAX)))
        return self.result

    def hand_over(self, on_start: Callable[[], object], on_end: Callable[[T], object]) -> bool | None:
        """
        Nobody waits from now on: tell *on_start* and *on_end* instead.

        Returns:
            Whether it has started, or None when it has ended (then neither is called).
        """
        with self._lock:
            if self.result is not None:
                return None
            self._on_end = on_end
            if self.started is None:
                self._on_start = on_start
                return False
            return True


class _Worker:
    __slots__ = ("gate", "job")

    def __init__(self, job: Callable[[], object]) -> None:
        self.job: Callable[[], object] | None = job
        self.gate = threading.Lock()
        self.gate.acquire()


class Workers:
    """
    Worker threads: the last idle one is reused, another is started when none is idle, up to *limit*.

    Args:
        warm: How many idle workers stay; the others end after `IDLE_SECONDS`.
        limit: How many threads there may be; work beyond that waits its turn.
    """

    def __init__(self, *, warm: int, limit: int) -> None:
        self._warm = warm
        self._limit = limit
        self._closed = False
        self._begin()
        _of_this_process.add(self)

    def _begin(self) -> None:
        """Without any thread or work; in the child of a fork again, where none of the threads exists."""
        self._lock = threading.Lock()
        self._idle: list[_Worker] = []
        self._waiting: deque[Callable[[], object]] = deque()
        self._count = 0
        self._lent = 0
        self._threads: set[int] = set()  # set operations are atomic
        self._all_gone = threading.Condition(self._lock)

    @property
    def free(self) -> int:
        """How many jobs would start at once."""
        with self._lock:
            return max(0, self._limit + self._lent - self._count) + len(self._idle)

    @property
    def count(self) -> int:
        """How many threads there are."""
        return self._count

    @property
    def here(self) -> bool:
        """Whether the calling thread is one of these."""
        return threading.get_ident() in self._threads

    def submit(self, job: Callable[[], object]) -> bool:
        """Run *job* on a worker, now or as soon as one is free. Returns False when closed: it will not run."""
        with self._lock:
            if self._closed:
                return False
            if self._idle:
                self._wake(job)
                return True
            if self._count >= self._limit + self._lent:
                self._waiting.append(job)
                return True
            self._count += 1
        return self._start(job) or self._postpone(job)

    def submit_aside(self, fn: Callable[[], object]) -> bool:
        """
        Run *fn* on a worker now, beyond the limit if need be, closed or not: what stops work must not wait for it.

        Returns:
            False when the system has no thread left: it will not run.
        """

        def job() -> None:
            try:
                fn()
            finally:
                self._take_back()

        with self._lock:
            self._lent += 1  # it takes nobody's place
            if self._idle:
                self._wake(job)
                return True
            self._count += 1
        if self._start(job):
            return True
        self._take_back()
        return False

    def _wake(self, job: Callable[[], object]) -> None:
        worker = self._idle.pop()
        worker.job = job
        worker.gate.release()

    def _start(self, job: Callable[[], object]) -> bool:
        """Start a worker that was counted in already; takes it out again when there can be none."""
        worker = _Worker(job)
        name = f"executor-worker-{next(_thread_numbers)}"
        try:
            threading.Thread(target=self._work, args=(worker,), name=name, daemon=True).start()
        except RuntimeError:  # the system has no thread left, or the interpreter is ending
            with self._lock:
                self._leave()
            return False
        return True

    def _postpone(self, job: Callable[[], object]) -> bool:
        """Leave *job* to the workers that exist. Returns False when there is none."""
        with self._lock:
            if self._idle:
                self._wake(job)
            elif self._count > 0:
                self._waiting.append(job)
            else:
                return False
            return True

    @contextmanager
    def lent(self) -> Iterator[None]:
        """
        While a call, or a worker, waits for another one's work: its place may be taken meanwhile.

        Without this, nested calls would wait for ever once every worker waits for a nested call.
        """
        reset = _waiting_threads.set(_waiting_threads.get() | {threading.get_ident()})
        job = None
        with self._lock:
            self._lent += 1
            if self._waiting and self._count < self._limit + self._lent:
                job = self._waiting.popleft()
                self._count += 1
        try:
            if job is not None and not self._start(job):
                self._postpone(job)
            yield
        finally:
            self._take_back()
            _waiting_threads.reset(reset)

    def _take_back(self) -> None:
        with self._lock:
            self._lent -= 1

    def _work(self, worker: _Worker) -> None:
        job = worker.job
        self._threads.add(threading.get_ident())
        while True:
            worker.job = None
            if job is not None:
                try:
                    job()
                except BaseException as error:  # noqa: BLE001 -- a job must not take a worker with it
                    warn(f"A job raised out of its worker: {error!r}", error=error)
            job = None  # its arguments and results are free while this thread waits
            with self._lock:
                if self._waiting and self._count <= self._limit + self._lent:
                    job = self._waiting.popleft()
                    continue
                if self._closed or self._count > self._limit + self._lent:
                    self._threads.discard(threading.get_ident())
                    self._leave()
                    return
                self._idle.append(worker)
                stays = len(self._idle) <= self._warm
            if not worker.gate.acquire(timeout=-1 if stays else IDLE_SECONDS) and self._retire(worker):
                return
            job = worker.job

    def _retire(self, worker: _Worker) -> bool:
        with self._lock:
            if worker not in self._idle:
                worker.gate.acquire()  # work came at the last moment; its release is certain, under this very lock
                return False
            self._idle.remove(worker)
            self._threads.discard(threading.get_ident())
            self._leave()
            return True

    def _leave(self) -> None:
        self._count -= 1
        if self._count == 0:
            self._all_gone.notify_all()

    def close(self, timeout: float | None = 0) -> bool:
        """
        Take no more work; idle workers end now, busy ones when what was accepted has been done.

        Returns:
            Whether every thread had ended within *timeout* seconds (None: wait without end).
        """
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
            for worker in idle:
                worker.gate.release()
            return self._all_gone.wait_for(lambda: self._count == 0, timeout)


class Deadlines:
    """Calls functions at given times, on one thread that exists only while something is due."""

    def __init__(self) -> None:
        self._numbers = itertools.count()
        self._begin()
        _of_this_process.add(self)

    def _begin(self) -> None:
        """As in `Workers`."""
        self._wake = threading.Condition(threading.Lock())
        self._heap: list[tuple[float, int, Callable[[], object]]] = []
        self._alive = False

    def at(self, when: float, fn: Callable[[], object]) -> Callable[[], None]:
        """
        Call *fn* at the monotonic time *when*. It must not block.

        Returns:
            A function that takes it back.
        """
        number = next(self._numbers)
        with self._wake:
            heapq.heappush(self._heap, (when, number, fn))
            if self._alive:
                self._wake.notify()
            else:
                try:
                    threading.Thread(target=self._run, name="executor-deadlines", daemon=True).start()
                    self._alive = True
                except RuntimeError as error:  # no thread left; the next call that has a deadline tries again
                    warn("A time limit may be kept too late: the system has no thread left", error=error)
        return lambda: self._forget(number)

    def _forget(self, number: int) -> None:
        with self._wake:
            kept = [entry for entry in self._heap if entry[1] != number]
            if len(kept) < len(self._heap):
                heapq.heapify(kept)
                self._heap = kept
                self._wake.notify()

    def _run(self) -> None:
        while True:
            with self._wake:
                if not self._heap:
                    self._alive = False
                    return
                delay = self._heap[0][0] - time.monotonic()
                if delay > 0:
                    self._wake.wait(min(delay, threading.TIMEOUT_MAX))
                    continue
                fn = heapq.heappop(self._heap)[2]
            try:
                fn()
            except BaseException as error:  # noqa: BLE001 -- the deadlines of all other calls depend on this thread
                warn(f"A deadline could not be carried out: {error!r}", error=error)
            del fn  # the call behind it is free while this thread waits


class LoopThread:
    """One thread with one event loop, started by the first coroutine, for tools that are ``async def``."""

    def __init__(self) -> None:
        self._closed = False
        self._begin()
        _of_this_process.add(self)

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
        if thread is not None and (thread is threading.current_thread() or thread.ident in _waiting_threads.get()):
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


_of_this_process: weakref.WeakSet[Workers | Deadlines | LoopThread] = weakref.WeakSet()


def _after_fork() -> None:
    for each in list(_of_this_process):
        each._begin()  # noqa: SLF001 -- of this very module


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
