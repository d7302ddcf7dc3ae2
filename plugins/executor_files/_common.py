"""What all the file tools need: the options, opening what was resolved, and errors that say what to do next."""

from __future__ import annotations

import codecs
import errno
import os
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from executor import current_call, paths
from executor.errors import ToolCancelledError, ToolFailedError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CHUNK = 1 << 20  # bytes read at once: between two chunks a call can be stopped
DEFAULT_READ_BYTES = 256 * 1024
MAX_READ_BYTES = 64 << 20  # what `max_read_bytes` may be set to; a result is held in memory several times
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

_KINDS = {
    stat.S_IFDIR: "folder",
    stat.S_IFLNK: "link",
    stat.S_IFREG: "file",
    stat.S_IFIFO: "FIFO",
    stat.S_IFSOCK: "socket",
    stat.S_IFCHR: "device",
    stat.S_IFBLK: "device",
}
_MENDS = {
    errno.ENOENT: "does not exist: look with listFiles what does",
    errno.ENOTDIR: "is no folder: use a path that goes through folders only",
    errno.EACCES: "is not accessible to this user: choose another path, or ask the user to change its permissions",
    errno.EPERM: "may not be changed by this user: choose another path, or ask the user to change its permissions",
    errno.EROFS: "is on a read-only file system: choose another path",
    errno.ENOSPC: "does not fit on the disk, which is full: nothing was changed; ask the user to make room",
    errno.EDQUOT: "does not fit into this user's disk quota: nothing was changed; ask the user to make room",
    errno.EFBIG: "is larger than this process or file system allows: nothing was changed",
    errno.ENAMETOOLONG: "has a name that is too long: choose a shorter one",
    errno.EBUSY: "is in use by the system (a mount point, for one): choose another path",
}


class Options(NamedTuple):
    """
    The plugin's configuration.

    Attributes:
        root: Paths outside are refused and relative paths start here; None: no bound, relative to the working folder.
        max_read_bytes: How much one readFile gives at most.
        undo: Whether what a change replaces is kept for a while.
    """

    root: Path | None = None
    max_read_bytes: int = DEFAULT_READ_BYTES
    undo: bool = True

    def resolve(self, path: str) -> Path:
        """What *path* means. Raises ToolFailedError if it means nothing, or something outside `root`."""
        return self._bounded(path, entry=False)

    def resolve_entry(self, path: str) -> Path:
        """`resolve`, but a link as the last part stays the link."""
        return self._bounded(path, entry=True)

    def _bounded(self, path: str, *, entry: bool) -> Path:
        call = current_call()
        try:
            if call is not None:
                resolved = call.resolve_path(path, base=self.root, entry=entry)  # as the gate judged it
            else:
                resolved = (paths.resolve_entry if entry else paths.resolve)(path, base=self.root)
        except (OSError, ValueError) as error:
            raise ToolFailedError(f"Not a usable path: {error}") from error
        if self.root is not None and not paths.inside(resolved, self.root):
            raise ToolFailedError(
                f"{shown(resolved)} is outside {shown(self.root)}, the only folder these tools may use: "
                "give a path inside it"
            )
        return resolved


def shown(path: str | Path) -> str:
    r"""A path or name as text; bytes that are no UTF-8 are shown as ``\xff``."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def kind_of(status: os.stat_result) -> str:
    """``file``, ``folder``, ``link``, ``FIFO``, ``socket`` or ``device``."""
    return _KINDS.get(stat.S_IFMT(status.st_mode), "special file")


def check_stop() -> None:
    """Raise ToolCancelledError when the current call should stop."""
    call = current_call()
    if call is not None and call.cancelled:
        raise ToolCancelledError("The call was stopped before it was done: nothing was changed")


@contextmanager
def explained(act: str, path: Path) -> Iterator[None]:
    """Turn the system's errors into ToolFailedError with the path and what to do next. *act*: ``Cannot read``, say."""
    try:
        yield
    except paths.PathChangedError as error:
        raise ToolFailedError(
            f"{act} {shown(path)}: a part of the path was replaced by a symbolic link while the call was under way. "
            "Nothing was done; call again if the path is still what you mean"
        ) from error
    except OSError as error:
        # The functions that work in an open folder name only the last part.
        whole = isinstance(error.filename, str) and error.filename.startswith(os.sep)
        at = shown(error.filename) if whole and error.filename != str(path) else "it"
        mend = _MENDS.get(error.errno or 0, f"gives the error {error.strerror or error}")
        raise ToolFailedError(f"{act} {shown(path)}: {at} {mend}") from error
    except ValueError as error:  # the root folder, which has no name; text that cannot be encoded
        raise ToolFailedError(f"{act} {shown(path)}: {error}") from error


def check_regular(status: os.stat_result, path: Path) -> None:
    """Raise ToolFailedError for everything but a regular file."""
    kind = kind_of(status)
    if kind == "folder":
        raise ToolFailedError(f"{shown(path)} is a folder, not a file: use listFiles to see what is in it")
    if kind != "file":
        raise ToolFailedError(f"{shown(path)} is a {kind}, not a regular file: these tools leave such files alone")


@contextmanager
def open_file(path: Path) -> Iterator[tuple[int, os.stat_result]]:
    """
    A regular file, opened for reading: its descriptor and status.

    Raises:
        ToolFailedError: It is missing, not readable, or no regular file.
    """
    with explained("Cannot read", path):
        # Looked at before it is opened, because opening a device can have effects of its own; and again afterwards.
        check_regular(paths.stat_resolved(path), path)
        fd = paths.open_resolved(path, os.O_RDONLY)
        try:
            status = os.fstat(fd)
            check_regular(status, path)
            yield fd, status
        finally:
            os.close(fd)


def binary_error(path: Path, size: int, data: bytes) -> ToolFailedError:
    """What to say about a file with NUL bytes; *data* is its beginning, or what was read of it."""
    if data.startswith(_UTF_16):
        return ToolFailedError(
            f"{shown(path)} is UTF-16 text ({size} bytes), and only UTF-8 is read: "
            "convert a copy first, for example with `iconv -f UTF-16 -t UTF-8`"
        )
    return ToolFailedError(
        f"{shown(path)} is a binary file ({size} bytes; it holds NUL bytes): use a program that knows its format"
    )


def decoded(data: bytes, path: Path, size: int, offset: int = 0) -> str:
    """
    *data*, which begins at byte *offset* of the file, as text.

    Raises:
        ToolFailedError: It is binary, or not UTF-8.
    """
    if b"\0" in data or (offset == 0 and data.startswith(_UTF_16)):
        raise binary_error(path, size, data)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise ToolFailedError(
            f"{shown(path)} ({size} bytes) is not UTF-8 text: byte {offset + error.start} is "
            f"0x{data[error.start]:02X}. It may be Latin-1 or Windows-1252: convert a copy first, for example with "
            "`iconv -f WINDOWS-1252 -t UTF-8`"
        ) from error


def number(arguments: dict[str, Any], name: str, default: int) -> int:
    """An integer argument; JSON Schema lets ``5.0`` pass as one."""
    value = arguments.get(name)
    return default if value is None else int(value)
