"""writeFile, editFile and deleteFile: whole changes or none."""

from __future__ import annotations

import errno
import os
import stat
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from executor import paths
from executor.errors import ToolFailedError
from executor.threads import fork_safe
from executor_files._common import (
    Options,
    check_regular,
    check_stop,
    decoded,
    explained,
    kind_of,
    number,
    open_file,
    shown,
)
from executor_files._diff import line_numbers, nearest, unified_diff
from executor_files._keeping import Keeping
from executor_files._withheld import Withheld, check_may

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

MAX_EDIT_BYTES = 32 << 20  # a file that is edited is held in memory several times
_MAX_DIFFED = 1 << 20  # bytes of a replaced file up to which writeFile shows a diff


class _Turn:
    def __init__(self) -> None:
        self.lock = fork_safe(self, "lock", threading.Lock)


# Two edits of one file at once, as when a model asks for both in one turn, have to come one after the other. A path
# always has the same lock; that some share one costs them a wait.
_turns = [_Turn() for _ in range(64)]
_ALONE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_NAMELESS = os.O_TMPFILE | os.O_WRONLY if hasattr(os, "O_TMPFILE") else 0
Expected: TypeAlias = "os.stat_result | Literal['anything'] | None"
_NEW_MODE = 0o666  # before the umask, as open(2) is called by every program that makes ordinary files


def write_file(options: Options, arguments: dict[str, Any]) -> dict[str, Any]:
    """The tool writeFile."""
    path = options.resolve(arguments["path"])
    content: str = arguments["content"]
    with turn(path), explained("Cannot write", path):
        data = content.encode()
        if arguments.get("create_parents"):
            _make_folders(path.parent)
        elif not _exists(path.parent):
            raise ToolFailedError(
                f"Cannot write {shown(path)}: its folder {shown(path.parent)} does not exist. "
                "Check the path, or give create_parents=true to make the folder"
            )
        old = _old_text(path)
        # Before the change: what cannot be had for it (a module, while too many files are open) is no failure of that.
        diff = {} if old is None else {"diff": unified_diff(old, content, shown(path.name)) if old != content else ""}
        with Keeping(options, path, "writeFile", data) as keeping:
            replaced = replace(path, data)
    result: dict[str, Any] = {"path": shown(path), "bytes_written": len(data), "created": replaced is None}
    return _with_links(result | keeping.told() | diff, replaced)


def edit_file(options: Options, arguments: dict[str, Any]) -> dict[str, Any]:
    """The tool editFile."""
    path = options.resolve(arguments["path"])
    check_may("readFile", path, "read, nor edited")  # diffs and errors show what is in it, and what is not
    with turn(path):
        text, status = _text(path)
        old, new = _line_ends(text, arguments["old_text"], arguments["new_text"])
        count = _check_matches(path, text, old, number(arguments, "expected_replacements", 1))
        if old == new:
            raise ToolFailedError("old_text and new_text are the same: there is nothing to change")
        changed = text.replace(old, new)
        data = changed.encode()
        diff = unified_diff(text, changed, shown(path.name))  # before the change, as in `write_file`
        with explained("Cannot edit", path), Keeping(options, path, "editFile", data) as keeping:
            replaced = replace(path, data, expected=status)
    result = {
        "path": shown(path),
        "replacements": count,
        "diff": diff,
        **keeping.told(),
    }
    return _with_links(result, replaced)


def _text(path: Path) -> tuple[str, os.stat_result]:
    with open_file(path) as (fd, status), open(fd, "rb", closefd=False) as file:
        if status.st_size > MAX_EDIT_BYTES:
            raise ToolFailedError(
                f"{shown(path)} has {status.st_size} bytes and only files up to {MAX_EDIT_BYTES} are edited: "
                "use a command such as sed"
            )
        return decoded(file.read(MAX_EDIT_BYTES + 1), path, status.st_size), status


def delete_file(options: Options, arguments: dict[str, Any]) -> dict[str, Any]:
    """The tool deleteFile."""
    path = options.resolve_entry(arguments["path"])
    if path == options.root or not path.name:
        raise ToolFailedError(f"{shown(path)} is the root of everything these tools may use: it is not deleted")
    keeping = Keeping(options, path, "deleteFile", None)
    with turn(path), explained("Cannot delete", path), keeping, paths.open_parent(path) as (folder, name):
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        kind = kind_of(status)
        if kind == "folder":
            _remove_folder(path, folder, name)
        else:
            if kind != "link":
                check_regular(status, path)
            os.unlink(name, dir_fd=folder)
    return {"path": shown(path), "deleted": kind, **keeping.told()}


