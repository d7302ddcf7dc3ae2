"""The names of the files that git tracks, from the index of a work tree: gitformat-index(5)."""

from __future__ import annotations

import os
from functools import lru_cache

from executor.paths import regular_only

# ruff: noqa: PTH113, PTH116, PTH118 -- texts; and pathlib is slower

_LARGEST = 32 << 20  # bytes of an index that is read; a repository with 200,000 files has about as much
_TO_NAME = 62  # bytes of an entry before its name, where object names are SHA-1
_TO_FLAGS = 60
_EXTENDED, _LENGTH = 0x4000, 0x0FFF  # of the flags
_INCOMPLETE = (b"link", b"sdir")  # extensions: further names are in another file, or stand for whole folders


def tracked(top: str) -> tuple[str, ...] | None:
    """
    What git tracks in the work tree *top*, sorted.

    Returns:
        None if that cannot be told: the index is too large, or of a form that is not read here.
    """
    folder = f"{top}/.git"
    try:
        if os.path.isfile(folder):
            with open(folder, encoding="utf-8", opener=regular_only) as file:
                folder = os.path.join(top, file.read(4096).removeprefix("gitdir:").strip())
        now = os.stat(f"{folder}/index")
    except FileNotFoundError:
        return ()
    except (OSError, ValueError):
        return None
    return _read(f"{folder}/index", (now.st_mtime_ns, now.st_ctime_ns, now.st_ino), now.st_size)


@lru_cache(maxsize=8)
def _read(path: str, _stamp: tuple[int, int, int], size: int) -> tuple[str, ...] | None:
    """The names in the index that is *path* at that time."""
    if size > _LARGEST:
        return None
    try:
        with open(path, "rb", opener=regular_only) as file:
            return names_in(file.read(size))
    except OSError:
        return None


def names_in(data: bytes) -> tuple[str, ...] | None:
    """The names in the index *data*; None if it is not of version 2 or 3, with all names and SHA-1."""
    if data[:4] != b"DIRC" or data[4:8] not in (b"\0\0\0\2", b"\0\0\0\3"):
        return None
    names, at = [], 12
    for _ in range(int.from_bytes(data[8:12], "big")):
        if at + _TO_NAME > len(data):
            return None
        flags = data[at + _TO_FLAGS] << 8 | data[at + _TO_FLAGS + 1]
        start = at + _TO_NAME + (2 if flags & _EXTENDED else 0)
        end = data.find(b"\0", start)
        if end < 0 or flags & _LENGTH != min(end - start, _LENGTH):
            return None
        names.append(data[start:end].decode("utf-8", "surrogateescape"))
        at += (end - at + 8) // 8 * 8
    while at + 8 < len(data) - 20:
        if data[at : at + 4] in _INCOMPLETE:
            return None
        at += 8 + int.from_bytes(data[at + 4 : at + 8], "big")
    return tuple(sorted(names))
