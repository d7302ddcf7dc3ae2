"""
readFile: a range of lines, streamed, so that the front of a huge file costs what the front costs; an image or a PDF as
a whole.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from executor.errors import ToolFailedError
from executor_files._common import CHUNK, Options, binary_error, check_stop, decoded, number, open_file, shown
from executor_files._seen import HEAD, media_type, seen

if TYPE_CHECKING:
    import io
    from pathlib import Path

_BOM = b"\xef\xbb\xbf"


class _Range(NamedTuple):
    """
    The lines that were read.

    Attributes:
        data: Their bytes, line ends included.
        last: The number of the last one.
        more: Whether anything comes after `data`.
        cut: Whether the last one is only its beginning.
        full: Whether reading ended because of the limit on bytes.
    """

    data: bytes
    last: int
    more: bool
    cut: bool = False
    full: bool = False


def read_file(options: Options, arguments: dict[str, Any]) -> dict[str, Any]:
    """The tool readFile."""
    path = options.resolve(arguments["path"])
    first = number(arguments, "start_line", 1)
    last = arguments.get("end_line")
    if last is not None and last < first:
        raise ToolFailedError(f"end_line {last} is before start_line {first}: give a range of at least one line")
    limit = min(number(arguments, "max_bytes", options.max_read_bytes), options.max_read_bytes)
    with open_file(path) as (fd, status), open(fd, "rb", closefd=False) as file:
        size = status.st_size
        kind = media_type(file.peek(HEAD))
        if kind is not None:
            return seen(path, kind, size, file)
        skipped = _skip_lines(file, first - 1, path, size)
        if skipped < first - 1:
            raise ToolFailedError(f"{shown(path)} has only {skipped} lines: give a start_line up to {max(skipped, 1)}")
        offset = file.tell()
        found = _read_lines(file, first, last, limit)
        text = decoded(found.data, path, size, offset)
        if first > 1 and not (found.data or found.more):
            raise ToolFailedError(f"{shown(path)} has only {first - 1} lines: give a start_line up to {first - 1}")
    result: dict[str, Any] = {
        "path": shown(path),
        "content": text.removeprefix("\ufeff") if offset == 0 else text,
        "start_line": first,
        "end_line": found.last,
        "has_more": found.more,
        "size": size,
    }
    if offset == 0 and found.data.startswith(_BOM):
        result["byte_order_mark"] = True
    if not found.more:
        result["total_lines"] = found.last
    if found.full:
        result["note"] = _note(found, limit)
    return result


def _note(found: _Range, limit: int) -> str:
    if found.cut:
        return (
            f"Line {found.last} is longer than {limit} bytes and is cut there. Use searchFiles to find a place in it, "
            f"or go on with start_line={found.last + 1}"
        )
    return f"Ended after {limit} bytes or less: go on with start_line={found.last + 1}"


def _skip_lines(file: io.BufferedReader, count: int, path: Path, size: int) -> int:
    """Pass over *count* lines; returns how many there were, an unended last one included."""
    skipped = 0
    unended = False
    while skipped < count:
        check_stop()
        chunk = file.read(CHUNK)
        if not chunk:
            return skipped + unended
        *lines, rest = chunk.split(b"\n", count - skipped)
        skipped += len(lines)
        if skipped == count:  # what comes after is read again: it has not been passed over
            file.seek(-len(rest), os.SEEK_CUR)
            chunk = chunk[: len(chunk) - len(rest)]
        if b"\0" in chunk:
            raise binary_error(path, size, chunk)
        unended = not chunk.endswith(b"\n")
    return skipped


def _read_lines(file: io.BufferedReader, first: int, last: int | None, limit: int) -> _Range:
    lines: list[bytes] = []
    left = limit
    reached = first - 1
    while last is None or reached < last:
        line = file.readline(left + 1)
        if not line:
            return _Range(b"".join(lines), reached, more=False)
        if len(line) > left:
            if lines:
                return _Range(b"".join(lines), reached, more=True, full=True)
            return _Range(_whole_characters(line[:left]), first, more=True, cut=True, full=True)
        lines.append(line)
        left -= len(line)
        reached += 1
    return _Range(b"".join(lines), reached, more=file.read(1) != b"")


def _whole_characters(data: bytes) -> bytes:
    """*data* without a UTF-8 character at its end that was cut in two."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte >= 0xC0:  # the first byte of a character of 2, 3 or 4 bytes
            length = 2 + (byte >= 0xE0) + (byte >= 0xF0)
            return data[:-back] if length > back else data
        if byte < 0x80:
            break
    return data