def turn(path: Path) -> threading.Lock:
    """Held while *path* is changed."""
    return _turns[hash(path) % len(_turns)].lock


def _remove_folder(path: Path, folder: int | None, name: str) -> None:
    try:
        os.rmdir(name, dir_fd=folder)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):  # POSIX allows either
            raise
        raise ToolFailedError(
            f"Cannot delete {shown(path)}: the folder is not empty. Look with listFiles (include_hidden=true) what is "
            "in it, and delete that first"
        ) from error


def _line_ends(text: str, old: str, new: str) -> tuple[str, str]:
    """The two texts with the file's line ends, when all of the file's are CRLF and the texts know of none."""
    ends = text.count("\n")
    if ends and ends == text.count("\r\n") and "\r" not in old + new:
        return old.replace("\n", "\r\n"), new.replace("\n", "\r\n")
    return old, new


def _check_matches(path: Path, text: str, old: str, expected: int) -> int:
    count = text.count(old)
    if count == 0:
        hint = nearest(text, old)
        if " ".join(old.split()) in " ".join(text.split()):
            hint = f"It does occur with other white space (blanks, tabs, line ends). {hint}"
        raise ToolFailedError(
            f"old_text does not occur in {shown(path)}; nothing was changed. {hint}".rstrip(". ")
            + ". Read the file again and copy the text exactly"
        )
    if count != expected:
        lines = line_numbers(text, old)
        more = ", …" if len(lines) > 20 else ""
        raise ToolFailedError(
            f"old_text occurs {count} times in {shown(path)}, not {expected}: on lines "
            f"{', '.join(map(str, lines[:20]))}{more}. Nothing was changed: give more of the text around the place you "
            f"mean, or expected_replacements={count} to change all"
        )
    return count


def _old_text(path: Path) -> str | None:
    """The text of the file that is about to be replaced; None if there is none to show: large, no text, withheld."""
    if Withheld().keeps(path):
        return None
    with suppress(ToolFailedError), open_file(path) as (fd, status):
        if status.st_size <= _MAX_DIFFED:
            with open(fd, "rb", closefd=False) as file:
                return decoded(file.read(_MAX_DIFFED), path, status.st_size)
    return None


def _with_links(result: dict[str, Any], replaced: os.stat_result | None) -> dict[str, Any]:
    if replaced is not None and replaced.st_nlink > 1:
        result["note"] = (
            f"The file had {replaced.st_nlink} names (hard links). Only this one has the new content; the others keep "
            "the old"
        )
    return result


def _exists(path: Path) -> bool:
    try:
        paths.stat_resolved(path)
    except FileNotFoundError:
        return False
    return True


def _make_folders(path: Path) -> None:
    missing = [path]
    while not _exists(missing[-1]):
        missing.append(missing[-1].parent)
    for folder in reversed(missing[:-1]):
        with paths.open_parent(folder) as (parent, name), suppress(FileExistsError):
            os.mkdir(name, dir_fd=parent)


def replace(path: Path, data: bytes, expected: Expected = "anything", mode: int | None = None) -> os.stat_result | None:
    """
    Put *data* in the place of the file *path*: whoever looks sees all of the old or all of the new.

    Args:
        path: As resolved.
        data: The whole new content.
        expected: The file as it was read, or None for no file; if another stands there now, nothing is done. Between
            this look and the rename there is an instant in which a change by another process would still be lost: no
            system call compares and renames at once.
        mode: The permission bits of a file that is not there yet; by default those of any new file.

    Returns:
        The status of the file that was replaced, or None if there was none.

    Raises:
        ToolFailedError: What stands there is no regular file, is write-protected or has changed.
        OSError: The new file could not be written; the old one stands.
    """
    with paths.open_parent(path) as (folder, name):
        old = check_unchanged(path, expected, folder, name)

        def fill(fd: int) -> None:
            _write_all(fd, data)
            if old is not None:
                _keep_rights(fd, old, folder, name)
            elif mode is not None:
                os.fchmod(fd, mode)
            os.fsync(fd)

        with _beside(folder, name, _NEW_MODE if old is None else stat.S_IWUSR | stat.S_IRUSR, fill) as temporary:
            check_stop()
            check_unchanged(path, expected, folder, name)
            os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        _sync_folder(folder)
    return old


