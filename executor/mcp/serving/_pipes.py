"""The process's stdin and stdout, which belong to the protocol alone: lines are read and written on threads."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import os
import queue
import select
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

MAX_MESSAGE = 64 * 1024 * 1024  # bytes of one message; what is longer is refused as a whole
KEPT = 4096  # bytes of such a message, to tell whose it is


class TooLong(bytes):
    """The beginning of a line that is longer than `MAX_MESSAGE`."""


@contextlib.contextmanager
def claimed() -> Iterator[tuple[int, int]]:
    """
    Copies of stdin and stdout that belong to the protocol alone.

    Meanwhile stdin is empty for everybody else, children included, and what they write to stdout goes to stderr.
    """
    source, target = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    try:
        yield source, target
    finally:
        os.dup2(target, 1)  # not closed: a thread may still be reading or writing there
        os.dup2(source, 0)


class Reader:
    """
    Reads lines on a thread of its own, which waits while nobody takes them.

    Args:
        give: Called on the loop with each line; the next is read once it has returned.
        end: Called on the loop when no line comes any more.
    """

    def __init__(
        self,
        source: int,
        loop: asyncio.AbstractEventLoop,
        give: Callable[[bytes], Awaitable[None]],
        end: Callable[[], object],
    ) -> None:
        self._source = source
        self._loop = loop
        self._give = give
        self._end = end

    def start(self) -> None:
        """Begin to read."""
        threading.Thread(target=self._read, name="executor-serve-stdin", daemon=True).start()

    def _read(self) -> None:
        with contextlib.suppress(RuntimeError, concurrent.futures.CancelledError):  # the loop has ended
            for lines in _lines(self._source):
                with contextlib.closing(self._take(lines)) as taking:  # a loop that has ended leaves it as it is
                    asyncio.run_coroutine_threadsafe(taking, self._loop).result()
            self._loop.call_soon_threadsafe(self._end)

    async def _take(self, lines: list[bytes]) -> None:
        for line in lines:
            if line.strip():
                await self._give(line)


def _lines(source: int) -> Iterator[list[bytes]]:
    """The lines that come from *source*, together those that come together: each hop to the loop waits for its turn."""
    parts: list[bytes] = []
    size = 0
    while data := _some(source):
        first, *lines = data.split(b"\n")
        rest = first
        if lines:
            yield [_line([*parts, first], size + len(first)), *lines[:-1]]
            rest, parts, size = lines[-1], [], 0
        size += len(rest)
        parts = [*parts, rest] if size <= MAX_MESSAGE else [b"".join(parts)[:KEPT]]
    if parts:
        yield [_line(parts, size)]


def _line(parts: list[bytes], size: int) -> bytes:
    return b"".join(parts) if size <= MAX_MESSAGE else TooLong(b"".join(parts)[:KEPT])


def _some(source: int) -> bytes:
    try:
        return os.read(source, 1 << 16)
    except OSError:
        return b""


@contextlib.contextmanager
def hang_up(source: int, loop: asyncio.AbstractEventLoop, fn: Callable[[], object]) -> Iterator[None]:
    """
    While it is entered, call *fn* on the loop when the other end of *source* is closed, whatever is still to be read.

    Linux only, and pipes and terminals only: of others their end alone is seen, behind all that came before it.
    """
    if not hasattr(select, "epoll"):
        yield
        return

    def gone() -> None:
        loop.remove_reader(watch)
        fn()

    with select.epoll() as watch:
        with contextlib.suppress(OSError):  # a file
            watch.register(source, 0)  # hanging up is told unasked
            loop.add_reader(watch, gone)
        try:
            yield
        finally:
            loop.remove_reader(watch)


class Writer:
    """Writes lines on a thread of its own."""

    def __init__(self, target: int, loop: asyncio.AbstractEventLoop) -> None:
        self._target = target
        self._loop = loop
        self._lines: queue.SimpleQueue[tuple[bytes, asyncio.Future[None]] | None] = queue.SimpleQueue()
        threading.Thread(target=self._write, name="executor-serve-stdout", daemon=True).start()

    async def line(self, text: str) -> None:
        """Write a line, and return when it is written."""
        written: asyncio.Future[None] = self._loop.create_future()
        self._lines.put((f"{text}\n".encode(), written))
        await written

    def end(self) -> None:
        """Write what was given so far, and no more."""
        self._lines.put(None)

    def _write(self) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended
            while (item := self._lines.get()) is not None:
                line, written = item
                _write_all(self._target, line)
                self._loop.call_soon_threadsafe(_settle, written)


def _settle(written: asyncio.Future[None]) -> None:
    if not written.done():
        written.set_result(None)


def _write_all(target: int, data: bytes) -> None:
    left = memoryview(data)
    with contextlib.suppress(OSError):  # the client is gone, and its end of stdin says so
        while left:
            left = left[os.write(target, left) :]
