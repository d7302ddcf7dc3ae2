"""How fast messages that nobody asked for are taken: a flood costs the server that sends it, and no other."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BURST = 300  # news that are taken in a row, and
PER_SECOND = 500.0  # of those that come after it; each takes 0.2 ms of the loop
FREE = 50  # of a burst that nobody has to wait for
SPACE_SECONDS = 0.001  # between those after it, in which the loop is the others'
PAUSE_AFTER, PAUSE_SECONDS = 20, 0.01  # of what is dropped: a flood takes a fiftieth of the loop
ANSWERED = 5.0  # news that take as much of the loop as what has to be answered
SLICE = 16  # other messages after which the others have their turn
# Lines of a stream, of which each may be a message, a part of one, or nothing at all.
LINES_BURST = 8.0 * 1024 * 1024  # bytes that are taken in a row, and
LINES_PER_SECOND = 512.0 * 1024  # of those after them; each takes 0.04 to 0.2 microseconds of the loop
LONG_LINE = 4096  # bytes of a line that count: a large answer is one line, and costs little more than its copy
PIECE = 64 * 1024  # bytes after which others may have their turn; what was packed comes in pieces of any size


class Pace:
    """
    Counts the messages of one server.

    Attributes:
        dropped: How many were too many.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._left = float(BURST)
        self._at = clock()
        self._taken = 0
        self._wait: float | None = None
        self.dropped = 0

    def admits(self, *, waits: bool = False) -> bool:
        """
        Whether one more piece of news is taken; else it is to be dropped.

        Args:
            waits: It cannot be dropped, since it has to be answered: whoever sends it waits instead.
        """
        now = self._clock()
        self._left = min(BURST, self._left + (now - self._at) * PER_SECOND)
        self._at = now
        if waits:
            self._left = max(0.0, self._left - ANSWERED)
            self._wait = PAUSE_SECONDS if self._left < 1 else None
            return True
        if self._left < 1:
            self.dropped += 1
            self._wait = PAUSE_SECONDS if self.dropped % PAUSE_AFTER == 0 else None
            return False
        self._left -= 1
        self._wait = SPACE_SECONDS if self._left < BURST - FREE else None
        return True

    async def turn(self) -> None:
        """Let others have theirs, now and then; called once for each message, after `admits` where that is."""
        self._taken += 1
        wait, self._wait = self._wait, None
        if wait is not None:
            await asyncio.sleep(wait)
        elif self._taken % SLICE == 0:
            await asyncio.sleep(0)


class LinePace:
    """Counts the lines of one stream of events: what they say is not known before they are read."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._left = LINES_BURST
        self._at = clock()

    @staticmethod
    def pieces(part: bytes) -> Iterator[bytes]:
        """*part* in pieces of which each takes the loop for a moment only."""
        for start in range(0, len(part), PIECE):
            yield part[start : start + PIECE]

    def owed(self, piece: bytes) -> float:
        """Seconds until *piece* is to be read, which it is then."""
        now = self._clock()
        self._left = min(LINES_BURST, self._left + (now - self._at) * LINES_PER_SECOND)
        self._at = now
        lines = piece.count(b"\n") + piece.count(b"\r")
        self._left -= min(len(piece), lines * LONG_LINE)
        return max(0.0, -self._left / LINES_PER_SECOND)

    async def turn(self, piece: bytes) -> None:
        """Wait until *piece* may be read, and let others have their turn."""
        await asyncio.sleep(self.owed(piece))
