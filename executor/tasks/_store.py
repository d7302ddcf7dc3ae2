"""
Tasks in SQLite, one row each. A state changes by compare-and-set only: a final one never does.

Every write is a transaction that begins as one (``BEGIN IMMEDIATE``): one that turned from reading to writing would
fail with "database is locked" whenever another process writes. One connection a process, behind `_lock`.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import threading
import time
from typing import TYPE_CHECKING, NamedTuple

from executor.errors import ExecutorUnavailableError
from executor.tasks._answers import Stored, encode, encode_more
from executor.tasks._schema import migrate
from executor.values import TaskInfo, TaskStatus

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from executor.values import Outcome, ToolResult

BUSY = 20.0  # seconds to wait for another process's transaction: theirs take about a millisecond
_FINISH = """
UPDATE task SET status = ?, started = ?, ended = ?, duration = ?, error = ?, output_bytes = ?, abandoned = ?,
    success = ?, value = ?, more = ?, ending = (SELECT coalesce(max(ending), 0) + 1 FROM task)
WHERE id = ? AND ended IS NULL
"""
_INTERRUPT = """
UPDATE task SET status = 'interrupted', ended = :now, error = :error, success = 0, value = :value,
    duration = max(0.0, coalesce(:now - started, 0.0)), output_bytes = :size,
    ending = (SELECT coalesce(max(ending), 0) + 1 FROM task)
