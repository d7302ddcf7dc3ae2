"""
What the index of a repository names, and what of that leads out of the working tree.

git writes to, and reads, what its index names: one with ``../x`` in it would have ``git checkout`` write there.
"""

from __future__ import annotations

import re
import struct
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# What git looks at when it makes an entry (``verify_path``), and not when it reads one. A folder may end in "/".
_LEADS_OUT = re.compile(rb"(?:^|/)(?:\.{1,2}|\.git)(?:/|$)|^/|//|\0", re.IGNORECASE)
_HEADER = struct.Struct(">4sII")
_WHOLE_NAMES, _SHARED_NAMES = (2, 3), 4  # versions
_EXTENDED, _LENGTH = 0x4000, 0x0FFF  # of the flags of an entry
_EXTENSION, _PAIR = struct.Struct(">4sI"), struct.Struct(">II")
_BLOCKS, _END = b"IEOT", b"EOIE"  # where entries, and extensions, begin: for who reads with several threads


class GitIndex(NamedTuple):
    """
    What an index of git says.

    Attributes:
        entries: The mode and the path of each of its entries, in their order.
        extensions: The names of what stands behind these.
        is_sound: Whether every reader finds the same in it: paths end where their entry says, and what tells where
            entries begin, for several threads, is true.
    """

    entries: tuple[tuple[int, bytes], ...]
    extensions: frozenset[bytes]
    is_sound: bool


def read_index(index: bytes, size: int = 20) -> GitIndex | None:
    """
    What *index*, the content of a file as in gitformat-index(5), says; None if git cannot read it either.

    Args:
        size: Bytes of a hash in it.
    """
    try:
        return _read(index, size)
    except (struct.error, IndexError, ValueError):
        return None


def way_out_of_index(index: bytes, size: int) -> str | None:
    """The first path in *index* that git itself puts into none: ``/`` where readers differ. None if there is none."""
    found = read_index(index, size)
    if found is None:
        return None
    return _first([path for _, path in found.entries]) or (None if found.is_sound else "/")


def way_out_of_resolutions(told: bytes) -> str | None:
    """Likewise in the content of a ``MERGE_RR``: solved conflicts that git has yet to keep."""
    return _first([entry.partition(b"\t")[2] for entry in told.split(b"\0")])


def _first(paths: Sequence[bytes]) -> str | None:
    return next((path.decode(errors="replace") for path in paths if _LEADS_OUT.search(path)), None)


def _read(index: bytes, size: int) -> GitIndex:
    signature, version, count = _HEADER.unpack_from(index)
    if signature != b"DIRC" or version not in (*_WHOLE_NAMES, _SHARED_NAMES):
        raise ValueError(signature)
    at, path, sound = _HEADER.size, b"", True
    entries, starts = list[tuple[int, bytes]](), list[int]()
    entry = struct.Struct(f">24xI{12 + size}xH")  # its mode and its flags, among what the system says of the file
    for _ in range(count):
        mode, told = entry.unpack_from(index, at)
        name = at + entry.size + (2 if told & _EXTENDED else 0)
        kept = 0
        if version == _SHARED_NAMES:
            dropped, name = _number(index, name)
            kept = len(path) - dropped
        length = told & _LENGTH
        if length == _LENGTH:
            length = kept + index.index(0, name) - name
            sound = sound and length >= _LENGTH
        end = name + length - kept
        if kept < 0 or end < name:
            raise ValueError(length)
        path = path[:kept] + index[name:end]
        sound = index[end] == 0 and 0 not in path and sound
        entries.append((mode, path))
        starts.append(-1 if kept else at)
        at = end + 1 if version == _SHARED_NAMES else at + (end - at + 8) // 8 * 8
    index = index[: len(index) - size]
    extensions = [*_extensions(index, at)]
    told_truly = _end_there(index, at, size) and _begin_there(extensions, starts)
    return GitIndex(tuple(entries), frozenset(name for name, _ in extensions), sound and told_truly)


def _extensions(index: bytes, at: int) -> Iterator[tuple[bytes, bytes]]:
    """The name and the content of each."""
    while at + _EXTENSION.size <= len(index):
        name, length = _EXTENSION.unpack_from(index, at)
        at += _EXTENSION.size
        yield name, index[at : at + length]
        at += length


def _number(index: bytes, at: int) -> tuple[int, int]:
    """A number of as many bytes as it needs, and where it ends."""
    value = index[at] & 0x7F
    while index[at] & 0x80:
        at += 1
        value = (value + 1) << 7 | index[at] & 0x7F
    return value, at + 1


def _end_there(index: bytes, end: int, size: int) -> bool:
    """Whether *index*, without the hash at its end, says nothing else than that its entries end there."""
    told = len(index) - _EXTENSION.size - 4 - size
    return index[told : told + 4] != _END or index[told + 8 : told + 12] == end.to_bytes(4, "big")


def _begin_there(extensions: Sequence[tuple[bytes, bytes]], starts: Sequence[int]) -> bool:
    """Whether the blocks of entries begin at *starts*, where less than nothing is that of what needs the one before."""
    for content in (content for name, content in extensions if name == _BLOCKS):
        entry = 0
        for start, entries in _PAIR.iter_unpack(content[4:]):
            if not entries or entry >= len(starts) or starts[entry] != start:
                return False
            entry += entries
        if entry != len(starts):
            return False
    return True
