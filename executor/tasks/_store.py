"""
Tasks in SQLite, one row each: what is read of them.

There are two connections, each behind its own lock: `Store.writer` is used by the one thread that writes (`_thread`),
and `Store.read` by whoever reads. So nobody who reads waits for one who waits to write. A transaction always begins as
one that writes (``BEGIN IMMEDIATE``): one that turned to writing would fail whenever another process writes.
"""

from __future__ import annotations

import sqlite3
import time
from typing import TYPE_CHECKING, Any, TypeVar

from executor.errors import ExecutorUnavailableError
from executor.tasks._changes import ENGINE
from executor.tasks._connection import BUSY, Connection, code_of, is_suspect, patiently, unavailable
from executor.tasks._read_only import is_read_only, read_copy, stamp
from executor.tasks._rows import COLUMNS, TASKS, Row, text

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

T = TypeVar("T")
PATIENCE = 0.25  # seconds for another process to be done; who waits behind is told at once that it was not, for …
REST = 1.0  # … so many seconds
UNWRITABLE = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)
NAMED = "typeof(id) = 'text'"  # a row that damage has taken the name of cannot be asked for
PAGE = 500  # rows that are read at once: a longer look would keep others from committing
MOST_IDS = 2000  # the same of ids alone, which are found by an index


