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
from pydantic import ValidationError

from executor.mcp.serving._pipes import MAX_MESSAGE, Reader, TooLong, Writer, hang_up
from executor.mcp.serving._unread import message_of, refusal

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

MOST_UNREAD = 64  # messages read ahead before the client has to wait
MOST_REQUESTS = 5000  # that wait for an answer
ANSWER_SECONDS = 1.5  # for answers to what came before stdin ended; clients wait two seconds for a server's end
LAST_SECONDS = 0.2  # for what a client takes after that
LISTENING = "subscriptions/listen"  # a request that is answered by the end of the connection
MOST_REFUSED = 1000  # refusals that the client has not read; past it none is told


@contextlib.asynccontextmanager
async def streams(source: int, target: int) -> AsyncIterator[tuple[Any, Any]]:
    """What `Server.run` reads from and writes to, over two file descriptors."""
    loop = asyncio.get_running_loop()
    incoming, read = anyio.create_memory_object_stream[SessionMessage | Exception](MOST_UNREAD)
    write, outgoing = anyio.create_memory_object_stream[SessionMessage](0)

    writer, unanswered = Writer(target, loop), _Unanswered()

    async def give(line: bytes) -> None:
        message = _message(line)
        refused = _unread(message, line) or unanswered.refuses(message, len(line))
        with contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):  # nobody listens any more
            if refused is None:
                await incoming.send(message)
            else:
                refuse(refused)

    refusing: set[asyncio.Task[None]] = set()

    def refuse(answer: SessionMessage) -> None:
        """Reading goes on meanwhile: the end of stdin has to be seen, also where the client takes no answers."""
        if len(refusing) < MOST_REFUSED:
            task = asyncio.ensure_future(_send(write, answer))
            refusing.add(task)
            task.add_done_callback(refusing.discard)

    writing = anyio.CancelScope()

    def end() -> None:
        incoming.close()
        loop.call_later(LAST_SECONDS, writing.cancel)  # else each answer that waits is waited for

    async def finish() -> None:
        """Nothing more comes; but whoever has sent all that it wants to know may still read."""
        with anyio.move_on_after(ANSWER_SECONDS):
            await asyncio.gather(*refusing)
            await unanswered.none.wait()
        end()

    async with anyio.create_task_group() as group:
        group.start_soon(_run, writer, outgoing, unanswered, writing)
        Reader(source, loop, give, lambda: group.start_soon(finish)).start()
        with hang_up(source, loop, lambda: loop.call_later(ANSWER_SECONDS, end)):
            yield read, write
        group.cancel_scope.cancel()
    for task in refusing:
        task.cancel()
    incoming.close()
    writer.end()


async def _send(write: MemoryObjectSendStream[SessionMessage], answer: SessionMessage) -> None:
    with contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):  # nobody listens any more
        await write.send(answer)


class _Unanswered:
    """The requests of the client that wait for an answer: so many that it cannot mean it are refused."""

    def __init__(self) -> None:
        self._sizes: dict[object, int] = {}
        self._size = 0
        self._short: set[object] = set()  # those of them that an answer is to be expected for
        self.none = asyncio.Event()
        self.none.set()

    def refuses(self, message: SessionMessage | Exception, size: int) -> SessionMessage | None:
        """The answer to a request that is one too many; None: it is taken."""
        told = message.message if isinstance(message, SessionMessage) else None
        if isinstance(told, t.JSONRPCNotification) and told.method == "notifications/cancelled":
            self.answered((told.params or {}).get("requestId"))
        if not isinstance(told, t.JSONRPCRequest):
            return None
        if told.id in self._sizes:
            return _refused(told, t.INVALID_REQUEST, "A request with this id waits for its answer already")
        if self._sizes and (len(self._sizes) >= MOST_REQUESTS or self._size + size > MAX_MESSAGE):
            return _refused(told, t.INTERNAL_ERROR, "Too many requests wait for their answers: wait for some of them")
        self._sizes[told.id], self._size = size, self._size + size
        if told.method != LISTENING:
            self._short.add(told.id)
            self.none.clear()
        return None

    def answered(self, number: object) -> None:
        """It waits no longer."""
        if isinstance(number, str | int):
            self._size -= self._sizes.pop(number, 0)
            self._short.discard(number)
        if not self._short:
            self.none.set()


def _unread(message: SessionMessage | Exception, line: bytes) -> SessionMessage | None:
    """The answer to what cannot be read, or is no message: else its client would wait for ever. None: it is one."""
    why = "This is no message of MCP"
    if isinstance(message, SessionMessage):
        # A request whose id is none that MCP knows looks like a notification to the SDK.
        if not isinstance(message.message, t.JSONRPCNotification) or b'"id"' not in line:
            return None
    elif isinstance(message, ValidationError):
        why = f"{why}: {message.errors(include_input=False, include_url=False)[0]['msg']}"
    told = refusal(line, why)
    return SessionMessage(t.JSONRPCError.model_validate(told)) if told is not None else None


def _refused(request: t.JSONRPCRequest, code: int, why: str) -> SessionMessage:
    return SessionMessage(t.JSONRPCError(jsonrpc="2.0", id=request.id, error=t.ErrorData(code=code, message=why)))


async def _run(
    writer: Writer,
    outgoing: MemoryObjectReceiveStream[SessionMessage],
    unanswered: _Unanswered,
    writing: anyio.CancelScope,
) -> None:
    """Write what comes from *outgoing*, one message after another, until *writing* is cancelled."""
    with writing:
        async with outgoing:
            async for each in outgoing:
                await writer.line(each.message.model_dump_json(by_alias=True, exclude_unset=True))
                if isinstance(each.message, t.JSONRPCResponse | t.JSONRPCError):
                    unanswered.answered(each.message.id)


def _message(line: bytes) -> SessionMessage | Exception:
    if isinstance(line, TooLong):
        problem = ValueError(f"a message is longer than {MAX_MESSAGE} bytes")
    else:
        try:
            return SessionMessage(t.jsonrpc_message_adapter.validate_json(line, by_name=False))
        except ValueError as error:
            problem = error
    told = message_of(line)
    if told is None or "method" in told:
        return problem
    try:  # an answer that is nearly one: a call waits for it
        return SessionMessage(t.jsonrpc_message_adapter.validate_python(told, by_name=False))
    except ValueError:
        return problem
