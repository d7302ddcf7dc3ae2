"""The folders of toolexec, and the user's own: where they are, and how they are made."""

from __future__ import annotations

import os
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import Literal

from executor.wholefiles import leave_to_owner

__all__ = ["home_folder", "lost_link", "make_private", "own_folder", "spelt_out"]


def own_folder(kind: Literal["config", "state", "data", "cache"]) -> Path:
    """Where toolexec keeps what is of this kind; below the root for who has no home, as boxes have it too."""
    import platformdirs  # with what it imports 10 ms, wanted once there is something to keep

    try:
        folder: Path = getattr(platformdirs, f"user_{kind}_path")("toolexec", appauthor=False)
    except RuntimeError:  # neither the environment nor the system knows a home
        return _without_home(kind)
    return _without_home(kind) if folder.parts[0] == "~" else folder  # older platformdirs leave that as it is


def home_folder() -> Path:
    """The user's home folder; the root for who has none, such as a container's user whom no system knows."""
    try:
        return Path.home()
    except RuntimeError:
        return Path("/")


def spelt_out(path: str | Path) -> Path:
    """*path* with the home folder in place of a ``~`` in front; as it stands where nobody knows whose home is meant."""
    return Path(os.path.expanduser(path))  # noqa: PTH111 -- that of Path raises a RuntimeError


def lost_link(path: Path) -> Path | None:
    """
    The link in the place of *path*, or of a folder on the way to it, that leads to nothing; None if there is none.

    What is behind it is not missing: a disk that is not there now, as a folder of settings may be on, has it.

    Raises:
        OSError: It cannot be looked for.
    """
    for each in (path, *path.parents):
        try:
            is_link = stat.S_ISLNK(each.lstat().st_mode)
        except (FileNotFoundError, NotADirectoryError):
            continue
        return each if is_link and not each.exists() else None
    return None


def make_private(folder: Path) -> None:
    """
    Make a folder and those above it that are missing, each with mode 0700, whatever the umask says.

    Raises:
        OSError: It cannot be made.
    """
    missing = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    for each in reversed(missing):
        try:
            each.mkdir(mode=0o700)
        except FileExistsError:  # somebody else was faster
            if not each.is_dir():
                raise
        else:
            each.chmod(0o700)
            if sys.platform != "win32":
                _leave_to_owner(each)


def _leave_to_owner(folder: Path) -> None:
    with suppress(OSError):  # somebody has put something else in its place
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            leave_to_owner(descriptor, folder.parent)
        finally:
            os.close(descriptor)


def _without_home(kind: str) -> Path:
    usually = {"config": ".config", "state": ".local/state", "data": ".local/share", "cache": ".cache"}
    return Path("/", usually[kind], "toolexec")
