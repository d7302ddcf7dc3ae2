"""Folders and links as they are found: what a box is made from is looked up by the hundred, mostly in a few folders."""

from __future__ import annotations

import contextlib
import os
from typing import NamedTuple


class Stamp(NamedTuple):
    """A folder as it was when it was listed."""

    path: str
    inode: int
    changed: int

    def holds(self) -> bool:
        """Whether nothing was added to it or taken from it since."""
        return _stamp(self.path) == self


def _stamp(path: str) -> Stamp | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return Stamp(path, found.st_ino, found.st_mtime_ns)


class Disk:
    """Folders as they are found, each looked at once."""

    def __init__(self) -> None:
        self._listed: dict[str, tuple[Stamp | None, dict[str, os.DirEntry[str]]]] = {}
        self._real = {"/": "/"}

    def listed(self, folder: str) -> tuple[Stamp | None, dict[str, os.DirEntry[str]]]:
        """*folder* and what is in it, by name; nothing where it cannot be listed."""
        found = self._listed.get(folder)
        if found is None:
            stamp, entries = _stamp(folder), {}
            with contextlib.suppress(OSError), os.scandir(folder) as listing:
                entries = {entry.name: entry for entry in listing}
            found = self._listed[folder] = stamp, entries
        return found

    def has(self, path: str) -> bool:
        """Whether something, if only a link, is there."""
        folder, name = os.path.split(path)
        if name in ("", ".", ".."):
            return os.path.lexists(path)
        stamp, entries = self.listed(self.real(folder))
        return name in entries or (not entries and stamp is not None and os.path.lexists(path))

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