def _status(folder: int | None, name: str, path: Path) -> os.stat_result | None:
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(status.st_mode):
        raise paths.PathChangedError(errno.ELOOP, "Is a symbolic link now", str(path))
    check_regular(status, path)
    # A rename asks for rights in the folder only: without this look it would replace files that are write-protected.
    if not os.access(name, os.W_OK, dir_fd=folder, effective_ids=os.access in os.supports_effective_ids):
        raise ToolFailedError(
            f"{shown(path)} is write-protected for this user (mode {stat.S_IMODE(status.st_mode):04o}): choose another "
            "file, or ask the user to change its permissions"
        )
    return status


def check_unchanged(path: Path, expected: Expected, folder: int | None, name: str) -> os.stat_result | None:
    """
    What stands in *folder* now, None for nothing.

    Raises:
        ToolFailedError: It is not what is expected, no regular file, or write-protected.
    """
    found = _status(folder, name, path)
    if expected == "anything" or _identity(expected) == _identity(found):
        return found
    raise ToolFailedError(
        f"{shown(path)} was changed by somebody else while it was being edited. Nothing was written: read it again "
        "and repeat the edit"
    )


def _identity(status: os.stat_result | None) -> tuple[int, ...]:
    if status is None:
        return ()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


@contextmanager
def _beside(folder: int | None, name: str, mode: int, fill: Callable[[int], None]) -> Iterator[str]:
    """A new file in the same folder, which *fill* has written: its name. It is removed if the block raises."""
    temporary = os.path.join(os.path.dirname(name), f".executor-{os.urandom(8).hex()}.tmp")  # noqa: PTH118, PTH120 -- *name* belongs to a dir_fd
    filled = folder is not None and _filled_before_named(folder, temporary, mode, fill)
    fd = None if filled else os.open(temporary, _ALONE, mode, dir_fd=folder)
    try:
        if fd is not None:
            try:
                fill(fd)
            finally:
                os.close(fd)
        yield temporary
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=folder)
        raise


def _filled_before_named(folder: int, temporary: str, mode: int, fill: Callable[[int], None]) -> bool:
    """
    Make the file without a name, which it is given once it is whole: who is killed meanwhile leaves nothing behind.

    Returns:
        Whether the system can do that (open(2), O_TMPFILE); if not, there is nothing.
    """
    try:
        fd = os.open(os.curdir, _NAMELESS, mode, dir_fd=folder) if _NAMELESS else -1
    except OSError:  # this file system has no such files; or no new ones, which is told of one with a name
        return False
    if fd < 0:
        return False
    try:
        fill(fd)
        try:
            os.link(f"/proc/self/fd/{fd}", temporary, dst_dir_fd=folder, follow_symlinks=True)
        except OSError:  # a system without /proc, or a sandbox that lets nothing be linked
            return False
        return True
    finally:
        os.close(fd)


def _write_all(fd: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def _keep_rights(fd: int, old: os.stat_result, folder: int | None, name: str) -> None:
    """Give the new file the owner, mode and extended attributes (access lists among them) of the old one."""
    mode = stat.S_IMODE(old.st_mode)
    new = os.fstat(fd)
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        try:
            os.fchown(fd, old.st_uid, old.st_gid)
        except PermissionError:  # only root may give files away; another owner or group must not get more than others
            mode = (mode & 0o707) | (mode & 0o007) << 3
    os.fchmod(fd, mode)
    if hasattr(os, "listxattr"):
        _keep_attributes(fd, old, folder, name)


def _keep_attributes(fd: int, old: os.stat_result, folder: int | None, name: str) -> None:
    with suppress(OSError):  # not readable, or a file system without attributes: the content is what matters
        source = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
        try:
            if not os.path.samestat(os.fstat(source), old):
                return
            for attribute in os.listxattr(source):
                if attribute == "security.capability":  # was given to the old content
                    continue
                with suppress(OSError):
                    os.setxattr(fd, attribute, os.getxattr(source, attribute))
        finally:
            os.close(source)


def _sync_folder(folder: int | None) -> None:
    """Make the rename survive a power cut, where folders can be synced."""
    if folder is not None:
        with suppress(OSError):
            fd = os.open(os.curdir, os.O_RDONLY, dir_fd=folder)
            try:
                os.fsync(fd)
            finally:
                os.close(fd)