WHERE id = :id AND owner = :owner AND ended IS NULL
"""
_COLUMNS = (
    "id, status, tool, plugin, call, created, started, ended, duration, error, output_bytes, pid, abandoned, "
    "owner, output_cap, name"
)
_TASKS = "task LEFT JOIN conversation ON conversation.task = task.id"


class Row(NamedTuple):
    """What the store knows of a task: the columns that readers want."""

    id: str
    status: str
    tool: str
    plugin: str
    call: str
    created: float
    started: float | None
    ended: float | None
    duration: float | None
    error: str | None
    output_bytes: int | None
    pid: int
    abandoned: int
    owner: str
    output_cap: int
    conversation: str | None

    @property
    def live(self) -> bool:
        return self.ended is None

    def info(self, output_bytes: int, *, abandoned: bool = False) -> TaskInfo:
        """As everybody sees it; whether its thread is still at work depends on its process too."""
        duration = self.duration
        if duration is None:
            duration = max(0.0, time.time() - self.started) if self.started is not None else 0.0
        return TaskInfo(
            id=self.id,
            status=TaskStatus(self.status),
            tool_name=self.tool,
            plugin_name=self.plugin,
            call_id=self.call,
            created=self.created,
            started=self.started,
            ended=self.ended,
            duration=duration,
            error=self.error,
            output_bytes=output_bytes,
            owner=str(self.pid),
            abandoned=abandoned,
            conversation=self.conversation,
        )


class Store:
    """
    The tasks of all processes of a user.

    Args:
        path: The database; its folder is made if need be.

    Raises:
        ExecutorUnavailableError: From every method: the store cannot be used; the message says why and what to do.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        with self._reading():
            pass  # opened now, so that what is wrong is said now

    # The connection ----------------------------------------------------------------------------------------------

    def _open(self) -> sqlite3.Connection:
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not self.path.exists():
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600))
        connection = sqlite3.connect(self.path, timeout=BUSY, isolation_level=None, check_same_thread=False)
        try:
            # The same with every SQLite, because processes with different ones share the file; and no WAL, which old
            # ones may corrupt (sqlite.org/wal.html#walresetbug) and none can read on a disk that cannot be written.
            # PERSIST clears the journal's head instead of cutting the file: as safe as TRUNCATE, and a fifth faster.
            connection.execute("PRAGMA journal_mode = PERSIST")
            connection.execute("PRAGMA synchronous = FULL")
            migrate(connection, self.path)
        except BaseException:
            connection.close()
            raise
        return connection

    @contextlib.contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            try:
                if self._connection is None:
                    self._connection = self._open()
                yield self._connection
            except (sqlite3.Error, OSError) as error:
                self._close()  # the file may have been replaced, or the disk have come back: begin anew next time
                raise _unavailable(self.path, error) from error

    @contextlib.contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._reading() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def _close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(sqlite3.Error):
                connection.close()

    def close(self) -> None:
        """Free the connection; another is made when one is needed."""
        with self._lock:
            self._close()

    # Tasks -------------------------------------------------------------------------------------------------------

    def add_owner(self, owner: str, birth: str | None) -> None:
        """Enter this process, before the first of its tasks."""
        with self._writing() as connection:
            connection.execute("INSERT INTO owner VALUES (?, ?, ?)", (owner, os.getpid(), birth))

    def add(
        self,
        task_id: str,
        *,
        tool: str,
        plugin: str,
        call: str,
        owner: str,
        host: str,
        created: float,
        started: float | None,
        output_cap: int,
        groups: Sequence[tuple[int, str]] = (),
        conversation: str | None = None,
    ) -> None:
        """Enter a task, running if it has *started*. When this returns it is on the disk."""
        status = TaskStatus.PENDING if started is None else TaskStatus.RUNNING
        with self._writing() as connection:
            connection.execute(
                "INSERT INTO task (id, status, tool, plugin, call, owner, pid, host, created, started, output_cap, "
                "groups) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (task_id, status, tool, plugin, call, owner, os.getpid(), host, created, started, output_cap,
                 json.dumps(groups)),
            )  # fmt: skip
            if conversation is not None:
                connection.execute("INSERT INTO conversation VALUES (?, ?)", (task_id, conversation))

    def start(self, task_id: str, started: float) -> bool:
        """From pending to running."""
        with self._writing() as connection:
            changed = connection.execute(
                "UPDATE task SET status = 'running', started = ? WHERE id = ? AND status = 'pending'",
                (started, task_id),
            )
            return changed.rowcount == 1

    def finish(self, info: TaskInfo, outcome: Outcome, result: ToolResult | None = None) -> bool:
        """
        Give a live task its final state.

        Args:
            result: The outcome as a result, where there is one.

        Returns:
            False when it has a final state, or is not there.
        """
        value = encode(outcome[1])
        more = encode_more(result) if result is not None else None
        with self._writing() as connection:
            changed = connection.execute(
                _FINISH,
                (info.status, info.started, info.ended, info.duration, info.error, info.output_bytes, info.abandoned,
                 outcome[0], value, more, info.id),
            )  # fmt: skip
            return changed.rowcount == 1

    def interrupt(self, tasks: Sequence[tuple[str, int]], owner: str, error: str) -> int:
        """
        Give the live ones of these tasks of *owner* the state ``interrupted``. Returns how many that were.

        Args:
            tasks: The id of each, and how many bytes it has written.
        """
        value = encode({"error": error, "interrupted": True})
        now = time.time()
        with self._writing() as connection:
            common = {"now": now, "error": error, "value": value, "owner": owner}
            changed = connection.executemany(_INTERRUPT, [{**common, "id": key, "size": size} for key, size in tasks])
            connection.execute("DELETE FROM owner WHERE id = ?", (owner,))
            return changed.rowcount

    def set(self, task_id: str, column: str, value: object) -> bool:
        """Set ``abandoned``, ``groups``, ``told`` or ``acknowledged``. Returns whether it was another before."""
        assert column in ("abandoned", "groups", "told", "acknowledged")
        with self._writing() as connection:
            changed = connection.execute(
                f"UPDATE task SET {column} = ? WHERE id = ? AND {column} IS NOT ?",  # noqa: S608 -- one of four words
                (value, task_id, value),
            )
            return changed.rowcount == 1

    def request_cancel(self, task_id: str, reason: str) -> bool:
        """Ask the owner of a live task to stop it. Returns whether this was the first to ask."""
        with self._writing() as connection:
            changed = connection.execute(
                "UPDATE task SET cancel = ? WHERE id = ? AND cancel IS NULL AND ended IS NULL",
                (reason, task_id),
            )
            return changed.rowcount == 1

    def remove(self, task_ids: Sequence[str]) -> None:
        """Forget tasks."""
        with self._writing() as connection:
            connection.executemany("DELETE FROM task WHERE id = ?", [(task_id,) for task_id in task_ids])

    # Reading -----------------------------------------------------------------------------------------------------

    def get(self, task_id: str) -> Row | None:
        """A task."""
        found = self._rows("WHERE id = ?", (task_id,))
        return found[0] if found else None

    def outcome(self, task_id: str) -> Stored | None:
        """What a task came to; None as long as it lives."""
        with self._reading() as connection:
            row = connection.execute(
                "SELECT success, value, more FROM task WHERE id = ? AND ended IS NOT NULL", (task_id,)
            ).fetchone()
        return None if row is None else Stored((bool(row[0]), json.loads(row[1])), row[2])

    def newest(self, status: str | None, tool: str | None, limit: int | None) -> list[Row]:
        """Tasks, newest first."""
        chosen = [(f"{name} = ?", value) for name, value in (("status", status), ("tool", tool)) if value is not None]
        where = "WHERE " + " AND ".join(text for text, _ in chosen) if chosen else ""
        values = [value for _, value in chosen]
        return self._rows(f"{where} ORDER BY number DESC LIMIT ?", (*values, -1 if limit is None else limit))

    def undelivered(self, host: str, conversation: str | None) -> list[Row]:
        """The ended, unacknowledged tasks of *host*, or of one conversation of it, in the order of their end."""
        named, values = ("AND name = ? ", (host, conversation)) if conversation is not None else ("", (host,))
        return self._rows(f"WHERE host = ? AND acknowledged = 0 AND ended IS NOT NULL {named}ORDER BY ending", values)

    def unreported(self, host: str, limit: int) -> list[Row]:
        """The ended tasks of *host* of whose end nobody was told."""
        return self._rows("WHERE host = ? AND told = 0 AND ended IS NOT NULL ORDER BY ending LIMIT ?", (host, limit))

    def ended_before(self, when: float, *, acknowledged_only: bool = False) -> list[str]:
        """The tasks that ended before *when*."""
        more = " AND acknowledged = 1" if acknowledged_only else ""
        with self._reading() as connection:
            return [row[0] for row in connection.execute(f"SELECT id FROM task WHERE ended <= ?{more}", (when,))]  # noqa: S608 -- two constants

    def oldest_ended(self) -> list[str]:
        """All ended tasks, oldest first."""
        with self._reading() as connection:
            return [row[0] for row in connection.execute("SELECT id FROM task WHERE ended IS NOT NULL ORDER BY ending")]

    def ids(self) -> list[str]:
        """All tasks."""
        with self._reading() as connection:
            return [row[0] for row in connection.execute("SELECT id FROM task")]

    def live_of_others(self, owner: str) -> dict[str, list[tuple[str, str]]]:
        """The live tasks of every other owner: the id and the process groups (JSON) of each."""
        found: dict[str, list[tuple[str, str]]] = {}
        with self._reading() as connection:
            for name, task_id, groups in connection.execute(
                "SELECT owner, id, groups FROM task INDEXED BY task_live WHERE ended IS NULL"
            ):
                if name != owner:
                    found.setdefault(name, []).append((task_id, groups))
        return found

    def owner(self, owner: str) -> tuple[int, str | None] | None:
        """The process id and birth of an owner."""
        with self._reading() as connection:
            row: tuple[int, str | None] | None
            row = connection.execute("SELECT pid, birth FROM owner WHERE id = ?", (owner,)).fetchone()
            return row

    def requests(self, owner: str) -> list[tuple[str, str]]:
        """The live tasks of *owner* that another process wants stopped, and why."""
        with self._reading() as connection:
            return connection.execute(
                "SELECT id, cancel FROM task INDEXED BY task_cancel "
                "WHERE owner = ? AND cancel IS NOT NULL AND ended IS NULL",
                (owner,),
            ).fetchall()

    def claim_cleaning(self, every: float) -> bool:
        """Whether *every* seconds have passed since the last cleaning, which then is now."""
        now = time.time()
        with self._reading() as connection:
            row = connection.execute("SELECT max(at) FROM cleaning").fetchone()
        if row[0] is not None and 0 <= now - row[0] < every:  # a clock that was ahead is no reason to wait
            return False
        with self._writing() as connection:
            connection.execute("DELETE FROM cleaning")
            connection.execute("INSERT INTO cleaning VALUES (?)", (now,))
        return True

    def _rows(self, rest: str, values: Sequence[object]) -> list[Row]:
        with self._reading() as connection:
            return [Row(*row) for row in connection.execute(f"SELECT {_COLUMNS} FROM {_TASKS} {rest}", values)]  # noqa: S608 -- made of constants


def _unavailable(path: Path, error: Exception) -> ExecutorUnavailableError:
    text = str(error)
    if "full" in text or "No space" in text:
        help_ = "free some space"
    elif "malformed" in text or "not a database" in text:
        help_ = "move the file away, and a new one is made"
    elif "locked" in text:
        help_ = f"another process has held it for {BUSY:g} s: end that one"
    else:
        help_ = "make its folder writable, or set XDG_STATE_HOME to one that is"
    return ExecutorUnavailableError(f"The task store {path} cannot be used: {text}: {help_}")
