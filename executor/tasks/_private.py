"""Folders for this user only, and files that somebody may take away."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


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


def identity(path: Path) -> tuple[int, int] | None:
    """Which file is there: its device and number; None when there is none."""
    try:
        found = os.stat(path)  # noqa: PTH116 -- a third of the time, and before every look
    except OSError:
        return None
    return found.st_dev, found.st_ino
