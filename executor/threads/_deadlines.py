"""One thread that keeps all deadlines, while there are any. `Deadlines._lock` guards the heap and the functions."""

from __future__ import annotations

import heapq
import itertools
import sys
import threading
import time
from functools import partial
from typing import TYPE_CHECKING

from executor._log import warn
from executor.threads._fork import of_this_process
from executor.threads._one import OneThread

if TYPE_CHECKING:
    from collections.abc import Callable


class Deadlines:
    """Calls functions at given times, on one thread that exists only while something is due."""

    def __init__(self) -> None:
        self._numbers = itertools.count()
        self._begin()
        of_this_process.add(self)

    def _begin(self) -> None:
        """As in `Workers`."""
        self._lock = threading.Lock()
        self._wake = threading.Condition(self._lock)
        self._heap: list[tuple[float, int]] = []
        self._functions: dict[int, Callable[[], object]] = {}  # by number; what was taken back is in the heap only
        self._worker = OneThread(self._lock, self._run, "executor-deadlines")

    def at(self, when: float, fn: Callable[[], object]) -> Callable[[], None]:
        """
        Call *fn* at the monotonic time *when*. It must not block.

        Returns:
            A function that takes it back.
        """
        number, why = next(self._numbers), None
        with self._lock:
            self._functions[number] = fn
            heapq.heappush(self._heap, (when, number))
            if self._heap[0][1] == number:
                self._wake.notify()
            if not sys.is_finalizing():  # then it would be waited for without end
                try:
                    self._worker.start()
                except RuntimeError as error:  # no thread left; the next call that has a deadline tries again
                    why = error
        if why is not None:
            warn("A time limit may be kept too late: the system has no thread left", error=why)
        return partial(self._forget, number)

    def _forget(self, number: int) -> None:
        with self._lock:
            if self._functions.pop(number, None) is None:
                return
            if len(self._heap) > 2 * len(self._functions) + 64:  # mostly entries that were taken back
                self._heap = [entry for entry in self._heap if entry[1] in self._functions]
                heapq.heapify(self._heap)
            if not self._functions:  # the thread has nothing left to do
                self._heap.clear()
                self._wake.notify()

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._functions:
                    self._worker.leave()
                    return
                when, number = self._heap[0]
                fn = self._functions.get(number)
                delay = when - time.monotonic()
                if fn is not None and delay > 0:
                    self._wake.wait(min(delay, threading.TIMEOUT_MAX))
                    continue
                heapq.heappop(self._heap)
                self._functions.pop(number, None)
            if fn is not None:
                self._call(fn)
            del fn  # the call behind it is free while this thread waits

    def _call(self, fn: Callable[[], object]) -> None:
        try:
            fn()
        except BaseException as error:  # noqa: BLE001 -- the deadlines of all other calls depend on this thread
            warn(f"A deadline could not be carried out: {error!r}", error=error)
