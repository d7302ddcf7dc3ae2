"""What git tracks, from the index of a work tree: gitformat-index(5)."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import TYPE_CHECKING

from executor.confine import read_index
from executor.paths import regular_only
from executor_permissions.judge.git._head import own_folder
from executor_permissions.judge.paths._links import stamp_of

if TYPE_CHECKING:
    from executor.confine import GitIndex
    from executor_permissions.judge.paths._links import Stamp

# ruff: noqa: PTH116 -- texts; and pathlib is slower

_LARGEST = 32 << 20  # bytes of an index that is read; a repository with 200,000 files has about as much
_INCOMPLETE = frozenset({b"link", b"sdir"})  # extensions: further names are in another file, or stand for whole folders


def tracked(top: str) -> tuple[str, ...] | None:
    """
    What git tracks in the work tree *top*, sorted.

    Returns:
        None if that cannot be told: the index is too large, or of a form that is not read here.
    """
    try:
        path = f"{own_folder(top)}/index"
        os.stat(path)
    except FileNotFoundError:
        return ()
    except (OSError, ValueError):
        return None
    stamp = stamp_of(path)
    return None if stamp is None else names_of(index_at(path, stamp))


@lru_cache(maxsize=8)
def index_at(path: str, stamp: Stamp) -> GitIndex | None:
    """The index that is *path* at that time; None if it is too large, or readers may differ about it."""
    if stamp[1] > _LARGEST:
        return None
    try:
        with open(path, "rb", opener=regular_only) as file:
            found = read_index(file.read(_LARGEST))
    except OSError:
        return None
    return found if found is not None and found.is_sound else None


def names_of(index: GitIndex | None) -> tuple[str, ...] | None:
    """The names in *index*; None unless all are there."""
    if index is None or not _INCOMPLETE.isdisjoint(index.extensions):
        return None
    return tuple(sorted(os.fsdecode(path) for _, path in index.entries))
