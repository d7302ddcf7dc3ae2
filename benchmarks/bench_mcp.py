"""
What a synchronous call of an MCP tool costs, against the SDK's own async `call_tool` on the same server.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from statistics import median
from time import perf_counter
from typing import Any

import _common as common
from mcp import Client, StdioServerParameters
from mcp.server import MCPServer

from executor.mcp import MCPBridge

ENTRY = {"command": sys.executable, "args": [str(common.ROOT / "tests" / "mcp" / "server.py")]}
TOOL, ARGS = "plain", {"text": "x"}
THREADS = 32


def in_memory() -> MCPServer[Any]:
    """A server with a tool that does next to nothing."""
    server: MCPServer[Any] = MCPServer("bench", log_level="CRITICAL")

    @server.tool()
    async def plain(text: str) -> str:
        return text

    return server


def of_sdk(server: Any, calls: int) -> tuple[float, float]:
    """Seconds a call, one after the other; calls a second, all at once."""

    async def main() -> tuple[float, float]:
        async with Client(server) as client:
            await client.list_tools()
            for _ in range(20):
                await client.call_tool(TOOL, ARGS)
            began = perf_counter()
            for _ in range(calls):
                await client.call_tool(TOOL, ARGS)
            one = (perf_counter() - began) / calls
            began = perf_counter()
            await asyncio.gather(*(client.call_tool(TOOL, ARGS) for _ in range(calls)))
            return one, calls / (perf_counter() - began)

    return asyncio.run(main())


def of_bridge(server: Any, calls: int) -> tuple[float, float]:
    """The same through the bridge, where "all at once" is from as many threads as there may be."""
    with MCPBridge({"s": server}, cache=None) as bridge:
        for _ in range(20):
            bridge.call_tool("s", TOOL, ARGS)
        began = perf_counter()
        for _ in range(calls):
            bridge.call_tool("s", TOOL, ARGS)
        one = (perf_counter() - began) / calls
        each = max(1, calls // THREADS)

        def work() -> None:
            for _ in range(each):
                bridge.call_tool("s", TOOL, ARGS)

        threads = [threading.Thread(target=work) for _ in range(THREADS)]
        began = perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return one, each * THREADS / (perf_counter() - began)


def main() -> None:
    """Take turns, so that a busy moment meets both alike."""
    rounds = common.rounds(7, 3)
    calls = 20 if rounds == 1 else 300
    for what, ours, theirs, limit in (
        ("over stdio", ENTRY, StdioServerParameters(**ENTRY), 1.35),
        ("in memory", in_memory(), in_memory(), 2.2),
    ):
        pairs = [(of_sdk(theirs, calls), of_bridge(ours, calls)) for _ in range(rounds)]
        ratio = median(bridge[0] / sdk[0] for sdk, bridge in pairs)
        one, base = median(bridge[0] for _, bridge in pairs), median(sdk[0] for sdk, _ in pairs)
        against = f"SDK, async: {common.milli(base)}; bridge: {common.milli(one)}"
        common.row(f"synchronous MCP call {what}", f"{ratio:.2f} x", against, f"{limit} x", holds=ratio <= limit)
        if what == "over stdio":
            rate = median(bridge[1] for _, bridge in pairs)
            share = median(bridge[1] / sdk[1] for sdk, bridge in pairs)
            holds = rate >= 1200 or share >= 0.85
            common.row(
                f"calls a second from {THREADS} threads, {what}",
                f"{rate:.0f}/s",
                f"SDK, all at once: {median(sdk[1] for sdk, _ in pairs):.0f}/s ({share:.2f} x)",
                "1200/s or 0.85 x",
                holds=holds,
            )


if __name__ == "__main__":
    main()
