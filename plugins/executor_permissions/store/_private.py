"""Files that nobody but their user reads, written as a whole."""

from __future__ import annotations

import json
import os
import secrets
from contextlib import contextmanager, suppress
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
    """
    Write JSON so that readers see the old file or the new one, and nobody else can read either.

    Raises:
        OSError: It cannot be written; its ``filename`` is *path*, or the folder that cannot be made.
    """
    make_private(path.parent)
    new = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            json.dump(value, stream, indent=1)
            stream.flush()
            os.fsync(stream.fileno())
        new.replace(path)
    except BaseException as error:
        with suppress(OSError):  # a folder that cannot be written: the new file is not there
            new.unlink()
        if isinstance(error, OSError) and error.errno is not None:  # one of the system's
            error.filename, error.filename2 = str(path), None  # a full disk names no file
        raise


def private_folder(path: Path) -> str | None:
    """
    Make *path* a folder of the user's alone.

    Returns:
        Why it cannot be one, or None.
    """
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        status = path.stat()
        if status.st_uid != os.getuid():
            return f"{path} belongs to another user: name a folder of your own"
        if status.st_mode & 0o077:
            path.chmod(0o700)
    except OSError as error:
        return f"{path} cannot be made a private folder: {error.strerror}"
    return None


def read_or_make_secret(path: Path) -> str:
    """The secret in this file, which is made if need be; the user's alone."""
    try:
        return path.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        pass
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    new = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as stream:
        stream.write(secrets.token_hex(32) + "\n")
    with suppress(FileExistsError):  # another process was quicker: its secret holds
        os.link(new, path)
    new.unlink()
    return path.read_text(encoding="ascii").strip()
