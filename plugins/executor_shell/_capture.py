"""What a command writes: decoded as it comes, its head and tail for the result, all of it in a file when it is long."""

from __future__ import annotations

import codecs
import contextlib
import os
import secrets
import sys
import time
from typing import TYPE_CHECKING

if sys.platform != "win32":  # where a file that is open cannot be removed anyway
    import fcntl

from executor.ownfolders import make_private

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MAX_FILE = 64 * 1024 * 1024  # bytes of one output file: room for any build log, and no full disk by one command
MAX_AGE = 7 * 24 * 3600.0  # seconds after which an output file is removed when a new one is made
MOST_KEPT = 1024**3  # bytes of all output files together; past it the oldest go when a new one is made

_PREFIX = "command-"  # the folder may hold other files: only those of this name are ever removed


class TextDecoder:
    """
    UTF-8 in pieces: no character is cut between two of them, bytes that are not UTF-8 become U+FFFD.

    Attributes:
        undecodable: Whether there were such bytes.
    """

    def __init__(self) -> None:
        self.undecodable = False
        self._decoder = codecs.getincrementaldecoder("utf-8")("strict")

    def decode(self, data: bytes, *, final: bool = False) -> str:
        """The text of *data* and of what was held back before; *final* holds nothing back."""
        try:
            return self._decoder.decode(data, final)
        except UnicodeDecodeError:
            # Strict first: a U+FFFD that the command itself wrote is no fault. What failed is still held back.
            self.undecodable = True
            self._decoder.errors = "replace"
            return self._decoder.decode(data, final)


class Spool:
    """
    A file that takes the whole of one stream, as far as it may and can, and is nobody's to remove until it is closed.

    Attributes:
        path: The file; None when there is none.
        note: What is missing in it and why; None when nothing is.
    """

    def __init__(self, folder: Path, stream: str, limit: int = MAX_FILE) -> None:
        self.path: Path | None = None
        self.note: str | None = None
        self._limit = limit
        self._written = 0
        self._fd = -1
        try:
            self._fd, self.path = _create(folder, stream)
        except OSError as error:
            self.note = f"the full output could not be kept: {error}"

    def write(self, data: bytes | bytearray) -> None:
        """Add *data*. Never raises: what cannot be written is said in `note`."""
        if self._fd < 0:
            return
        room = self._limit - self._written
        rest = memoryview(data)[:room]
        try:
            while rest:
                written = os.write(self._fd, rest)
                self._written += written
                rest = rest[written:]
        except OSError as error:
            self._remove(error)
            return
        if room < len(data):
            self.note = f"the file holds the first {self._limit} bytes only"

    def close(self) -> None:
        """Close the file; nothing more goes into it."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _remove(self, error: OSError) -> None:
        # A half-written file on a full disk is in the way of everybody.
        self.note = f"the full output could not be kept: {error}"
        self.close()
        if self.path is not None:
            self.path.unlink(missing_ok=True)
            self.path = None


class Capture:
    """
    One stream of a command: the first and last bytes in memory, all of it in a file once they do not suffice.

    Args:
        name: ``stdout`` or ``stderr``; names the keys of the result.
        limit: How many bytes the result may hold.
        open_spool: Makes the file, when the limit is passed.
    """

    def __init__(self, name: str, limit: int, open_spool: Callable[[str], Spool]) -> None:
        self.name = name
        self.total = 0
        self._limit = limit
        self._first = limit // 2
        self._last = limit - self._first
        self._open_spool = open_spool
        self._head = bytearray()
        self._tail = bytearray()
        self._spool: Spool | None = None

    def add(self, data: bytes) -> None:
        """Take the next bytes of the stream."""
        self.total += len(data)
        if self._spool is not None:
            self._spool.write(data)
            self._add_tail(data)
            return
        self._head += data
        if len(self._head) > self._limit:
            self._spool = self._open_spool(self.name)
            self._spool.write(self._head)
            self._add_tail(self._head[self._first :])
            del self._head[self._first :]

    def _add_tail(self, data: bytes | bytearray) -> None:
        self._tail += data
        if len(self._tail) > 2 * self._last:  # cut rarely: each cut moves the bytes that stay
            del self._tail[: -self._last]

    def close(self) -> None:
        """The stream has ended."""
        if self._spool is not None:
            self._spool.close()

    def entries(self) -> dict[str, str]:
        """What goes into the result: ``stdout``, and if that was too long ``stdout_file``, ``stdout_note`` or both."""
        result = {self.name: self._text()}
        if self._spool is not None:
            if self._spool.path is not None:
                result[f"{self.name}_file"] = str(self._spool.path)
            if self._spool.note is not None:
                result[f"{self.name}_note"] = self._spool.note
        return result

    def _text(self) -> str:
        if self._spool is None:
            return self._head.decode("utf-8", "replace")
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        head = decoder.decode(bytes(self._head))
        cut = len(decoder.getstate()[0])  # the first bytes of a character whose rest is not in the head
        tail = _whole_characters(self._tail[-self._last :])
        missing = self.total - (len(self._head) - cut) - len(tail)
        return f"{head}\n[... {missing} bytes left out ...]\n{tail.decode('utf-8', 'replace')}"


def _whole_characters(tail: bytearray) -> bytearray:
    """*tail* without the last bytes of a character whose first are not in it."""
    start = 0
    while start < min(3, len(tail)) and tail[start] & 0xC0 == 0x80:
        start += 1
    return tail[start:]


def _create(folder: Path, stream: str) -> tuple[int, Path]:
    """A new file for this user's eyes only, as (descriptor, path). Removes what is too old, or too much."""
    make_private(folder)
    _remove_old(folder)
    path = folder / f"{_PREFIX}{secrets.token_hex(8)}.{stream}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)  # O_EXCL: nor through a link
    descriptor = os.open(path, flags, 0o600)
    _lock(descriptor)
    return descriptor, path


def _remove_old(folder: Path) -> None:
    """Remove those that are too old, and then the oldest while there is too much; none that is still written."""
    found = []
    for path in folder.glob(f"{_PREFIX}*.std*"):
        with contextlib.suppress(OSError):  # another process was faster
            status = path.lstat()
            found.append((status.st_mtime, status.st_size, path))
    oldest, excess = time.time() - MAX_AGE, sum(size for _, size, _ in found) - MOST_KEPT
    for changed, size, path in sorted(found):
        if changed >= oldest and excess <= 0:
            break
        with contextlib.suppress(OSError):  # written, gone, or not ours: no concern of the command that runs now
            _remove_unused(path)
            excess -= size


def _remove_unused(path: Path) -> None:
    """Remove the file unless its command may still write into it, be that silent since days; raises an OSError then."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    try:
        _lock(descriptor)
    finally:
        os.close(descriptor)
    path.unlink()


def _lock(descriptor: int) -> None:
    """Take the file for this process until the descriptor is closed; raises BlockingIOError when somebody has it."""
    if sys.platform == "win32":
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:  # a disk without locks: then only a file's age says that it may be in use
        return
