"""A thread that looks every now and then whether another process asks for something, while there is a reason to."""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING

from executor._log import warn
from executor.threads._one import OneThread

if TYPE_CHECKING:
    from collections.abc import Callable

EVERY = 0.2  # seconds; what other processes ask for cannot be waited for by an event


class Watch:
    """
    Calls a method again and again until it returns False; `wake` begins anew.

    Args:
        look: A bound method. Its object is not kept alive: the thread ends with it.
    """

    def __init__(self, look: Callable[[], bool]) -> None:
        self._look = weakref.WeakMethod(look)
        self._lock = threading.Lock()
        self._worker = OneThread(self._lock, self._run, "executor-tasks")
        self._woken = False
        self._rest = threading.Event()  # set when it shall look at once

    def wake(self) -> None:
        """There is something to look after."""
        with self._lock:
            self._woken = True
            try:
                self._worker.start()
                return
            except RuntimeError as error:  # the system has no thread left: the next task tries again
                why = error
        warn(f"Other processes cannot cancel tasks of this one: {why}")

    def hurry(self) -> None:
        """Look at once."""
        self._rest.set()

    def _run(self) -> None:
        while True:
            self._rest.wait(EVERY)
            self._rest.clear()
            self._woken = False
            look = self._look()
            goes_on = look is not None and _safely(look)
            del look
            with self._lock:
                if not goes_on and not self._woken:
                    self._worker.leave()
                    return


def _safely(look: Callable[[], bool]) -> bool:
    try:
        return look()
    except Exception as error:  # noqa: BLE001 -- the requests of all processes depend on this thread
        warn(f"The tasks of other processes could not be looked at: {error}", error=error)
        return True
