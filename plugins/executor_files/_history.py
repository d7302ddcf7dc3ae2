"""
What files were before these tools changed them, kept for a while so that a change can be taken back.

It is a database of this user's own, in a folder that nobody else may look into: changes, and the contents that they
replaced, each once whatever its name. Every use opens it anew: other threads, processes and forks use it too.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
import stat
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from executor import paths
from executor.ownfolders import make_private, own_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_FILE = 10 << 20  # bytes of a file that is kept
MAX_ALL = 200 << 20  # bytes of all that are kept; the oldest go
DAY = 24 * 3600.0
MAX_AGE = 14 * DAY  # seconds
_PATIENCE = 1.0  # seconds that a change waits for another process's: it is made all the same
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_TABLES = """
CREATE TABLE content (digest TEXT PRIMARY KEY, data BLOB NOT NULL) STRICT;
CREATE TABLE change (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at REAL NOT NULL,
    path BLOB NOT NULL, -- file names are bytes
    tool TEXT NOT NULL,
    before TEXT NOT NULL, -- as State.mark
    mode INTEGER NOT NULL,
    content TEXT, -- the digest of what was kept
    lost TEXT, -- or why nothing was
    after TEXT NOT NULL,
    undone INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX change_path ON change (path);
CREATE INDEX change_content ON change (content);
"""
_COLUMNS = "id, at, path, tool, before, mode, content, lost, after, undone"


class State(NamedTuple):
    """
    What stands at a path.

    Attributes:
        mark: ``nothing``, ``folder``, ``link:DIGEST`` or ``file:DIGEST``; ``large`` for a file that is not looked at.
        data: The content of a file, where a link leads; else None.
        status: None where there is nothing.
    """

    mark: str
    data: bytes | None = None
    status: os.stat_result | None = None


NOTHING = State("nothing")


def state_of(path: Path) -> State:
    """
    What stands at *path*, as resolved up to its last part.

    Raises:
        OSError: It cannot be looked at.
    """
    try:
        status = paths.stat_resolved(path)
        if stat.S_ISDIR(status.st_mode):
            return State("folder", None, status)
        if stat.S_ISLNK(status.st_mode):
            with paths.open_parent(path) as (folder, name):
                target = os.fsencode(os.readlink(name, dir_fd=folder))
            return State(f"link:{_digest(target)}", target, status)
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_FILE:
            return State("large", None, status)
        with os.fdopen(paths.open_resolved(path, os.O_RDONLY), "rb") as file:
            status = os.fstat(file.fileno())
            data = file.read(MAX_FILE + 1)
    except FileNotFoundError:
        return NOTHING
    return State("large", None, status) if len(data) > MAX_FILE else State(mark_of(data), data, status)


def mark_of(data: bytes) -> str:
    """The mark of a file with this content."""
    return f"file:{_digest(data)}"


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class Change(NamedTuple):
    """
    A change that was made.

    Attributes:
        at: Seconds since the epoch.
        before, after: As `State.mark`.
        mode: Of what was there.
        content: The digest of what was kept, or None.
        lost: Why nothing was kept, or None.
    """

    id: int
    at: float
    path: Path
    tool: str
    before: str
    mode: int
    content: str | None
    lost: str | None
    after: str
    undone: bool


class History:
    """
    The changes of this user's tools.

    Args:
        folder: Made if need be; by default in the user's state folder.

    Raises:
        sqlite3.Error, OSError: From every method: it cannot be used.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._path = (folder or own_folder("state") / "files") / "undo.db"

    def add(self, path: Path, tool: str, before: State, after: str, *, keep: bool) -> tuple[int, str | None]:
        """
        Note a change that is about to be made, and keep what it replaces. What is too old or too much goes.

        Args:
            keep: Whether the content may be kept.

        Returns:
            The change, and why nothing was kept, if so.
        """
        lost = None if keep else "the policy keeps its content from being read"
        if before.mark == "large":
            lost = f"it has {before.status.st_size if before.status else '?'} bytes, and up to {MAX_FILE} are kept"
        content = _digest(before.data) if before.data is not None and lost is None else None
        mode = stat.S_IMODE(before.status.st_mode) if before.status is not None else 0
        now = time.time()
        with self._open() as connection:
            if content is not None:
                connection.execute("INSERT OR IGNORE INTO content VALUES (?, ?)", (content, before.data))
            values = (now, os.fsencode(path), tool, before.mark, mode, content, lost, after)
            columns = "at, path, tool, before, mode, content, lost, after"
            added = connection.execute(f"INSERT INTO change ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)  # noqa: S608 -- made of constants
            _forget_old(connection, now)
        assert added.lastrowid is not None
        return added.lastrowid, lost

    def remove(self, change: int) -> None:
        """It was not made after all."""
        with self._open() as connection:
            connection.execute("DELETE FROM change WHERE id = ?", (change,))
            _forget_contents(connection)

    def mark_undone(self, change: int) -> None:
        """It was taken back."""
        with self._open() as connection:
            connection.execute("UPDATE change SET undone = 1 WHERE id = ?", (change,))

    def changes(self, path: Path | None = None, limit: int = -1) -> list[Change]:
        """The changes, of *path* or of all, newest first."""
        where, values = ("", ()) if path is None else ("WHERE path = ? ", (os.fsencode(path),))
        query = f"SELECT {_COLUMNS} FROM change {where}ORDER BY id DESC LIMIT ?"  # noqa: S608 -- made of constants
        with self._open() as connection:
            rows = connection.execute(query, (*values, limit)).fetchall()
        return [Change._make((*row[:2], Path(os.fsdecode(row[2])), *row[3:-1], bool(row[-1]))) for row in rows]

    def content(self, change: Change) -> bytes | None:
        """What *change* replaced, if that was kept."""
        with self._open() as connection:
            found = connection.execute("SELECT data FROM content WHERE digest = ?", (change.content,)).fetchone()
        return found[0] if found is not None and _digest(found[0]) == change.content else None

    @contextlib.contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """A transaction."""
        try:
            connection = self._connect()
        except sqlite3.DatabaseError as error:
            if not (_tells_of_damage(error) and _is_damaged(self._path)):
                raise
            self._path.replace(self._path.with_suffix(f".damaged-{time.time_ns()}"))
            connection = self._connect()
        try:
            with connection:
                yield connection
        finally:
            connection.close()

    def _connect(self) -> sqlite3.Connection:
        make_private(self._path.parent)
        os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600))
        connection = sqlite3.connect(self._path, timeout=_PATIENCE, isolation_level="IMMEDIATE")
        try:
            if not connection.execute("PRAGMA user_version").fetchone()[0]:
                connection.execute("PRAGMA auto_vacuum = FULL")  # what is forgotten frees its room on the disk
                connection.execute("PRAGMA journal_mode = WAL")
                try:
                    connection.executescript(f"BEGIN IMMEDIATE; {_TABLES} PRAGMA user_version = 1; COMMIT;")
                except sqlite3.OperationalError as error:
                    connection.rollback()
                    if "already exists" not in str(error):  # another process was faster
                        raise
            connection.execute("PRAGMA synchronous = NORMAL")
        except BaseException:
            connection.close()
            raise
        return connection


