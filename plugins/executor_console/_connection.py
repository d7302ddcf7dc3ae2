"""
The connections to the page: those of other users of the machine are closed, before they are listened to, and those of
this user's other programs never take the place of the page's own.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, cast

from uvicorn.protocols.http.h11_impl import H11Protocol

from executor.sockets import is_strange

if TYPE_CHECKING:
    import asyncio

MOST_UNKNOWN = 100  # connections on which no session was shown yet; for one more the oldest is closed
LET_IN = "let_in"  # in the state of a request: what is called once it has shown a session
_numbers = itertools.count()


class Connection(H11Protocol):
    """
    A connection of this user, and one of few until a session was shown on it.

    What the page asks without a session is answered in a moment, so it never has many of those. Programs that may not
    ask for anything can hold as many as they like, at any point of a request: they keep those that came last.

    Attributes:
        number: In the order in which they came.
        known: A session was shown.
    """

    number: int
    known: bool

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        super().connection_made(transport)
        if is_strange(self.client, self.server):
            transport.abort()
            return
        self.number, self.known = next(_numbers), False
        self.app_state = {**self.app_state, LET_IN: self._let_in}
        others = cast("set[Connection]", self.connections)
        unknown = [each for each in others if not each.transport.is_closing() and not each.known]
        if len(unknown) > MOST_UNKNOWN:
            min(unknown, key=lambda each: each.number).transport.abort()

    def _let_in(self) -> None:
        self.known = True
