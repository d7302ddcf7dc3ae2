"""
Files that are written as a whole: a reader sees the old content or the new one, whatever becomes of the writer or the
disk. A change that is made of the old content is made by one process at a time.
"""

from __future__ import annotations

import errno
import os
import sys
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from executor._regular import regular_only

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

__all__ = ["about_file", "beside", "holding", "leave_to_owner", "locked", "locking", "write_whole"]

_LONGEST_SECONDS = 20.0  # that another process is waited for, which only reads a file and writes it
_FIRST_PAUSE, _LONGEST_PAUSE = 0.000_5, 0.02  # seconds
_LOCKS = "/proc/locks"  # see proc_locks(5)


def write_whole(path: Path, text: str) -> None:
    """
    Write a file of the user's alone, in a folder that is there.

    Raises:
        OSError: It cannot be written; its ``filename`` is *path*.
    """
    with about_file(path), beside(path, text.encode()) as new:
        new.replace(path)


@contextmanager
def beside(path: Path, content: bytes) -> Iterator[Path]:
    """A new file beside *path*, the user's alone, with *content*; gone at the end, unless it has another name."""
    new = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}")
    try:
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as stream:
            leave_to_owner(descriptor, path.parent)
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        yield new
    finally:
        with suppress(OSError):  # it has been moved; or it is in a folder that cannot be written, and is not there
            new.unlink()


def leave_to_owner(descriptor: int, folder: str | Path) -> None:
    """
    What root makes in somebody's *folder* is theirs, as the files beside a database of SQLite are: else they are shut
    out of it. Only for what was made by O_EXCL: what stood there may be a link to anything.
    """
    if sys.platform != "win32" and os.geteuid() == 0:
        with suppress(OSError):  # a file system, or a namespace, that does not know them
            owner = os.stat(folder)  # noqa: PTH116 -- an opener is given text
            os.fchown(descriptor, owner.st_uid, owner.st_gid)


def _new_or_regular(path: str, flags: int) -> int:
    try:
        descriptor = os.open(path, flags | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o600)
    except FileExistsError:
        return regular_only(path, flags)
    leave_to_owner(descriptor, os.path.dirname(path))  # noqa: PTH120 -- as above
    return descriptor


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """
    Hold the lock of this file: one process, and one thread of it, at a time.

    Raises:
        TimeoutError: Somebody has held it for `_LONGEST_SECONDS`; the message says who, where the system does.
        OSError: The file cannot be opened.
    """
    with locking(path) as pauses:
        for pause in pauses:
            time.sleep(pause)
        yield


@contextmanager
def locking(path: Path) -> Iterator[Iterator[float]]:
    """
    As `locked`, for who may not sleep.

    Returns:
        The seconds to wait before each further try. When there are no more the lock is held, until the end.
    """
    if sys.platform == "win32":  # the last writer wins
        yield iter(())
        return
    with open(path, "a", opener=_new_or_regular) as stream, _trying(stream.fileno(), path) as pauses:
        yield pauses


@contextmanager
def holding(descriptor: int, path: str | Path) -> Iterator[None]:
    """As `locked`, of a file that is open: *descriptor*, of *path*. Whoever opened it closes it."""
    with _trying(descriptor, path) as pauses:
        for pause in pauses:
            time.sleep(pause)
        yield


@contextmanager
def _trying(descriptor: int, path: str | Path) -> Iterator[Iterator[float]]:
    import fcntl

    try:
        yield _pauses(lambda: fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB), path)
    finally:
        with suppress(OSError):  # what was done under it is done, and closing it lets go as well
            fcntl.flock(descriptor, fcntl.LOCK_UN)  # a program that forked meanwhile has a copy of it


def _pauses(lock: Callable[[], object], path: str | Path) -> Iterator[float]:
    end, pause = time.monotonic() + _LONGEST_SECONDS, _FIRST_PAUSE
    # Asked for again and again: flock(2) knows no limit, and waking it is for the whole program's signals only.
    while not _try(lock, path):
        if time.monotonic() >= end:
            raise TimeoutError(errno.ETIMEDOUT, _held_by(path), str(path))
        yield pause
        pause = min(2 * pause, _LONGEST_PAUSE)


def _try(lock: Callable[[], object], path: str | Path) -> bool:
    try:
        with about_file(path):
            lock()
    except BlockingIOError:
        return False
    return True


@contextmanager
def about_file(path: str | Path) -> Iterator[None]:
    """What the system refuses is about *path*: of a lock, of what is read and of a full disk it names no file."""
    try:
        yield
    except OSError as error:
        if error.errno is not None:  # one of the system's
            error.filename = str(path)
            del error.filename2  # None would be shown as a name
        raise


def _held_by(path: str | Path) -> str:
    holder = _holder(path)
    who = f"Process {holder}" if holder else "Another process"
    how = f"`ps -fp {holder}` shows it" if holder else f"`fuser {path}` tells which"
    return (
        f"{who} has not let go of this file for {_LONGEST_SECONDS:.0f} seconds: it is stopped or hangs. "
        f"{how}; end it, or have it go on (kill -CONT), and try again"
    )


def _holder(path: str | Path) -> int | None:
    """Who has locked *path*; None where the system does not say, or another namespace has that number."""
    try:
        number = os.stat(path).st_ino  # noqa: PTH116 -- may be text
        with open(_LOCKS, encoding="ascii") as listed:  # noqa: PTH123 -- no path of ours
            found = (line.split() for line in listed)
            return (
                next((int(told[4]) for told in found if told[1] == "FLOCK" and told[5].endswith(f":{number}")), None)
                or None
            )
    except (OSError, ValueError, IndexError):
        return None
