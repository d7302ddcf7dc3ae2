"""
The process's stdin and stdout as the streams of a connection.

Two threads read and write: a client that reads slowly, or not at all, holds up nothing but what is sent to it, and any
kind of file may be at either end. The SDK's own transport takes four hops between threads for each message, these two.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import threading
from typing import TYPE_CHECKING, Any

import anyio
import mcp.types as t
from mcp.shared.message import SessionMessage

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

MAX_MESSAGE = 64 * 1024 * 1024  # bytes of one message; what is longer is refused as a whole
MOST_UNREAD = 64  # messages read ahead before the client has to wait
_TOO_LONG = ValueError(f"a message is longer than {MAX_MESSAGE} bytes")


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


@contextlib.asynccontextmanager
async def streams(source: int, target: int) -> AsyncIterator[tuple[Any, Any]]:
    """What `Server.run` reads from and writes to, over two file descriptors."""
    loop = asyncio.get_running_loop()
    incoming, read = anyio.create_memory_object_stream[SessionMessage | Exception](MOST_UNREAD)
    write, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    reader, writer = _Reader(source, loop, incoming), _Writer(target, loop)
    async with anyio.create_task_group() as group:
        group.start_soon(writer.run, outgoing)
        reader.start()
        yield read, write
        group.cancel_scope.cancel()
    incoming.close()
    writer.end()


class _Reader:
    """Reads lines on a thread of its own, and waits there while the loop has enough to do."""

    def __init__(
        self,
        source: int,
        loop: asyncio.AbstractEventLoop,
        incoming: MemoryObjectSendStream[SessionMessage | Exception],
    ) -> None:
        self._source = source
        self._loop = loop
        self._incoming = incoming

    def start(self) -> None:
        threading.Thread(target=self._read, name="executor-serve-stdin", daemon=True).start()

    def _read(self) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended
            for line in _lines(self._source):
                message = _message(line)
                if message is not None:
                    asyncio.run_coroutine_threadsafe(self._give(message), self._loop).result()
            self._loop.call_soon_threadsafe(self._incoming.close)

    async def _give(self, message: SessionMessage | Exception) -> None:
        with contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):  # nobody listens any more
            await self._incoming.send(message)


def _lines(source: int) -> Iterator[bytes | None]:
    """The lines that come from *source*; None for one that is too long."""
    parts: list[bytes] = []
    size = 0
    while data := _some(source):
        *lines, rest = data.split(b"\n")
        for line in lines:
            yield b"".join([*parts, line]) if size + len(line) <= MAX_MESSAGE else None
            parts, size = [], 0
        size += len(rest)
        parts = [*parts, rest] if size <= MAX_MESSAGE else []
    if parts:
        yield b"".join(parts)


def _some(source: int) -> bytes:
    try:
        return os.read(source, 1 << 16)
    except OSError:
        return b""


def _message(line: bytes | None) -> SessionMessage | Exception | None:
    if line is None:
        return _TOO_LONG
    if not line.strip():
        return None
    try:
        return SessionMessage(t.jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:
        return error


class _Writer:
    """Writes lines on a thread of its own."""

    def __init__(self, target: int, loop: asyncio.AbstractEventLoop) -> None:
        self._target = target
        self._loop = loop
        self._lines: queue.SimpleQueue[tuple[bytes, asyncio.Future[None]] | None] = queue.SimpleQueue()
        threading.Thread(target=self._write, name="executor-serve-stdout", daemon=True).start()

    async def run(self, outgoing: MemoryObjectReceiveStream[SessionMessage]) -> None:
        """Write what comes from *outgoing*, one message after another."""
        async with outgoing:
            async for each in outgoing:
                line = each.message.model_dump_json(by_alias=True, exclude_unset=True)
                written: asyncio.Future[None] = self._loop.create_future()
                self._lines.put((f"{line}\n".encode(), written))
                await written

    def end(self) -> None:
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
