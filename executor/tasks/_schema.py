"""
The tables of the task store, and the way from each version of them to the next.

The version is in SQLite's own ``user_version``. A later version only adds, so that a process that opened the store
before goes on; one that is older than the store says so when it opens it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from executor.errors import ExecutorUnavailableError

if TYPE_CHECKING:
    import sqlite3

_FIRST = """
CREATE TABLE task (
    number INTEGER PRIMARY KEY AUTOINCREMENT, -- the order of entry: clocks go back
    id TEXT NOT NULL UNIQUE,
    status TEXT NOT NULL,
    tool TEXT NOT NULL,
    plugin TEXT NOT NULL,
    call TEXT NOT NULL,
    owner TEXT NOT NULL, -- whose lock file says whether it lives
    pid INTEGER NOT NULL,
    host TEXT NOT NULL, -- whom a restarted process stands in for
    created REAL NOT NULL,
    started REAL,
    ended REAL,
    ending INTEGER, -- the order of the ends
    duration REAL,
    output_bytes INTEGER,
    output_cap INTEGER NOT NULL,
    groups TEXT NOT NULL DEFAULT '[]', -- JSON: [[process group, birth of its leader], …]
    cancel TEXT, -- why another process wants it stopped
    abandoned INTEGER NOT NULL DEFAULT 0,
    told INTEGER NOT NULL DEFAULT 0, -- its done-callback has been called
    acknowledged INTEGER NOT NULL DEFAULT 0,
    error TEXT,
    success INTEGER,
    value TEXT -- JSON; last, because it may be long
) STRICT;
CREATE TABLE owner (id TEXT PRIMARY KEY, pid INTEGER NOT NULL, birth TEXT) STRICT;
CREATE TABLE cleaning (at REAL NOT NULL) STRICT;
CREATE INDEX task_live ON task (owner) WHERE ended IS NULL;
CREATE INDEX task_cancel ON task (owner) WHERE cancel IS NOT NULL AND ended IS NULL;
CREATE INDEX task_undelivered ON task (host) WHERE acknowledged = 0 AND ended IS NOT NULL;
CREATE INDEX task_untold ON task (host) WHERE told = 0 AND ended IS NOT NULL;
CREATE INDEX task_status ON task (status);
CREATE INDEX task_tool ON task (tool);
CREATE INDEX task_ended ON task (ended);
CREATE INDEX task_ending ON task (ending);
"""

# A column of its own for the conversation would stand behind `value`, which may be long: lists would read all of it.
_RESULTS = """
-- JSON: what of the result is not in success and value
ALTER TABLE task ADD COLUMN more TEXT;
CREATE TABLE conversation (task TEXT PRIMARY KEY, name TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TRIGGER task_gone AFTER DELETE ON task BEGIN DELETE FROM conversation WHERE task = OLD.id; END;
"""

MIGRATIONS = (_FIRST, _RESULTS)  # the n-th leads to version n + 1


def migrate(connection: sqlite3.Connection, path: object) -> None:
    """
    Bring the store to this version's tables.

    Raises:
        ExecutorUnavailableError: It was made by a later version.
    """
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version == len(MIGRATIONS):
        return
    if version < len(MIGRATIONS):
        connection.execute("BEGIN IMMEDIATE")
        (version,) = connection.execute("PRAGMA user_version").fetchone()  # another process may have been faster
        for step in MIGRATIONS[version:]:
            for statement in step.split(";\n"):
                if statement.strip():
                    connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {max(version, len(MIGRATIONS))}")
        connection.execute("COMMIT")
    if version > len(MIGRATIONS):
        raise ExecutorUnavailableError(
            f"The task store {path} has version {version}, and this toolexec knows versions up to {len(MIGRATIONS)}: "
            "update toolexec, or give it another folder for its state"
        )
