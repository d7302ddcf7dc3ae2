"""What git tracks, from the index of a work tree: gitformat-index(5)."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from executor.paths import regular_only
from executor_permissions.judge.git._head import own_folder
from executor_permissions.judge.paths._links import stamp_of

if TYPE_CHECKING:
    from executor_permissions.judge.paths._links import Stamp

# ruff: noqa: PTH116 -- texts; and pathlib is slower

_LARGEST = 32 << 20  # bytes of an index that is read; a repository with 200,000 files has about as much
_MODE, _FLAGS = 24, 60  # where they are in an entry with SHA-1
_EXTENDED, _LENGTH = 0x4000, 0x0FFF  # of the flags
_PACKED = 4  # the version in which names are told by what they share with the one before
_INCOMPLETE = frozenset({b"link", b"sdir"})  # extensions: further names are in another file, or stand for whole folders


class Index(NamedTuple):
    """What an index says: each entry's mode and name, in their order, and which extensions it has."""

    entries: tuple[tuple[int, str], ...]
    extensions: frozenset[bytes]


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
def index_at(path: str, stamp: Stamp) -> Index | None:
    """The index that is *path* at that time; None if it is too large, or of a form that is not read here."""
    if stamp[1] > _LARGEST:
        return None
    try:
        with open(path, "rb", opener=regular_only) as file:
            return read_index(file.read(_LARGEST))
    except OSError:
        return None


def names_of(index: Index | None) -> tuple[str, ...] | None:
    """The names in *index*; None unless all are there."""
    if index is None or not _INCOMPLETE.isdisjoint(index.extensions):
        return None
    return tuple(sorted(name for _, name in index.entries))


def read_index(data: bytes) -> Index | None:
    """What the content of an index says; None if it is damaged, or not of version 2 to 4 with SHA-1."""
    version = int.from_bytes(data[4:8], "big")
    if data[:4] != b"DIRC" or version not in (2, 3, _PACKED):
        return None
    entries, at, name = [], 12, b""
    try:
        for _ in range(int.from_bytes(data[8:12], "big")):
            flags = data[at + _FLAGS] << 8 | data[at + _FLAGS + 1]
            start = at + _FLAGS + (4 if flags & _EXTENDED else 2)
            cut = len(name)
            if version == _PACKED:  # the end of the name before is cut off, and this one's added
                cut, start = packed_number(data, start)
            end = data.index(0, start)
            name = name[: len(name) - cut] + data[start:end]
            if flags & _LENGTH != min(len(name), _LENGTH):
                return None
            entries.append((int.from_bytes(data[at + _MODE : at + _MODE + 4], "big"), os.fsdecode(name)))
            at = end + 1 if version == _PACKED else at + (end - at + 8) // 8 * 8
    except (IndexError, ValueError):
        return None
    extensions = set()
    while at + 8 < len(data) - 20:
        extensions.add(data[at : at + 4])
        at += 8 + int.from_bytes(data[at + 4 : at + 8], "big")
    return Index(tuple(entries), frozenset(extensions))


def packed_number(data: bytes, at: int) -> tuple[int, int]:
    """A number as git packs it, and where it ends."""
    value = data[at] & 0x7F
    while data[at] & 0x80:
        at += 1
        value = (value + 1) << 7 | (data[at] & 0x7F)
    return value, at + 1
