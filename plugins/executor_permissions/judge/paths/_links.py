"""
Where paths really lead: links are followed, and the shortcuts of /proc; each is looked at once.

All that a judgement of a command sees of the file system it sees through `Links`, which notes it: as long as the same
is there, the judgement is the same.
"""

from __future__ import annotations

import errno
import os
import re
import time
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from executor_permissions.judge.paths._paths import Place, UnclearPathError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

# ruff: noqa: PTH115, PTH116, PTH208 -- pathlib is ten times slower, and every word of every command comes by here

_MAX_LINKS = 40  # as in Linux: path_resolution(7)
_LONG = 250  # characters of a path, above which it is tried to go on from what is known of folders above it,
_LEVELS = 4  # of so many
# The links in /proc itself, see proc(5); those to whoever looks are left as they are: ".." of one is not /proc.
_OF_PROC = {"net": "self/net", "mounts": "self/mounts"}
_ABOVE = {"/proc/thread-self": "/proc/self/task"}
_OWN_PROCESS = re.compile(r"/proc/(?:self|thread-self)(?:/task/[^/]+)?\Z")
_A_PROCESS = re.compile(r"/proc/[^/]+(?:/task/[^/]+)?\Z")
_DESCRIPTOR = re.compile(r"/proc/.*/fd/[^/]+\Z")
_OF_DEV = {"/dev/fd": "/proc/self/fd"}
_SHORTCUTS = frozenset({"cwd", "root", "fd", "map_files", "exe"})
_NO_LINK = frozenset({errno.EINVAL, errno.ENOENT, errno.ENOTDIR})  # of a file or folder; it has gone just now
_SECOND = 1_000_000_000  # nanoseconds
_TICK, _LONG_TICK = _SECOND // 50, 2 * _SECOND + _SECOND // 50  # of most file systems; of those that tell whole seconds
_unsettled = count(1)
_NOT_LOOKED_AT = ""  # no link has an empty target


Stamp: TypeAlias = (
    "tuple[int, int, int, int]"  # when it was written, its size, its number, and when it was changed in any way
)


class Listed(NamedTuple):
    """An entry of a folder: its path, and whether it is a link or a folder."""

    path: str
    is_link: bool
    is_folder: bool


class Seen(NamedTuple):
    """
    What was seen of the file system.

    Attributes:
        targets: Where links point to, by path; None for what is no link.
        there: Whether something is there, by path.
        stamps: What `stamp` gave, by path.
    """

    targets: Mapping[str, str | None]
    there: Mapping[str, bool]
    stamps: Mapping[str, Stamp | None]

    def holds(self) -> bool:
        """Whether all of it is still so."""
        return (
            all(_target_of(path) == target for path, target in self.targets.items())
            and all(os.path.lexists(path) is there for path, there in self.there.items())
            and all(stamp_of(path) == stamp for path, stamp in self.stamps.items())
        )


