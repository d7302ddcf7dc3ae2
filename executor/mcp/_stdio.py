"""
What a child process says and is told, as the SDK's client wants it.

The SDK's own transport is used on Windows only. This one cannot be made to keep an endless line in memory, sees the
death of a process whose pipes somebody else still holds, keeps the end of stderr, and ends the whole process group.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Self, cast

import anyio
import mcp.types as t
from mcp.shared.message import SessionMessage

from executor.mcp._envelope import mended, unreadable
from executor.mcp._texts import whole

if TYPE_CHECKING:
    from executor.mcp._child import Child


class Streams:
    """The two streams of *child*, which is started and ended by somebody else."""

    def __init__(self, child: Child) -> None:
        self._child = child

    async def __aenter__(self) -> tuple[_Reader, _Writer]:
        return _Reader(self._child), _Writer(self._child)

    async def __aexit__(self, *_: object) -> None:
        pass


class _Reader:
    """What the SDK reads from."""

    def __init__(self, child: Child) -> None:
        self._child = child

    async def receive(self) -> SessionMessage | Exception:
        message = await self._next()
        if message is None:
            raise anyio.EndOfStream
        return message

    async def _next(self) -> SessionMessage | None:
        while (line := await self._child.next()) is not None:
            try:
                return SessionMessage(_parse(line))
            except ValueError:
                self._child.is_noise(line)
                await asyncio.sleep(0)  # a flood of it must not hold up the loop
        return None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        message = await self._next()
        if message is None:
            raise StopAsyncIteration
        return message

    async def aclose(self) -> None:
        self._child.end()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class _Writer:
    """What the SDK writes to."""

    def __init__(self, child: Child) -> None:
        self._child = child

    async def send(self, item: SessionMessage) -> None:
        child = self._child
        if child.ended:
            raise anyio.BrokenResourceError
        pipe = cast("asyncio.WriteTransport", child.transport.get_pipe_transport(0))
        pipe.write(item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
        if not child.writable.is_set():
            await child.writable.wait()

    async def aclose(self) -> None:
        pipe = self._child.transport.get_pipe_transport(0)
        if pipe is not None:
            pipe.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def _parse(line: bytes) -> t.JSONRPCMessage:
    try:
        return t.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        if not line.lstrip().startswith(b"{"):
            raise
        # Half a character inside a text, or bytes that are no UTF-8, must not cost the whole answer, nor must one
        # schema cost all tools that is nested deeper than pydantic reads JSON.
        try:
            message = json.loads(whole(line))
        except RecursionError:
            message = unreadable(line, "it is nested too deep")
        except json.JSONDecodeError:
            raise
        except ValueError as error:  # a number of more digits than Python reads
            message = unreadable(line, str(error))
        try:
            return t.jsonrpc_message_adapter.validate_python(message, by_name=False)
        except ValueError:
            if "jsonrpc" not in message:  # what a server logs may have an id, and even an error
                raise
            return t.jsonrpc_message_adapter.validate_python(mended(message), by_name=False)
