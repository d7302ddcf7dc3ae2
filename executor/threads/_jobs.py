"""One piece of work on a worker, and its one end. `Job._lock` guards its state; nothing is called under it."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Generic, TypeVar

from executor._log import warn

if TYPE_CHECKING:
    import contextvars
    from collections.abc import Callable

T = TypeVar("T")


class Job(Generic[T]):
    """
    One piece of work on a worker. It has one end, which is set by the worker or by whoever gives up on it first.

    Attributes:
        result: The end; None until there is one.
        started: Monotonic time at which a worker took it, or None.
        running: Whether the function is on a thread now, wanted or not.
        context: What the function runs in.
        on_return: Called on the worker when the function has come back, wanted or not.
    """

    __slots__ = (
        "_fn",
        "_gate",
        "_lock",
        "_on_end",
        "_on_start",
        "context",
        "on_return",
        "result",
        "running",
        "started",
    )

    def __init__(self, fn: Callable[[], T], context: contextvars.Context) -> None:
        self._fn = fn  # never raises: it turns every failure into its result
        self.context = context
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
        if self.begin():
            self.complete(self.context.run(self._fn))

    def begin(self) -> bool:
        """It is on a thread from now on. Returns False when it has ended before: it never is."""
        with self._lock:
            if self.result is not None:
                return False
            self.started = time.monotonic()
            self.running = True
            on_start = self._on_start
        if on_start is not None:
            try:
                on_start()
            except BaseException as error:  # noqa: BLE001 -- work that was accepted is done, told of or not
                warn(f"The start of a job could not be told: {error!r}", error=error)
        return True

    def began(self, when: float) -> None:
        """It was done elsewhere, from this monotonic time on; of that alone nobody is told."""
        with self._lock:
            if self.result is None and self.started is None:
                self.started = when

    def complete(self, result: T) -> None:
        """It has left its thread with *result*."""
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

    @property
    def followed(self) -> bool:
        """Whether somebody is told of the end, instead of waiting for it."""
        return self._on_end is not None

    def follow(self, fn: Callable[[T], object]) -> bool:
        """Tell *fn* of the end, in place of whoever was to be told. Returns False when it has ended: nobody is told."""
        with self._lock:
            if self.result is not None:
                return False
            self._on_end = fn
            return True

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
