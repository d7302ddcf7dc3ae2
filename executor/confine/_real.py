"""Paths without links, of hundreds of places in a few folders."""

from __future__ import annotations

import os


class Real:
    """
    As ``os.path.realpath``; each folder on the way is looked at once, so what comes later may be seen as it was then.
    """

    def __init__(self) -> None:
        self._known = {"/": "/"}

    def __call__(self, path: str) -> str:
        """*path* without links; it need not be there."""
        path = path.rstrip("/") or "/"
        found = self._known.get(path)
        return self._looked_up(path) if found is None else found

    def entry(self, path: str) -> str:
        """*path* with no links on the way to it: itself, also where it is one."""
        above, _, name = path.rstrip("/").rpartition("/")
        return in_folder(self(above or "/"), name)

    def _looked_up(self, path: str) -> str:
        ways, folder = list[str](), path
        while folder not in self._known:
            above, _, name = folder.rpartition("/")
            if name in ("", ".", "..") or not folder.startswith("/"):
                return os.path.realpath(path)
            ways.append(folder)
            folder = above or "/"
        found = self._known[folder]
        for way in reversed(ways):
            entry = in_folder(found, way.rpartition("/")[2])
            found = self._known[way] = os.path.realpath(entry) if os.path.islink(entry) else entry
        return found


def in_folder(folder: str, name: str) -> str:
    """The path of *name* in *folder*, which may be the root."""
    return f"/{name}" if folder == "/" else f"{folder}/{name}"
