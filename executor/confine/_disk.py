"""Folders and links as they are found: what a box is made from is looked up by the hundred, mostly in a few folders."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from executor.confine._kernel import open_plain
from executor.confine._mounted import mounts
from executor.confine._real import in_folder
from executor.confine._values import PASSING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from executor.confine._mounted import Mount

# Names by the folders they are in; what is asked for itself, and not only as the way to others, holds `_ITSELF`.
Names = dict[str, "Names"]
_ITSELF = ""  # no file has that name
# What changed so shortly before it was listed may change again within the same tick of the file system's clock.
_SECOND = 1_000_000_000  # nanoseconds
_TICK, _LONG_TICK = _SECOND // 50, 2 * _SECOND + _SECOND // 50  # of most; of those that tell whole seconds
_MOST_KEPT, _LARGEST_KEPT = 64, 1_000  # folders, and what is in one
_MOST_LINKS = 40  # that the kernel follows, see path_resolution(7)
_ABSENT = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)


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
        if self.changed == 0:
            return False
        try:
            found = os.stat(self.path)
        except OSError:
            return False
        return (found.st_ctime_ns, found.st_ino, found.st_dev) == (self.changed, self.inode, self.device)


def stamp_of(path: str, opened: int | None = None) -> Stamp | None:
    """
    None where nothing is, or nothing can be seen.

    Args:
        path: A folder.
        opened: A descriptor of it.
    """
    now = time.time_ns()
    try:
        found = os.stat(path if opened is None else opened)
    except OSError:
        return None
    changed = found.st_ctime_ns
    tick = _TICK if changed % _SECOND else _LONG_TICK
    return Stamp(path, found.st_dev, found.st_ino, changed if changed < now - tick else 0)


class Kind(Enum):
    """What a name in a folder is: a folder, a link, or something else."""

    FOLDER = 0
    LINK = 1
    FILE = 2


class Listing(NamedTuple):
    """
    What is in a folder.

    Attributes:
        stamp: The folder as it was before; None if it is not there.
        entries: What each name in it is.
        numbers: Which file, folder or link that is, by its number on the file system.
    """

    stamp: Stamp | None
    entries: dict[str, Kind]
    numbers: dict[str, int]

    def holds(self) -> bool:
        """Whether nothing was added to the folder or taken from it since."""
        return self.stamp is not None and self.stamp.holds()

    def has_all_of(self, before: Listing) -> bool:
        """Whether everything that was there *before* still is, under its name, in the same folder."""
        if self.stamp is None or before.stamp is None or self.stamp[:3] != before.stamp[:3]:
            return False
        kept = (self.numbers.get(name) == number for name, number in before.numbers.items())
        return all(kept) and all(self.entries[name] is kind for name, kind in before.entries.items())

    def is_it(self, name: str, found: os.stat_result) -> bool:
        """Whether *found* is what was listed as *name*; what is mounted there is something else."""
        return self.stamp is not None and (found.st_dev, found.st_ino) == (self.stamp.device, self.numbers.get(name))


def listed(folder: str) -> Listing:
    """
    As `listing`; nothing where it cannot be listed: then the stamp tells whether it is there.

    Raises:
        OSError: It cannot be told now, and may be soon, see `PASSING`.
    """
    try:
        return listing(folder)
    except OSError as error:
        if error.errno in PASSING:
            raise
        return Listing(stamp_of(folder), {}, {})


def listing(folder: str) -> Listing:
    """
    What is in *folder*, and its stamp: both of one folder, also where another is put in its place meanwhile.

    Nothing, and no stamp, where no such folder is.

    Raises:
        OSError: It cannot be listed.
    """
    try:
        opened = open_plain(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        if error.errno in _ABSENT:
            return Listing(None, {}, {})
        raise
    try:
        stamp = stamp_of(folder, opened)
        with os.scandir(opened) as scanned:
            found = [*scanned]
        numbers = {entry.name: entry.inode() for entry in found}
        return Listing(stamp, {entry.name: _kind(entry) for entry in found}, numbers)
    finally:
        os.close(opened)


def _kind(entry: os.DirEntry[str]) -> Kind:
    if entry.is_symlink():
        return Kind.LINK
    return Kind.FOLDER if entry.is_dir(follow_symlinks=False) else Kind.FILE


class Found(NamedTuple):
    """
    Which of the paths that somebody asked for are there, all without links.

    Attributes:
        there: Those that are; of a link what it leads to.
        ways: The folders on the way to them, and to those that are not there, as far as there are such folders.
    """

    there: set[str]
    ways: set[str]


class Disk:
    """
    Folders as they are found, each looked at once; those that have not changed since another one listed them.

    Args:
        mounted: What is mounted; by default it is looked up.
    """

    def __init__(self, mounted: tuple[Mount, ...] | None = None) -> None:
        self._kept = _kept_under(mounts() if mounted is None else mounted)
        self._listed: dict[str, Listing] = {}
        self._real = {"/": "/"}

    def listed(self, folder: str) -> Listing:
        """*folder* and what is in it, by name; nothing where it cannot be listed."""
        found = self._listed.get(folder)
        if found is None:
            found = self._listed[folder] = self._looked_up(folder)
        return found

    def _looked_up(self, folder: str) -> Listing:
        kept = self._kept.get(folder)
        if kept is not None and kept.holds():
            return kept
        found = listed(folder)
        # What cannot be listed is asked for again: that may hang on who asks.
        if found.entries and len(found.entries) <= _LARGEST_KEPT:
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            self._kept[folder] = found
        return found

    def find(self, paths: Iterable[str]) -> Found:
        """Look for *paths*: for all of them at once, along the folders that are there, and those that links lead by."""
        there, ways = set[str](), set[str]()
        waiting = [("/", _nested(tuple(paths)), 0)]
        while waiting:
            folder, names, links = waiting.pop()
            if _ITSELF in names:
                there.add(folder)
                if len(names) == 1:
                    continue
            ways.add(folder)
            if ".." in names:
                waiting.append((os.path.dirname(folder), names[".."], links))
            try:
                found = [*self._of(folder, names)]
            except PermissionError:
                if _is_own(folder):  # whoever owns it can pass it again: nothing else can be hidden in there
                    there.add(folder)
                continue
            for name, is_link in found:
                path = in_folder(folder, name)
                if not is_link:
                    waiting.append((path, names[name], links))
                elif links < _MOST_LINKS:
                    with contextlib.suppress(OSError):  # gone meanwhile
                        target = os.readlink(path)
                        start = "/" if target[:1] == "/" else folder
                        waiting.append((start, _before(target, names[name]), links + 1))
        return Found(there, ways)

    def _of(self, folder: str, names: Names) -> Iterator[tuple[str, bool]]:
        """Which of *names* are in *folder*, and whether they are links. Raises PermissionError: it cannot be passed."""
        stamp, entries, _ = self.listed(folder)
        for name in names.keys() & entries.keys():
            yield name, entries[name] is Kind.LINK
        if not entries and stamp is not None:  # the folder is empty, or it may be passed and not listed
            for name in names.keys() - {_ITSELF, ".."}:
                with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                    yield name, stat.S_ISLNK(os.lstat(in_folder(folder, name)).st_mode)

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
        plain = in_folder(parent, name)
        stamp, entries, _ = self.listed(parent)
        kind = entries.get(name)
        if kind is not None:
            return os.path.realpath(plain) if kind is Kind.LINK else plain
        if entries or stamp is None:
            self._listed[plain] = Listing(None, {}, {})  # it is not there, and nothing below it
        elif os.path.islink(plain):  # the folder is empty, or it may be passed and not listed
            return os.path.realpath(plain)
        return plain


@lru_cache(maxsize=1)
def _kept_under(mounted: tuple[Mount, ...]) -> dict[str, Listing]:  # noqa: ARG001 -- the key
    """
    Listings for the next command: each is replaced as a whole, by any thread.

    What is mounted over a folder may look like it, time and number included, and hold something else.
    """
    return {}


def _is_own(folder: str) -> bool:
    with contextlib.suppress(OSError):
        return os.lstat(folder).st_uid == os.geteuid()
    return False


@lru_cache(maxsize=16)  # the same again and again
def _nested(paths: tuple[str, ...]) -> Names:
    root: Names = {}
    for path in paths:
        here = root
        for part in _parts(path):
            here = here.setdefault(part, {})
        here[_ITSELF] = {}
    return root


def _before(path: str, names: Names) -> Names:
    """*names*, which are in *path*."""
    for part in reversed(_parts(path)):
        names = {part: names}
    return names


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in ("", ".")]
