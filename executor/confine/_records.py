"""What is written down for the next box, as JSON: all of it, or what was there before."""

from __future__ import annotations

import contextlib
import errno
import json
import os
from typing import Any

_NEW = ".new"  # behind the name of a record that is being written


def read(path: str) -> Any:
    """What was last written; None where nothing was, or what is no JSON."""
    try:
        with open(path, "rb", buffering=0) as record:
            return json.loads(record.readall())
    except (OSError, ValueError):
        return None


def write(path: str, value: object) -> None:
    """
    Write *value* in place of what is there; for whoever holds the lock on the folder.

    Raises:
        OSError: It cannot be written (a full disk, a limit); what was there stays.
    """
    new = path + _NEW
    try:
        with open(new, "wb", buffering=0, opener=_private) as record:
            write_all(record.fileno(), json.dumps(value))
        os.rename(new, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(new)
        raise


def write_all(descriptor: int, text: str) -> None:
    """All of *text*, or OSError."""
    data = memoryview(text.encode("utf-8", "surrogateescape"))
    while data:
        written = os.write(descriptor, data)
        if not written:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        data = data[written:]


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
