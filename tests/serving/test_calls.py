"""Tools over stdin and stdout, by the SDK's client in both eras."""

from __future__ import annotations

import asyncio
import re

import mcp.types as t
import pytest
from mcp import MCPError


def test_tools_are_listed_with_what_is_known_of_them_under_names_that_every_client_takes(connect, run, era):
    async def session():
        async with connect(era) as client:
            return {tool.name: tool for tool in (await client.list_tools()).tools}

    tools = run(session())
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name) for name in tools)
    assert "where__is_it" in tools
    assert tools["sum"].title == "Sum of two"
    assert tools["sum"].output_schema["required"] == ["sum"]
    assert tools["add"].description == "Adds."
    assert tools["add"].input_schema["required"] == ["a", "b"]
    assert tools["draw"].input_schema == {"type": "object"}


@pytest.mark.parametrize(
    ("name", "arguments", "content", "structured"),
    [
        ("add", {"a": 1, "b": 2}, [("text", "3")], None),
        ("sum", {"a": 1, "b": 2}, [("text", '{"sum":3}')], {"sum": 3}),
        ("draw", {}, [("text", "a dot"), ("image", "UE5H")], None),
        ("where__is_it", {}, [("text", "here")], None),
    ],
)
def test_a_result_is_told_in_all_its_forms(connect, run, era, name, arguments, content, structured):
    async def session():
        async with connect(era) as client:
            return await client.call_tool(name, arguments)

    result = run(session())
    assert [(block.type, getattr(block, "text", None) or block.data) for block in result.content] == content
    assert (result.is_error, result.structured_content) == (False, structured)


def test_a_failure_is_a_result_and_an_unknown_tool_an_error_of_the_protocol(connect, run, era):
    async def session():
        async with connect(era) as client:
            failed = await client.call_tool("fail")
            wrong = await client.call_tool("add", {"a": "one"})
            with pytest.raises(MCPError) as unknown:
                await client.call_tool("nothing")
            return failed, wrong, unknown.value

    failed, wrong, unknown = run(session())
    assert (failed.is_error, failed.content[0].text) == (True, "it did not work")
    assert wrong.is_error
    assert "a" in wrong.content[0].text
    assert (unknown.code, unknown.message) == (t.INVALID_PARAMS, "Unknown tool: nothing")


def test_progress_grows_and_output_comes_before_the_result(connect, run, era):
    steps, lines = [], []

    async def progress(done, total, message):
        steps.append((done, message))

    async def log(params):
        lines.append(params.data)

    async def session():
        async with connect(era, logging_callback=log) as client:
            return await client.call_tool("talk", progress_callback=progress)

    result = run(session())
    assert result.structured_content == {"lines": 3}
    said = "".join([*lines, *(message for _, message in steps if message)])
    assert [line for line in said.splitlines() if line] == ["line 0", "line 1", "line 2"]
    numbers = [done for done, _ in steps]
    assert numbers == sorted(set(numbers))
    assert numbers[-1] == pytest.approx(3, abs=0.001)
    assert bool(lines) == (era == "legacy")  # the newer era sends logs only where a request asks for them


def test_a_cancelled_call_is_stopped(connect, run, era, tmp_path):
    mark = tmp_path / "mark"

    async def session():
        async with connect(era) as client:
            call = asyncio.create_task(client.call_tool("hold", {"path": str(mark)}))
            await until(lambda: mark.exists() and mark.read_text() == "started")
            call.cancel()
            await until(lambda: mark.read_text() == "stopped")
            return await client.call_tool("add", {"a": 1, "b": 1})

    assert run(session()).content[0].text == "2"


def test_what_a_tool_prints_does_not_disturb_the_protocol(connect, run, era, tmp_path):
    async def session():
        async with connect(era) as client:
            await client.call_tool("print")
            return await client.call_tool("add", {"a": 1, "b": 1})

    assert run(session()).content[0].text == "2"
    assert "printed" in (tmp_path / "stderr").read_text()


def test_a_hundred_calls_at_once_run_side_by_side(connect, run, era):
    async def session():
        async with connect(era) as client:
            calls = [client.call_tool("add", {"a": number, "b": 0}) for number in range(100)]
            return [result.content[0].text for result in await asyncio.gather(*calls)]

    assert run(session()) == [str(number) for number in range(100)]


def test_clients_hear_of_changed_tools(connect, run, era):
    heard = asyncio.Event()

    async def message(notification):
        if isinstance(notification, t.ToolListChangedNotification):
            heard.set()

    async def session():
        async with connect(era, message_handler=message) as client:
            if era == "legacy":
                await client.list_tools()
                await client.call_tool("grow")
                await heard.wait()
            else:
                async with client.listen(tools_list_changed=True) as changes:
                    await client.list_tools()
                    await client.call_tool("grow")
                    await anext(aiter(changes))
            return [tool.name for tool in (await client.list_tools()).tools]

    assert "grown" in run(session())


async def until(condition):
    """Another process does it: there is nothing to wait on but the file itself."""
    while not condition():  # noqa: ASYNC110 -- as it says
        await asyncio.sleep(0.01)
