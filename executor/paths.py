"""
What a path means, and opening exactly that: one truth for whoever judges a path and whoever opens it.

::

    path = resolve("~/notes/../plan.txt", base=project)   # links, "..", "~" and case are settled here, once
    if inside(path, project):                             # judge
        fd = open_resolved(path, os.O_RDONLY)             # open what was judged; a link put there since is refused
"""

# pathlib drops "." and a last "/", and is ten times slower: every judgement of a path comes through here.
# ruff: noqa: PTH109, PTH111, PTH115, PTH117, PTH118, PTH120, PTH206
from __future__ import annotations

import errno
import os
import stat
import unicodedata
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from executor._regular import regular_only

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "PathChangedError",
    "inside",
    "open_parent",
    "open_resolved",
    "regular_only",
    "resolve",
    "resolve_entry",
    "stat_resolved",
]

_MAX_LINKS = 40  # as in Linux: path_resolution(7)
_CAN_WALK = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
# O_PATH asks for no more than the right to pass through a folder, as an ordinary open of a path below it does.
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0) | _NOFOLLOW
_NEVER_HANG = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)


class PathChangedError(OSError):
    """A part of a resolved path is a symbolic link: it was put there after the path had been resolved."""


def resolve(path: str, *, base: str | Path | None = None, known: dict[str, str] | None = None) -> Path:
    """
    The absolute path that *path* means, without any symbolic link in it.

    ``~`` and ``~user`` are expanded; links and ``..`` are followed in the order in which the operating system would;
    the last parts need not exist. A file system that ignores case (or how accents are composed) has many spellings
    for one file: each existing part is spelled as its folder lists it. A part that may not be looked at is left as it
    is written.

    Args:
        path: As a person or a model writes it.
        base: What a relative path is relative to; the working folder by default.
        known: The folders that were looked at for paths before, for somebody who resolves many at one moment.

    Raises:
        ValueError: It is empty, or holds a NUL or a lone surrogate: no file has such a name.
        OSError: Links run in a circle, or the working folder is gone.
    """
    return Path(_real(_absolute(path, base), known))


def resolve_entry(path: str, *, base: str | Path | None = None) -> Path:
    """
    `resolve` for what acts on the folder entry itself, as deleting does: a link as the last part stays the link.

    A path that ends in ``/``, ``.`` or ``..`` names no entry, and is resolved as a whole. Raises as `resolve` does.
    """
    absolute = _absolute(path, base)
    folder, name = os.path.split(absolute)
    if name in ("", os.curdir, os.pardir):
        return Path(_real(absolute))
    folder = _real(folder)
    return Path(folder, _listed_name(folder, name))


def inside(path: Path, root: Path) -> bool:
    """Whether *path* is *root* or below it, part by part; both resolved."""
    return path.is_relative_to(root)


def open_resolved(path: Path, flags: int, mode: int = 0o600) -> int:
    """
    Open a path that `resolve` gave, following no link: what was judged is what is opened.

    It never waits: a FIFO without a partner or a terminal is opened as with ``O_NONBLOCK``; look with ``os.fstat``
    what it is (and with `stat_resolved` first, where opening alone may have an effect, as with a device). The
    descriptor is not inherited by child processes. Where a folder cannot be opened relative to another (Windows), the
    path is resolved again and compared, and a link swapped in between that and the opening is missed.

    Args:
        path: Absolute, as resolved.
        flags: Those of ``os.open``.
        mode: The permission bits of a file that is created, before the umask.

    Raises:
        PathChangedError: A part of it is a symbolic link now.
        ValueError: It is not absolute, or holds ``..``.
        OSError: As ``os.open``, with the whole path as ``filename``.
    """
    flags |= _NOFOLLOW | _NEVER_HANG | getattr(os, "O_CLOEXEC", 0)
    if path.is_absolute() and not path.name:
        return os.open(path, flags, mode)
    if not _CAN_WALK and _real(str(path)) != str(path):
        raise _changed(path)
    with open_parent(path) as (folder, name):
        try:
            return os.open(name, flags, mode, dir_fd=folder)
        except OSError as error:
            raise _explained(error, name, folder, path) from error


def stat_resolved(path: Path) -> os.stat_result:
    """
    What stands at a resolved path, following no link, without opening it.

    Raises as `open_resolved` does; `PathChangedError` for a folder on the way only.
    """
    if path.is_absolute() and not path.name:
        return path.lstat()
    with open_parent(path) as (folder, name):
        try:
            return os.stat(name, dir_fd=folder, follow_symlinks=False)
        except OSError as error:
            raise _explained(error, name, folder, path) from error


