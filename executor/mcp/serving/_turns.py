"""How fast requests over HTTP are taken: a flood costs the client that sends it, and no other."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from starlette.types import Message, Receive

UNIT = 8 * 1024  # bytes of a body that cost as much time of the loop as a request does
BURST = 400.0  # units that a client may take in a row, and
PER_SECOND = (
    150.0  # of those that come after it, while others are there: then it has a fiftieth to a seventh of the loop
)
THERE_SECONDS = 5.0  # for so long a client counts as there after it has asked for something
MOST_OPEN = 300  # requests of one client at once,
MOST_BYTES = 64 * 1024 * 1024  # and bytes of them
MOST_CLIENTS = 1024  # that are remembered; the newest


class _Client:
    __slots__ = ("at", "left", "open", "size")

    def __init__(self, now: float) -> None:
        self.left = BURST
        self.open = 0
        self.size = 0
        self.at = now


class Turns:
    """
    Lives on the loop.

    Args:
        clock: Seconds, of the loop.
    """

    def __init__(self, clock: Callable[[], float] | None = None) -> None:
        self._clock = clock
        self._clients: OrderedDict[str, _Client] = OrderedDict()  # whoever has asked last is the last

    def wait(self, client: str, size: int = UNIT) -> float:
        """Seconds until this client may have the next *size* bytes taken; they count from now on."""
        now = self._now()
        found = self._client(client, now)
        found.left = min(BURST, found.left + (now - found.at) * PER_SECOND)
        found.at = now
        if not self._others(client, now):
            return 0.0
        found.left -= size / UNIT
        return max(0.0, -found.left / PER_SECOND)

    def _now(self) -> float:
        return self._clock() if self._clock is not None else asyncio.get_running_loop().time()

    def _client(self, client: str, now: float) -> _Client:
        found = self._clients.get(client)
        if found is None:
            found = self._clients[client] = _Client(now)
            while len(self._clients) > MOST_CLIENTS:
                self._clients.popitem(last=False)
        self._clients.move_to_end(client)
        return found

    @contextmanager
    def open(self, client: str, size: int) -> Iterator[bool]:
        """A request of so many bytes, from the first of them to its end. Yields whether it is not one too many."""
        found = self._client(client, self._now())
        found.open, found.size = found.open + 1, found.size + size
        try:
            yield found.open <= MOST_OPEN and found.size <= max(size, MOST_BYTES)
        finally:
            found.open, found.size = found.open - 1, found.size - size

    def _others(self, client: str, now: float) -> bool:
        """Whether somebody else is there."""
        for name, other in reversed(self._clients.items()):
            if name != client:
                return now - other.at < THERE_SECONDS
        return False

    def paced(self, client: str, receive: Receive) -> Receive:
        """*receive*, which gives as much of a body as it is this client's turn for."""

        async def next_message() -> Message:
            message = await receive()
            if message["type"] == "http.request":
                await asyncio.sleep(self.wait(client, len(message.get("body", b""))))
            return message

        return next_message
