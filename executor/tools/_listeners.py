"""Who is told when the tools change."""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING

from executor._log import warn
from executor.threads._fork import fork_safe

if TYPE_CHECKING:
    from collections.abc import Callable


class Listeners:
    """
    Functions that are called when something has changed, in the order in which they were added.

    They are called one change after another, in the thread that made the change.
    """

    def __init__(self) -> None:
        self._listeners: tuple[Callable[[], object], ...] = ()
        self._lock = fork_safe(self, "_lock", threading.Lock)
        self._telling = fork_safe(self, "_telling", threading.RLock)  # so that nobody hears of an older change last

    def add(self, fn: Callable[[], object]) -> Callable[[], None]:
        """Call *fn* from now on, until the function that is returned has been called."""
        listener = partial(fn)  # one of its own, also for a function that is added twice
        with self._lock:
            self._listeners = (*self._listeners, listener)
        return partial(self._remove, listener)

    def _remove(self, listener: Callable[[], object]) -> None:
        with self._lock:
            self._listeners = tuple(other for other in self._listeners if other is not listener)

    def notify(self) -> None:
        """Call them all; one that raises is warned about, and the next one called."""
        with self._telling:
            for listener in self._listeners:
                try:
                    listener()
                except BaseException as error:  # noqa: BLE001 -- SystemExit too: who is told does not decide about the change
                    warn(f"A function that is told of changed tools raised: {error!r}", error=error)
