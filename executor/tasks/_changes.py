"""What is written to the store, each within a transaction of `_thread`. A state changes by compare-and-set only."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from executor.tasks._answers import encode
from executor.tasks._rows import text

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from executor.tasks._rows import Entry

_INSERT = """
INSERT INTO task (id, status, tool, plugin, call, owner, pid, host, created, started, output_cap, groups)
VALUES (:id, :status, :tool, :plugin, :call, :owner, :pid, :host, :created, :started, :output_cap, :groups)
ON CONFLICT (id) DO UPDATE SET status = excluded.status, started = excluded.started, groups = excluded.groups
WHERE ended IS NULL
"""
_FINISH = """
UPDATE task SET status = :status, started = :started, ended = :ended, duration = :duration, error = :error,
    output_bytes = :output_bytes, abandoned = :abandoned, success = :success, value = :value, more = :more,
    filed = :filed, ending = (SELECT coalesce(max(ending), 0) + 1 FROM task)
WHERE id = :id AND ended IS NULL
"""
_INTERRUPT = """
UPDATE task SET status = 'interrupted', ended = :now, error = :error, success = 0, value = :value,
    duration = max(0.0, coalesce(:now - started, 0.0)), output_bytes = :size,
    ending = (SELECT coalesce(max(ending), 0) + 1 FROM task)
WHERE id = :id AND owner = :owner AND ended IS NULL
"""
_BESIDE = """
INSERT INTO conversation VALUES (?, ?, ?) ON CONFLICT (task) DO UPDATE SET progress = excluded.progress
WHERE excluded.progress IS NOT NULL
"""
MOST_VALUES = 900  # in a statement: SQLite before 3.32 takes 999
ENGINE = "engine"  # the owner of tasks that an engine has, and that no process looks after
MARKS = ("abandoned", "told", "acknowledged")


def add_owner(connection: sqlite3.Connection, owner: str, pid: int, birth: str | None) -> None:
    """Enter a process, unless it is there."""
    connection.execute("INSERT OR IGNORE INTO owner VALUES (?, ?, ?)", (owner, pid, birth))


def remove_owner(connection: sqlite3.Connection, owner: str) -> None:
    """A process has no tasks any more."""
    connection.execute("DELETE FROM speculative WHERE owner = ?", (owner,))
    connection.execute("DELETE FROM owner WHERE id = ?", (owner,))


def speculate(connection: sqlite3.Connection, values: dict[str, Any]) -> None:
    """A call is about to become a task."""
    connection.execute(
        "INSERT OR REPLACE INTO speculative VALUES (?, ?, ?)", (values["id"], values["owner"], json.dumps(values))
    )


def withdraw(connection: sqlite3.Connection, task_ids: Sequence[str]) -> None:
    """It has ended before: nobody was told the id."""
    connection.executemany("DELETE FROM speculative WHERE id = ?", [(task_id,) for task_id in task_ids])


def put(
    connection: sqlite3.Connection, entry: Entry, values: dict[str, Any], *, filed: bool, output: bytes | None
) -> bool:
    """
    Make the row of a task what *entry* is; one that has ended gets marks only.

    Args:
        values: `Entry.values`.
        filed: Whether the value of its end is in a file.
        output: All that it said, where that needs no file.

    Returns:
        Whether it has this end, or none.
    """
    enter(connection, values)
    final, won = entry.final(), True
    if final is not None:
        if filed:
            final.update(value=_FILED, more=None, filed=True)
        won = finish(connection, final) or _has_this_end(connection, entry)
        if won and output is not None:
            connection.execute("INSERT OR REPLACE INTO output VALUES (?, ?)", (entry.info.id, output))
    marks(connection, entry)
    return won


def finish(connection: sqlite3.Connection, final: dict[str, Any]) -> bool:
    """Give a live task its end (`Entry.final`). Returns False when it has one, or is not there."""
    return connection.execute(_FINISH, final).rowcount == 1


_FILED = json.dumps({"error": "The result is in a file, which this version of toolexec does not know"})


def _has_this_end(connection: sqlite3.Connection, entry: Entry) -> bool:
    found = connection.execute("SELECT status, ended FROM task WHERE id = ?", (entry.info.id,)).fetchone()
    return bool(found == (str(entry.info.status), entry.info.ended))


def enter(connection: sqlite3.Connection, values: dict[str, Any]) -> None:
    """Enter a task by the columns of its row, or bring it up to date; one that has ended stays as it is."""
    task_id = values["id"]
    connection.execute(_INSERT, values)
    connection.execute("DELETE FROM speculative WHERE id = ?", (task_id,))
    if "name" in values or "progress" in values:
        connection.execute(_BESIDE, (task_id, values.get("name", ""), values.get("progress")))
    if "detached" in values:
        connection.execute("INSERT OR IGNORE INTO detached VALUES (?)", (task_id,))
    if "engine" in values:
        connection.execute("INSERT OR IGNORE INTO engine VALUES (?, ?, ?)", (task_id, *values["engine"]))


def leave_to_engine(connection: sqlite3.Connection, owner: str, task_id: str | None = None) -> int:
    """*owner* looks no more after the live tasks that engines carry out; only after this one. Returns how many."""
    one, more = ("", ()) if task_id is None else (" AND id = ?", (task_id,))
    changed = connection.execute(
        "UPDATE task SET owner = ? WHERE owner = ? AND ended IS NULL "  # noqa: S608 -- made of constants
        f"AND EXISTS (SELECT 1 FROM engine WHERE engine.task = task.id){one}",
        (ENGINE, owner, *more),
    )
    return changed.rowcount


def adopt(connection: sqlite3.Connection, task_id: str, owner: str) -> bool:
    """*owner* is to store the end of a task that an engine has. Returns False when another was faster."""
    changed = connection.execute(
        "UPDATE task SET owner = ? WHERE id = ? AND owner = ? AND ended IS NULL", (owner, task_id, ENGINE)
    )
    return changed.rowcount == 1


def end_adopted(connection: sqlite3.Connection, owner: str, final: dict[str, Any]) -> bool:
    """Give a task that *owner* has adopted its end. From then on it is nobody's again, and its host delivers it."""
    found = connection.execute("SELECT 1 FROM task WHERE id = ? AND owner = ?", (final["id"], owner)).fetchone()
    won = found is not None and finish(connection, final)
    if won:
        connection.execute("UPDATE task SET owner = ? WHERE id = ?", (ENGINE, final["id"]))
    return won


