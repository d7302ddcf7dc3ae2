"""Files that nobody but their user reads, written as a whole."""

from __future__ import annotations

import json
import os
import secrets
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from executor.paths import make_private

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of this file: one process at a time."""
    try:
        import fcntl
    except ImportError:  # Windows: the last writer wins
        yield
        return
    with path.open("a") as stream:
        path.chmod(0o600)
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def write_private(path: Path, value: Any) -> None:
    """Write JSON so that readers see the old file or the new one, and nobody else can read either."""
    make_private(path.parent)
    new = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            json.dump(value, stream, indent=1)
            stream.flush()
            os.fsync(stream.fileno())
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
