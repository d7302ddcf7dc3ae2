"""The output of one task, addressed by absolute byte offsets of the whole stream."""

from __future__ import annotations

import threading
from collections import deque

CAP = 16 * 1024 * 1024
_FOLD = 64 * 1024  # characters kept as they came before they are encoded: a chunk then costs a list entry


class MemorySpool:
    """
    Keeps output in memory. Past *cap* bytes the front half stays, and the newest output goes round in the other half.

    `_lock` guards everything; it is held while chunks are encoded, and never while another lock is taken.
    """

    def __init__(self, cap: int = CAP) -> None:
        self._lock = threading.Lock()
        self._pending: list[str] = []
        self._pending_size = 0
        self._front = bytearray()
        self._front_cap = cap // 2
        self._front_full = False
        self._ring: deque[bytes] = deque()
        self._ring_cap = cap - self._front_cap
        self._ring_size = 0
        self._total = 0

    def append(self, text: str) -> None:
        """Add output."""
        with self._lock:
            self._pending.append(text)
            self._pending_size += len(text)
            if self._pending_size > _FOLD:
                self._fold()

    @property
    def size(self) -> int:
        """How many bytes were added, kept or not."""
        with self._lock:
            self._fold()
            return self._total

    def read(self, offset: int, limit: int | None = None) -> tuple[str, int, int]:
        """
        What was written from byte *offset* on.

        Args:
            limit: At most so many bytes; a character is never cut.

        Returns:
            The text, the offset to go on from, and how many bytes between the two offsets are gone.
        """
        with self._lock:
            self._fold()
            total = self._total
            front, tail = bytes(self._front), b"".join(self._ring)
        tail_start = total - len(tail)
        skip = 0  # the ring was cut at a byte, not at a character
        while tail_start > len(front) and skip < len(tail) and tail[skip] & 0xC0 == 0x80:
            skip += 1
        tail, tail_start = tail[skip:], tail_start + skip
        offset = min(offset, total)
        while offset < len(front) and offset and front[offset] & 0xC0 == 0x80:
            offset -= 1  # asked for from the middle of a character: give the whole of it
        taken = front[offset : len(front) if limit is None else offset + limit]
        position = offset + len(taken)
        if position < len(front) or (limit is not None and len(taken) >= limit):
            taken = _whole(taken)
            return taken.decode(), offset + len(taken), 0
        dropped = max(0, tail_start - max(position, len(front)))
        start = max(position, tail_start)
        rest = tail[start - tail_start : None if limit is None else start - tail_start + limit - len(taken)]
        rest = _whole(rest) if start + len(rest) < total else rest
        return (taken + rest).decode("utf-8", "replace"), start + len(rest), dropped

    def _fold(self) -> None:
        """Encode what is pending, fill the front, and let the rest go round."""
        if not self._pending:
            return
        data = "".join(self._pending).encode("utf-8", "replace")
        self._pending.clear()
        self._pending_size = 0
        self._total += len(data)
        if not self._front_full:
            room = self._front_cap - len(self._front)
            if len(data) <= room:
                self._front += data
                return
            while room and data[room] & 0xC0 == 0x80:
                room -= 1
            self._front += data[:room]
            self._front_full = True
            data = data[room:]
        self._ring.append(data)
        self._ring_size += len(data)
        while self._ring_size > self._ring_cap:
            excess = self._ring_size - self._ring_cap
            oldest = self._ring.popleft()
            if len(oldest) > excess:
                self._ring.appendleft(oldest[excess:])
            self._ring_size -= min(len(oldest), excess)


def _whole(data: bytes) -> bytes:
    """*data* without a character that was cut at its end."""
    end = len(data)
    for back in range(1, min(4, end) + 1):
        byte = data[-back]
        if byte & 0xC0 != 0x80:
            needed = 4 if byte >= 0xF0 else 3 if byte >= 0xE0 else 2 if byte >= 0xC0 else 1
            if needed > back:
                end -= back
            break
    return data[:end]