def interrupt(connection: sqlite3.Connection, tasks: Sequence[tuple[str, int]], owner: str, error: str) -> int:
    """
    Give the live ones of these tasks of *owner* the state ``interrupted``. Returns how many that were.

    Args:
        tasks: The id of each, and how many bytes it has written.
    """
    common = {
        "now": time.time(),
        "error": error,
        "owner": owner,
        "value": encode({"error": error, "interrupted": True}),
    }
    changed = connection.executemany(_INTERRUPT, [{**common, "id": key, "size": size} for key, size in tasks])
    return changed.rowcount


def marks(connection: sqlite3.Connection, entry: Entry) -> bool:
    """Bring the marks of a task up to date, if it is there; the last two are never taken back."""
    changed = connection.execute(
        "UPDATE task SET abandoned = ?, told = max(told, ?), acknowledged = max(acknowledged, ?) WHERE id = ?",
        (entry.info.abandoned, entry.told, entry.acknowledged, entry.info.id),
    )
    return changed.rowcount == 1


def set_groups(task_id: str, groups: str, connection: sqlite3.Connection) -> None:
    """The process groups (JSON) that work for a task that was stopped: it has ended, they have not."""
    connection.execute("UPDATE task SET groups = ? WHERE id = ?", (groups, task_id))


def mark(connection: sqlite3.Connection, task_id: str, column: str, value: int) -> bool:
    """Set one of `MARKS`. Returns whether it was another before."""
    assert column in MARKS
    changed = connection.execute(
        f"UPDATE task SET {column} = ? WHERE id = ? AND {column} IS NOT ?",  # noqa: S608 -- one of three words
        (value, task_id, value),
    )
    return changed.rowcount == 1


def claim(connection: sqlite3.Connection, task_id: str, owner: str, before: str | None) -> bool:
    """
    *owner* is about to tell of the end of a task.

    Args:
        before: Who was, and is gone.

    Returns:
        False when another was faster, or it was told.
    """
    if connection.execute("SELECT 1 FROM task WHERE id = ? AND told = 0", (task_id,)).fetchone() is None:
        return False
    connection.execute("DELETE FROM teller WHERE task = ? AND owner IS ?", (task_id, before))
    changed = connection.execute("INSERT OR IGNORE INTO teller VALUES (?, ?)", (task_id, owner))
    return changed.rowcount == 1


def request_cancel(connection: sqlite3.Connection, task_id: str, reason: str) -> bool:
    """Ask the owner of a live task to stop it. Returns whether this was the first to ask."""
    changed = connection.execute(
        "UPDATE task SET cancel = ? WHERE id = ? AND cancel IS NULL AND ended IS NULL", (text(reason), task_id)
    )
    return changed.rowcount == 1


def remove(connection: sqlite3.Connection, task_ids: Sequence[str]) -> None:
    """Forget tasks; there may be thousands."""
    for at in range(0, len(task_ids), MOST_VALUES):
        some = task_ids[at : at + MOST_VALUES]
        marks = ", ".join("?" * len(some))  # one statement: a third faster than one for each
        for table in ("task", "speculative"):
            connection.execute(f"DELETE FROM {table} WHERE id IN ({marks})", some)  # noqa: S608 -- question marks


def claim_cleaning(connection: sqlite3.Connection, before: float | None) -> bool:
    """It is cleaned now, by the caller, if nobody has done it since *before*."""
    if connection.execute("SELECT max(at) FROM cleaning").fetchone()[0] != before:
        return False
    connection.execute("DELETE FROM cleaning")
    connection.execute("INSERT INTO cleaning VALUES (?)", (time.time(),))
    return True
