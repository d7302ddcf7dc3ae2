"""Looking at files before a box is entered: the program, and what may be written and is not there."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import sys
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
    with contextlib.ExitStack() as made:
        for path in paths:
            with contextlib.suppress(OSError):  # there already, or in no folder: the command itself will tell
                made.enter_context(_made(path))
        yield


@contextlib.contextmanager
def _made(path: str) -> Iterator[None]:
    """One of them. Raises OSError."""
    with folder_of(path) as (folder, name):
        descriptor = os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o666, dir_fd=folder)
        try:
            before = os.fstat(descriptor)
        finally:
            os.close(descriptor)
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                now = os.lstat(name, dir_fd=folder)
                if os.path.samestat(now, before) and not now.st_size and now.st_mtime_ns == before.st_mtime_ns:
                    os.unlink(name, dir_fd=folder)


@contextlib.contextmanager
def folder_of(path: str) -> Iterator[tuple[int, str]]:
    """
    The folder of *path*, opened, and its name there: a command may put a link in the way at any moment. Raises OSError.
    """
    parent, name = os.path.split(path)
    folder = _kernel.open_plain(parent, os.O_PATH | os.O_DIRECTORY)
    try:
        yield folder, name
    finally:
        os.close(folder)


def give_back(folder: str) -> None:
    """Take back the rights to *folder* itself; not to what a link leads to, which a command may have put there."""
    found = _kernel.open_plain(folder, os.O_PATH | os.O_DIRECTORY)
    try:
        os.chmod(f"/proc/self/fd/{found}", 0o700 | stat.S_IMODE(os.fstat(found).st_mode))
    finally:
        os.close(found)


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


def only_as_root(path: str, right: int) -> bool:
    """
    Whether only root's rights over everybody's files, which a box under bubblewrap has not, give it one to *path*.

    Args:
        path: A file or folder; of one that is not there, nobody can say so.
        right: What others than its owner and its group need in its mode: ``stat.S_IWOTH``, ``stat.S_IXOTH``.
    """
    if sys.platform != "linux" or os.geteuid() != 0:
        return False
    try:
        found = os.stat(path)
    except OSError:
        return False
    if found.st_uid == 0:
        return False
    to_group, to_others = found.st_mode & right << 3, found.st_mode & right
    if found.st_gid in (os.getegid(), *os.getgroups()):
        return not to_group  # what all others may is nothing to whoever is in the group
    # Where a list gives it to others (acl(5)), the group's part of the mode is the most that any of them has.
    return not (to_others or (to_group and _has_list(path)))


def _has_list(path: str) -> bool:
    try:
        return "system.posix_acl_access" in os.listxattr(path)
    except OSError:
        return False


def closed_to_root(path: str) -> str | None:
    """The outermost folder on the way to *path* that root passes by those rights only."""
    ways = path.strip("/").split("/")
    folders = ("/" + "/".join(ways[:number]) for number in range(1, len(ways) + 1))
    return next((folder for folder in folders if only_as_root(folder, stat.S_IXOTH)), None)


def out_of_reach(path: str) -> bool:
    """Whether root can do nothing with *path* but by those rights: nothing can be laid over it then, nor need be."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return False
    try:
        os.stat(path)
    except PermissionError:  # a file system of somebody's own, which lets nobody else in (mount.fuse3(8), allow_other)
        return True
    except OSError:
        return False
    return only_as_root(path, stat.S_IRWXO) or closed_to_root(os.path.dirname(path)) is not None


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
