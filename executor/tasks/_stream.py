"""Reading a stream of text of which parts are kept: the one place that knows about gaps and cut characters."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Part(NamedTuple):
    """
    A piece of the stream that is kept.

    Attributes:
        start: The offset of its first byte in the stream.
        end: The offset after its last one.
        read: Gives its bytes between two offsets of the stream; fewer, when they have gone meanwhile.
    """

    start: int
    end: int
    read: Callable[[int, int], bytes]


def check(offset: int, limit: int | None) -> None:
    """Raises ValueError for an offset or limit that is negative or no integer."""
    for name, number in (("offset", offset), ("limit", limit)):
        if number is not None and (type(number) is not int or number < 0):
            raise ValueError(f"{name} is {number!r}, not a whole number from 0 on")


def visible(parts: Sequence[Part], total: int, ring: int) -> list[Part]:
    """
    Of *parts* (the front and what follows it) what may be read: the front, and the newest *ring* bytes of the rest.

    What follows is cut at a byte; the rest of a character that lost its beginning is left out.
    """
    if not parts:
        return []
    front, seen = parts[0], [parts[0]]
    oldest = max(front.end, total - ring)
    for part in parts[1:]:
        if part.end > oldest:
            start = max(part.start, oldest)
            seen.append(Part(start + _cut(part, start) if start > seen[-1].end else start, part.end, part.read))
    return seen


def _cut(part: Part, start: int) -> int:
    """How many bytes at *start* belong to a character that began before it."""
    head = part.read(start, min(start + 3, part.end))
    return next((at for at, byte in enumerate(head) if not _continues(byte)), len(head))


def read(parts: Sequence[Part], total: int, offset: int, limit: int | None, *, complete: bool) -> tuple[str, int, int]:
    """
    Text from byte *offset* of the stream on.

    Args:
        parts: What can be read, in order, without overlap.
        total: The length of the stream.
        limit: At most so many bytes; a character is never cut.
        complete: Whether nothing more will be written; until then a character cut at the end is held back.

    Returns:
        The text, the offset to go on from, and how many bytes between the two offsets are gone.
    """
    begin = position = _character_start(parts, min(offset, total))
    pieces: list[bytes] = []
    size = 0
    for part in parts:
        if part.end <= position:
            continue
        if limit is not None and size >= limit:
            break
        at = max(part.start, position)
        if at > position:
            pieces = [_whole(b"".join(pieces))]  # the rest of its last character is missing
        wanted = part.end if limit is None else min(part.end, at + limit - size)
        piece = part.read(at, wanted)
        pieces.append(piece)
        size += len(piece)
        position = at + len(piece)
        if len(piece) < wanted - at:
            break  # it has gone while it was read: the next call finds it missing
    else:
        if position < total and (limit is None or size < limit):  # what could never be written, or has no room
            pieces, position = [_whole(b"".join(pieces))], total
    data = b"".join(pieces)
    last = _whole(data) if position < total or not complete else data
    position -= len(data) - len(last)
    return last.decode("utf-8", "replace"), position, max(0, position - begin - len(last))


def _character_start(parts: Sequence[Part], offset: int) -> int:
    """*offset*, or where the character begins in whose middle it is."""
    for part in parts:
        if part.start < offset < part.end:
            low = max(part.start, offset - 3)
            around = part.read(low, offset + 1)
            while offset > low and offset - low < len(around) and _continues(around[offset - low]):
                offset -= 1
            break
    return offset


def _continues(byte: int) -> bool:
    return byte & 0xC0 == 0x80


def _whole(data: bytes) -> bytes:
    """*data* without a character that was cut at its end."""
    return data[: whole(data, len(data))]


def whole(data: bytes, end: int) -> int:
    """The last place at or before *end* where *data* can be cut without cutting a character."""
    for back in range(1, min(4, end) + 1):
        byte = data[end - back]
        if not _continues(byte):
            needed = 4 if byte >= 0xF0 else 3 if byte >= 0xE0 else 2 if byte >= 0xC0 else 1
            return end - back if needed > back else end
    return end
