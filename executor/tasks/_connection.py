"""One connection to the store: how it is opened, waited for, and what its errors mean."""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
import threading
import time
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from executor.errors import ExecutorUnavailableError
from executor.ownfolders import make_private
from executor.tasks._owners import identity
from executor.tasks._schema import migrate
from executor.wholefiles import leave_to_owner

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

T = TypeVar("T")
AGAIN = 0.002  # seconds between two tries while another process is in the way
DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)  # the last: a table is missing
BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def patiently(do: Callable[[], T], seconds: float) -> T:
    """
    Do something as soon as no other process is in the way.

    SQLite's own waits grow to a tenth of a second, in which others get in the way again.
    """
    end = time.monotonic() + seconds
    while True:
        try:
            return do()
        except Exception as error:
            if code_of(error) not in BUSY or time.monotonic() >= end:
                raise
        time.sleep(AGAIN)  # what other processes do cannot be waited for by an event


class Connection:
    """
    One connection, opened when it is needed, and anew when another file has taken the place of the one it had open.

    Args:
        make: Opens it; `connect` by default.
        stamp: What tells one file from another.

    Attributes:
        lock: Held while SQLite is at work, so that nobody forks in the middle of it.
        opened: How often it was opened.
        lenient: Whether texts that are not UTF-8 are read as well as they can be.
    """

    def __init__(
        self,
        path: Path,
        make: Callable[[Path], sqlite3.Connection] | None = None,
        stamp: Callable[[str], tuple[int, ...] | None] = identity,
    ) -> None:
        self.path = path
        self._make = make or connect
        self._stamp = partial(stamp, str(path))  # before every look: a path would be made text of each time
        self.lock = threading.Lock()
        self.opened = 0
        self.lenient = False
        self._made: sqlite3.Connection | None = None
        self._file: tuple[int, ...] | None = None

    def get(self) -> sqlite3.Connection:
        """The connection; *lock* is held by the caller."""
        file = self._stamp()
        if self._made is not None and file == self._file:
            return self._made
        self.close()
        made = self._make(self.path)
        if self.lenient:
            made.text_factory = lambda data: data.decode("utf-8", "replace")
        self.opened += 1
        self._made, self._file = made, self._stamp()
        return made

    @property
    def intact(self) -> bool:
        """Whether the file that it has open is still the one that is there."""
        return self._made is None or self._stamp() == self._file

    def close(self) -> None:
        """Free it; *lock* is held by the caller."""
        made, self._made = self._made, None
        if made is not None:
            with contextlib.suppress(sqlite3.Error):
                made.close()

    def __del__(self) -> None:
        # Who reads after everything was closed has opened it again, and nobody closes it then.
        self.close()


def connect(path: Path) -> sqlite3.Connection:
    """Open the store, which is made, or brought up to date, if need be."""
    if not path.exists():
        make_private(path.parent)
        # Never opened if it is there: to close it again would free the locks that SQLite has on it in this process.
        with contextlib.suppress(FileExistsError):
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o600)
            leave_to_owner(descriptor, path.parent)
            os.close(descriptor)
            path.chmod(0o600)
    connection = sqlite3.connect(path, timeout=0.0, isolation_level=None, check_same_thread=False)
    try:
        migrate(connection, path)
        # The same with every SQLite, because processes with different ones share the file; and no WAL, which old
        # ones may corrupt (sqlite.org/wal.html#walresetbug) and none can read on a disk that cannot be written.
        # PERSIST clears the journal's head instead of cutting the file: as safe as TRUNCATE, and a fifth faster.
        # A store of version 0.1 that is in WAL, and open in such a process, stays so until that one has ended.
        with contextlib.suppress(sqlite3.OperationalError):
            connection.execute("PRAGMA journal_mode = PERSIST")
        connection.execute("PRAGMA journal_size_limit = 1048576")
        connection.execute("PRAGMA synchronous = FULL")
    except BaseException:
        connection.close()
        raise
    return connection


def code_of(error: BaseException) -> int | None:
    """SQLite's primary code of an error of its."""
    code = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def is_suspect(error: BaseException) -> bool:
    """Whether it may come of a damaged file. A disk that is full, away or failing says so itself."""
    code = code_of(error)
    if code is None:
        return not isinstance(error, (sqlite3.Error, OSError, MemoryError, RuntimeError, ExecutorUnavailableError))
    return code in DAMAGE or not isinstance(error, sqlite3.OperationalError)


def unavailable(path: Path, error: BaseException) -> ExecutorUnavailableError:
    """The error that is told of a store that cannot be used."""
    if isinstance(error, ExecutorUnavailableError):
        return error
    said = str(error) if isinstance(error, (sqlite3.Error, OSError, RuntimeError)) else repr(error)
    return ExecutorUnavailableError(f"The task store {path} cannot be used: {said}: {_what_to_do(path, said, error)}")


_HELP = {  # by a word of what is said
    "full": "free some space",
    "No space": "free some space",
    "locked": "another process holds it; it is tried again by itself",
    "I/O": "see to its disk; it is tried again by itself",
    "thread": "the system has none left for this user; it is tried again by itself",
    "slow": "its disk does not answer; it is tried again by itself",
}


def _what_to_do(path: Path, said: str, error: BaseException) -> str:
    if os.path.lexists(path) and not os.path.isfile(path):  # noqa: PTH113 -- False where it cannot be seen, as lexists
        return "it is no file: move it away"
    if isinstance(error, MemoryError):
        return "the process has no memory left; it is tried again by itself"
    if is_suspect(error):
        return "it seems to be damaged; if it is, it is set aside when it is next written to"
    known = next((help_ for word, help_ in _HELP.items() if word in said), None)
    if known is None and _no_file_can_be_opened():
        return "the process has too many files open; it is tried again by itself"
    return known or "make its folder writable, or set XDG_STATE_HOME to one that is"


def _no_file_can_be_opened() -> bool:
    """Whether this process has too many files open, which SQLite does not say. Its own files are not to be touched."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return error.errno in (errno.EMFILE, errno.ENFILE)
    return False
