"""
Output of tasks in files: ``output/<2 hex>/<task id>.log``, and beside it a folder ``<task id>.tail`` past the cap; and
``<task id>.result``, what a task came to, where that is long.

Files of output are only ever appended to. The log is the front of the stream; each file of the tail is named after the
offset of its first byte, so that any process can read a stream, at any moment, from the names and lengths alone.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import threading
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from executor._random import token_hex
from executor.ownfolders import make_private
from executor.tasks._owners import open_file
from executor.tasks._spool import Group
from executor.tasks._stream import Part, read, visible
from executor.tasks._writer import OpenFiles, Writer

if TYPE_CHECKING:
    from collections.abc import Callable

    from executor.tasks._spool import Groups

IN_MEMORY = 1024 * 1024  # characters of a call's output that need no file
MOST_HELD = 4096  # chunks of it that are kept apart: a chunk of a letter takes as much memory as one of a line
SMALL = 4096  # bytes of output that need no file once the task has ended: a file takes a block of the disk
_ENDS = (".log", ".tail", ".result", ".born")
_FLAGS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


class OutputFolder:
    """
    Where the output of all tasks is.

    Args:
        path: The folder; made when first written to, for this user only.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.open_files = OpenFiles()

    def log(self, task_id: str) -> Path:
        """The file with the front of a task's output."""
        name = re.sub(r"[^A-Za-z0-9_.-]", "_", task_id)[-128:]  # plugins choose their names: no path may come of one
        return Path(f"{self.path}/{task_id.rpartition('_')[2][:2] or '00'}/{name}.log")  # joined it takes twice as long

    def size(self, task_id: str) -> int:
        """How many bytes a task has written, kept or not."""
        return _end(_parts(self.log(task_id)))

    def read(
        self, task_id: str, offset: int, limit: int | None, cap: int, *, total: int | None = None, complete: bool
    ) -> tuple[str, int, int]:
        """
        Output of a task; see `_stream.read`.

        Args:
            cap: How much of it is kept.
            total: How much was written, where that is known; by default what the files say.
        """
        return read_log(self.log(task_id), offset, limit, cap, total=total, complete=complete)

    @staticmethod
    def read_whole(data: bytes, offset: int, limit: int | None) -> tuple[str, int, int]:
        """The same of an output that needs no file."""
        return read([Part(0, len(data), lambda begin, end: data[begin:end])], len(data), offset, limit, complete=True)

    def remove(self, task_id: str) -> None:
        """Delete a task's output and result."""
        remove(self.log(task_id))

    # Results that are too long for the store ---------------------------------------------------------------------

    def save_result(self, task_id: str, data: str) -> None:
        """Keep the result of a task in a file: all of it is on the disk when this returns. Raises OSError."""
        path = self.log(task_id).with_suffix(".result")
        make_private(path.parent)
        born = path.with_suffix(".born")
        descriptor = os.open(born, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _FLAGS, 0o600)
        with open(descriptor, "wb") as file:  # noqa: PTH123 -- a descriptor has no path
            file.write(data.encode("utf-8", "replace"))
            file.flush()
            os.fsync(descriptor)
        born.replace(path)

    def load_result(self, task_id: str) -> str:
        """What `save_result` kept. Raises OSError."""
        with open_file(self.log(task_id).with_suffix(".result")) as file:
            return (file.readall() or b"").decode()

    # Cleaning ----------------------------------------------------------------------------------------------------

    def stems(self) -> set[Path]:
        """The paths, without their ends, under which something is kept."""
        return {path.with_suffix("") for path in self.path.glob("??/*") if path.suffix in _ENDS}

    def disk_use(self, stem: Path) -> int:
        """How many bytes are kept under a stem."""
        with contextlib.suppress(OSError):
            result = _with(stem, ".result").stat().st_size
            return disk_use(_with(stem, ".log")) + result
        return disk_use(_with(stem, ".log"))

    def modified(self, stem: Path) -> float:
        """When something was written there last; now, if nobody can tell."""
        times = []
        for end in _ENDS:
            with contextlib.suppress(OSError):
                times.append(_with(stem, end).stat().st_mtime)
        return max(times, default=time.time())

    def remove_all(self, stem: Path) -> None:
        """Delete what is kept under a stem."""
        remove(_with(stem, ".log"))


