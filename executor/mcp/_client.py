"""From a configuration to a client of the SDK, and what a server offers."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

import mcp.types as t
from mcp import MCPError
from mcp.types.methods import validate_server_result
from pydantic import ValidationError

from executor.mcp._values import Listing

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcp import Client
    from mcp.shared.message import SessionMessage

    from executor.mcp._tail import Tail
    from executor.mcp._values import ServerConfig

MAX_EVENT = 64 * 1024 * 1024  # bytes of one event over HTTP; the SDK's 1 MiB cuts answers that people do get
MOST_PAGES = 100
MOST_TOOLS = 2000
LeftOut = Callable[[str, str], None]
Refused = Callable[[int, bool], None]


class _Sieve:
    """A stream from which tools that are no valid MCP are taken out: one of them would cost the whole list."""

    def __init__(self, stream: Any, left_out: LeftOut) -> None:
        self._stream = stream
        self._left_out = left_out

    @property
    def last_context(self) -> Any:
        """The sender's context, where the stream below keeps it."""
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        return self._sift(await self._stream.receive())

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        return self._sift(await self._stream.__anext__())

    def _sift(self, item: SessionMessage | Exception) -> SessionMessage | Exception:
        message = getattr(item, "message", None)
        if isinstance(message, t.JSONRPCResponse) and isinstance(tools := message.result.get("tools"), list):
            rest = {key: value for key, value in message.result.items() if key not in ("tools", "nextCursor")}
            message.result["tools"] = [tool for tool in tools if self._fits(tool, rest)]
        return item

    def _fits(self, tool: Any, rest: dict[str, Any]) -> bool:
        name = str(tool.get("name")) if isinstance(tool, dict) else "?"
        version = "2026-07-28" if "resultType" in rest or "ttlMs" in rest else "2025-11-25"
        try:
            validate_server_result("tools/list", version, {**rest, "tools": [tool]})
        except ValidationError as error:
            found = error.errors(include_url=False, include_context=False, include_input=False)[0]
            if found["loc"][:1] != ("tools",):
                return True  # it is the answer around it that is wrong
            self._left_out(name, f"{'.'.join(str(part) for part in found['loc'][2:])}: {found['msg']}")
            return False
        if tool.get("execution", {}).get("taskSupport") == "required":
            self._left_out(name, "it runs only as a task of MCP's revision 2025-11-25, which is not supported")
            return False
        return True

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> Any:
        return await self._stream.__aexit__(*error)


@contextlib.asynccontextmanager
async def _sifted(transport: Any, left_out: LeftOut) -> AsyncIterator[tuple[Any, Any]]:
    async with transport as (reader, writer):
        yield _Sieve(reader, left_out), writer


def connect(
    config: ServerConfig, tail: Tail, on_end: Callable[[], object], left_out: LeftOut, refused: Refused
) -> tuple[Any, Callable[[], int | None]]:
    """
    What the SDK's client takes as its server, and a function that gives the process id.

    Args:
        on_end: Called when a process has ended.
        left_out: Told of each tool that is no valid MCP: its name, and why.
        refused: Told of each error status over HTTP, and whether the request named a session.
    """
    if config.transport == "memory":
        return config.server, lambda: None
    if config.transport == "stdio":
        import sys

        if sys.platform == "win32":  # pragma: no cover -- job objects and .cmd files are the SDK's to know
            from mcp.client.stdio import StdioServerParameters, stdio_client

            parameters = StdioServerParameters(
                command=config.command, args=list(config.args), env=dict(config.env), cwd=config.cwd
            )
            return _sifted(stdio_client(parameters), left_out), lambda: None
        from executor.mcp._stdio import StdioTransport

        child = StdioTransport(config, tail, on_end)
        return _sifted(child, left_out), lambda: child.pid
    return _sifted(_remote(config, refused), left_out), lambda: None


@contextlib.asynccontextmanager
async def _remote(config: ServerConfig, refused: Refused) -> AsyncIterator[tuple[Any, Any]]:
    import httpx2

    async def look(response: httpx2.Response) -> None:
        if response.status_code >= 400:
            refused(response.status_code, "mcp-session-id" in response.request.headers)

    if config.transport == "sse":
        from mcp.client.sse import sse_client

        async with sse_client(config.url, headers=dict(config.headers)) as streams:
            yield streams
        return
    from mcp.client.streamable_http import streamable_http_client

    # No read timeout: calls have their own, and an answer may take longer than any pause that would be a failure.
    timeout, hooks = httpx2.Timeout(30.0, read=None), {"response": [look]}
    async with (
        httpx2.AsyncClient(headers=dict(config.headers), timeout=timeout, event_hooks=hooks) as http,
        streamable_http_client(config.url, http_client=http, max_sse_event_size=MAX_EVENT) as streams,
    ):
        yield streams


async def list_all(client: Client, left_out: dict[str, str]) -> Listing:
    """
    Every tool of every page, and whether there are prompts and resources.

    Args:
        left_out: What was found to be no valid tool on the way here, by name.
    """
    tools: dict[str, dict[str, Any]] = {}
    cursor = None
    for _ in range(MOST_PAGES if client.server_capabilities.tools is not None else 0):
        page = await client.list_tools(cursor=cursor)
        for tool in page.tools:
            if tool.name in tools:
                left_out[tool.name] = "the server lists it twice; the first one stays"
            elif len(tools) < MOST_TOOLS:
                tools[tool.name] = tool.model_dump(by_alias=True, mode="json", exclude_none=True)
            else:
                left_out[tool.name] = f"the server has more than {MOST_TOOLS} tools"
        cursor = page.next_cursor
        if cursor is None:
            break
    can = client.server_capabilities
    return Listing(
        tools=tuple(tools.values()),
        left_out=tuple(sorted(left_out.items())),
        prompts=can.prompts is not None and await _has(client.list_prompts, "prompts"),
        resources=can.resources is not None
        and (
            await _has(client.list_resources, "resources")
            or await _has(client.list_resource_templates, "resource_templates")
        ),
    )


async def _has(fetch: Callable[[], Any], field: str) -> bool:
    """Whether a list has anything; servers made with an SDK often say that they could have, and have nothing."""
    try:
        return bool(getattr(await fetch(), field))
    except (MCPError, ValidationError):
        return False


async def pages(fetch: Callable[..., Any], field: str) -> list[dict[str, Any]]:
    """Every item of every page of a list that is not the tools', as MCP writes it."""
    found: list[dict[str, Any]] = []
    cursor = None
    for _ in range(MOST_PAGES):
        page = await fetch(cursor=cursor)
        found += [item.model_dump(by_alias=True, mode="json", exclude_none=True) for item in getattr(page, field)]
        cursor = page.next_cursor
        if cursor is None:
            break
    return found


def implementation() -> t.Implementation:
    """Who we say we are."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return t.Implementation(name="toolexec", version=version("toolexec"))
    except PackageNotFoundError:  # run from a checkout
        return t.Implementation(name="toolexec", version="0")
