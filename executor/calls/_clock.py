"""The time of a call, which stands still while a person is asked something by its tool."""

from __future__ import annotations

import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from executor.errors import ToolTimeoutError
from executor.threads._fork import fork_safe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from executor.calls._state import CallState
    from executor.calls._work import Threads

# Guards every clock, and the making of one; held for a few assignments.
_lock = fork_safe(sys.modules[__name__], "_lock", threading.Lock)


class Clock:
    """
    How long the time of a call has stood still; `settled` while it goes.

    Attributes:
        stood: Seconds, up to the last time that it went on.
    """

    __slots__ = ("_asking", "_since", "_waiting", "stood")

    def __init__(self) -> None:
        self.stood = 0.0
        self._asking = 0
        self._since = 0.0
        self._waiting: list[Callable[[], object]] = []

    @property
    def settled(self) -> bool:
        """Whether nobody is asked now."""
        return self._asking == 0

    def on_settled(self, fn: Callable[[], object]) -> None:
        """Call *fn* once nobody is asked any more; at once if that is so."""
        with _lock:
            if self._asking:
                self._waiting.append(fn)
                return
        fn()

    def stop(self) -> None:
        """A person is asked. The lock is held."""
        self._asking += 1
        if self._asking == 1:
            self._since = time.monotonic()

    def go(self) -> tuple[float, list[Callable[[], object]]]:
        """Somebody has answered. Returns how long it stood, and whom to tell. The lock is held."""
        self._asking -= 1
        if self._asking:
            return 0.0, []
        passed = time.monotonic() - self._since
        self.stood += passed
        waiting, self._waiting = self._waiting, []
        return passed, waiting


@contextmanager
def standing_still(call: CallState) -> Iterator[None]:
    """While it is entered, the time of *call*, and of the calls around it, stands still."""
    calls: list[CallState] = []
    each: CallState | None = call
    while each is not None:
        calls.append(each)
        each = each.parent
    with _lock:
        for each in calls:
            each.clock = each.clock or Clock()
            each.clock.stop()
    try:
        yield
    finally:
        told: list[Callable[[], object]] = []
        with _lock:
            for each in calls:
                assert each.clock is not None, "it was made above"
                passed, waiting = each.clock.go()
                if each.deadline is not None:
                    each.deadline += passed
                told += waiting
        for fn in told:
            fn()


def due(call: CallState, when: float) -> float:
    """The monotonic time that is *when* on the clock of *call*, which goes."""
    return when if call.clock is None else when + call.clock.stood


def give_up(
    call: CallState, limit: float | None, threads: Threads, again: Callable[[Callable[[], None]], object]
) -> None:
    """
    Stop *call*, whose time is up. Where a person was, or is, asked in it, that is put off.

    Args:
        again: Given what takes back the next attempt.
    """
    clock = call.clock
    if clock is not None:
        if not clock.settled:
            clock.on_settled(lambda: give_up(call, limit, threads, again))
            return
        if call.deadline is not None and call.deadline > time.monotonic():
            again(threads.at(call.deadline, lambda: give_up(call, limit, threads, again)))
            return
    call.source.stop(timed_out(call, limit))


def timed_out(call: CallState, limit: float | None) -> ToolTimeoutError:
    """What a call ends in whose time is up."""
    return ToolTimeoutError(f"{call.name} timed out after {limit or 0.0:g} s", tool_id=call.name)