class Links:
    """
    Resolves paths for one decision.

    Args:
        folders: Resolved folders that most paths begin with.

    Attributes:
        folders: Those.
        looked_beyond: Whether something was looked at that is not noted: what a folder holds, or a file.
        memory: What others have found, by names that they choose: each is looked for once in a decision.
    """

    __slots__ = ("_ends", "_met_process", "_stamps", "_targets", "_there", "folders", "looked_beyond", "memory")

    def __init__(self, *folders: str) -> None:
        self.folders = folders
        self._targets: dict[str, str | None] = {}
        self._there: dict[str, bool] = {}
        self._stamps: dict[str, Stamp | None] = {}
        self._ends = {folder: folder for folder in folders}  # where paths lead
        self._met_process = False
        self.looked_beyond = False
        self.memory: dict[str, Any] = {}

    def seen(self) -> Seen | None:
        """What was seen so far; None where that is not all."""
        if self.looked_beyond:
            return None
        return Seen(self._targets.copy(), self._there.copy(), self._stamps.copy())

    def exists(self, path: str) -> bool:
        """Whether something is there, be it a link that leads nowhere."""
        there = self._there.get(path)
        if there is None:
            there = self._there[path] = os.path.lexists(path)
        return there

    def stamp(self, path: str) -> Stamp | None:
        """When the file *path* was changed, its size and its number: others when it holds something else. Or None."""
        if path not in self._stamps:
            self._stamps[path] = stamp_of(path)
        return self._stamps[path]

    def is_file(self, path: str) -> bool:
        """Whether *path* is a file; no folder, and no link to one."""
        return self.stamp(path) is not None and not self.exists(f"{path}/.")

    def names_in(self, folder: str) -> list[str]:
        """The names of what is in *folder*; none if it is no folder, or not to be looked at."""
        self.looked_beyond = True
        try:
            return os.listdir(folder)
        except OSError:
            return []

    def entries(self, folder: str) -> Iterator[Listed]:
        """What is in *folder*; nothing if it is no folder, or not to be looked at."""
        self.looked_beyond = True
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    yield Listed(entry.path, entry.is_symlink(), entry.is_dir(follow_symlinks=False))
        except OSError:
            return

    def place(self, path: str, folder: str | None = None) -> Place:
        """
        Where *path* (absolute, maybe with ``..`` and links) leads for a process that runs in *folder*.

        Raises:
            UnclearPathError: Links in a circle, or a shortcut into a process that is not known.
        """
        if path in self.folders:
            return Place(path, path, path)
        written = os.path.normpath(path)
        above, _, name = path.rpartition("/")
        if name in ("", ".", ".."):
            real = self.real(path, folder)
            return Place(real, real, written)
        parent = self.real(above, folder)
        entry = f"{'' if parent == '/' else parent}/{name}"
        return Place(self._follow(parent, name, folder), entry, written)

    def has_links(self, folder: str, paths: Collection[str]) -> bool:
        """Whether a name in one of *paths*, which start in the resolved *folder*, is a link, or may be a shortcut."""
        start = folder.rstrip("/")
        if start in ("", "/proc") or start.startswith("/proc/"):
            return True
        places = [*map(f"{start}/".__add__, paths)]
        for path in paths:
            end = path.find("/")
            while end >= 0:
                places.append(f"{start}/{path[:end]}")
                end = path.find("/", end + 1)
        targets = self._targets
        fresh = set(places).difference(targets)
        targets.update(zip(fresh, map(_target_of, fresh), strict=True))
        return any(map(targets.get, places))

    def resolve(self, path: str, *, entry: bool = False) -> Path:
        """As ``CurrentCall.resolve_path``, for an absolute path."""
        place = self.place(path)
        return Path(place.entry if entry else place.real)

    def real(self, path: str, folder: str | None = None) -> str:
        """`place`, of which only the end is wanted."""
        real = self._ends.get(path)
        if real is None:
            self._met_process = False
            real = self._real(path, folder) if len(path) < _LONG else self._real_of_long(path, folder)
            if not self._met_process:  # what it shows is not the same for each folder
                self._ends[path] = real
        return real

    def take_as_written(self, folder: str, paths: Iterable[str]) -> None:
        """Note that each of *paths* leads where it says from *folder*: it `has_links` none, and no odd name."""
        places = [*map(f"{folder}/".__add__, paths)]
        self._ends.update(zip(places, places, strict=True))

    def _real_of_long(self, path: str, folder: str | None) -> str:
        """The same; a command that goes down a thousand folders names each of them, and all above it."""
        above, below = path, []
        for _ in range(_LEVELS):
            above, _, name = above.rpartition("/")
            below.append(name)
            known = self._ends.get(above)
            if known is not None:
                return self._follow(known, "/".join(reversed(below)), folder)
        return self._real(path, folder)

    def _real(self, path: str, folder: str | None) -> str:
        for known in self.folders:
            if path.startswith(known) and path[len(known) : len(known) + 1] == "/":
                return self._follow(known, path[len(known) + 1 :], folder)
        return self._follow("", path, folder)

    def _follow(self, start: str, path: str, folder: str | None) -> str:
        """Where *path* leads from the resolved folder *start*."""
        at = "" if start == "/" else start
        parts = path.split("/")
        parts.reverse()
        followed = 0
        while parts:
            part = parts.pop()
            if at.startswith("/proc/") and _DESCRIPTOR.match(at):
                raise UnclearPathError(f"{at} may be a descriptor of any folder")
            if part in ("", "."):
                continue
            if part == "..":
                at = _ABOVE.get(at) or at.rpartition("/")[0]
                continue
            here = f"{at}/{part}"
            target = self._target(at, part, here, folder)
            if target is None:
                at = here
                continue
            followed += 1
            if followed > _MAX_LINKS:
                raise UnclearPathError(f"{path!r} has links that run in a circle")
            if target[0] == "/":
                at = ""
            parts.extend(reversed(target.split("/")))
        return at or "/"

    def _target(self, at: str, part: str, here: str, folder: str | None) -> str | None:
        """What the entry *part* of the folder *at* points to, or None: it is no link."""
        if at == "/proc" or at.startswith("/proc/"):
            self._met_process = True
            return _shortcut(at, part, here, folder)
        target = self._targets.get(here, _NOT_LOOKED_AT)
        if target == _NOT_LOOKED_AT:
            target = self._targets[here] = _target_of(here)
        return target


class _Texts(Links):
    """The same of texts: it looks at nothing, and knows the links that each Linux has."""

    __slots__ = ()

    def _target(self, at: str, part: str, here: str, folder: str | None) -> str | None:
        return _shortcut(at, part, here, folder) if at.startswith("/proc") else _OF_DEV.get(here)


def without_shortcuts(path: str, folder: str) -> str:
    """*path* (absolute) of a process that runs in *folder*, without the links of /proc, as far as a text tells."""
    try:
        return _Texts().real(path, folder)
    except UnclearPathError:
        return path


def stamp_of(path: str) -> Stamp | None:
    """
    What `Links.stamp` notes of the file *path*.

    One that changed just now may change again without another time: what was seen of it is kept for nobody.
    """
    now = time.time_ns()
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    changed = found.st_ctime_ns
    if changed >= now - (_TICK if changed % _SECOND else _LONG_TICK):
        changed = -next(_unsettled)
    return found.st_mtime_ns, found.st_size, found.st_ino, changed


def _target_of(path: str) -> str | None:
    """
    What the link *path* points to, or None: it is none, or not there.

    One that is there and cannot be read may lead anywhere: it is taken for a link to itself, which nobody can follow.
    """
    try:
        # Most words of a command are no file, and an exception costs four times as much as this answer.
        return os.readlink(path) if os.access(path, os.F_OK, follow_symlinks=False) else None
    except OSError as error:
        return None if error.errno in _NO_LINK else path
    except ValueError:
        return None


def _shortcut(at: str, part: str, here: str, folder: str | None) -> str | None:
    """The same below /proc, which shows each process itself: not what it shows to whoever judges."""
    if at == "/proc":
        return _OF_PROC.get(part)
    if part not in _SHORTCUTS or not _A_PROCESS.match(at):
        return None
    own = _OWN_PROCESS.match(at) is not None
    if own and part == "root":
        return "/"
    if own and part == "cwd" and folder is not None:
        return folder
    if own and part in ("fd", "exe"):
        return None
    raise UnclearPathError(f"{here} is a shortcut to the files of a process")
