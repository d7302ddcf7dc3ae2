"""Setting a damaged store aside, so that work goes on with a new one."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from typing import TYPE_CHECKING

from executor._log import warn
from executor.tasks._connection import BUSY, is_suspect
from executor.tasks._owners import locked
from executor.tasks._schema import is_foreign

if TYPE_CHECKING:
    from pathlib import Path

    from executor.tasks._store import Store

TABLES = ("task", "owner", "cleaning", "conversation", "speculative", "output", "teller", "detached")


def set_aside(store: Store) -> bool:
    """
    Rename the store's file if it is damaged; whoever uses it next makes a new one.

    One process at a time looks and renames, so that no good store is taken for the damaged one before it.

    Returns:
        Whether it was.
    """
    path = store.path
    with locked(path.with_name("damage.lock")) as mine:
        if not mine or not _is_damaged(path):
            return False
        aside = path.with_name(f"{path.name}.damaged-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}")
        store.close_writer()
        with contextlib.suppress(OSError):  # it belongs to that file; afterwards there may be one of a new file
            path.with_name(f"{path.name}-journal").rename(aside.with_name(f"{aside.name}-journal"))
        try:
            path.rename(aside)
        except OSError as error:
            warn(f"The task store {path} is damaged, and cannot be set aside: {error}")
            return False
    warn(
        f"The task store was damaged and is set aside as {aside}; a new one is made. Tasks that had ended before are "
        "not found any more, except in that file; their output is still in the folder beside it"
    )
    return True


def _is_damaged(path: Path) -> bool:
    try:
        if path.stat().st_size == 0:
            return False
        with contextlib.closing(sqlite3.connect("", isolation_level=None)) as copy:  # on the disk if it is large
            _read_into(copy, path)
            if copy.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
                return True
            if is_foreign(copy):
                return False
            (version,) = copy.execute("PRAGMA user_version").fetchone()
            if version < 3:  # tables are still to be made; that they can be is seen then
                return False
            marks = ", ".join("?" * len(TABLES))
            query = f"SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN ({marks})"  # noqa: S608 -- question marks
            return bool(copy.execute(query, TABLES).fetchone() != (len(TABLES),))
    except Exception as error:  # noqa: BLE001 -- also what sqlite3 makes of damage
        return is_suspect(error)


def _read_into(copy: sqlite3.Connection, path: Path) -> None:
    """
    Read all of a store. Raises sqlite3.Error, OSError.

    Only a copy says with what error a page cannot be read: a query, and a check too, takes the file for damaged when
    its disk has failed once.
    """

    def progress(status: int, *_: int) -> None:
        if status in BUSY:  # `backup` would try for ever
            raise BlockingIOError("another process holds it")

    with contextlib.closing(sqlite3.connect(path, timeout=0.1, isolation_level=None)) as source:
        source.backup(copy, progress=progress)
