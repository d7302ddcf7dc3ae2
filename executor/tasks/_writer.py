"""
Appending to the output of one task, with a bounded number of open files.

Locks: `Writer._lock` guards one writer, `OpenFiles._lock` the list of the open ones. A writer's lock may be held while
the list's is taken, never the other way round.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections import OrderedDict
from typing import TYPE_CHECKING

from executor._log import warn
from executor.ownfolders import make_private
from executor.tasks._owners import NO_WAIT, identity
from executor.tasks._stream import whole
from executor.threads._beside import beside

if TYPE_CHECKING:
    from pathlib import Path

MOST_OPEN = 64  # files of output open at once; a quarter of the lowest usual limit of a process
SMALLEST_PIECE = 4096  # bytes of a file of the tail: below this files would cost more than what is in them
PIECES = 4  # files in a full tail, so that one is dropped at a time
TRY_AGAIN = 1.0  # seconds after which a disk that could not be written is tried again
_APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


def _most_open() -> int:
    if sys.platform == "win32":
        return MOST_OPEN
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST_OPEN if soft == resource.RLIM_INFINITY else max(1, min(MOST_OPEN, soft // 4))


class OpenFiles:
    """Keeps the number of open files bounded: the one that was opened longest ago is closed for a new one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._writers: OrderedDict[Writer, None] = OrderedDict()
        self._most = _most_open()

    def admit(self, writer: Writer) -> None:
        """*writer*, whose lock the caller holds, has opened a file."""
        with self._lock:
            self._writers[writer] = None
            self._writers.move_to_end(writer)
            others = list(self._writers)[: max(0, len(self._writers) - self._most)]
        for other in others:
            if other is not writer and other.rest():
                self.leave(other)

    def leave(self, writer: Writer) -> None:
        """*writer* has closed its file."""
        with self._lock:
            self._writers.pop(writer, None)


class Writer:
    """
    Appends to one stream. It never raises: what cannot be written is counted, and missing for readers.

    Attributes:
        total: How many bytes were given to it.
    """

    def __init__(self, log: Path, cap: int, open_files: OpenFiles) -> None:
        self.log = log
        self.total = 0
        self._lock = threading.Lock()
        self._open_files = open_files
        self._ring = cap - cap // 2
        self._piece = max(SMALLEST_PIECE, self._ring // PIECES)
        self._descriptor = -1
        self._path = log
        self._start = 0  # the offset of the first byte of that file
        self._room_until = cap // 2  # the offset at which the file of now is full
        self._tail: list[int] = []
        self._failed_at: float | None = None
        self._finished = False

    def write(self, data: bytes) -> None:
        """Append *data*, which cuts no character."""
        with self._lock:
            if self._finished or not data:
                return
            if self._descriptor >= 0 and self.total + len(data) <= self._room_until:
                try:
                    written = os.write(self._descriptor, data)
                except OSError as error:
                    self._fail(error, 0)
                    self.total += len(data)
                    return
                if written == len(data):
                    self.total += written
                    return
                data = data[written:]
                self.total += written
            self._write_slowly(data)

    def skip(self, size: int) -> None:
        """So many bytes are missing: the offset in the next file's name says so."""
        with self._lock:
            if not self._finished:
                self.total += size
                self._next_piece()

    def _write_slowly(self, data: bytes) -> None:
        """The same where a file is to be opened, is full, or the disk is."""
        while data:
            if self._failed_at is not None:
                if time.monotonic() - self._failed_at < TRY_AGAIN:
                    self.total += len(data)
                    return
                self._next_piece()  # what is missing is seen by the offset in the next file's name
            room = self._room_until - self.total
            piece = data if len(data) <= room else data[: whole(data, room)]
            if not piece:
                self._next_piece()
                continue
            written = self._write_piece(piece)
            if written < len(piece):
                self.total += len(data)
                return
            self.total += written
            data = data[written:]

    def _write_piece(self, piece: bytes) -> int:
        """How many bytes of *piece* could be written."""
        written = 0
        try:
            if self._descriptor < 0:
                self._open()
            while written < len(piece):
                written += os.write(self._descriptor, piece[written:])
        except OSError as error:
            self._fail(error, written)
        else:
            self._failed_at = None
        return written

    def _open(self) -> None:
        make_private(self._path.parent)
        self._descriptor = os.open(self._path, _APPEND | NO_WAIT, 0o600)
        if os.fstat(self._descriptor).st_size != self.total - self._start:  # somebody has taken away what was there
            self._next_piece()
            make_private(self._path.parent)
            self._descriptor = os.open(self._path, _APPEND | NO_WAIT, 0o600)
        self._open_files.admit(self)

    def renew(self) -> None:
        """Go on in a new file if the one of now is not where readers look for it any more."""
        with self._lock:
            if self._descriptor >= 0 and not self._finished:
                status = os.fstat(self._descriptor)
                if identity(self._path) != (status.st_dev, status.st_ino):
                    self._next_piece()

    def _next_piece(self) -> None:
        """Go on in a new file, and drop those that nobody may read any more."""
        self._close()
        tail = self.log.with_suffix(".tail")
        if self.total not in self._tail[-1:]:
            self._tail.append(self.total)
        self._path, self._start = tail / f"{self.total:020}", self.total
        self._room_until = self.total + self._piece
        while len(self._tail) > 1 and self._tail[1] <= self.total - self._ring:
            with contextlib.suppress(OSError):
                (tail / f"{self._tail.pop(0):020}").unlink()

    def _fail(self, error: OSError, written: int) -> None:
        first = self._failed_at is None
        self._failed_at = time.monotonic()
        self._close()
        if first:
            told = f"Output of a task is being lost: {self._path} cannot be written after {written} bytes: {error}"
            beside(warn, told)  # a handler of the program's may add to this very output, whose lock is held

    def _close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def rest(self) -> bool:
        """Close the file until the next write; nothing happens, and False is returned, while one is being written."""
        if not self._lock.acquire(blocking=False):
            return False
        try:
            self._close()
        finally:
            self._lock.release()
        return True

    def move(self, log: Path) -> None:
        """From now on the stream is *log*. Raises OSError."""
        with self._lock:
            self._close()
            make_private(log.parent)
            for old, new in ((self.log, log), (self.log.with_suffix(".tail"), log.with_suffix(".tail"))):
                with contextlib.suppress(FileNotFoundError):
                    old.rename(new)
            self._path = log if self._path == self.log else log.with_suffix(".tail") / self._path.name
            self.log = log

    def end(self) -> None:
        """Nothing more is taken."""
        with self._lock:
            self._finished = True

    def finish(self, *, sync: bool = True) -> None:
        """Nothing more is taken. With *sync* all of it is on the disk when this returns, if the disk lets it."""
        with self._lock:
            self._finished = True
            if self._descriptor >= 0 and sync:
                with contextlib.suppress(OSError):
                    getattr(os, "fdatasync", os.fsync)(self._descriptor)
            self._close()
        self._open_files.leave(self)
