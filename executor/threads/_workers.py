"""
Worker threads, grown on demand. All daemon, none polls.

`Workers._lock` guards the lists and counts of one pool. Nothing else is taken or called under it.
"""

from __future__ import annotations

import contextvars
import itertools
import sys
import threading
from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING

from executor._log import warn
from executor.threads._fork import of_this_process

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

REFUSED = "The executor has been shut down, or the system has no thread left"  # what it means that work is not taken
IDLE_SECONDS = 10.0  # how long a worker beyond the warm ones waits for more work, as in trio and anyio
_thread_numbers = itertools.count(1)
# The threads that wait for the running code, directly or through further calls.
waiting_threads: contextvars.ContextVar[frozenset[int]] = contextvars.ContextVar(
    "executor_waiting_threads", default=frozenset()
)


def waited_for_here() -> None:
    """In the context of some work: this thread waits for it."""
    waiting_threads.set(waiting_threads.get() | {threading.get_ident()})


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
        of_this_process.add(self)

    def _begin(self) -> None:
        """Without any thread or work; in the child of a fork again, where none of the threads exists."""
        self._lock = threading.Lock()
        self._idle: list[_Worker] = []
        self._waiting: deque[Callable[[], object]] = deque()
        self._urgent: deque[Callable[[], object]] = deque()
        self._on_its_way = False  # a worker that takes what is urgent
        self._count = 0
        self._blocked = 0
        self._threads: set[int] = set()  # set operations are atomic
        self._all_gone = threading.Condition(self._lock)

    @property
    def free(self) -> int:
        """How many jobs would start at once."""
        with self._lock:
            return max(0, self._limit + self._blocked - self._count) + len(self._idle)

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
        if sys.is_finalizing():  # its threads never come to run again, and a new one would be waited for without end
            return False
        with self._lock:
            if self._closed:
                return False
            if self._idle:
                self._wake(job)
                return True
            if self._count >= self._limit + self._blocked:
                self._waiting.append(job)
                return True
            self._count += 1
        return self._start(job) or self._postpone(job)

    def spawn(self, fn: Callable[[], object]) -> bool:
        """
        Run *fn* on a worker now, beyond the limit if need be, closed or not: what stops work must not wait for it.

        Of many that come at once each worker takes one after the other; but as long as any is left, another worker is
        on its way, so that none waits for one that blocks.

        Returns:
            False when the system has no thread left, or the interpreter ends: it will not run.
        """
        if sys.is_finalizing():  # as in `submit`
            return False
        with self._lock:
            self._urgent.append(fn)
            if self._on_its_way:
                return True
            # Nobody relies on the main thread: Ctrl-C may keep it from sending one.
            self._on_its_way = threading.current_thread() is not threading.main_thread()
        if self._send():
            return True
        return self._do_without(fn)

    def _send(self) -> bool:
        """Have a worker take what is urgent. Returns False when there is no thread left."""
        with self._lock:
            self._blocked += 1  # it takes nobody's place
            if self._idle:
                self._wake(self._take_urgent)
                return True
            self._count += 1
        if self._start(self._take_urgent):
            return True
        self._take_back()
        return False

    def _take_urgent(self) -> None:
        """Do what is urgent, on the worker that was on its way."""
        with self._lock:
            self._on_its_way = False
        try:
            while True:
                with self._lock:
                    if not self._urgent:
                        return
                    fn = self._urgent.popleft()
                    send = bool(self._urgent) and not self._on_its_way
                    self._on_its_way = self._on_its_way or send
                if send and not self._send():
                    with self._lock:
                        self._on_its_way = False  # there is no thread left: this one does it all
                _do(fn)
        finally:
            self._take_back()

    def _do_without(self, fn: Callable[[], object]) -> bool:
        """No worker comes: do here what others have left to it by now. Returns whether *fn* is done, by another one."""
        with self._lock:
            self._on_its_way = False
            taken = fn not in self._urgent
            if not taken:
                self._urgent.remove(fn)
            others = [*self._urgent]
            self._urgent.clear()
        for other in others:
            _do(other)
        return taken

    def _wake(self, job: Callable[[], object]) -> None:
        worker = self._idle[-1]
        worker.job = job
        try:
            worker.gate.release()
        finally:  # Ctrl-C comes after a call, not in it: whoever is woken is idle no more, and nobody else is
            self._idle.pop()

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
    def blocking_here(self) -> Iterator[None]:
        """
        While a call, or a worker, waits for another one's work: its place may be taken meanwhile.

        Without this, nested calls would wait for ever once every worker waits for a nested call.
        """
        reset = waiting_threads.set(waiting_threads.get() | {threading.get_ident()})
        job = None
        with self._lock:
            self._blocked += 1
            if self._waiting and self._count < self._limit + self._blocked:
                job = self._waiting.popleft()
                self._count += 1
        try:
            if job is not None and not self._start(job):
                self._postpone(job)
            yield
        finally:
            self._take_back()
            waiting_threads.reset(reset)

    def _take_back(self) -> None:
        with self._lock:
            self._blocked -= 1

    def _work(self, worker: _Worker) -> None:
        job = worker.job
        self._threads.add(threading.get_ident())
        while True:
            worker.job = None
            if job is not None:
                _do(job)
            job = None  # its arguments and results are free while this thread waits
            with self._lock:
                if self._waiting and self._count <= self._limit + self._blocked:
                    job = self._waiting.popleft()
                    continue
                if self._closed or self._count > self._limit + self._blocked:
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


def _do(job: Callable[[], object]) -> None:
    try:
        job()
    except BaseException as error:  # noqa: BLE001 -- a job must not take a worker with it
        warn(f"A job raised out of its worker: {error!r}", error=error)
