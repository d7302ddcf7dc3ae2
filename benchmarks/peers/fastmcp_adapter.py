"""fastmcp: a client and a server in one process, without a transport."""

from importlib.metadata import version

import measure
import payload
from fastmcp import Client, FastMCP


async def main():
    server = FastMCP("peers")
    server.tool(payload.add)
    server.tool(payload.order)
    async with Client(server) as client:
        assert (await client.call_tool("add", payload.SMALL)).data == 3
        small = await measure.of_async(lambda: client.call_tool("add", payload.SMALL))
        large = await measure.of_async(lambda: client.call_tool("order", payload.LARGE))
    measure.report(version("fastmcp"), small=small, large=large)


measure.run(main())