@contextmanager
def open_parent(path: Path) -> Iterator[tuple[int | None, str]]:
    """
    The folder of a resolved path, held open, so that several steps in it (make, rename, remove) are in one folder.

    Gives ``(dir_fd, name)`` for the functions of ``os`` that take ``dir_fd``; where there are none (Windows), dir_fd is
    None and name the whole path, which they take as well. The descriptor serves as ``dir_fd`` only.

    Raises:
        PathChangedError: A folder on the way is a symbolic link now.
        ValueError: The path is not absolute, holds ``..``, or is the root, which has no parent.
        OSError: A folder on the way is missing, no folder, or may not be passed.
    """
    if not path.is_absolute() or os.pardir in path.parts:
        raise ValueError(f"{str(path)!r} is not resolved: give what resolve() returned")
    if not path.name:
        raise ValueError(f"{str(path)!r} is the root folder and has no parent")
    if not _CAN_WALK:
        if _real(str(path.parent)) != str(path.parent):
            raise _changed(path.parent)
        yield None, str(path)
        return
    folder = _open_folder(path.parent)
    try:
        yield folder, path.name
    finally:
        os.close(folder)


def _open_folder(path: Path) -> int:
    folder = os.open(path.anchor, _FOLDER)
    for depth, part in enumerate(path.parts[1:], start=2):
        try:
            below = os.open(part, _FOLDER, dir_fd=folder)
        except OSError as error:
            raise _explained(error, part, folder, Path(*path.parts[:depth])) from error
        finally:
            os.close(folder)
        folder = below
    return folder


def _explained(error: OSError, name: str, folder: int | None, path: Path) -> OSError:
    """The error with the whole path in it; a `PathChangedError` if it came from a link."""
    # Linux says ENOTDIR for a link where a folder was asked for, ELOOP otherwise; the BSDs say EMLINK.
    if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.EMLINK):
        try:
            found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except OSError:
            return OSError(error.errno, error.strerror, str(path))
        if stat.S_ISLNK(found.st_mode):
            return _changed(path)
    return OSError(error.errno, error.strerror, str(path))


def _changed(path: Path) -> PathChangedError:
    return PathChangedError(errno.ELOOP, "Is a symbolic link now, put there after the path was resolved", str(path))


def _absolute(path: str, base: str | Path | None) -> str:
    """*path* from the root on, with its links, dots and slashes as they are written."""
    if not path:
        raise ValueError("The path is empty: use '.' for the working folder")
    if "\0" in path:
        raise ValueError(f"The path {path!r} holds a NUL character, which no path may")
    if not path.isascii():
        try:
            path.encode()
        except UnicodeEncodeError:
            raise ValueError(f"The path {path!r} holds a lone surrogate, which is no text") from None
    path = os.path.expanduser(path)
    if os.path.isabs(path):
        return path
    start = os.fspath(base or "")
    return os.path.join(start if os.path.isabs(start) else os.path.join(os.getcwd(), start), path)


def _real(path: str, known: dict[str, str] | None = None) -> str:
    """The path without links, ``.`` and ``..``."""
    # os.path.realpath, met by a circle of links, leaves what comes after it unresolved: this raises.
    if os.name == "nt":
        return os.path.realpath(path)
    real = os.sep
    rest = path.split(os.sep)[::-1]
    links = 0
    while rest:
        part = rest.pop()
        if part in ("", os.curdir):
            continue
        if part == os.pardir:
            real = os.path.dirname(real)
            continue
        here = os.path.join(real, part)
        if known is not None and here in known:
            real = known[here]
            continue
        try:
            target = os.readlink(here)
        except OSError:  # no link, nothing there, or not to be looked at
            real = os.path.join(real, _listed_name(real, part))
            if known is not None and rest:
                known[here] = real
            continue
        links += 1
        if links > _MAX_LINKS:
            raise OSError(errno.ELOOP, "Too many symbolic links, or links that run in a circle", path)
        if target.startswith(os.sep):
            real = os.sep
        rest.extend(reversed(target.split(os.sep)))
    return real


def _listed_name(folder: str, name: str) -> str:
    """*name* as *folder* lists it: the same text, unless the file system takes other spellings for the same entry."""
    # Whether it does can differ from folder to folder (ext4), hence no cache; one look settles nearly every name.
    others = {name.swapcase()}
    if not name.isascii():
        others |= {unicodedata.normalize("NFC", name), unicodedata.normalize("NFD", name)}
    others.discard(name)
    if not any(os.path.lexists(os.path.join(folder, other)) for other in others):
        return name
    try:
        number = os.lstat(os.path.join(folder, name)).st_ino
        with os.scandir(folder) as entries:
            listed = [entry.name for entry in entries if entry.name == name or entry.inode() == number]
    except OSError:
        return name
    if name in listed or not listed:
        return name
    # More than one: hard links. The spelling meant is the one that differs in case only.
    return next((other for other in listed if other.casefold() == name.casefold()), listed[0])
