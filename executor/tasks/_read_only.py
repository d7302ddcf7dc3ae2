"""Reading a store that SQLite would have to write to first, on a disk that cannot be written."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import tempfile
from pathlib import Path

from executor.tasks._schema import migrate


def is_read_only(path: Path) -> bool:
    """
    Whether there is a store that cannot be written.

    No other may be copied: SQLite's locks on a file are gone as soon as this process has opened and closed it.
    """
    return path.exists() and not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK))


def read_copy(path: Path) -> sqlite3.Connection:
    """
    A copy in memory of a store that an earlier version made, that is in WAL, or whose last writer was killed.

    Raises OSError, sqlite3.Error.
    """
    with tempfile.TemporaryDirectory(prefix="toolexec-") as folder:
        copy = Path(folder) / path.name
        shutil.copyfile(path, copy)
        for end in ("-journal", "-wal"):
            with contextlib.suppress(FileNotFoundError):
                shutil.copyfile(f"{path}{end}", f"{copy}{end}")
        with contextlib.closing(sqlite3.connect(copy, isolation_level=None)) as source:
            migrate(source, path)
            source.execute("PRAGMA journal_mode = DELETE")
            made = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
            source.backup(made)
    return made


def stamp(path: str) -> tuple[int, ...] | None:
    """What changes with the file; None when there is none."""
    try:
        found = os.stat(path)  # noqa: PTH116 -- as in `identity`
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size
