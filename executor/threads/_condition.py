"""Conditions in whose midst a Ctrl-C is what it is everywhere else: the lock stays whose it was."""

from __future__ import annotations

import threading
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    RLock = threading.Condition  # what is used of it, and a class to inherit from
else:
    RLock = type(threading.RLock())


class Condition(threading.Condition):
    """`threading.Condition` of an RLock, to be entered by that: of the library's a Ctrl-C in `wait` may free it."""

    def wait(self, timeout: float | None = None) -> bool:
        """As `threading.Condition.wait`."""
        try:
            return super().wait(timeout)
        finally:
            if not self._is_owned():  # type: ignore[attr-defined]  # the lock's
                self.acquire()


class Entered(RLock):
    """
    A condition that *is* its lock, for code that enters the condition: it is in no function of Python's meanwhile, in
    which a Ctrl-C leaves the lock taken for ever, and with it whoever waits for it. To be entered once.
    """

    def __init__(self) -> None:
        super().__init__()  # where a program has put another lock in place of Python's, it has something to do
        self._told: list[Callable[[None], object]] = []  # guarded by this

    def wait(self, timeout: float | None = None) -> bool:
        """As `threading.Condition.wait`."""
        gate: SimpleQueue[None] = SimpleQueue()
        tell = gate.put
        self._told.append(tell)
        try:
            self.release()
            with suppress(Empty):
                gate.get(timeout=None if timeout is None else max(0.0, min(timeout, threading.TIMEOUT_MAX)))
                return True
            return False
        finally:
            if not self._is_owned():  # type: ignore[attr-defined]  # the lock's
                self.acquire()
            if tell in self._told:
                self._told.remove(tell)

    def notify_all(self) -> None:
        """Wake all that wait."""
        while self._told:
            self._told.pop()(None)
