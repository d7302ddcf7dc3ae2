"""Opening what may be anything, for whoever reads what somebody else may have put there."""

from __future__ import annotations

import errno
import os
import stat

LARGEST = 64 << 20  # bytes of a file that somebody is to have written by hand; histories of programs stand in some
_NO_WAITING = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_CLOEXEC", 0)


def regular_only(path: str, flags: int) -> int:
    """
    As ``opener`` of ``open``: opens regular files only, for who reads what somebody else may have put there. What it
    makes is the user's alone.

    Whoever opens a FIFO waits until somebody writes into it, which may be never.

    Raises:
        OSError: As ``os.open``; EINVAL for anything else than a regular file.
    """
    opened = os.open(path, flags | _NO_WAITING, 0o600)
    if stat.S_ISREG(os.fstat(opened).st_mode):
        return opened
    os.close(opened)
    raise OSError(errno.EINVAL, "this is no regular file", path)


def read_regular(path: str | os.PathLike[str], most: int = LARGEST) -> bytes:
    """
    What is in a file.

    Raises:
        OSError: It cannot be read, is no regular file, or has more than *most* bytes.
    """
    with open(path, "rb", opener=regular_only) as file:
        found = file.read(most + 1)
    if len(found) > most:
        raise OSError(errno.EFBIG, f"this has more than {most >> 20} MiB", str(path))
    return found
