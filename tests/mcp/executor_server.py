"""An executor behind MCP, in a process of its own."""

import asyncio
import contextvars
import sys
from functools import partial
from pathlib import Path

import anyio
import mcp.types as t
from mcp.server import Server
from mcp.server.stdio import stdio_server

sys.path.insert(0, str(Path(__file__).parents[2]))
from executor import CancelToken, ToolCall, ToolExecutor, current_call

executor = ToolExecutor()


def wait(args: dict) -> str:
    """Wait until cancelled."""
    call = current_call()
    Path(args["marker"]).write_text("started")
    cancelled = call.wait(60)
    Path(args["marker"]).write_text("cancelled" if cancelled else "slept")
    return "slept"


executor.register("double", lambda args: 2 * args["n"], schema={"type": "object"}, annotations={"read_only": True})
executor.register("pair", lambda args: {"a": 1, **args}, schema={"type": "object"})
executor.register("wrapped", lambda args: {"result": args["value"]}, schema={"type": "object"})
executor.register("fail", lambda args: 1 / 0, schema={"type": "object"})
executor.register("wait", wait, schema={"type": "object"})


async def list_tools(_, __):
    definitions = [
        t.Tool(
            name=tool.name,
            input_schema=dict(tool.input_schema),
            annotations=t.ToolAnnotations.model_validate(tool.annotations.to_dict()) if tool.annotations else None,
        )
        for tool in executor.list_tools()
    ]
    return t.ListToolsResult(tools=definitions, ttl_ms=0, cache_scope="public")


async def call_tool(_, params):
    token = CancelToken()
    call = ToolCall("remote", params.name, params.arguments or {})
    run = partial(contextvars.copy_context().run, partial(executor.call, call, cancel=token))
    work = asyncio.get_running_loop().run_in_executor(None, run)
    try:
        result = await asyncio.shield(work)
    except asyncio.CancelledError:
        token.cancel()
        raise
    return t.CallToolResult(
        content=[t.TextContent(type="text", text=result.content)],
        structured_content=result.value if result.success else None,
        is_error=not result.success,
    )


async def main():
    server = Server("executor", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


anyio.run(main)
