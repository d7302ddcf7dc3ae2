"""From a configuration to a client of the SDK, and what a server offers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import mcp.types as t
from mcp import MCPError
from pydantic import ValidationError

from executor.mcp._sieve import Sieve
from executor.mcp._values import Listing

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp import Client

    from executor.mcp._child import Program
    from executor.mcp._failures import Refusal
    from executor.mcp._sieve import Ear
    from executor.mcp._values import ServerConfig

MOST_PAGES = 200
MOST_CHARACTERS = 32 * 1024 * 1024  # of one list
MOST_ITEMS = 5000  # documents, templates or prompts
OTHERS_SECONDS = 1.0  # for a list that is not the tools', of a server that was just started: calls wait meanwhile
MOST_TOOLS = 5000  # a model is lost among far fewer; more than these would only cost memory


def connect(config: ServerConfig, program: Program | None, ear: Ear, refused: Callable[[Refusal | None], None]) -> Any:
    """
    What the SDK's client takes as its server.

    Args:
        program: What was started for it here, or None.
        ear: Told of what is seen on the way.
        refused: Told of what went wrong with requests over HTTP that belong to no call.
    """
    if config.transport == "memory":
        return config.server
    if program is not None:
        from executor.mcp._stdio import Streams

        return Sieve(Streams(program.child), ear, config)
    if config.transport != "stdio":
        from executor.mcp._http import remote
        from executor.mcp._oauth import login_of

        return Sieve(remote(config, refused, login_of(config)), ear, config)
    # On Windows job objects and .cmd files are the SDK's to know.
    from mcp.client.stdio import StdioServerParameters, stdio_client

    parameters = StdioServerParameters(
        command=config.command, args=list(config.args), env=dict(config.env), cwd=config.cwd
    )
    return Sieve(stdio_client(parameters), ear, config)


async def list_all(client: Client, left_out: dict[str, str]) -> Listing:
    """
    Every tool of every page, and whether there are prompts and resources.

    Args:
        left_out: What was found to be no valid tool on the way here, by name.
    """
    tools: dict[str, dict[str, Any]] = {}
    cursor = None
    too_many = size = 0
    for _ in range(MOST_PAGES if client.server_capabilities.tools is not None else 0):
        page = await client.list_tools(cursor=cursor)
        for tool in page.tools:
            told = tool.model_dump(by_alias=True, mode="json", exclude_none=True)
            size += size_of(told)
            if tool.name in tools:
                left_out[tool.name[:100]] = "the server lists it twice; the first one stays"
            elif len(tools) < MOST_TOOLS and size <= MOST_CHARACTERS:
                tools[tool.name] = told
            else:
                too_many += 1
        cursor = page.next_cursor
        if cursor is None or size > MOST_CHARACTERS:
            break
    if too_many or cursor is not None:
        more = f"{too_many} after the first {len(tools)} tools" if too_many else "the rest of the list"
        pages = f", and what comes after {MOST_PAGES} pages" if cursor is not None else ""
        left_out["…"] = f"{more}{pages}: it has too many"
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
    """
    Whether a list has anything; servers made with an SDK often say that they could have, and have nothing.

    One that is not answered soon keeps nobody from the tools: it may have something.
    """
    left = anyio.current_effective_deadline() - anyio.current_time()
    with anyio.move_on_after(min(OTHERS_SECONDS, left / 3)):
        try:
            return bool(getattr(await fetch(), field))
        except (MCPError, ValidationError):
            return False
    return True


async def pages(fetch: Callable[..., Any], field: str) -> list[dict[str, Any]]:
    """
    Every item of a list that is not the tools', as MCP writes it; `MOST_ITEMS` and `MOST_CHARACTERS` at most.

    A server that does not know the request has none: many know documents, and no templates of them.
    """
    found: list[dict[str, Any]] = []
    cursor = None
    size = 0
    for _ in range(MOST_PAGES):
        try:
            page = await fetch(cursor=cursor)
        except MCPError as error:
            if error.code == t.METHOD_NOT_FOUND:
                break
            raise
        for item in getattr(page, field):
            told = item.model_dump(by_alias=True, mode="json", exclude_none=True)
            size += size_of(told)
            if len(found) == MOST_ITEMS or size > MOST_CHARACTERS:
                return found
            found.append(told)
        cursor = page.next_cursor
        if cursor is None:
            break
    return found


def size_of(value: Any) -> int:
    """Roughly how many characters a JSON tree has."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(8 + len(key) + size_of(item) for key, item in value.items())
    return sum(map(size_of, value)) if isinstance(value, list) else 8


def implementation() -> t.Implementation:
    """Who we say we are."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return t.Implementation(name="toolexec", version=version("toolexec"))
    except PackageNotFoundError:  # run from a checkout
        return t.Implementation(name="toolexec", version="0")
