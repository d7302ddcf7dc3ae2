"""Whether git has files of a folder in its index: hidden as if it were empty, they would be removed by a commit."""

from __future__ import annotations

import os

from executor._regular import regular_only

_SHARED_NAMES = b"\0\0\0\4"  # the version of an index in which a name may be written without its beginning
_LONGEST = 1 << 25  # bytes of an index that is looked through, of some 300,000 files: a command may have made it longer


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
        with open(os.path.join(git, "index"), "rb", opener=regular_only) as file:
            index = file.read(_LONGEST + 1)  # not mapped: a command that cuts it short would end whoever looks at it
    except FileNotFoundError:
        return False
    except OSError:
        return True
    if not index or len(index) > _LONGEST:
        return True
    return index[4:8] == _SHARED_NAMES or name in index
