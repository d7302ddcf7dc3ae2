"""
The tables of the task store, and the way from each version of them to the next.

The version is in SQLite's own ``user_version``. A later version only adds, so that a process that opened the store
before goes on; one that is older than the store says so when it opens it.
"""

from __future__ import annotations

import contextlib
import sqlite3

from executor.errors import ExecutorUnavailableError

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
    groups TEXT NOT NULL DEFAULT '[]', -- JSON: [[process group, birth of its leader, mark], …]
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

# In tables of their own for the same reason, and because a process of an earlier version, which has the store open,
# must not see what it does not know.
_SECOND_ROUND = """
-- 1: success stands, and value and more are in a file beside the output
ALTER TABLE task ADD COLUMN filed INTEGER NOT NULL DEFAULT 0;
-- calls that are about to become tasks; nobody was told their ids
CREATE TABLE speculative (id TEXT PRIMARY KEY, owner TEXT NOT NULL, entry TEXT NOT NULL) STRICT, WITHOUT ROWID;
-- the last progress, JSON: [done, total, message, what it waits for, if anything], beside a name that is empty where
-- there is no conversation
ALTER TABLE conversation ADD COLUMN progress TEXT;
-- outputs that are too small for a file
CREATE TABLE output (task TEXT PRIMARY KEY, bytes BLOB NOT NULL) STRICT;
-- which owner is about to tell of the end of a task that was another's
CREATE TABLE teller (task TEXT PRIMARY KEY, owner TEXT NOT NULL) STRICT, WITHOUT ROWID;
-- tasks that a process of their own runs for a host
CREATE TABLE detached (task TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
-- tasks that were stopped, and whose commands may still be ending
CREATE INDEX task_abandoned ON task (owner) WHERE abandoned = 1;
DROP TRIGGER task_gone;
CREATE TRIGGER task_gone AFTER DELETE ON task BEGIN
    DELETE FROM conversation WHERE task = OLD.id; DELETE FROM output WHERE task = OLD.id;
    DELETE FROM teller WHERE task = OLD.id; DELETE FROM detached WHERE task = OLD.id; END;
"""

_ENGINES = """
-- tasks that an engine carries out: its name, and JSON by which any process finds it
CREATE TABLE engine (task TEXT PRIMARY KEY, name TEXT NOT NULL, ref TEXT NOT NULL) STRICT, WITHOUT ROWID;
DROP TRIGGER task_gone;
CREATE TRIGGER task_gone AFTER DELETE ON task BEGIN
    DELETE FROM conversation WHERE task = OLD.id; DELETE FROM output WHERE task = OLD.id;
    DELETE FROM teller WHERE task = OLD.id; DELETE FROM detached WHERE task = OLD.id;
    DELETE FROM engine WHERE task = OLD.id; END;
"""

OURS = 0x74786563  # "txec": SQLite's own `application_id` of a store; one of before has none, and is known by …
FIRST = {"task", "cleaning"}  # … its first tables
SMALL = 2048  # pages; it takes about a tenth of a second
MIGRATIONS = (_FIRST, _RESULTS, _SECOND_ROUND, _ENGINES)  # the n-th leads to version n + 1


def _let_shrink(connection: sqlite3.Connection) -> None:
    """A store of version 0.1 gives nothing back to the disk; only one that is small can be changed without a wait."""
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    if pages <= SMALL:
        with contextlib.suppress(sqlite3.OperationalError):  # others have it open: it stays as it is
            connection.execute("VACUUM")


def _statements(step: str) -> list[str]:
    """The statements of a migration, one by one: `executescript` would commit before the first."""
    found, begun = [], ""
    for line in step.splitlines(keepends=True):
        begun += line
        if sqlite3.complete_statement(begun):
            found.append(begun)
            begun = ""
    return found


def is_foreign(connection: sqlite3.Connection) -> bool:
    """Whether it holds what another program has made. Of a damaged store one of the two marks is enough."""
    (number,) = connection.execute("PRAGMA application_id").fetchone()
    if number == OURS:
        return False
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    return bool(tables) and not tables >= FIRST


def migrate(connection: sqlite3.Connection, path: object) -> None:
    """
    Bring the store to this version's tables.

    Raises:
        ExecutorUnavailableError: It was made by a later version, or by another program.
    """
    if is_foreign(connection):
        raise ExecutorUnavailableError(
            f"The task store {path} is a database of another program, and is left as it is: move it away, or give "
            "toolexec another folder for its state"
        )
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version == len(MIGRATIONS):
        return
    if version < len(MIGRATIONS):
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # of a file without tables; of others it changes nothing
        connection.execute("BEGIN IMMEDIATE")
        (version,) = connection.execute("PRAGMA user_version").fetchone()  # another process may have been faster
        for step in MIGRATIONS[max(0, version) :]:
            for statement in _statements(step):
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {OURS}")
        connection.execute(f"PRAGMA user_version = {max(version, len(MIGRATIONS))}")
        connection.execute("COMMIT")
        if version == 1:
            _let_shrink(connection)
    if version > len(MIGRATIONS):
        raise ExecutorUnavailableError(
            f"The task store {path} has version {version}, and this toolexec knows versions up to {len(MIGRATIONS)}: "
            "update toolexec, or give it another folder for its state"
        )
