"""The ends of submitted calls, and whoever is to be told of them."""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from executor.calls._state import CallState
    from executor.run._ended import Ended


def is_unwanted(call: CallState) -> bool:
    """Whether a call that *call* is made in was given up: nobody is told what it comes to."""
    around = call.parent
    while around is not None and not around.given_up:
        around = around.parent
    return around is not None


class Promises:
    """
    Submitted calls whose end has not been told yet. Changed by single operations, which are atomic.

    Args:
        spawn: Runs a function on a thread of its own.
        changed: Called when one has been told.
    """

    def __init__(self, spawn: Callable[[Callable[[], object]], object], changed: Callable[[], object]) -> None:
        self._spawn = spawn
        self._changed = changed
        self._untold: set[CallState] = set()

    def make(self, call: CallState) -> None:
        """The end of *call* is to be told."""
        self._untold.add(call)

    def keep(self, call: CallState, done: Callable[[Ended], object], ended: Ended) -> None:
        """Tell *done* what *call* has come to."""
        call.teller = threading.get_ident()
        try:
            done(ended)
        finally:
            self.kept(call)

    def keep_beside(self, call: CallState, done: Callable[[Ended], object], ended: Ended) -> None:
        """`keep`, where it holds up nobody else."""
        self._spawn(partial(self.keep, call, done, ended))

    def kept(self, call: CallState) -> None:
        """Whoever submitted *call* knows its end, or does not want to."""
        self._untold.discard(call)
        self._changed()

    def all_kept(self, running: Iterable[CallState]) -> bool:
        """
        Whether all have been told, and none is *running*.

        But for what this thread tells, which would wait for itself, and for what nobody wants: its tool was given up.
        """
        here = threading.get_ident()
        return all(call.teller == here or is_unwanted(call) for call in (*running, *self._untold))