def _with(stem: Path, end: str) -> Path:
    return stem.with_name(stem.name + end)


def read_log(
    log: Path, offset: int, limit: int | None, cap: int, *, total: int | None, complete: bool
) -> tuple[str, int, int]:
    """`OutputFolder.read` of the stream in *log*."""
    parts = _parts(log)
    total = max(_end(parts), total or 0)
    return read(visible(parts, total, cap - cap // 2), total, offset, limit, complete=complete)


def remove(log: Path) -> None:
    """Delete a log, its tail and the result beside it. What cannot be deleted now is deleted by a later cleaning."""
    stem = str(log).removesuffix(".log")
    for end in (".log", ".result", ".born"):
        with contextlib.suppress(OSError):
            os.unlink(stem + end)  # noqa: PTH108 -- by the thousand, of files that most often are not there
    if os.path.isdir(f"{stem}.tail"):  # noqa: PTH112 -- as above
        import shutil

        shutil.rmtree(f"{stem}.tail", ignore_errors=True)


def remove_output(log: Path) -> None:
    """Delete a log that has no tail."""
    with contextlib.suppress(OSError):
        log.unlink()


def disk_use(log: Path) -> int:
    """How many bytes a log and its tail hold."""
    return sum(part.end - part.start for part in _parts(log))


def _parts(log: Path) -> list[Part]:
    """What is kept of a stream, the front first."""
    try:
        front = Part(0, os.stat(log).st_size, partial(_pread, log, 0))  # noqa: PTH116 -- at each look of who polls
    except OSError:
        front = Part(0, 0, partial(_pread, log, 0))
    found = []
    with contextlib.suppress(OSError), os.scandir(f"{str(log).removesuffix('.log')}.tail") as entries:
        for entry in entries:
            if entry.name.isdecimal():
                with contextlib.suppress(OSError):
                    start, path = int(entry.name), Path(entry.path)
                    found.append(Part(start, start + entry.stat().st_size, partial(_pread, path, start)))
    return [front, *sorted(found)]


def _end(parts: list[Part]) -> int:
    return max(part.end for part in parts)


def _pread(path: Path, origin: int, start: int, end: int) -> bytes:
    try:
        file = open_file(path)
    except OSError:
        return b""  # it went round
    with file:
        file.seek(start - origin)
        return file.read(end - start) or b""


class FileSpool:
    """
    The output of one call: in memory at first, in a file from the hand-over on, or once it is longer than `IN_MEMORY`.

    Its lock is held while the writer's is taken, never the other way round.

    Args:
        changed: Told of the process groups of a call that has become a task.
    """

    __slots__ = (
        "_cap", "_changed", "_closed", "_folder", "_groups", "_held", "_lock", "_said", "_task_id", "_whole", "_writer",
    )  # fmt: skip

    def __init__(
        self, folder: Callable[[], OutputFolder], cap: int, changed: Callable[[str, Groups], object] | None = None
    ) -> None:
        self._folder = folder
        self._cap = cap
        self._lock = threading.Lock()
        self._held: list[str] | None = []  # None: in the file, or not wanted any more
        self._said = 0  # characters
        self._writer: Writer | None = None
        self._whole: bytes | None = None  # all of it, where the store has it
        self._closed = False
        self._changed = changed
        self._task_id: str | None = None
        self._groups: Groups = ()

    def append(self, text: str) -> None:
        """Add output."""
        writer = self._writer
        if writer is None:
            with self._lock:
                writer = self._writer
                if writer is None:
                    self._hold(text)
                    return
        writer.write(text.encode("utf-8", "replace"))

    def skip(self, size: int) -> None:
        """So many bytes are missing here: readers find them gone."""
        with self._lock:
            if self._writer is None and self._held is not None and not self._closed:
                self._write_to(self._folder().log(self._task_id or f"call_{token_hex(16)}"))
            writer = self._writer
        if writer is not None:
            writer.skip(size)

    def _hold(self, text: str) -> None:
        held = self._held
        if held is None or self._closed:
            return
        held.append(text)
        self._said += len(text)
        if len(held) > MOST_HELD:
            held[:] = ["".join(held)]
        if self._said > IN_MEMORY:
            self._write_to(self._folder().log(f"call_{token_hex(16)}"))

    def expect_process_group(self) -> str:
        """One is about to be started. Returns the mark that it is to carry; empty where nobody would look for it."""
        if sys.platform != "linux":  # only there the environment of a process can be read
            return ""
        mark = token_hex(8)
        with self._lock:
            self._groups = (*self._groups, Group(0, "", mark))
            task_id = self._task_id
        if task_id is not None and self._changed is not None:
            self._changed(task_id, self.groups)
        return mark

    def add_process_group(self, pid: int, mark: str = "") -> None:
        """A process group, which was expected under this mark, works for the call."""
        from executor.tasks._processes import birth_of_child

        born = birth_of_child(pid)
        with self._lock:
            known = [] if born is None else [Group(pid, born, mark)]
            self._groups = (*(group for group in self._groups if group.number or group.mark != mark), *known)
            task_id = self._task_id
        if task_id is not None and self._changed is not None:
            self._changed(task_id, self.groups)

    @property
    def groups(self) -> Groups:
        """The process groups that worked, or work, for the call."""
        return self._groups

    @property
    def size(self) -> int:
        """How many bytes were added, kept or not."""
        with self._lock:
            if self._writer is not None:
                return self._writer.total
            return len(self._held_bytes())

    def _held_bytes(self) -> bytes:
        if self._whole is not None:
            return self._whole
        return "".join(self._held or ()).encode("utf-8", "replace")

    def read(self, offset: int, limit: int | None = None) -> tuple[str, int, int]:
        """What was written from byte *offset* on; see `_stream.read`."""
        with self._lock:
            if self._writer is None:
                data = self._held_bytes()
                part = Part(0, len(data), lambda begin, end: data[begin:end])
                return read([part], len(data), offset, limit, complete=self._closed)
            log, total, complete = self._writer.log, self._writer.total, self._closed
        found = read_log(log, offset, limit, self._cap, total=total, complete=complete)
        if self._whole is None:
            return found
        return self.read(offset, limit)  # the file has just been given up

    def keep(self, task_id: str) -> None:
        """The call becomes a task: what it says is in the task's file from now on. Raises OSError."""
        log = self._folder().log(task_id)
        with self._lock:
            if self._whole is not None or (self._writer is not None and self._writer.log == log):
                return
            self._task_id = task_id
            if self._writer is not None:
                self._writer.move(log)
            elif self._held is not None:
                self._write_to(log)

    def renew(self) -> None:
        """Somebody has taken files away: what is said from now on is where readers look for it."""
        with self._lock:
            writer = self._writer
        if writer is not None:
            writer.renew()

    def named(self, task_id: str) -> None:
        """The call becomes a task of this name, whose process groups are of interest from now on."""
        with self._lock:
            self._task_id = task_id

    def _write_to(self, log: Path) -> None:
        writer = Writer(log, self._cap, self._folder().open_files)
        writer.write(self._held_bytes())
        if self._closed:
            writer.end()
        self._held, self._writer = None, writer

    def finish(self) -> None:
        """The task has ended: nothing more will come."""
        with self._lock:
            self._closed = True
            if self._writer is not None:
                self._writer.end()

    @property
    def is_long(self) -> bool:
        """Whether it takes time until all of it is on the disk."""
        return self._writer is not None and self._writer.total > SMALL

    def whole(self) -> bytes | None:
        """All the output of a task that has ended, where it is too little for a file."""
        with self._lock:
            if self._writer is None:
                data = self._held_bytes()
                return data if len(data) <= SMALL else None
            log, total = self._writer.log, self._writer.total
        if total > SMALL:
            return None
        data = _pread(log, 0, 0, total)
        return data if len(data) == total else None

    def sync(self, task_id: str) -> None:
        """All the output of a task that has ended is in its file, and on the disk. Raises OSError."""
        self.keep(task_id)
        with self._lock:
            writer = self._writer
        if writer is not None:
            writer.finish()

    def stored(self, whole: bytes) -> None:
        """The store has all the output: no file is needed."""
        with self._lock:
            writer, self._writer = self._writer, None
            self._whole, self._held = whole, None
        if writer is not None:
            writer.finish(sync=False)
            remove_output(writer.log)

    def discard(self) -> None:
        """The call has ended without becoming a task: its output is not needed any more."""
        with self._lock:
            writer, self._writer, self._held = self._writer, None, None
        if writer is not None:
            writer.finish(sync=False)
            remove(writer.log)
