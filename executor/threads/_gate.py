"""What one thread waits at until another one opens it."""

from __future__ import annotations

import threading
from contextlib import suppress

from executor.threads._workers import lending


class Gate:
    """
    As `threading.Event`, for one thread that waits.

    A Ctrl-C in the midst of an Event's functions leaves its lock taken: then whoever sets it waits for ever.
    """

    __slots__ = ("_lock",)

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lock.acquire()

    def set(self) -> None:
        """Open it; again is no error."""
        with suppress(RuntimeError):
            self._lock.release()

    def clear(self) -> None:
        """Close it."""
        self._lock.acquire(blocking=False)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is open, or for so many seconds. Returns whether it is; it stays so."""
        opened = self._lock.acquire(timeout=-1 if timeout is None else max(0.0, min(timeout, threading.TIMEOUT_MAX)))
        if opened:
            self.set()
        return opened

    def wait_lending(self, timeout: float | None = None) -> bool:
        """`wait`, for work that others do: if this thread is a worker, its place may be taken meanwhile."""
        with lending():
            return self.wait(timeout)
