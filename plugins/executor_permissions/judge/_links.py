"""Where paths really lead: links are followed, and the shortcuts of /proc; each is looked at once."""

from __future__ import annotations

import os
import re
from pathlib import Path

from executor_permissions.judge._paths import Place, UnclearPathError

# ruff: noqa: PTH115 -- pathlib is ten times slower, and every word of every command comes by here

_MAX_LINKS = 40  # as in Linux: path_resolution(7)
LONGEST_PATH = 4096  # PATH_MAX: the system opens nothing longer
_OWN_PROCESS = re.compile(r"/proc/(?:self|thread-self)(?:/task/[^/]+)?\Z")
_A_PROCESS = re.compile(r"/proc/[^/]+(?:/task/[^/]+)?\Z")
_SHORTCUTS = frozenset({"cwd", "root", "fd", "map_files", "exe"})
_NOT_LOOKED_AT = ""  # no link has an empty target


class Links:
    """
    Resolves paths for one decision.

    Args:
        folders: Resolved folders that most paths begin with.
    """

    __slots__ = ("_folders", "_targets")

    def __init__(self, *folders: str) -> None:
        self._folders = folders
        self._targets: dict[str, str | None] = {}

    def place(self, path: str, folder: str | None = None) -> Place:
        """
        Where *path* (absolute, maybe with ``..`` and links) leads for a process that runs in *folder*.

        Raises:
            UnclearPathError: Links in a circle, or a shortcut into a process that is not known.
        """
        if path in self._folders:
            return Place(path, path, path)
        written = os.path.normpath(path)
        above, _, name = path.rpartition("/")
        if name in ("", ".", ".."):
            real = self.real(path, folder)
            return Place(real, real, written)
        parent = self.real(above, folder)
        entry = f"{'' if parent == '/' else parent}/{name}"
        return Place(self._follow(parent, name, folder), entry, written)

    def is_link(self, folder: str, name: str) -> bool:
        """Whether the entry *name* of the resolved *folder* is a link."""
        return self._target(folder, name, f"{folder.rstrip('/')}/{name}", None) is not None

    def resolve(self, path: str, *, entry: bool = False) -> Path:
        """As ``CurrentCall.resolve_path``, for an absolute path."""
        place = self.place(path)
        return Path(place.entry if entry else place.real)

    def real(self, path: str, folder: str | None = None) -> str:
        """`place`, of which only the end is wanted."""
        if path in self._folders:
            return path
        for known in self._folders:
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
            if part in ("", "."):
                continue
            if part == "..":
                at = at.rpartition("/")[0]
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
            return _shortcut(at, part, here, folder)
        target = self._targets.get(here, _NOT_LOOKED_AT)
        if target == _NOT_LOOKED_AT:
            try:
                target = os.readlink(here)
            except (OSError, ValueError):
                target = None
            self._targets[here] = target
        return target


def _shortcut(at: str, part: str, here: str, folder: str | None) -> str | None:
    """The same below /proc, which shows each process itself: not what it shows to whoever judges."""
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
