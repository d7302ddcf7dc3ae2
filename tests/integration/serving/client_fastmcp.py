"""A session of fastmcp's client: lists, calls, sees progress, answers questions, cancels. Its findings are JSON."""

import asyncio
import json
import os
import sys
from pathlib import Path

from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult
from fastmcp.client.transports import StdioTransport


async def main(command, *args):
    asked, answers, steps = [], iter([True, False]), []

    async def answer(message, response_type, params, context):
        asked.append(message)
        return ElicitResult(action="accept", content={"allow": next(answers)})

    async def progress(done, total, message):
        steps.append(done)

    transport = StdioTransport(command=command, args=list(args), env=dict(os.environ))
    async with Client(transport, elicitation_handler=answer) as client:
        found = {"tools": [tool.name for tool in await client.list_tools()]}
        found["sum"] = (await client.call_tool("sum", {"a": 1, "b": 2})).structured_content
        found["drawn"] = [block.type for block in (await client.call_tool("draw")).content]
        found["talked"] = (await client.call_tool("talk", progress_handler=progress)).structured_content
        found["allowed"] = (await client.call_tool("guarded")).content[0].text
        found["denied"] = (await client.call_tool("guarded", raise_on_error=False)).is_error
        found["failed"] = (await client.call_tool("fail", raise_on_error=False)).is_error
        found["left"] = "task_id" in (await client.call_tool("leave", {"path": "left"})).structured_content
        call = asyncio.create_task(client.call_tool("hold", {"path": "held"}))
        while not Path("held").exists():  # noqa: ASYNC110, ASYNC240 -- another process writes it
            await asyncio.sleep(0.01)
        call.cancel()
        found["after"] = (await client.call_tool("add", {"a": 1, "b": 1})).content[0].text
        found["asked"], found["progress"] = asked, bool(steps)
    print(json.dumps(found))


asyncio.run(main(*sys.argv[1:]))
