"""Whether a name of an object is that of a file or a folder: gitrepository-layout(5), gitformat-pack(5)."""

# ruff: noqa: PTH208 -- texts; and pathlib is slower
from __future__ import annotations

import os
import zlib
from itertools import chain, islice
from typing import TYPE_CHECKING

from executor.paths import regular_only
from executor_permissions.judge.git._head import folders_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

_INDEX = b"\xfftOc\0\0\0\2"
_FANOUT, _NAMES = 8, 1032  # where they are in an index of a pack
_NAME = 20  # bytes
_COMMIT, _DELTA = 1, 6  # types in a pack
_MOST_DELTAS = 100
_LONGEST_CONFIG = 1 << 20  # characters
_MOST_OBJECTS = 100  # with one beginning of their names
_HEADER = 32  # bytes of an object in a pack that are read: its type, its size, and where what it is based on is


def may_be_file(top: str, start: str) -> bool:
    """Whether the work tree *top* may have a file or a folder under a name with that *start*."""
    try:
        common = folders_of(top)[1]
        if _has_other_names(common):
            return True
        objects = f"{common}/objects"
        kinds = [*islice(chain(_loose(objects, start), _packed(objects, start)), _MOST_OBJECTS)]
        if not kinds:
            return _has_more(objects)
        return len(kinds) == _MOST_OBJECTS or not all(kinds)
    except (OSError, ValueError, zlib.error, IndexError):
        return True


def _has_other_names(common: str) -> bool:
    """Whether its objects have, or may have, names of another length (SHA-256): git takes that from this file alone."""
    with open(f"{common}/config", encoding="utf-8", errors="replace", opener=regular_only) as file:
        text = file.read(_LONGEST_CONFIG + 1)
    return len(text) > _LONGEST_CONFIG or "objectformat" in text.lower()


def _has_more(objects: str) -> bool:
    """Whether there are objects elsewhere: in another repository, or where it was cloned from in part."""
    packs = f"{objects}/pack"
    partial = os.access(packs, os.F_OK) and any(name.endswith(".promisor") for name in os.listdir(packs))
    return partial or os.access(f"{objects}/info/alternates", os.F_OK)


def _loose(objects: str, start: str) -> Iterator[bool]:
    folder = f"{objects}/{start[:2]}"
    for name in os.listdir(folder) if os.access(folder, os.F_OK) else ():
        if name.startswith(start[2:]):
            with open(f"{folder}/{name}", "rb", opener=regular_only) as file:
                yield zlib.decompressobj().decompress(file.read(_HEADER * 4), _HEADER).startswith(b"commit ")


def _packed(objects: str, start: str) -> Iterator[bool]:
    folder = f"{objects}/pack"
    for name in os.listdir(folder) if os.access(folder, os.F_OK) else ():
        if not name.endswith(".idx"):
            continue
        with open(f"{folder}/{name}", "rb", opener=regular_only) as index:
            places = list(islice(_places(index, start), _MOST_OBJECTS))
        if places:
            with open(f"{folder}/{name[:-4]}.pack", "rb", opener=regular_only) as pack:
                yield from (_is_commit_at(pack, place) for place in places)


def _places(index: BinaryIO, start: str) -> Iterator[int]:
    """Where in its pack the objects are whose names have that *start*."""
    if index.read(len(_INDEX)) != _INDEX:
        raise ValueError("an index of another form")
    first, count = int(start[:2], 16), _number(index, _FANOUT + 255 * 4)
    low = _number(index, _FANOUT + (first - 1) * 4) if first else 0
    high = last = _number(index, _FANOUT + first * 4)
    while low < high:
        middle = (low + high) // 2
        if _name(index, middle) < start:
            low = middle + 1
        else:
            high = middle
    while low < last and _name(index, low).startswith(start):
        place = _number(index, _NAMES + count * (_NAME + 4) + low * 4)
        if place >> 31:
            raise ValueError("a pack that is larger than is looked at")
        yield place
        low += 1


def _is_commit_at(pack: BinaryIO, place: int) -> bool:
    for _ in range(_MOST_DELTAS):
        pack.seek(place)
        data = pack.read(_HEADER)
        kind = data[0] >> 4 & 7
        if kind != _DELTA:
            return kind == _COMMIT
        size_ends = next(i for i in range(len(data)) if data[i] < 0x80) + 1
        place -= _offset(data, size_ends)
    return False


def _offset(data: bytes, at: int) -> int:
    """How far in front of an object that is which it is based on: a number of as many bytes as it needs."""
    value = data[at] & 0x7F
    while data[at] & 0x80:
        at += 1
        value = (value + 1) << 7 | (data[at] & 0x7F)
    return value


def _number(file: BinaryIO, at: int) -> int:
    file.seek(at)
    return int.from_bytes(file.read(4), "big")


def _name(index: BinaryIO, number: int) -> str:
    index.seek(_NAMES + number * _NAME)
    return index.read(_NAME).hex()
