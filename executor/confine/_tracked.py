"""Whether git has files of a folder in its index: hidden as if it were empty, they would be removed by a commit."""

from __future__ import annotations

import mmap
import os

_SHARED_NAMES = b"\0\0\0\4"  # the version of an index in which a name may be written without its beginning


def is_tracked(folder: str) -> bool:
    """Whether the repository that *folder*, an absolute path without links, is in may track a file below it."""
    name = ""
    around = folder
    while around != "/":
        around, _, last = around.rpartition("/")
        around, name = around or "/", f"{last}/{name}"
        git = os.path.join(around, ".git")
        if os.path.lexists(git):
            return _is_in_index(git, os.fsencode(name))
    return False


def _is_in_index(git: str, name: bytes) -> bool:
    if not os.path.isdir(git):
        return True  # it says where the repository is: of a linked working tree, or a submodule
    try:
        with (
            open(os.path.join(git, "index"), "rb", buffering=0) as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as index,
        ):
            return index[4:8] == _SHARED_NAMES or index.find(name) >= 0
    except FileNotFoundError:
        return False
    except (OSError, ValueError):  # it cannot be read, or is empty
        return True
