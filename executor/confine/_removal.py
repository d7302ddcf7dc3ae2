"""Removing what commands left: folders without rights, deeper than a path goes, and perhaps still at work there."""

from __future__ import annotations

import contextlib
import os


def remove(path: str) -> None:
    """Remove what a command left, folders without any rights included; what cannot be is left."""
    with contextlib.suppress(OSError):
        if _removed(path):
            return
        folder = opened(path)
        try:
            _clear(folder)
        finally:
            os.close(folder)
        os.rmdir(path)


def _clear(top: int) -> None:
    """
    Empty a folder, however deep it is: what is in its folders is moved up into it.

    Follows no link: who made them may still be at work.
    """
    waiting = os.listdir(top)
    for number, name in enumerate(waiting):  # grows
        with contextlib.suppress(OSError):
            if _removed(name, top):
                continue
            folder = opened(name, top)
            try:
                for inner in os.listdir(folder):
                    if not _removed(inner, folder):
                        moved = f".{number}.{len(waiting)}"
                        os.close(opened(inner, folder))  # whoever moves a folder must be able to write it
                        os.rename(inner, moved, src_dir_fd=folder, dst_dir_fd=top)
                        waiting.append(moved)
            finally:
                os.close(folder)
            os.rmdir(name, dir_fd=top)


def _removed(name: str, folder: int | None = None) -> bool:
    """Whether it could be removed: a folder if it was empty."""
    for remove in (os.unlink, os.rmdir):
        with contextlib.suppress(OSError):
            remove(name, dir_fd=folder)
            return True
    return False


def opened(name: str, folder: int | None = None) -> int:
    """A folder, to which all rights are taken back. Raises OSError."""
    found = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
    try:
        os.chmod(f"/proc/self/fd/{found}", 0o700)
        return os.open(f"/proc/self/fd/{found}", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    finally:
        os.close(found)
