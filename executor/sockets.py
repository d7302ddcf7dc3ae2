"""
Whose the TCP sockets of this machine are, as Linux tells it.

The kernel is asked for the one socket that is meant. Its tables in ``/proc`` have the same, but each look takes as long
as there are sockets on the machine: a third of a second where there are some thousands. They are read where the kernel
cannot be asked.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["NOBODY", "is_strange", "listeners", "stranger_at", "user_at"]

NOBODY = -1
"""Instead of a user: there is no such socket any more."""
_SECONDS = 1.0  # for the kernel's answer, which is there at once
_ANY = ("0.0.0.0", 0)  # noqa: S104 -- a part of a question, nothing is bound to it
# As linux/netlink.h, sock_diag.h and inet_diag.h have them.
_SOCK_DIAG, _ERROR, _DONE, _BY_FAMILY = 4, 2, 3, 20
_REQUEST, _DUMP, _LISTEN = 1, 0x300, 10
_HEADER = struct.Struct("=IHHII")
_PORT, _USER = 20, 80  # where they are in an answer, its header included
# The tables: what stands before an address (an IPv6 socket may call an IPv4 one), and their columns.
_MAPPED = "0000000000000000" + ("FFFF0000" if sys.byteorder == "little" else "0000FFFF")
_TABLES = {"tcp": "", "tcp6": _MAPPED}
_HERE, _STATE, _UID = 1, 3, 7


def user_at(there: tuple[str, int], here: tuple[str, int]) -> int | None:
    """
    The user who has the other end of a connection over IPv4.

    Args:
        there: Address and port of the other end.
        here: Those of this end.

    Returns:
        `NOBODY` where there is no other end any more; None: the system does not say who it is.
    """
    for asked in (_kernel, _tables):
        if asked(here, there) is not None:  # this end at least is known: it is these connections that it tells of
            found = asked(there, here)
            return NOBODY if found is None else found
    return None


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


def listeners(port: int) -> set[int]:
    """The users whose processes listen on a port of this machine; empty: nobody, or it cannot be told."""
    if sys.platform != "linux":
        return set()
    told = [_listening(family, table) for family, table in ((socket.AF_INET, "tcp"), (socket.AF_INET6, "tcp6"))]
    return {user for each in told for at, user in each if at == port}


def stranger_at(port: int) -> int | None:
    """A user whose process listens on a port of this machine, and who is neither this one nor root; None: no such."""
    if not hasattr(os, "getuid"):
        return None
    return min(listeners(port) - {0, os.getuid()}, default=None)


def _listening(family: int, table: str) -> list[tuple[int, int]]:
    """Each port on which somebody listens, and the user."""
    try:
        answers = list(_answers(family, _DUMP, 1 << _LISTEN, _ANY, _ANY))
    except (OSError, struct.error):
        lines = [line for line in _lines(table) if line[_STATE] == f"{_LISTEN:02X}"]
        return [(int(line[_HERE].rpartition(":")[2], 16), int(line[_UID])) for line in lines]
    return [(int.from_bytes(each[_PORT : _PORT + 2], "big"), _user_in(each)) for each in answers]


def _kernel(near: tuple[str, int], far: tuple[str, int]) -> int | None:
    """The user of one end of a connection, by the kernel's word; None: there is none, or it does not say."""
    ports = struct.pack("!HH", near[1], far[1])  # of a connection that is gone it tells who listens at that end
    with contextlib.suppress(OSError, struct.error):
        answers = _answers(socket.AF_INET, 0, 0xFFFFFFFF, near, far)
        return next((_user_in(answer) for answer in answers if answer[_PORT : _PORT + 4] == ports), None)
    return None


def _answers(family: int, flags: int, states: int, near: tuple[str, int], far: tuple[str, int]) -> Iterator[bytes]:
    """What the kernel says of the sockets that are asked for. Raises OSError: it says nothing, or there is none."""
    addresses = [socket.inet_aton(address).ljust(16, b"\0") for address, _ in (near, far)]
    question = struct.pack("=BBBBI", family, socket.IPPROTO_TCP, 0, 0, states)
    question += struct.pack("!HH", near[1], far[1]) + b"".join(addresses)
    question += struct.pack("=III", 0, 0xFFFFFFFF, 0xFFFFFFFF)  # of any interface, and whatever cookie it has
    with socket.socket(getattr(socket, "AF_NETLINK", -1), socket.SOCK_RAW, _SOCK_DIAG) as asking:
        asking.settimeout(_SECONDS)
        asking.send(_HEADER.pack(_HEADER.size + len(question), _BY_FAMILY, _REQUEST | flags, 0, 0) + question)
        while True:
            told = asking.recv(1 << 16)
            while told:
                size, kind, *_ = _HEADER.unpack_from(told)
                if kind == _ERROR:
                    (number,) = struct.unpack_from("=i", told, _HEADER.size)
                    raise OSError(-number, os.strerror(-number))
                if kind == _DONE:
                    return
                yield told[:size]
                told = told[(size + 3) & ~3 :]
            if not flags & _DUMP:
                return


def _user_in(answer: bytes) -> int:
    found: tuple[int] = struct.unpack_from("=I", answer, _USER)
    return found[0]


def _tables(near: tuple[str, int], far: tuple[str, int]) -> int | None:
    """As `_kernel`, from the tables."""
    for table, before in _TABLES.items():
        ends = [f"{before}{_hex(*near)}", f"{before}{_hex(*far)}"]
        found = next((int(line[_UID]) for line in _lines(table) if line[_HERE : _HERE + 2] == ends), None)
        if found is not None:
            return found
    return None


def _lines(table: str) -> list[list[str]]:
    try:
        return [line.split() for line in Path("/proc/net", table).read_text("ascii").splitlines()[1:]]
    except (OSError, ValueError):
        return []


def _hex(address: str, port: int) -> str:
    """An end of a connection as the tables write it: the bytes of the address in this machine's order."""
    return f"{int.from_bytes(socket.inet_aton(address), sys.byteorder):08X}:{port:04X}"
