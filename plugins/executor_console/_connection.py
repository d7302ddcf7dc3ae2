"""The connections to the page: those of other users of the machine are closed, before they are listened to."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from uvicorn.protocols.http.h11_impl import H11Protocol

from executor.sockets import user_at

if TYPE_CHECKING:
    import asyncio

FIRST_WORDS = 10.0  # seconds for a connection to begin a request: each counts among those that there may be


class Connection(H11Protocol):
    """
    A connection of this user, who has to say something on it.

    One of another user's, and one on which nothing is said, must not take the place of the page's own.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        super().connection_made(transport)
        if is_strange(self.client, self.server):
            transport.abort()
        else:
            self.loop.call_later(FIRST_WORDS, self._hang_up)

    def _hang_up(self) -> None:
        if self.cycle is None:  # no request has begun
            self.transport.abort()


def is_strange(client: tuple[str, int] | None, server: tuple[str, int | None] | None) -> bool:
    """
    Whether another user is at the other end of a connection, or nobody any more.

    Args:
        client: Address and port of the other end.
        server: Those of this end.

    False where the system does not say who it is.
    """
    if not client or not server or not server[1]:
        return False
    user = user_at(client, (server[0], server[1]))
    return user is not None and user != os.getuid()
