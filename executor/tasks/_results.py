"""
Texts that were too long for a model, to be read on with `readResult`: ``results/<id>.txt``, one file each. One that is
a conversation's is ``results/<id>-<digest of the conversation>.txt``, which a reader for another one does not find.

An id has 128 random bits: who was not given it cannot guess it.
"""

from __future__ import annotations

import contextlib
import os
import re
import threading
import time
from typing import TYPE_CHECKING, Protocol

from executor._random import token_hex
from executor.calls._content import after, cut, encoded
from executor.errors import ToolExecutorError
from executor.ownfolders import make_private
from executor.tasks._owners import open_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

DAY = 24 * 3600.0
DAYS = 30  # how long a text stays; as long as an acknowledged task
MOST = 256 * 1024**2  # bytes of all of them; past it the oldest go
MOST_IN_MEMORY = 64 * 1024**2  # of a manager without a disk
CLEAN_EVERY = 50  # texts after which it is looked whether there are too many
_ID = re.compile(r"res_[0-9a-f]{32}")
_FILE = re.compile(rf"{_ID.pattern}(-[0-9a-f]{{32}})?\.txt")
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


class Results(Protocol):
    """Where such texts are kept."""

    def save(self, text: str, conversation: str | None = None) -> str:
        """Keep a text, of a conversation if there are several; returns its id. Raises OSError."""
        ...

    def read(
        self, result_id: str, offset: int, limit: int | None, conversation: str | None = None
    ) -> tuple[str, int, int]:
        """See `TaskManager.read_result`."""
        ...

    def prune(self, before: float) -> None:
        """Forget those that were saved at or before that time."""
        ...


class MemoryResults:
    """Texts that live as long as this object, the newest `MOST_IN_MEMORY` bytes of them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._texts: dict[str, tuple[float, bytes, str | None]] = {}
        self._size = 0

    def save(self, text: str, conversation: str | None = None) -> str:
        """Keep a text; returns its id."""
        name, data = _new_id(), encoded(text)
        with self._lock:
            self._texts[name] = time.time(), data, conversation
            self._size += len(data)
            while self._size > MOST_IN_MEMORY and len(self._texts) > 1:
                self._forget(next(iter(self._texts)))
        return name

    def read(
        self, result_id: str, offset: int, limit: int | None, conversation: str | None = None
    ) -> tuple[str, int, int]:
        """See `TaskManager.read_result`."""
        with self._lock:
            found = self._texts.get(result_id)
        if found is None or conversation not in (None, found[2]):
            raise _missing(result_id)
        data = found[1]
        return _piece(lambda start, end: data[start:end], len(data), offset, limit)

    def prune(self, before: float) -> None:
        """Forget those that were saved at or before that time."""
        with self._lock:
            for name in [name for name, (saved, _, _) in self._texts.items() if saved <= before]:
                self._forget(name)

    def _forget(self, name: str) -> None:
        self._size -= len(self._texts.pop(name)[1])


class StoredResults:
    """
    Texts in files, for all processes of the user.

    Args:
        folder: Gives the folder; made when first written to, for this user only.
    """

    def __init__(self, folder: Callable[[], Path]) -> None:
        self._folder = folder
        self._saved = 0

    def save(self, text: str, conversation: str | None = None) -> str:
        """Keep a text; returns its id. Raises OSError."""
        name, folder = _new_id(), self._folder()
        make_private(folder)
        path = folder / _file_name(name, conversation)
        try:
            with open(os.open(path, _CREATE, 0o600), "wb") as file:  # noqa: PTH123 -- a descriptor has no path
                file.write(encoded(text))
        except OSError:
            with contextlib.suppress(OSError):
                path.unlink()  # half a text must not look like one
            raise
        if self._saved % CLEAN_EVERY == 0:
            self.clean()
        self._saved += 1
        return name

    def read(
        self, result_id: str, offset: int, limit: int | None, conversation: str | None = None
    ) -> tuple[str, int, int]:
        """See `TaskManager.read_result`."""
        if _ID.fullmatch(result_id) is None:
            raise _missing(result_id)
        try:
            with open_file(self._file(result_id, conversation)) as file:

                def read(start: int, end: int) -> bytes:
                    file.seek(start)
                    return file.read(end - start) or b""

                return _piece(read, os.fstat(file.fileno()).st_size, offset, limit)
        except FileNotFoundError as error:
            raise _missing(result_id) from error
        except OSError as error:
            raise ToolExecutorError(f"The result {result_id} cannot be read: {error}") from error

    def _file(self, result_id: str, conversation: str | None) -> Path:
        """Where a text is, if it is there; without a conversation that of any."""
        folder = self._folder()
        path = folder / _file_name(result_id, conversation)
        if conversation is not None or path.exists():
            return path
        return next(folder.glob(f"{result_id}-*.txt"), path)

    def prune(self, before: float) -> None:
        """Forget those that were saved at or before that time."""
        for saved, _, path in self._files():
            if saved <= before:
                _remove(path)

    def clean(self) -> None:
        """
        Forget those that are too old, and then the oldest while there are too many.

        Ages count to the newest text that is a day old: of a clock that is ahead now nothing is old.
        """
        yesterday = time.time() - DAY
        last = max((saved for saved, _, _ in self._files() if saved <= yesterday), default=0.0)
        self.prune(last - DAYS * DAY)
        files = sorted(self._files())
        excess = sum(size for _, size, _ in files) - MOST
        for _, size, path in files[:-1]:  # the last one has just been saved
            if excess <= 0:
                break
            _remove(path)
            excess -= size

    def _files(self) -> list[tuple[float, int, str]]:
        """When each was saved, its size, and its path."""
        found = []
        with contextlib.suppress(OSError), os.scandir(self._folder()) as entries:
            for entry in entries:
                if _FILE.fullmatch(entry.name):
                    with contextlib.suppress(OSError):
                        status = entry.stat(follow_symlinks=False)
                        found.append((status.st_mtime, status.st_size, entry.path))
        return found


def _new_id() -> str:
    return f"res_{token_hex(16)}"


def _file_name(result_id: str, conversation: str | None) -> str:
    if conversation is None:
        return f"{result_id}.txt"
    import hashlib

    return f"{result_id}-{hashlib.sha256(encoded(conversation)).hexdigest()[:32]}.txt"


def _missing(result_id: str) -> ToolExecutorError:
    return ToolExecutorError(
        f"There is no result {result_id!r}: give an id as it was told. A result is kept for {DAYS} days, and less long "
        "when there are many; call the tool again to have it anew"
    )


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):  # it is gone, or stays for the next cleaning
        os.unlink(path)  # noqa: PTH108 -- paths by the thousand, as scandir gives them


def _piece(read: Callable[[int, int], bytes], size: int, offset: int, limit: int | None) -> tuple[str, int, int]:
    """The text from *offset* on (from where its character begins), the offset to go on from, and the size of all."""
    start = min(offset, size)
    low = max(0, start - 3)
    data = read(low, size if limit is None else min(size, start + limit + 4))
    begin = cut(data, start - low)
    end = len(data) if limit is None else cut(data, begin + limit)
    if end <= begin:
        end = after(data, begin + 1)  # a character that is longer than the limit
    end = min(end, len(data))
    return data[begin:end].decode("utf-8", "replace"), low + end, size
