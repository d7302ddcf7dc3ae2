"""
The process's stdin and stdout as the streams of a connection.

Two threads read and write: a client that reads slowly, or not at all, holds up nothing but what is sent to it, and any
kind of file may be at either end. The SDK's own transport takes four hops between threads for each message, these two.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

import anyio
import mcp.types as t
from mcp.shared.message import SessionMessage

from executor.mcp.serving._pipes import MAX_MESSAGE, Reader, Writer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from anyio.streams.memory import MemoryObjectReceiveStream

MOST_UNREAD = 64  # messages read ahead before the client has to wait
_TOO_LONG = ValueError(f"a message is longer than {MAX_MESSAGE} bytes")


@contextlib.asynccontextmanager
async def streams(source: int, target: int) -> AsyncIterator[tuple[Any, Any]]:
    """What `Server.run` reads from and writes to, over two file descriptors."""
    loop = asyncio.get_running_loop()
    incoming, read = anyio.create_memory_object_stream[SessionMessage | Exception](MOST_UNREAD)
    write, outgoing = anyio.create_memory_object_stream[SessionMessage](0)

    async def give(line: bytes | None) -> None:
        with contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):  # nobody listens any more
            await incoming.send(_message(line))

    writer = Writer(target, loop)
    async with anyio.create_task_group() as group:
        group.start_soon(_run, writer, outgoing)
        Reader(source, loop, give, incoming.close).start()
        yield read, write
        group.cancel_scope.cancel()
    incoming.close()
    writer.end()


async def _run(writer: Writer, outgoing: MemoryObjectReceiveStream[SessionMessage]) -> None:
    """Write what comes from *outgoing*, one message after another."""
    async with outgoing:
        async for each in outgoing:
            await writer.line(each.message.model_dump_json(by_alias=True, exclude_unset=True))


def _message(line: bytes | None) -> SessionMessage | Exception:
    if line is None:
        return _TOO_LONG
    try:
        return SessionMessage(t.jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:
        return error
