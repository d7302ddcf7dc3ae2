"""What is made in a project so that something can be put over it, and is removed when no box needs it any more."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
from typing import TYPE_CHECKING

if sys.platform != "win32":  # where there are no boxes, and only that is to be told
    import fcntl

from executor.confine import _records
from executor.confine._closed import COMMON, OWN_CONFIG
from executor.confine._files import folder_of

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable

# Of what git reads, what it takes for granted: a repository that shares its own folder, no settings.
_FILES = {COMMON: ".\n", OWN_CONFIG: ""}
# Gone, or somebody's own by now; all else may be otherwise the next time.
_NOT_OURS = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENOTEMPTY, errno.EEXIST)
# It means nothing here, and is there from the moment on in which a placeholder is made: so none is taken for somebody
# else's whose making was interrupted before it was dated.
_MARK = stat.S_ISVTX


class Placeholders:
    """
    A placeholder is an empty folder, whatever it stands for: git would add an empty file. Only what git itself reads is
    a file, which says what git takes for granted, or nothing: at a folder git stops. It is marked, and its time of
    change is 0: what somebody else made or filled stays. All methods are called while the boxes' folder is held.

    Args:
        boxes: The folder of a project's boxes.
    """

    def __init__(self, boxes: str) -> None:
        self._record = os.path.join(boxes, "made.json")

    def make(self, paths: Iterable[str], files: Container[str] = ()) -> None:
        """
        Make each of *paths*, which are without links.

        Args:
            files: Of these, those that are to be empty files.

        Raises:
            OSError: One cannot be made.
        """
        wanted = [path for path in paths if not os.path.lexists(path)]
        if not wanted:
            return
        _records.write(self._record, sorted({*self._listed(), *wanted}))
        for path in wanted:
            # Somebody has made it meanwhile; or it is there by another name, in a folder that is mounted twice.
            with contextlib.suppress(FileExistsError), folder_of(path) as (folder, name):
                if (told := "" if path in files else _told(path)) is not None:
                    with open(name, "xb", buffering=0, opener=_in(folder)) as placeholder:
                        _records.write_all(placeholder.fileno(), told)
                else:
                    os.mkdir(name, 0o777 | _MARK, dir_fd=folder)
                os.utime(name, (0, 0), dir_fd=folder, follow_symlinks=False)

    def remove(self) -> None:
        """Remove all of them that are still as they were made. Raises OSError: what is left is told the next time."""
        listed = self._listed()
        left = [path for path in listed if not _removed(path)]
        if left:
            _records.write(self._record, left)
        elif listed:
            os.unlink(self._record)

    def _listed(self) -> list[str]:
        found = _records.read(self._record)
        return [str(path) for path in found] if isinstance(found, list) else []


def kept_there(paths: Iterable[str], stack: contextlib.ExitStack) -> None:
    """
    Until *stack* is closed no toolexec with its own state folder (another user's) removes a placeholder of *paths*:
    what lies over it here would be gone with it, and the name open. One that this user may not open is not held.
    """
    for path in paths:
        with contextlib.suppress(OSError), folder_of(path) as (folder, name):
            found = os.lstat(name, dir_fd=folder)
            if found.st_mtime_ns == 0 and found.st_mode & _MARK:
                held = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, dir_fd=folder)
                stack.callback(os.close, held)
                stack.callback(fcntl.flock, held, fcntl.LOCK_UN)  # a program that forked meanwhile has a copy of it
                fcntl.flock(held, fcntl.LOCK_SH | fcntl.LOCK_NB)


def _removed(path: str) -> bool:
    """Whether nothing of ours is there any more."""
    try:
        with folder_of(path) as (folder, name), contextlib.ExitStack() as stack:
            found = os.lstat(name, dir_fd=folder)
            if found.st_mtime_ns == 0 or found.st_mode & _MARK:
                held = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, dir_fd=folder)
                stack.callback(os.close, held)
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)  # see `kept_there`
                if stat.S_ISDIR(found.st_mode):
                    os.rmdir(name, dir_fd=folder)
                elif stat.S_ISREG(found.st_mode) and _says_no_more(folder, name, _told(path) or ""):
                    os.unlink(name, dir_fd=folder)
    except OSError as error:
        return error.errno in _NOT_OURS
    return True


def _says_no_more(folder: int, name: str, told: str) -> bool:
    """Whether a file says what its placeholder does, or less: its making may have been interrupted."""
    with open(name, "rb", buffering=0, opener=_in(folder)) as placeholder:
        return told.encode().startswith(placeholder.read(len(told) + 1) or b"")


def _told(path: str) -> str | None:
    """What a placeholder says; None for a folder."""
    folder, name = os.path.split(path)
    return "" if name == "config" and ".git" in folder.split("/") else _FILES.get(name)


def _in(folder: int) -> Callable[[str, int], int]:
    flags_besides = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    return lambda name, flags: os.open(name, flags | flags_besides, 0o666 | _MARK, dir_fd=folder)
