"""Which path in a file of git's own leads out of the working tree: git writes to, and reads, what its index names."""

from __future__ import annotations

import re
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# What git looks at when it makes an entry (``verify_path``), and not when it reads one. A folder may end in "/".
_LEADS_OUT = re.compile(rb"(?:^|/)(?:\.{1,2}|\.git)(?:/|$)|^/|//|\0", re.IGNORECASE)
_HEADER, _STATUS = struct.Struct(">4sII"), 40  # bytes of what the system says of a file
_WHOLE_NAMES, _SHARED_NAMES = (2, 3), 4  # versions
_EXTENDED, _LENGTH = 0x4000, 0x0FFF  # of the flags of an entry
_EXTENSION, _PAIR = struct.Struct(">4sI"), struct.Struct(">II")
_BLOCKS, _END = b"IEOT", b"EOIE"  # where entries, and extensions, begin: for who reads with several threads
_NOT_IN_ORDER = b"/"


def way_out_of_index(index: bytes, size: int) -> str | None:
    """
    The first path in *index*, the content of a file, that git itself puts into none; None if git cannot read it either.

    Args:
        index: As in gitformat-index(5).
        size: Bytes of a hash in it.
    """
    try:
        return _first([*_paths(index, size)])
    except (struct.error, IndexError, ValueError):
        return None


def way_out_of_resolutions(told: bytes) -> str | None:
    """Likewise in the content of a ``MERGE_RR``: solved conflicts that git has yet to keep."""
    return _first([entry.partition(b"\t")[2] for entry in told.split(b"\0")])


def _first(paths: Sequence[bytes]) -> str | None:
    return next((path.decode(errors="replace") for path in paths if _LEADS_OUT.search(path)), None)


def _paths(index: bytes, size: int) -> Iterator[bytes]:
    signature, version, count = _HEADER.unpack_from(index)
    if signature != b"DIRC" or version not in (*_WHOLE_NAMES, _SHARED_NAMES):
        raise ValueError(signature)
    at, path, starts = _HEADER.size, b"", list[int]()
    for _ in range(count):
        flags = at + _STATUS + size
        told = index[flags] << 8 | index[flags + 1]
        name = flags + (4 if told & _EXTENDED else 2)
        kept = 0
        if version == _SHARED_NAMES:
            dropped, name = _number(index, name)
            kept = len(path) - dropped
        length = told & _LENGTH
        if length == _LENGTH:
            length = kept + index.index(0, name) - name
        end = name + length - kept
        if kept < 0 or end < name:
            raise ValueError(length)
        starts.append(-1 if kept else at)
        path = path[:kept] + index[name:end]
        yield path if index[end] == 0 else _NOT_IN_ORDER
        at = end + 1 if version == _SHARED_NAMES else at + (end - at + 8) // 8 * 8
    if not _begin_there(index[: len(index) - size], at, starts, size):
        yield _NOT_IN_ORDER


def _number(index: bytes, at: int) -> tuple[int, int]:
    """A number of as many bytes as it needs, and where it ends."""
    value = index[at] & 0x7F
    while index[at] & 0x80:
        at += 1
        value = (value + 1) << 7 | index[at] & 0x7F
    return value, at + 1


def _begin_there(index: bytes, end: int, starts: Sequence[int], size: int) -> bool:
    """
    Whether extensions that say where something begins tell the truth: else several threads would read something else.

    Args:
        index: Without the hash at its end.
        end: Where the entries end.
        starts: Where each begins; less than nothing where it is read with the one before it.
        size: Bytes of a hash.
    """
    told = len(index) - _EXTENSION.size - 4 - size
    if index[told : told + 4] == _END and index[told + 8 : told + 12] != end.to_bytes(4, "big"):
        return False
    at = end
    while at + _EXTENSION.size <= len(index):
        name, length = _EXTENSION.unpack_from(index, at)
        at += _EXTENSION.size
        if name == _BLOCKS:
            entry = 0
            for start, entries in _PAIR.iter_unpack(index[at + 4 : at + length]):
                if not entries or entry >= len(starts) or starts[entry] != start:
                    return False
                entry += entries
            if entry != len(starts):
                return False
        at += length
    return True
