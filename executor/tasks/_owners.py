"""
Which processes are there: each that has tasks holds the lock of a file, ``owners/<id>.lock``, as long as it lives.

The system frees the lock when the process dies, however it dies; a number that a new process may be given tells less.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import sys
from typing import TYPE_CHECKING

from executor.errors import ExecutorUnavailableError

if TYPE_CHECKING:
    from pathlib import Path

if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> None:
        os.lseek(descriptor, 0, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

    _probe = _lock
else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _probe(descriptor: int) -> None:
        # Shared: two processes that ask at one moment must not take each other for the owner.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)


_HELD = (errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK)  # the latter two are what Windows says
_CLOEXEC = getattr(os, "O_CLOEXEC", 0)


class OwnerLock:
    """
    The lock of this process.

    Attributes:
        id: The owner's name in the store.
    """

    def __init__(self, folder: Path) -> None:
        """Raises ExecutorUnavailableError: the folder cannot be written, or its file system has no locks."""
        self.id = secrets.token_hex(8)
        self._path = folder / f"{self.id}.lock"
        self._descriptor = -1
        # Under its own name it is to be seen only once it is locked; Windows renames no open file.
        born = self._path if sys.platform == "win32" else folder / f"{self.id}.born"
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._descriptor = os.open(born, os.O_RDWR | os.O_CREAT | os.O_EXCL | _CLOEXEC, 0o600)
            _lock(self._descriptor)
            born.rename(self._path)
        except OSError as error:
            self._close()
            with contextlib.suppress(OSError):
                born.unlink(missing_ok=True)
            raise ExecutorUnavailableError(
                f"The task store has no lock in {folder}: {error}. Tasks need a local folder that this user may "
                "write: make it writable, or set XDG_STATE_HOME to one that is"
            ) from error

    def release(self) -> None:
        """This owner is gone."""
        if self._descriptor >= 0:
            self._close()
            with contextlib.suppress(OSError):
                self._path.unlink(missing_ok=True)

    def after_fork(self) -> None:
        """This process is a child: the descriptor it inherited would hold the lock after its parent's death."""
        self._close()

    def _close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def is_alive(folder: Path, owner: str) -> bool | None:
    """Whether the owner holds its lock; None where its file is missing."""
    try:
        descriptor = os.open(folder / f"{owner}.lock", os.O_RDWR | _CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError:
        return True  # nothing can be told, so nothing is done to it
    try:
        _probe(descriptor)
    except OSError:
        return True
    else:
        return False
    finally:
        os.close(descriptor)


def clean(folder: Path) -> None:
    """Delete the files of dead owners."""
    with contextlib.suppress(OSError):
        for path in folder.glob("*.lock"):
            if is_alive(folder, path.stem) is False:
                path.unlink(missing_ok=True)
