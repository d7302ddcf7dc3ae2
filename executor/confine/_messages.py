"""Messages between this process and those that start commands for it: 4 bytes say how many follow; and descriptors."""

from __future__ import annotations

import array
import errno
import marshal
import os
import socket
import struct

TYPE_CHECKING = False  # `typing` would be copied with each fork, see `_restrict`
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

# What a process that starts commands says at its end, however much of what it said before was lost: which command it
# has started last, or 0.
LAST, LAST_WORD = struct.Struct("=8si"), b"executor"
_LENGTH = struct.Struct("=I")
_MOST_DESCRIPTORS = 8


def send(connection: socket.socket, message: Any, descriptors: Sequence[int] = ()) -> None:
    """
    Send what `marshal` can write.

    Raises:
        OSError: Nobody is there to receive it. What was interrupted is sent in part: nothing more may be.
    """
    data = marshal.dumps(message)
    data = _LENGTH.pack(len(data)) + data
    more = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
    sent = connection.sendmsg([data], more, socket.MSG_NOSIGNAL)
    if sent < len(data):
        connection.sendall(data[sent:], socket.MSG_NOSIGNAL)


def received(connection: socket.socket) -> tuple[Any, list[int]]:
    """
    The next message, and its descriptors.

    Raises:
        EOFError: Nobody is there to send one.
        OSError: This process may have no more descriptors.
    """
    space = socket.CMSG_SPACE(_MOST_DESCRIPTORS * array.array("i").itemsize)
    # No more than these 4 bytes: the descriptors of the next message would come with what is read of it.
    size, more, flags, _ = connection.recvmsg(_LENGTH.size, space, socket.MSG_CMSG_CLOEXEC | socket.MSG_WAITALL)
    descriptors = array.array("i")
    for _, _, numbers in more:
        descriptors.frombytes(numbers)
    data = connection.recv(_LENGTH.unpack(size)[0], socket.MSG_WAITALL) if size else b""
    if not data:
        close_all(descriptors)
        raise EOFError
    if flags & socket.MSG_CTRUNC:
        close_all(descriptors)
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
    return marshal.loads(data), descriptors.tolist()  # noqa: S302 -- from the process that this one serves, or its own


def close_all(descriptors: Sequence[int]) -> None:
    """Close each of them."""
    for descriptor in descriptors:
        os.close(descriptor)