def _tells_of_damage(error: sqlite3.Error) -> bool:
    return error.sqlite_errorcode & 0xFF in _DAMAGED


def _is_damaged(path: Path) -> bool:
    """
    Whether no page of it can be used. A query takes it for damaged when its disk has failed once; a copy that is made
    of it says with what error it cannot be read.
    """
    try:
        with (
            contextlib.closing(sqlite3.connect(path, timeout=_PATIENCE)) as kept,
            contextlib.closing(sqlite3.connect("")) as copy,
        ):
            kept.backup(copy)
            return bool(copy.execute("PRAGMA quick_check(1)").fetchone() != ("ok",))
    except sqlite3.Error as error:
        return _tells_of_damage(error)


def _forget_old(connection: sqlite3.Connection, now: float) -> None:
    # Ages count to the newest change that is a day old: of a clock that is ahead now nothing is old.
    last = connection.execute("SELECT max(at) FROM change WHERE at <= ?", (now - DAY,)).fetchone()[0]
    if last is not None:
        connection.execute("DELETE FROM change WHERE at < ?", (last - MAX_AGE,))
    _forget_contents(connection)
    while (connection.execute("SELECT sum(length(data)) FROM content").fetchone()[0] or 0) > MAX_ALL:
        connection.execute("DELETE FROM change WHERE id = (SELECT min(id) FROM change WHERE content IS NOT NULL)")
        _forget_contents(connection)


def _forget_contents(connection: sqlite3.Connection) -> None:
    connection.execute(
        "DELETE FROM content WHERE NOT EXISTS (SELECT 1 FROM change WHERE change.content = content.digest)"
    )
