"""Folders and links as they are found: what a box is made from is looked up by the hundred, mostly in a few folders."""

from __future__ import annotations

import contextlib
import os
import stat
import time
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# Names by the folders they are in; what is asked for itself, and not only as the way to others, holds `_ITSELF`.
Names = dict[str, "Names"]
_ITSELF = ""  # no file has that name
# What changed so shortly before it was listed may change again within the same tick of the file system's clock.
_SECOND = 1_000_000_000  # nanoseconds
_TICK, _LONG_TICK = _SECOND // 50, 2 * _SECOND + _SECOND // 50  # of most; of those that tell whole seconds
_MOST_KEPT, _LARGEST_KEPT = 64, 1_000  # folders, and what is in one


class Stamp(NamedTuple):
    """
    A folder, whose path is without links, as it is before it is listed.

    Attributes:
        changed: Its ctime in ns, which no command can set back; 0 if it may change again unseen.
    """

    path: str
    device: int
    inode: int
    changed: int

    def holds(self) -> bool:
        """Whether nothing was added to it or taken from it since."""
        return self.changed != 0 and stamp_of(self.path) == self


def stamp_of(path: str) -> Stamp | None:
    """None where nothing is, or nothing can be seen."""
    now = time.time_ns()
    try:
        found = os.stat(path)
    except OSError:
        return None
    changed = found.st_ctime_ns
    tick = _TICK if changed % _SECOND else _LONG_TICK
    return Stamp(path, found.st_dev, found.st_ino, changed if changed < now - tick else 0)


Listing: TypeAlias = "tuple[Stamp | None, dict[str, os.DirEntry[str]]]"
_kept: dict[str, Listing] = {}  # for the next command: each is replaced as a whole, by any thread


class Found(NamedTuple):
    """
    Which of the paths that somebody asked for are there, all without links.

    Attributes:
        there: Those that are; of a link what it leads to, which need not be there.
        ways: The folders on the way to them, and to those that are not there, as far as there are such folders.
    """

    there: set[str]
    ways: set[str]


class Disk:
    """Folders as they are found, each looked at once; those that have not changed since another one listed them."""

    def __init__(self) -> None:
        self._listed: dict[str, Listing] = {}
        self._real = {"/": "/"}

    def listed(self, folder: str) -> Listing:
        """*folder* and what is in it, by name; nothing where it cannot be listed."""
        found = self._listed.get(folder)
        if found is None:
            found = self._listed[folder] = _listed(folder)
        return found

    def find(self, paths: Iterable[str]) -> Found:
        """Look for *paths*: for all of them at once, along the folders that are there."""
        there, ways = set[str](), {"/"}
        waiting = [("/", _nested(tuple(map(_upright, paths))))]
        while waiting:
            folder, names = waiting.pop()
            if _ITSELF in names:
                there.add(folder)
                if len(names) == 1:
                    continue
            ways.add(folder)
            try:
                found = [*self._of(folder, names)]
            except PermissionError:
                if _is_own(folder):  # whoever owns it can pass it again: nothing else can be hidden in there
                    there.add(folder)
                continue
            for name, is_link in found:
                path = f"/{name}" if folder == "/" else f"{folder}/{name}"
                if is_link:
                    path = os.path.realpath(path)
                    ways.update(_above(path))
                waiting.append((path, names[name]))
        return Found(there, ways)

    def _of(self, folder: str, names: Names) -> Iterator[tuple[str, bool]]:
        """Which of *names* are in *folder*, and whether they are links. Raises PermissionError: it cannot be passed."""
        stamp, entries = self.listed(folder)
        for name in names.keys() & entries.keys():
            yield name, entries[name].is_symlink()
        if not entries and stamp is not None:  # the folder is empty, or it may be passed and not listed
            for name in names.keys() - {_ITSELF}:
                with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                    yield name, stat.S_ISLNK(os.lstat(os.path.join(folder, name)).st_mode)

    def real(self, path: str) -> str:
        """*path* without links; it need not be there."""
        found = self._real.get(path)
        if found is None:
            found = self._real[path] = self._without_links(path)
        return found

    def _without_links(self, path: str) -> str:
        above, _, name = path.rpartition("/")
        if name in ("", ".", ".."):
            return os.path.realpath(path)
        parent = self.real(above.rstrip("/") or "/")
        plain = f"/{name}" if parent == "/" else f"{parent}/{name}"
        stamp, entries = self.listed(parent)
        entry = entries.get(name)
        if entry is not None:
            return os.path.realpath(plain) if entry.is_symlink() else plain
        if entries or stamp is None:
            self._listed[plain] = None, {}  # it is not there, and nothing below it
        elif os.path.islink(plain):  # the folder is empty, or it may be passed and not listed
            return os.path.realpath(plain)
        return plain


def _listed(folder: str) -> Listing:
    kept = _kept.get(folder)
    if kept is not None and kept[0] is not None and kept[0].holds():
        return kept
    stamp, entries = stamp_of(folder), {}
    with contextlib.suppress(OSError), os.scandir(folder) as listing:
        entries = {entry.name: entry for entry in listing}
    found = stamp, entries
    # What cannot be listed is asked for again: that may hang on who asks.
    if entries and len(entries) <= _LARGEST_KEPT:
        if len(_kept) >= _MOST_KEPT:
            _kept.clear()
        _kept[folder] = found
    return found


def _is_own(folder: str) -> bool:
    with contextlib.suppress(OSError):
        return os.lstat(folder).st_uid == os.geteuid()
    return False


def _upright(path: str) -> str:
    """*path* from the root, and never up again: that must be done on the disk."""
    return path if path[:1] == "/" and ".." not in path else os.path.realpath(path)


@lru_cache(maxsize=16)  # the same again and again
def _nested(paths: tuple[str, ...]) -> Names:
    root: Names = {}
    for path in paths:
        here = root
        for part in path.split("/"):
            if part not in ("", "."):
                here = here.setdefault(part, {})
        here[_ITSELF] = {}
    return root


def _above(path: str) -> Iterator[str]:
    """The folders that *path* is in."""
    while path != "/":
        path = path.rpartition("/")[0] or "/"
        yield path
