"""Ctrl-C, a closed terminal, and being told to end, as events that a command waits for."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import threading
from typing import TYPE_CHECKING, Self

from executor.cli._errors import ExitCode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


class Interrupts:
    """
    While it is entered, signals that would end the process become events.

    The first one is for the command to end its call by; the second to clean up at once; the third ends the process
    where it stands. Handlers only put into `_events`: a SimpleQueue may be put into wherever a signal arrives.
    """

    INTERRUPT = "interrupt"

    def __init__(self) -> None:
        self._events: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._before: dict[signal.Signals, object] = {}
        self._count = 0

    @property
    def happened(self) -> bool:
        """Whether there was one."""
        return self._count > 0

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in _SIGNALS:
                before = signal.getsignal(number)
                if before is not signal.SIG_IGN:  # whoever ran us under nohup wants it ignored
                    self._before[number] = before
                    signal.signal(number, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)  # type: ignore[arg-type]  # what getsignal gave

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        self._count += 1
        if self._count > 2:
            os._exit(ExitCode.INTERRUPTED)
        self._events.put(self.INTERRUPT)

    def put(self, event: str) -> None:
        """Wake who waits, with *event*. Any thread may."""
        self._events.put(event)

    def wait(self, seconds: float | None = None) -> str | None:
        """The next event; None when *seconds* passed without one."""
        try:
            return self._events.get(timeout=seconds)
        except queue.Empty:
            return None


class Presence:
    """
    Who is inside a function that may go on after everybody has given up on it.

    Args:
        left: Called each time somebody has left.
    """

    def __init__(self, left: Callable[[], None]) -> None:
        self._inside: set[object] = set()  # its operations are atomic
        self._left = left

    @property
    def anybody(self) -> bool:
        """Whether somebody is inside."""
        return bool(self._inside)

    @contextlib.contextmanager
    def inside(self) -> Iterator[None]:
        """Be inside while the block runs."""
        mark = object()
        self._inside.add(mark)
        try:
            yield
        finally:
            self._inside.discard(mark)
            self._left()
