"""Ctrl-C, a closed terminal, and being told to end, as events that a command waits for."""

from __future__ import annotations

import collections
import contextlib
import os
import select
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING, Self

from executor.cli._errors import ExitCode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from io import RawIOBase
    from types import FrameType

_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


class Interrupts:
    """
    While it is entered, signals that would end the process become events.

    The first one is for the command to end its call by; the second to clean up at once; the third ends the process
    where it stands. After the first it stays so to the end of the process, which is all that is left to come: the
    second must not break off what cleans up.

    Whoever waits does so on a pipe into which the interpreter writes at each signal. A wait for a lock would not do:
    a signal that arrives after the last look at signals and before the wait begins does not end the wait.
    """

    INTERRUPT = "interrupt"

    def __init__(self) -> None:
        self._events: collections.deque[str] = collections.deque()  # its operations are atomic, in a handler too
        self._before: dict[signal.Signals, object] = {}
        self._count = 0
        self._awake, self._wake = _pipe()
        self._wake_before: int | None = None

    @property
    def happened(self) -> bool:
        """Whether there was one."""
        return self._count > 0

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._wake_before = signal.set_wakeup_fd(self._wake.fileno(), warn_on_full_buffer=False)
            for number in _SIGNALS:
                before = signal.getsignal(number)
                if before is not signal.SIG_IGN:  # whoever ran us under nohup wants it ignored
                    self._before[number] = before
                    signal.signal(number, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        if not self.happened:
            for number, before in self._before.items():
                signal.signal(number, before)  # type: ignore[arg-type]  # what getsignal gave
        if self._wake_before is not None:
            signal.set_wakeup_fd(self._wake_before)
        self._awake.close()
        self._wake.close()

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        self._count += 1
        if self._count > 2:
            os._exit(ExitCode.INTERRUPTED)
        self.put(self.INTERRUPT)

    def put(self, event: str) -> None:
        """Wake who waits, with *event*. Any thread may."""
        self._events.append(event)
        with contextlib.suppress(OSError, ValueError):  # full: whoever waits is awake; closed: nobody waits any more
            self._wake.write(b".")

    def wait(self, seconds: float | None = None) -> str | None:
        """The next event; None when *seconds* passed without one."""
        deadline = None if seconds is None else time.monotonic() + seconds
        while not self._events:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            if not select.select([self._awake], [], [], left)[0]:
                return None
            self._awake.read(4096)  # before the next look at the events: what comes later wakes again
        return self._events.popleft()


def _pipe() -> tuple[RawIOBase, RawIOBase]:
    """What is read and what is written, neither of which ever blocks."""
    if sys.platform != "win32":
        ends = os.pipe()
        for end in ends:
            os.set_blocking(end, False)
        return open(ends[0], "rb", buffering=0), open(ends[1], "wb", buffering=0)  # noqa: PTH123 -- no path; `Interrupts` closes them
    import socket  # 5 ms, where a pipe can be neither waited for nor written to at a signal

    awake, wake = socket.socketpair()
    with awake, wake:  # the files keep them open
        awake.setblocking(False)
        wake.setblocking(False)
        return awake.makefile("rb", buffering=0), wake.makefile("wb", buffering=0)


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
