"""One thread that keeps all deadlines, while there are any. `Deadlines._wake` guards the heap."""

from __future__ import annotations

import heapq
import itertools
import threading
import time
from typing import TYPE_CHECKING

from executor._log import warn
from executor.threads._fork import of_this_process

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
