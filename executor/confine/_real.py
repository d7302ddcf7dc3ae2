"""Paths without links, of hundreds of places in a few folders."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from executor.errors import ConfinementError

if TYPE_CHECKING:
    from collections.abc import Callable

    from executor.values._profile import Profile


def check_project(profile: Profile, real: Callable[[str], str]) -> None:
    """
    Raise ConfinementError if the project, which a box may write, is behind a link.

    It was not when it was named; a command in another project, around this one, may have put a link there, and what
    that leads to would be open.

    Args:
        real: Gives a path without links.
    """
    if profile.name == "read" or (leads := real(profile.project)) == (profile.project.rstrip("/") or "/"):
        return
    raise ConfinementError(
        f"The box {profile.name!r} may write all of the project, and {profile.project} leads to {leads} by a link, "
        "which a command may have put there: name that folder itself, if it is the one that is meant"
    )


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
