"""Several servers, asked side by side for what they offer."""

from __future__ import annotations

import os
import threading
from collections import deque
from typing import TYPE_CHECKING, Generic, TypeVar

from executor.threads._condition import Condition

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

T = TypeVar("T")
# Programs that are started together: of more each would have too little of the processor to answer in time, and the
# next command would start them all again.
PROGRAMS_AT_ONCE = 4


class Round(Generic[T]):
    """
    Asks each of some servers once. Whoever waits for that waits so long only; the round goes on behind.

    Args:
        ask: Asks one; called on threads.
    """

    def __init__(self, ask: Callable[[str], T]) -> None:
        self._ask = ask
        self._lock = threading.RLock()  # guards what follows
        self._news = Condition(self._lock)
        self._answers: dict[str, T | Exception] = {}
        self._begun: set[str] = set()

    def start(self, programs: Iterable[str], places: Iterable[str]) -> None:
        """Begin: with *places*, which are somewhere else, at once, with *programs* that run here a few at a time."""
        waiting = deque(programs)
        at_once = min(len(waiting), max(PROGRAMS_AT_ONCE, os.cpu_count() or 1))
        lines = [deque([place]) for place in places] + [waiting] * at_once
        self._begun.update(line[0] for line in lines[: len(lines) - at_once])
        self._begun.update(list(waiting)[:at_once])
        for number, line in enumerate(lines):
            name = f"executor-mcp-list-{number}"
            threading.Thread(target=self._work, args=(line,), name=name, daemon=True).start()

    def wait(self, count: int, timeout: float) -> tuple[dict[str, T | Exception], set[str]]:
        """
        Wait until so many have answered, but no longer than *timeout* seconds.

        Returns:
            What they gave, or the error that it came to; and those that are being asked, or were.
        """
        with self._lock:
            self._news.wait_for(lambda: len(self._answers) >= count, timeout)
            return dict(self._answers), set(self._begun)

    def _work(self, line: deque[str]) -> None:
        while line:
            try:
                name = line.popleft()
            except IndexError:  # another thread was faster
                return
            with self._lock:
                self._begun.add(name)
            answer: T | Exception
            try:
                answer = self._ask(name)
            except Exception as error:  # noqa: BLE001 -- handed to whoever asked
                answer = error
            with self._lock:
                self._answers[name] = answer
                self._news.notify_all()
