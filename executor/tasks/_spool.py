"""The output of one task, addressed by absolute byte offsets of the whole stream."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple, Protocol, TypeAlias

from executor.tasks._stream import Part, read, visible, whole

CAP = 16 * 1024 * 1024
_FOLD = 64 * 1024  # characters kept as they came before they are encoded: a chunk then costs a list entry


class Group(NamedTuple):
    """
    A process group that works for a call.

    Attributes:
        number: Its number; 0 while it is about to be started.
        born: The `birth` of its leader.
        mark: What its first process has in its environment; empty where it was not expected.
    """

    number: int
    born: str
    mark: str = ""


Groups: TypeAlias = Sequence[Group]


class Spool(Protocol):
    """The output of one call."""

    def append(self, text: str) -> None:
        """Add output."""
        ...

    def skip(self, size: int) -> None:
        """So many bytes are missing here: readers find them gone."""
        ...

    def expect_process_group(self) -> str:
        """One is about to be started. Returns the mark that it is to carry; empty where nobody would look for it."""
        ...

    def add_process_group(self, pid: int, mark: str = "") -> None:
        """A process group, which was expected under this mark, works for the call."""
        ...

    @property
    def groups(self) -> Groups:
        """The process groups that worked, or work, for the call."""
        ...

    @property
    def size(self) -> int:
        """How many bytes were added, kept or not."""
        ...

    def read(self, offset: int, limit: int | None = None) -> tuple[str, int, int]:
        """Text from a byte on, the offset to go on from, and how many bytes between the two are gone."""
        ...

    def finish(self) -> None:
        """The task has ended: nothing more will come."""
        ...

    def discard(self) -> None:
        """The call has ended without becoming a task."""
        ...


class MemorySpool:
    """
    Keeps output in memory. Past *cap* bytes the front half stays, and the newest output goes round in the other half.

    `_lock` guards everything; it is held while chunks are encoded, and never while another lock is taken.
    """

    __slots__ = (
        "_front",
        "_front_cap",
        "_front_full",
        "_lock",
        "_pending",
        "_pending_size",
        "_ring",
        "_ring_cap",
        "_ring_size",
        "_total",
    )

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
        if not text:
            return
        with self._lock:
            self._pending.append(text)
            self._pending_size += len(text)
            if self._pending_size > _FOLD:
                self._fold()

    def skip(self, size: int) -> None:
        """What is in memory is of this process, where nothing is missing."""

    def expect_process_group(self) -> str:
        """Nobody could end it after this process."""
        return ""

    def add_process_group(self, pid: int, mark: str = "") -> None:
        """Nothing changes, for the same reason."""

    @property
    def groups(self) -> Groups:
        return ()

    @property
    def size(self) -> int:
        """How many bytes were added, kept or not."""
        with self._lock:
            self._fold()
            return self._total

    def read(self, offset: int, limit: int | None = None) -> tuple[str, int, int]:
        """What was written from byte *offset* on; see `_stream.read`."""
        with self._lock:
            self._fold()
            total, front = self._total, self._front
            start = total - self._ring_size
            parts = [
                Part(0, len(front), lambda begin, end: bytes(front[begin:end])),
                Part(start, total, lambda begin, end: self._of_ring(begin - start, end - start)),
            ]
            return read(visible(parts, total, self._ring_cap), total, offset, limit, complete=True)

    def _of_ring(self, begin: int, end: int) -> bytes:
        pieces, at = [], 0
        for piece in self._ring:
            if at >= end:
                break
            if at + len(piece) > begin:
                pieces.append(piece[max(0, begin - at) : end - at])
            at += len(piece)
        return b"".join(pieces)

    def finish(self) -> None:
        """Nothing changes: what was kept can still be read."""

    def discard(self) -> None:
        """Free the memory."""
        if not self._pending and not self._total:
            return  # as after most calls, for each of which there is one
        with self._lock:
            self._pending.clear()
            self._front.clear()
            self._ring.clear()
            self._ring_size = 0

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
            room = whole(data, room)
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
