"""
How fast requests over HTTP are taken: a flood costs the client that sends it, and no other.

What is known of who sends a request is its principal, by the token. Its clients tell themselves apart (a session, the
id of a bridge): that decides how they share what their principal may have, and nothing else. A client that takes ever
new names gains nothing by it.
"""

from __future__ import annotations

import asyncio
import sys
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
MOST_BYTES = 64 * 1024 * 1024  # and bytes of them; all clients of a principal have twice as much together,
FEW_OPEN = 10  # beyond which each still has so many,
FEW_BYTES = 4 * 1024 * 1024  # and so much
MOST_NAMED = 16  # clients of a principal that are told apart; any more are one
MOST_PRINCIPALS = 1024  # that are remembered; the newest
MOST_CONNECTIONS = 1000  # of all together: four fifths of them may have a request; those without one make room


def most_connections() -> int:
    """How many connections there may be: files that this process may have open are wanted for other things, too."""
    if sys.platform == "win32":
        return MOST_CONNECTIONS
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST_CONNECTIONS if soft == resource.RLIM_INFINITY else min(MOST_CONNECTIONS, soft * 3 // 4)


class _Share:
    """What a client takes."""

    __slots__ = ("at", "left", "open", "size")

    def __init__(self, now: float) -> None:
        self.left = BURST
        self.open = 0
        self.size = 0
        self.at = now

    def gain(self, now: float, rate: float) -> None:
        self.left = min(BURST, self.left + (now - self.at) * rate)
        self.at = now

    def is_idle(self, now: float) -> bool:
        """Whether another one could have its place, and would have no more by it."""
        rested = now - self.at
        return not self.open and rested > THERE_SECONDS and self.left + rested * PER_SECOND >= BURST


class _Principal:
    """Its clients, the one that has asked last the last."""

    def __init__(self) -> None:
        self.shares: OrderedDict[str, _Share] = OrderedDict()

    def share(self, name: str, now: float) -> _Share:
        """That of the client that calls itself so."""
        if name not in self.shares and len(self.shares) >= MOST_NAMED:
            idle = next((name for name, share in self.shares.items() if share.is_idle(now)), None)
            if idle is not None:
                del self.shares[idle]
            else:
                name = ""
        found = self.shares.setdefault(name, _Share(now))
        self.shares.move_to_end(name)
        return found

    @property
    def open(self) -> int:
        """How many of its requests are open."""
        return sum(each.open for each in self.shares.values())

    @property
    def rate(self) -> float:
        """What each of its clients gains in a second: those that have taken too much share what one may have."""
        return PER_SECOND / max(1, sum(share.left < 0 for share in self.shares.values()))

    def fits(self, share: _Share, size: int) -> bool:
        """Whether a request that has just come is not one too many."""
        if share.open > MOST_OPEN or share.size > max(size, MOST_BYTES):
            return False
        held = sum(each.size for each in self.shares.values())
        return (self.open <= 2 * MOST_OPEN or share.open <= FEW_OPEN) and (
            held <= 2 * MOST_BYTES or share.size <= max(size, FEW_BYTES)
        )


class Turns:
    """
    Lives on the loop.

    Args:
        clock: Seconds, of the loop.
        connections: How many there can be.

    Clients are named ``PRINCIPAL/NAME``.
    """

    def __init__(self, clock: Callable[[], float] | None = None, connections: int = MOST_CONNECTIONS) -> None:
        self._clock = clock
        self._most = connections * 4 // 5
        self._open = 0  # requests of all that were let in
        self._principals: OrderedDict[str, _Principal] = OrderedDict()  # whoever has asked last is the last

    def wait(self, client: str, size: int = UNIT) -> float:
        """Seconds until this client may have the next *size* bytes taken; they count from now on."""
        now = self._now()
        principal, share = self._found(client, now)
        share.gain(now, principal.rate)
        if not self._others(principal, share, now):
            return 0.0
        share.left -= size / UNIT
        return max(0.0, -share.left / principal.rate)

    def _now(self) -> float:
        return self._clock() if self._clock is not None else asyncio.get_running_loop().time()

    def _found(self, client: str, now: float) -> tuple[_Principal, _Share]:
        whose, _, name = client.partition("/")
        found = self._principals.setdefault(whose, _Principal())
        self._principals.move_to_end(whose)
        while len(self._principals) > MOST_PRINCIPALS:
            self._principals.popitem(last=False)
        return found, found.share(name, now)

    @contextmanager
    def open(self, client: str, size: int) -> Iterator[bool]:
        """A request of so many bytes, from the first of them to its end. Yields whether it is not one too many."""
        principal, share = self._found(client, self._now())
        share.open, share.size = share.open + 1, share.size + size
        fits = principal.fits(share, size) and (self._open < self._most or principal.open <= FEW_OPEN)
        self._open += fits
        try:
            yield fits
        finally:
            share.open, share.size, self._open = share.open - 1, share.size - size, self._open - fits

    def _others(self, principal: _Principal, share: _Share, now: float) -> bool:
        """Whether somebody else is there: another principal, or another client of this one."""
        last = [next(reversed(each.shares.values())) for each in self._last_two() if each is not principal]
        last += [each for _, each in zip(range(2), reversed(principal.shares.values()), strict=False)]
        return any(each is not share and now - each.at < THERE_SECONDS for each in last)

    def _last_two(self) -> Iterator[_Principal]:
        for _, each in zip(range(2), reversed(self._principals.values()), strict=False):
            yield each

    def paced(self, client: str, receive: Receive) -> Receive:
        """*receive*, which gives as much of a body as it is this client's turn for."""

        async def next_message() -> Message:
            message = await receive()
            if message["type"] == "http.request":
                await asyncio.sleep(self.wait(client, len(message.get("body", b""))))
            return message

        return next_message
