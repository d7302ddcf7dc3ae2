# ruff: noqa: ASYNC240 -- a marker file is the only thing that this process has to do
"""A small real MCP server for the tests: it echoes, waits, asks, fails, floods and dies on request."""

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Annotated

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.resolve import Elicit, Resolve
from pydantic import BaseModel

server = MCPServer("small")


@server.tool()
async def echo(text: str) -> dict:
    """Say it back."""
    return {"text": text, "pid": os.getpid()}


@server.tool()
async def plain(text: str) -> str:
    """Say it back as text."""
    return text


@server.tool()
async def hang(marker: str, ctx: Context) -> str:
    """Wait until cancelled; the marker file says what happened."""
    Path(marker).write_text("started")
    await ctx.report_progress(1, 2, "waiting")
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        Path(marker).write_text("cancelled")
        raise
    return "slept"


@server.tool()
async def steps(count: int, ctx: Context) -> str:
    """Report progress."""
    for number in range(count):
        await ctx.report_progress(number + 1, count, f"step {number + 1}")
    return "done"


@server.tool()
async def fail(text: str) -> str:
    """Fail."""
    raise ToolError(text)


@server.tool()
async def die(code: int) -> str:
    """Die in the middle of the call."""
    print("last words", file=sys.stderr, flush=True)
    if code < 0:
        os.kill(os.getpid(), signal.Signals(-code))
    os._exit(code)


@server.tool()
async def big(size: int) -> str:
    """Answer with that many characters."""
    return "x" * size


@server.tool()
async def environment() -> dict:
    """What the server sees of the environment."""
    return dict(os.environ)


class Colour(BaseModel):
    colour: str


async def wanted_colour(question: str):
    return Elicit(question, Colour)


@server.tool()
async def ask(question: str, colour: Annotated[Colour, Resolve(wanted_colour)]) -> str:
    """Ask the person."""
    return colour.colour


@server.tool()
async def grow(name: str, ctx: Context) -> str:
    """Add a tool, and tell."""
    server.add_tool(plain, name=name)
    await ctx.notify_tools_changed()
    return "grown"


@server.resource("note://today")
def today() -> str:
    """The note of today."""
    return "buy milk"


@server.resource("note://{day}")
def note(day: str) -> str:
    """The note of a day."""
    return f"nothing on {day}"


@server.prompt()
def greeting(name: str) -> str:
    """A greeting."""
    return f"Say hello to {name}"


if __name__ == "__main__":
    server.run("stdio")
