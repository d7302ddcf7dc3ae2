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
        return _in(self(above or "/"), name)

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
            entry = _in(found, way.rpartition("/")[2])
            found = self._known[way] = os.path.realpath(entry) if os.path.islink(entry) else entry
        return found


def _in(folder: str, name: str) -> str:
    return f"/{name}" if folder == "/" else f"{folder}/{name}"
