"""What goes to a server and comes from it, looked at on its way: mended, paced, and known to be over when it is."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Protocol, Self

import mcp.types as t

from executor.mcp._current import current
from executor.mcp._failures import said_without_secrets
from executor.mcp._mend import mend_answer, mended_tool
from executor.mcp._pace import Pace
from executor.mcp._sent import Sent, sending

if TYPE_CHECKING:
    from mcp.shared.message import SessionMessage

    from executor.mcp._call import Call
    from executor.mcp._values import News, ServerConfig

_CHANGES: dict[str, News] = {
    "notifications/tools/list_changed": "tools",
    "notifications/prompts/list_changed": "prompts",
    "notifications/resources/list_changed": "resources",
}


class Ear(Protocol):
    """Who is told of what is seen on the way."""

    def left_out(self, name: str, reason: str) -> None:
        """A tool, or a part of it, is no valid MCP."""
        ...

    def asks(self, method: str) -> None:
        """It is asked this, and nothing once that was answered ("")."""
        ...

    def heard(self) -> None:
        """A message came."""
        ...

    def refresh(self, what: News) -> None:
        """It says that it has changed this. Told of every such word: the message itself may be one too many."""
        ...

    def lost(self) -> None:
        """Nothing comes any more."""
        ...


class _Asked:
    """The requests that wait for an answer, by id."""

    def __init__(self) -> None:
        self._asked: dict[str, tuple[str, Call[Any] | None, Sent, Any]] = {}
        self._numbers: dict[str, str | int] = {}  # as they were sent

    def put(self, message: Any) -> Sent | None:
        """The request that *message* is, which is over once it is taken; None if it is something else."""
        if isinstance(message, t.JSONRPCRequest):
            sent = Sent()
            self._asked[str(message.id)] = message.method, current(), sent, message.params
            self._numbers[str(message.id)] = message.id
            return sent
        if isinstance(message, t.JSONRPCNotification) and message.method == "notifications/cancelled":
            self.take((message.params or {}).get("requestId"))
        return None

    def take(self, number: object) -> tuple[str, Call[Any] | None, Any]:
        """Of a request that is over: its method, call and parameters."""
        self._numbers.pop(str(number), None)
        method, call, sent, params = self._asked.pop(str(number), ("", None, None, None))
        if sent is not None:
            sent.end()
        return method, call, params

    @property
    def only(self) -> str | int | None:
        """The id of the one request that waits; None where there are several, or none."""
        return next(iter(self._numbers.values())) if len(self._numbers) == 1 else None


class _Stream:
    """One end of a transport; closed and entered with the one that it stands before."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> Any:
        return await self._stream.__aexit__(*error)


class _Reader(_Stream):
    """What the SDK reads from."""

    def __init__(self, stream: Any, asked: _Asked, ear: Ear, config: ServerConfig) -> None:
        super().__init__(stream)
        self._asked = asked
        self._ear = ear
        self._config = config
        self._pace = Pace()

    @property
    def last_context(self) -> Any:
        """The sender's context, where the stream below keeps it."""
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        while True:
            try:
                item: SessionMessage | Exception = await self._stream.receive()
            except BaseException:
                self._ear.lost()  # before whoever waits for an answer learns that there is none
                raise
            passes = self._passes(item)
            await self._pace.turn()
            if passes:
                return item

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        while True:
            try:
                item: SessionMessage | Exception = await self._stream.__anext__()
            except BaseException:
                self._ear.lost()
                raise
            passes = self._passes(item)
            await self._pace.turn()
            if passes:
                return item

    def _passes(self, item: Any) -> bool:
        """Whether it is taken. Nobody has asked for any but answers: too many of those are dropped."""
        message = getattr(item, "message", None)
        self._ear.heard()
        if isinstance(message, t.JSONRPCRequest):
            return self._pace.admits(waits=True)
        if not isinstance(message, t.JSONRPCResponse | t.JSONRPCError):
            method = getattr(message, "method", "")
            what = _CHANGES.get(method)
            if what is not None:
                self._ear.refresh(what)
            told = getattr(message, "params", None) or {}
            return self._pace.admits() and (method != "notifications/progress" or _has_numbers(told))
        if message.id is None:
            message.id = self._asked.only  # it could not tell which request it refused, but there is no other
        method, call, params = self._asked.take(message.id)
        if not method:
            return self._pace.admits()
        self._ear.asks("")
        if isinstance(message, t.JSONRPCError):
            # Here already: the SDK has spans and logs of its own, which tell it.
            message.error.message = said_without_secrets(message.error.message, self._config, params)
            return True
        if method == "tools/call":
            mend_answer(message.result, call.warnings if call is not None else [])
        elif method == "tools/list" and isinstance(message.result.get("tools"), list):
            self._mend_list(message.result)
        return True

    def _mend_list(self, result: dict[str, Any]) -> None:
        rest = {key: value for key, value in result.items() if key not in ("tools", "nextCursor")}
        kept = []
        for tool in result["tools"]:
            mended, problem = mended_tool(tool, rest)
            name = str(tool.get("name")) if isinstance(tool, dict) else "?"
            execution = mended.get("execution") if mended is not None else None
            if isinstance(execution, dict) and execution.get("taskSupport") == "required":
                mended, problem = (
                    None,
                    "it runs only as a task of MCP's revision 2025-11-25, which is not supported",
                )
            if problem:
                self._ear.left_out(name, problem)
            if mended is not None:
                kept.append(mended)
        result["tools"] = kept


class _Writer(_Stream):
    """What the SDK writes to."""

    def __init__(self, stream: Any, asked: _Asked, ear: Ear) -> None:
        super().__init__(stream)
        self._asked = asked
        self._ear = ear

    async def send(self, item: SessionMessage) -> None:
        if isinstance(item.message, t.JSONRPCRequest):
            self._ear.asks(item.message.method)
        with sending(self._asked.put(item.message)):
            await self._stream.send(item)


def _has_numbers(params: dict[str, Any]) -> bool:
    """Whether progress is told in numbers. Of one that is too large for a float the SDK ends the whole session."""
    try:
        return all(math.isfinite(params.get(name) or 0) for name in ("progress", "total"))
    except (TypeError, OverflowError):
        return False


class Sieve:
    """A transport with everything that goes over it looked at."""

    def __init__(self, transport: Any, ear: Ear, config: ServerConfig) -> None:
        self._transport = transport
        self._ear = ear
        self._config = config

    async def __aenter__(self) -> tuple[_Reader, _Writer]:
        reader, writer = await self._transport.__aenter__()
        asked = _Asked()
        return _Reader(reader, asked, self._ear, self._config), _Writer(writer, asked, self._ear)

    async def __aexit__(self, *error: object) -> Any:
        return await self._transport.__aexit__(*error)
