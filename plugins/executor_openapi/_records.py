"""
A file of many JSON values, of which few are read: a head, an index, and records, each read when it is wanted.

The head and the index are a line of JSON each. The index says where each record is, how long, and what its checksum is.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import weakref
import zlib
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from executor.ownfolders import make_private

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Table = Mapping[str, tuple[Sequence[int], Sequence[int]]]  # sizes and checksums, by kind


class SpoiltError(ValueError):
    """A record is not what was written."""


class Records:
    """
    JSON values by kind and number, read from any thread.

    Args:
        table: Of each kind the sizes and checksums, in the order of the records.
        read: Gives so many bytes (the second argument) from this place on.
        spoilt: Called when a record is not what was written.
    """

    def __init__(self, table: Table, read: Callable[[int, int], bytes], spoilt: Callable[[], None]) -> None:
        self._read = read
        self._spoilt = spoilt
        self._places: dict[str, list[tuple[int, int, int]]] = {}
        begin = 0
        for kind, (sizes, checksums) in table.items():
            self._places[kind] = list(zip(accumulate(sizes, initial=begin), sizes, checksums, strict=False))
            begin += sum(sizes)

    def count(self, kind: str) -> int:
        """How many there are of a kind."""
        return len(self._places[kind])

    def get(self, kind: str, number: int) -> Any:
        """Raises SpoiltError."""
        begin, size, checksum = self._places[kind][number]
        try:
            found = self._read(begin, size)
        except OSError:
            found = b""
        if len(found) != size or zlib.crc32(found) != checksum:
            self._spoilt()
            raise SpoiltError("it was changed since, or the disk is damaged")
        return json.loads(found)


def packed(kinds: Mapping[str, Sequence[Any]]) -> tuple[Table, bytes]:
    """The records of values, and their table."""
    lines = {kind: [_line(value) for value in values] for kind, values in kinds.items()}
    table = {
        kind: ([len(line) for line in found], [zlib.crc32(line) for line in found]) for kind, found in lines.items()
    }
    return table, b"".join(line for found in lines.values() for line in found)


def in_memory(table: Table, records: bytes) -> Records:
    """The records that `packed` made."""
    return Records(table, lambda begin, size: records[begin : begin + size], _nothing)


def write(path: Path, head: Mapping[str, Any], index: Mapping[str, Any], table: Table, records: bytes) -> None:
    """Write such a file, as a whole or not at all, for its owner alone. Raises OSError."""
    line = _line([index, table])
    make_private(path.parent)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.writelines([_line([head, zlib.crc32(line)]), line, records])
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def read(path: Path) -> tuple[Any, Any, Records]:
    """
    The head, the index and the records of such a file. What was opened stays what it is, also when another process puts
    a newer one in its place.

    Raises:
        OSError: It cannot be read.
        ValueError, TypeError: It is none, or is damaged.
    """
    with path.open("rb") as file:
        (head, checksum), line = json.loads(file.readline()), file.readline()
        if checksum != zlib.crc32(line):
            raise SpoiltError("its index was changed since, or the disk is damaged")
        index, table = json.loads(line)
        source = _reader(file)
        return head, index, Records(table, source, partial(_remove, path))


def _reader(file: BinaryIO) -> Callable[[int, int], bytes]:
    """Reads from where *file* stands now, also after it was closed."""
    begin = file.tell()
    if not hasattr(os, "pread"):
        records = file.read()
        return lambda at, size: records[at : at + size]
    return _Descriptor(os.dup(file.fileno()), begin).read


class _Descriptor:
    """An open file, which is closed when nobody has this any more."""

    def __init__(self, descriptor: int, begin: int) -> None:
        self._descriptor = descriptor
        self._begin = begin
        weakref.finalize(self, os.close, descriptor)

    def read(self, at: int, size: int) -> bytes:
        """Raises OSError."""
        return os.pread(self._descriptor, size, self._begin + at)


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)


def _nothing() -> None:
    pass


def _line(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), default=str).encode() + b"\n"
