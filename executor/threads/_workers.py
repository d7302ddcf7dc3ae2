"""
Worker threads, grown on demand. All daemon, none polls.

`Workers._lock` guards the lists and sets of one pool. Nothing else is taken or called under it. There are sets where
numbers would do: what a Ctrl-C in the main thread has left half done is taken out of a set as often as need be.
"""

from __future__ import annotations

import contextvars
import itertools
import sys
import threading
from collections import deque
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING

from executor._log import warn
from executor.threads._fork import of_this_process

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

REFUSED = "The executor has been shut down, or the system has no thread left"  # what it means that work is not taken
IDLE_SECONDS = 10.0  # how long a worker beyond the warm ones waits for more work, as in trio and anyio
_thread_numbers = itertools.count(1)
# The threads that wait for the running code, directly or through further calls.
waiting_threads: contextvars.ContextVar[frozenset[int]] = contextvars.ContextVar(
    "executor_waiting_threads", default=frozenset()
)


_here = threading.local()  # `workers`: those that the thread is one of


def lending() -> AbstractContextManager[None]:
    """While this thread waits for other work: if it is a worker, its place may be taken meanwhile."""
    workers: Workers | None = getattr(_here, "workers", None)
    return nullcontext() if workers is None else workers.blocking_here()


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
        self._starting: set[_Worker] = set()  # those whose threads have not come to run yet
        self._threads: set[int] = set()  # set operations are atomic
        self._blocked: set[object] = set()  # each is a place that may be taken beyond the limit
        self._all_gone = threading.Condition(self._lock)
        self._no_thread = ""  # why the last one could not be started

    @property
    def free(self) -> int:
        """How many jobs would start at once."""
        with self._lock:
            return max(0, self._limit + len(self._blocked) - self.count) + len(self._idle)

    @property
    def count(self) -> int:
        """How many threads there are."""
        return len(self._starting) + len(self._threads)

    @property
    def refusal(self) -> str:
        """Why work is not taken, for who has offered it."""
        return f"{REFUSED} ({self._no_thread})" if self._no_thread and not self._closed else REFUSED

    @property
    def here(self) -> bool:
        """Whether the calling thread is one of these."""
        return threading.get_ident() in self._threads

    def submit(self, job: Callable[[], object]) -> bool:
        """Run *job* on a worker, now or as soon as one is free. Returns False when closed: it will not run."""
        if sys.is_finalizing():  # its threads never come to run again, and a new one would be waited for without end
            return False
        worker = None
        try:
            with self._lock:
                if self._closed:
                    return False
                if self._idle:
                    self._wake(job)
                    return True
                if self.count >= self._limit + len(self._blocked):
                    self._waiting.append(job)
                    return True
                self._starting.add(worker := _Worker(job))
            return self._start(worker) or (self._take_out(worker) and self._postpone(job))
        except BaseException:  # Ctrl-C: who gave the job does not want it any more
            self._take_out(worker)
            raise

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
        try:
            with self._lock:
                self._urgent.append(fn)
                if self._on_its_way:
                    return True
                # Nobody relies on the main thread: Ctrl-C may keep it from sending one.
                self._on_its_way = threading.current_thread() is not threading.main_thread()
            return self._send() or self._do_without(fn)
        except BaseException:  # Ctrl-C: there may be nobody else who sends one for it
            self._send()
            raise

    def _send(self) -> bool:
        """Have a worker take what is urgent. Returns False when there is no thread left."""
        place, worker = object(), None  # it takes nobody's place
        job = partial(self._take_urgent, place)
        sent = False
        try:
            with self._lock:
                self._blocked.add(place)
                if self._idle:
                    self._wake(job)
                    sent = True
                    return True
                self._starting.add(worker := _Worker(job))
            sent = self._start(worker)
            return sent
        finally:
            if not sent:
                self._take_out(worker)
                self._blocked.discard(place)

    def _take_urgent(self, place: object) -> None:
        """Do what is urgent, on the worker that was on its way."""
        with self._lock:
            self._blocked.add(place)  # again, should a Ctrl-C have come to who has sent it
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
            self._blocked.discard(place)

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

    def _start(self, worker: _Worker) -> bool:
        """Start a worker that is among those that start. Returns False when there can be none."""
        name = f"executor-worker-{next(_thread_numbers)}"
        try:
            threading.Thread(target=self._work, args=(worker,), name=name, daemon=True).start()
        except RuntimeError as error:  # the system has none left, the interpreter ends, or (a part of one) has none
            self._no_thread = str(error)
            return False
        self._no_thread = ""
        return True

    def _take_out(self, worker: _Worker | None) -> bool:
        """*worker* is not to work, unless it does by now. Returns whether that made the difference."""
        with self._lock:
            if worker not in self._starting:
                return False
            self._starting.discard(worker)
            self._leave()
            return True

    def _postpone(self, job: Callable[[], object]) -> bool:
        """Leave *job* to the workers that exist. Returns False when there is none."""
        with self._lock:
            if self._idle:
                self._wake(job)
            elif self.count > 0:
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
        before, place = waiting_threads.get(), object()
        try:
            waiting_threads.set(before | {threading.get_ident()})
            with self._lock:
                self._blocked.add(place)
            self._use_place()
            yield
        finally:
            self._blocked.discard(place)
            waiting_threads.set(before)

    def _use_place(self) -> None:
        """Have a worker do what has waited for one, if there may be one more."""
        worker, started = None, False
        try:
            with self._lock:
                if not self._waiting or self.count >= self._limit + len(self._blocked):
                    return
                self._starting.add(worker := _Worker(self._waiting[0]))
                self._waiting.popleft()
            started = self._start(worker)
        finally:
            if worker is not None and not started:
                self._put_back(worker)

    def _put_back(self, worker: _Worker) -> None:
        """What *worker* was to do waits on, unless it does it by now."""
        job = worker.job
        if self._take_out(worker) and job is not None:
            with self._lock:
                if self._idle:
                    self._wake(job)
                elif job not in self._waiting:  # a Ctrl-C may have come before it was taken from there
                    self._waiting.appendleft(job)

    def _work(self, worker: _Worker) -> None:
        job = worker.job
        with self._lock:
            if worker not in self._starting:  # a Ctrl-C came to who has sent it
                return
            self._starting.discard(worker)
            self._threads.add(threading.get_ident())
        _here.workers = self
        while True:
            worker.job = None
            if job is not None:
                _do(job)
            job = None  # its arguments and results are free while this thread waits
            with self._lock:
                if self._waiting and self.count <= self._limit + len(self._blocked):
                    job = self._waiting.popleft()
                    continue
                if self._closed or self.count > self._limit + len(self._blocked):
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
        if self.count == 0:
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
            return self._all_gone.wait_for(lambda: self.count == 0, timeout)


def _do(job: Callable[[], object]) -> None:
    try:
        job()
    except BaseException as error:  # noqa: BLE001 -- a job must not take a worker with it
        warn(f"A job raised out of its worker: {error!r}", error=error)