class Store:
    """
    The tasks of all processes of a user.

    Args:
        path: The database; its folder is made if need be.
        damaged: Told that the file seems to be damaged, or None. It must not block.
        patience: Seconds for another process to be done; `PATIENCE` for None. Transactions take about a millisecond.

    Raises:
        ExecutorUnavailableError: From every method that reads, within twice its patience: the store cannot be used; the
            message says why and what to do.
    """

    def __init__(self, path: Path, damaged: Callable[[], object] | None = None, patience: float | None = None) -> None:
        self.path = path
        self.patience = PATIENCE if patience is None else patience
        self.writer = Connection(path)
        self._reader = Connection(path)
        self._copy = Connection(path, read_copy, stamp)  # under the reader's lock, where the file cannot be written
        self._damaged = damaged
        self._closed_until = 0.0
        self._why: Exception = OSError("it is slow")

    def read(self, look: Callable[[sqlite3.Connection], T]) -> T:
        """What *look* finds; it must fetch all at once."""
        reader = self._reader
        if not reader.lock.acquire(timeout=self.patience):
            raise unavailable(self.path, OSError("it is slow"))
        try:
            if time.monotonic() < self._closed_until:
                raise unavailable(self.path, self._why)
            try:
                return patiently(lambda: self._look(look), self.patience)
            except ExecutorUnavailableError:
                raise
            except Exception as error:  # also what a damaged file makes of its rows
                reader.close()  # the file may have been replaced, or the disk have come back: begin anew next time
                if not is_suspect(error):
                    self._why, self._closed_until = error, time.monotonic() + (REST if code_of(error) in BUSY else 0.0)
                elif self._damaged is not None:
                    self._damaged()
                raise unavailable(self.path, error) from error
        finally:
            reader.lock.release()

    def _look(self, look: Callable[[sqlite3.Connection], T]) -> T:
        try:
            return self._look_once(look)
        except (sqlite3.OperationalError, UnicodeDecodeError) as error:
            if self._reader.lenient or "decode" not in str(error):
                raise
        for connection in (self._reader, self._copy):
            connection.close()
            connection.lenient = True
        return self._look_once(look)

    def _look_once(self, look: Callable[[sqlite3.Connection], T]) -> T:
        try:
            return look(self._reader.get())
        except sqlite3.OperationalError as error:
            if code_of(error) not in UNWRITABLE or not is_read_only(self.path):
                raise
            return look(self._copy.get())

    def forget_failure(self) -> None:
        """The store can be used again: read it without delay."""
        self._closed_until = 0.0

    def close(self) -> None:
        """Free the connections; others are made when they are needed. One at which the disk hangs is left as it is."""
        if self.writer.lock.acquire(timeout=self.patience):
            self.writer.close()
            self.writer.lock.release()
        if self._reader.lock.acquire(timeout=self.patience):
            self._reader.close()
            self._copy.close()
            self._reader.lock.release()

    def close_writer(self) -> None:
        """Free the writing connection."""
        with self.writer.lock:
            self.writer.close()

    def hold(self, seconds: float) -> bool:
        """Keep SQLite from being at work, so that the process may fork. Returns whether it is."""
        held: list[threading.Lock] = []
        for connection in (self._reader, self.writer):
            if not connection.lock.acquire(timeout=seconds):
                for each in held:
                    each.release()
                return False
            held.append(connection.lock)
        return True

    def release(self) -> None:
        """The end of `hold`."""
        self._reader.lock.release()
        self.writer.lock.release()

    # Reading -----------------------------------------------------------------------------------------------------

    def rows(self, query: str, values: Sequence[object] = ()) -> list[Any]:
        """What a query finds."""
        return self.read(lambda connection: connection.execute(query, values).fetchall())

    def _tasks(self, rest: str, values: Sequence[object]) -> list[Row]:
        found = self.rows(f"SELECT {COLUMNS} FROM {TASKS} {rest}", values)  # noqa: S608 -- made of constants
        return [row for row in map(Row.of, found) if row is not None]

    def get(self, task_id: str) -> Row | None:
        """A task."""
        found = self._tasks("WHERE id = ?", (task_id,))
        return found[0] if found else None

    def beginning(self, begins: str, limit: int) -> list[str]:
        """The first ids that begin so, at most so many, by the index: `LIKE` would look at all."""
        begins = text(begins)
        query = "SELECT id FROM task WHERE id >= ? AND id < ? ORDER BY id LIMIT ?"
        return [row[0] for row in self.rows(query, (begins, f"{begins}\U0010ffff", limit))]

    def speculative(self, task_id: str | None = None) -> list[tuple[str, str, str]]:
        """Rows of calls that were about to become tasks: the id, the owner, and JSON of the columns of each."""
        query = "SELECT id, owner, entry FROM speculative"
        return self.rows(query) if task_id is None else self.rows(f"{query} WHERE id = ?", (task_id,))

    def outcome(self, task_id: str) -> tuple[int, str, str | None, int] | None:
        """Success, value, more, and whether the latter two are in a file, of a task; None as long as it lives."""
        query = "SELECT success, value, more, filed FROM task WHERE id = ? AND ended IS NOT NULL"
        found = self.rows(query, (task_id,))
        return found[0] if found else None

    def output(self, task_id: str) -> bytes | None:
        """The output of a task that has ended, where it was too little for a file."""
        found = self.rows("SELECT bytes FROM output WHERE task = ?", (task_id,))
        return bytes(found[0][0]) if found else None

    def newest(self, status: str | None, tool: str | None, limit: int | None) -> list[Row]:
        """Tasks, newest first, read in pages so that nobody waits long for the end of a look."""
        choice = (("status", status), ("tool", tool))
        chosen = [(f"{name} = ?", text(value)) for name, value in choice if value is not None]
        where = " AND ".join(["number < ?", *(term for term, _ in chosen)])
        query = f"SELECT {COLUMNS}, number FROM {TASKS} WHERE {where} ORDER BY number DESC LIMIT ?"  # noqa: S608 -- made of constants
        found: list[Row] = []
        last = 2**63 - 1
        while limit is None or len(found) < limit:
            size = PAGE if limit is None else min(PAGE, limit - len(found))
            page = self.rows(query, (last, *(value for _, value in chosen), size))
            found += [row for row in map(Row.of, page) if row is not None]
            if len(page) < size:
                break
            last = page[-1][-1]
        return found

    def undelivered(self, host: str, conversation: str | None, after: int) -> list[tuple[Row, bool, int]]:
        """
        Some of the ended, unacknowledged tasks of *host*, or of one conversation of it: each, whether it was detached,
        and its place in the order of the ends, from *after* on.
        """
        named, more = _of(conversation)
        query = (
            f"SELECT {COLUMNS}, detached.task IS NOT NULL, ending FROM {TASKS} "  # noqa: S608 -- made of constants
            "LEFT JOIN detached ON detached.task = task.id "
            f"WHERE host = ? AND acknowledged = 0 AND ended IS NOT NULL AND ending > ? {named}ORDER BY ending LIMIT ?"
        )
        found = self.rows(query, (host, after, *more, PAGE))
        return [(row, bool(each[-2]), each[-1]) for each in found if (row := Row.of(each)) is not None]

    def detached(self, host: str, since: float) -> list[str]:
        """The tasks of *host* that were left to processes of their own, and have not ended before that time."""
        query = (
            "SELECT id FROM detached JOIN task ON id = detached.task WHERE host = ? AND (ended IS NULL OR ended >= ?) "
            "UNION SELECT id FROM task WHERE owner = ? AND host = ? AND (ended IS NULL OR ended >= ?)"
        )
        return [row[0] for row in self.rows(query, (host, since, ENGINE, host, since))]

    def left_to_engines(self) -> list[Row]:
        """The live tasks that engines carry out, and that no process looks after."""
        return self._tasks("WHERE task.owner = ? AND ended IS NULL", (ENGINE,))

    def known(self, task_ids: Sequence[str]) -> set[str]:
        """Those of these ids that are tasks."""
        found: set[str] = set()
        for at in range(0, len(task_ids), PAGE):
            some = task_ids[at : at + PAGE]
            query = f"SELECT id FROM task WHERE id IN ({', '.join('?' * len(some))})"  # noqa: S608 -- question marks
            found |= {row[0] for row in self.rows(query, some)}
        return found

    def engines(self, task_ids: Sequence[str]) -> dict[str, tuple[str, str]]:
        """What carries tasks out: the name of an engine, and by what it is found."""
        found: dict[str, tuple[str, str]] = {}
        for at in range(0, len(task_ids), PAGE):
            some = task_ids[at : at + PAGE]
            marks = ", ".join("?" * len(some))
            query = f"SELECT task, name, ref FROM engine WHERE task IN ({marks})"  # noqa: S608 -- made of question marks
            found |= {task_id: (name, ref) for task_id, name, ref in self.rows(query, some)}
        return found

    def untold(self, host: str, conversation: str | None, after: int, limit: int) -> list[tuple[Row, str | None, int]]:
        """
        Ended tasks of *host*, or of one conversation of it, of whose end nobody was told: each, the
        owner that is about to tell of it, and its place in the order of the ends, from *after* on.
        """
        named, more = _of(conversation)
        query = (
            f"SELECT {COLUMNS}, teller.owner, ending FROM {TASKS} LEFT JOIN teller ON teller.task = task.id "  # noqa: S608 -- made of constants
            f"WHERE host = ? AND told = 0 AND ended IS NOT NULL AND ending > ? {named}ORDER BY ending LIMIT ?"
        )
        found = self.rows(query, (host, after, *more, limit))
        return [(row, *each[-2:]) for each in found if (row := Row.of(each)) is not None]

    def ended_before(self, when: float, *, acknowledged_only: bool = False) -> list[str]:
        """Some of the tasks that ended before *when*."""
        more = " AND acknowledged = 1" if acknowledged_only else ""
        query = f"SELECT id FROM task WHERE ended <= ?{more} AND {NAMED} LIMIT {MOST_IDS}"  # noqa: S608 -- made of constants
        return [row[0] for row in self.rows(query, (when,))]

    def oldest_ended(self) -> Iterator[str]:
        """All ended tasks, oldest first."""
        return self._in_pages("SELECT ending, id FROM task WHERE ended IS NOT NULL AND ending > ?")

    def ids(self) -> Iterator[str]:
        """All tasks, also those that are about to become some."""
        yield from (row[0] for row in self.speculative())
        yield from self._in_pages("SELECT number, id FROM task WHERE number > ?")

    def _in_pages(self, query: str) -> Iterator[str]:
        last = -1
        while page := self.rows(f"{query} AND {NAMED} ORDER BY 1 LIMIT {PAGE}", (last,)):
            last = page[-1][0]
            yield from (row[1] for row in page)

    def live_of_others(self, owner: str) -> dict[str, list[tuple[str, str]]]:
        """The live tasks of every other owner: the id and the process groups (JSON) of each."""
        found: dict[str, list[tuple[str, str]]] = {}
        query = (
            "SELECT owner, id, groups FROM task INDEXED BY task_live "
            "WHERE ended IS NULL AND owner IS NOT ? AND owner != ?"
        )
        for name, task_id, groups in self.rows(query, (owner, ENGINE)):
            found.setdefault(name, []).append((task_id, groups))
        return found

    def abandoned(self, owner: str) -> list[str]:
        """The process groups (JSON) of each task of *owner* that was stopped, and whose work had not come back."""
        query = "SELECT groups FROM task INDEXED BY task_abandoned WHERE owner = ? AND abandoned = 1"
        return [row[0] for row in self.rows(query, (owner,))]

    def owner(self, owner: str) -> tuple[int, str | None] | None:
        """The process id and birth of an owner."""
        found = self.rows("SELECT pid, birth FROM owner WHERE id = ?", (owner,))
        return found[0] if found else None

    def owners(self) -> list[str]:
        """All owners that were entered."""
        return [row[0] for row in self.rows("SELECT id FROM owner")]

    def requests(self, owner: str) -> list[tuple[str, str]]:
        """The live tasks of *owner* that another process wants stopped, and why."""
        query = "SELECT id, cancel FROM task INDEXED BY task_cancel "
        return self.rows(query + "WHERE owner = ? AND cancel IS NOT NULL AND ended IS NULL", (owner,))

    def cleaned(self) -> float | None:
        """When it was cleaned last."""
        return self.rows("SELECT max(at) FROM cleaning")[0][0]  # type: ignore[no-any-return]  # a column of numbers


def _of(conversation: str | None) -> tuple[str, tuple[str, ...]]:
    """What chooses the tasks of a conversation, or of all: words of a query, and what stands for their marks."""
    return ("", ()) if conversation is None else ("AND name = ? ", (conversation,))
