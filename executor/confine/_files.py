"""Looking at files before a box is entered: the program, and what may be written and is not there."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
from typing import TYPE_CHECKING

from executor.confine import _kernel
from executor.errors import ConfinementError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_LAST_STREAM = 2


@contextlib.contextmanager
def files_made(paths: Sequence[str]) -> Iterator[None]:
    """
    Make the files that may be written and are not there: a box gives rights to files, not to names in a folder.

    What was made and then neither opened for writing nor filled is removed.
    """
    made: dict[str, int] = {}
    for path in paths:
        with contextlib.suppress(OSError):  # there already, or in no folder: the command itself will tell
            os.close(_kernel.open_plain(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
            made[path] = os.stat(path).st_mtime_ns
    try:
        yield
    finally:
        for path, changed in made.items():
            with contextlib.suppress(OSError):
                found = os.lstat(path)
                if not found.st_size and found.st_mtime_ns == changed:
                    os.unlink(path)


def check_program(name: str, folder: str, environment: Mapping[str, str]) -> None:
    """
    Say what Popen would say of a program that cannot be started, or of its *folder*; bubblewrap would start, and only
    exit with 1.
    """
    os.close(os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC))
    if "/" in name:
        path: str | None = os.path.join(folder, name)
    else:
        folders = os.pathsep.join(os.get_exec_path(environment))
        path = shutil.which(name, path=folders) or shutil.which(name, os.F_OK, folders)
    if path is None or not os.path.exists(path):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
    if os.path.isdir(path) or not os.access(path, os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), name)


def check_streams(streams: Iterable[object]) -> None:
    """
    Raise ConfinementError if one of a command's streams is a folder: from there it reaches all that is above it.

    Args:
        streams: As ``subprocess`` takes them, in their order; None for this process's own.
    """
    for own, stream in enumerate(streams):
        number = stream.fileno() if hasattr(stream, "fileno") else own if stream is None else stream
        if isinstance(number, int) and number >= 0:
            with contextlib.suppress(OSError):  # it is closed
                if stat.S_ISDIR(os.fstat(number).st_mode):
                    raise ConfinementError(
                        f"Stream {own} of the command is a folder, from which it reaches others: give it a file"
                    )


def fill_streams() -> None:
    """
    Have ``/dev/null`` where this process's own streams are closed, from now on.

    What is opened for a box would come to stand there, and be taken for a stream.
    """
    while (opened := os.open(os.devnull, os.O_RDWR)) <= _LAST_STREAM:
        os.set_inheritable(opened, True)
    os.close(opened)
