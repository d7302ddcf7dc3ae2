"""
Which processes are there: each that has tasks holds the lock of a file, ``owners/<id>.lock``, as long as it lives.

The system frees the lock when the process dies, however it dies; a number that a new process may be given tells less.
"""

from __future__ import annotations

import contextlib
import errno
import io
import json
import os
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from executor._random import token_hex
from executor.errors import ExecutorUnavailableError
from executor.ownfolders import make_private
from executor.wholefiles import leave_to_owner

if TYPE_CHECKING:
    from collections.abc import Container, Iterator
    from pathlib import Path

if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> None:
        os.lseek(descriptor, 0, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

    _probe = _lock
    _ASKING = os.O_RDWR
else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    _ASKING = os.O_RDONLY  # the disk may be one that cannot be written

    def _probe(descriptor: int) -> None:
        # Shared: two processes that ask at one moment must not take each other for the owner.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)


_FULL = (errno.ENOSPC, errno.EDQUOT)
_CLOEXEC = getattr(os, "O_CLOEXEC", 0)
_NEW = os.O_TRUNC if sys.platform == "win32" else os.O_EXCL  # there it has its own name from the start
NO_WAIT = getattr(os, "O_NONBLOCK", 0)  # for the other end of a pipe, should somebody have put one in a file's place


def identity(path: Path | str) -> tuple[int, int] | None:
    """Which file is there: its device and number; None when there is none."""
    try:
        found = os.stat(path)  # noqa: PTH116 -- a third of the time, and before every look
    except OSError:
        return None
    return found.st_dev, found.st_ino


def open_file(path: Path) -> io.FileIO:
    """A file to read from, unbuffered. Raises OSError."""
    return io.FileIO(os.open(path, os.O_RDONLY | _CLOEXEC | NO_WAIT | getattr(os, "O_BINARY", 0)))


def usual_host() -> str:
    """The program and its working folder: started anew there, it is the same assistant for the same project."""
    try:
        where = os.getcwd()  # noqa: PTH109 -- no path is wanted
    except OSError:  # it has been deleted
        where = ""
    program = os.path.basename(sys.argv[0] if sys.argv else "")  # noqa: PTH119 -- nor here
    return f"{program}@{where}"


@contextlib.contextmanager
def locked(path: Path) -> Iterator[bool]:
    """Holds the lock of a file; gives False where somebody else does, or it cannot be."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | _CLOEXEC, 0o600)
    except OSError:
        yield False
        return
    try:
        try:
            _lock(descriptor)
        except OSError:
            yield False
        else:
            yield True
    finally:
        os.close(descriptor)


class OwnerLock:
    """
    The lock of this process.

    What is appended to its file survives the death of the process, and costs some microseconds: the ids that were told
    although their rows are not yet among the tasks, and what the store should have and has not taken yet.

    Attributes:
        id: The owner's name in the store.
    """

    def __init__(self, folder: Path) -> None:
        """Raises ExecutorUnavailableError: the folder cannot be written, or its file system has no locks."""
        self.id = token_hex(8)
        self._path = folder / f"{self.id}.lock"
        self._descriptor = -1
        self._file: tuple[int, int] | None = None
        self._make()

    def _make(self) -> None:
        # Under its own name it is to be seen only once it is locked; Windows renames no open file.
        folder = self._path.parent
        born = self._path if sys.platform == "win32" else folder / f"{self.id}.born"
        descriptor = -1
        try:
            make_private(folder)
            descriptor = os.open(born, os.O_RDWR | os.O_CREAT | _NEW | os.O_APPEND | _CLOEXEC, 0o600)
            born.chmod(0o600)
            leave_to_owner(descriptor, folder)
            _lock(descriptor)
            os.write(descriptor, b"\n")  # the byte that is locked on Windows, where nobody else can read it
            born.rename(self._path)
            status = os.fstat(descriptor)
        except OSError as error:
            if descriptor >= 0:
                os.close(descriptor)
            with contextlib.suppress(OSError):
                born.unlink()
            raise ExecutorUnavailableError(
                f"The task store has no lock in {folder}: {error}. {_help(error)}"
            ) from error
        old, self._descriptor = self._descriptor, descriptor
        self._file = status.st_dev, status.st_ino
        if old >= 0:
            os.close(old)

    @property
    def intact(self) -> bool:
        """Whether the file is where others look for it."""
        return self._descriptor >= 0 and identity(self._path) == self._file

    def renew(self) -> None:
        """Make the file anew that somebody has taken away. Raises ExecutorUnavailableError."""
        self._make()

    def note(self, line: str) -> bool:
        """
        Append a line: the id of a speculative row that is about to be told, or a JSON object (see `Notes`).

        Returns:
            Whether that will be known after a crash.
        """
        data = f"\n{line}\n".encode()  # of the one before a full disk may have taken a part, without its end
        try:
            return self.intact and os.write(self._descriptor, data) == len(data)
        except OSError:  # the disk is full
            return False

    def forget(self) -> None:
        """The store has everything: nothing of what was noted is needed."""
        if self._descriptor >= 0:
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, 1)

    def release(self) -> None:
        """This owner is gone."""
        if self._descriptor >= 0:
            intact = self.intact
            self.leave()
            if intact:
                with contextlib.suppress(OSError):
                    self._path.unlink()

    def leave(self) -> None:
        """
        The lock is not held any more, and its file stays for whoever looks after the tasks of this owner.

        A forked child has to do this: the descriptor it inherited would hold the lock after its parent's death.
        """
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


def _help(error: OSError) -> str:
    if error.errno in _FULL:
        return "Free some space"
    return "Tasks need a local folder that this user may write: make it writable, or set XDG_STATE_HOME to one that is"


class Notes(NamedTuple):
    """
    What is in the file of an owner.

    Attributes:
        told: The ids that it told although their rows were speculative.
        tasks: Tasks that were not stored yet, each with ``values`` and, if it had ended, ``final`` (`Entry`).
        groups: The process groups of calls, as in rows.
    """

    told: set[str]
    tasks: list[dict[str, Any]]
    groups: list[str]


def notes(folder: Path, owner: str) -> Notes | None:
    """What an owner has noted; None where its file is missing."""
    found = Notes(set(), [], [])
    try:
        with open_file(folder / f"{owner}.lock") as file:
            file.seek(1)
            lines = (file.read() or b"").decode("utf-8", "replace").split("\n")
    except FileNotFoundError:
        return None
    except OSError:
        return found
    for line in lines[:-1]:  # behind the last end of a line is one that was cut by a crash, or nothing
        if not line:
            continue
        if not line.startswith("{"):
            found.told.add(line)
            continue
        with contextlib.suppress(ValueError):
            noted = json.loads(line)
            if "values" in noted:
                found.tasks.append(noted)
                with contextlib.suppress(KeyError, TypeError):  # damaged
                    found.groups.append(str(noted["values"]["groups"]))
            else:
                found.groups.append(json.dumps(noted.get("groups", [])))
    return found


def is_alive(folder: Path, owner: str) -> bool | None:
    """Whether the owner holds its lock; None where its file is missing."""
    try:
        # A text: to make a path of it would take longer than to open the file.
        descriptor = os.open(f"{folder}/{owner}.lock", _ASKING | _CLOEXEC | NO_WAIT)
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


def with_notes(folder: Path) -> set[str]:
    """The owners in whose files something is noted."""
    found = set()
    with contextlib.suppress(OSError):
        for path in folder.glob("*.lock"):
            with contextlib.suppress(OSError):
                if path.stat().st_size > 1:
                    found.add(path.stem)
    return found


def remove(folder: Path, owner: str) -> None:
    """Delete the file of an owner that is dead."""
    if is_alive(folder, owner) is False:
        with contextlib.suppress(OSError):
            (folder / f"{owner}.lock").unlink()


def clean(folder: Path, needed: Container[str] = ()) -> None:
    """Delete the files of dead owners, but for those that are *needed*."""
    with contextlib.suppress(OSError):
        for path in folder.glob("*.lock"):
            if path.stem not in needed:
                remove(folder, path.stem)
