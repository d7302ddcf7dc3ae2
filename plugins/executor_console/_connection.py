"""The connections to the page: those of other users of the machine are closed, before they are listened to."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio

FIRST_WORDS = 10.0  # seconds for a connection to begin a request: each counts among those that there may be
_MAPPED = "0000000000000000" + ("FFFF0000" if sys.byteorder == "little" else "0000FFFF")
_TABLES = {"tcp": "", "tcp6": _MAPPED}  # what stands before an address: an IPv6 socket may call an IPv4 one
_USER = 7  # the column of the table


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
    there, here = _hex(*client), _hex(server[0], server[1])
    if _user_of("tcp", here, there) is None:
        return False  # not even this end is known: there are no such tables, or they are not about us
    return all(_user_of(table, there, here) != os.getuid() for table in _TABLES)


def _user_of(table: str, near: str, far: str) -> int | None:
    """The user to whom the system's table says that one end of a connection belongs; None if it does not have it."""
    before = _TABLES[table]
    wanted = f" {before}{near} {before}{far} ".encode()
    try:
        lines = Path(f"/proc/net/{table}").read_bytes().splitlines()
    except OSError:
        return None
    return next((int(line.split()[_USER]) for line in lines if wanted in line), None)


def _hex(address: str, port: int) -> str:
    """An end of a connection as the system's tables write it: the bytes of the address in this machine's order."""
    return f"{int.from_bytes(socket.inet_aton(address), sys.byteorder):08X}:{port:04X}"
