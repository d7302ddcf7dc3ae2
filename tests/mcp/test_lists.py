"""Servers whose list of tools cannot be had, or that have none: each says so, and stays up."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace

import mcp.types as t
import pytest

from executor import PluginRegistry, ToolExecutor
from executor.errors import BackendUnavailableError, ToolFailedError
from executor.mcp import _client, parse_entry

SERVER = """
import anyio, pathlib, sys
import mcp.types as t
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

async def tools(context, params):
    return t.ListToolsResult(tools=[t.Tool(name="echo", input_schema={"type": "object"})])

async def call(context, params):
    return t.CallToolResult(content=[t.TextContent(text="works")])

async def listen(context, params):
    pathlib.Path(sys.argv[2]).touch()
    raise ValueError("nothing to tell")

class Unchanging(Server):
    def get_capabilities(self, *args, **keywords):
        found = super().get_capabilities(*args, **keywords)
        if found.tools is not None:
            found.tools.list_changed = False
        return found

async def main():
    handlers = {"on_list_tools": tools, "on_call_tool": call} if sys.argv[1] == "tools" else {}
    server = Unchanging("bare", on_subscriptions_listen=listen, **handlers)
    async with stdio_server() as streams:
        await server.run(*streams, server.create_initialization_options())

anyio.run(main)
"""


def problem(bridge) -> str:
    with pytest.raises(BackendUnavailableError) as caught:
        bridge.listing("s")
    return str(caught.value)


@pytest.mark.parametrize("way", ["bad-list", "no-list"])
def test_a_server_whose_list_cannot_be_had_stays_up(bridge_to, raw, way):
    bridge = bridge_to({"s": raw(way)})
    first = problem(bridge)
    assert problem(bridge) == first
    status = bridge.status()["s"]
    assert (status.state, status.starts, status.tools) == ("running", 1, None)


def test_a_list_that_is_no_mcp_is_told_in_at_most_500_characters(bridge_to, raw):
    said = problem(bridge_to({"s": raw("bad-list")}))
    told = said[said.index("its list of tools is no valid MCP") :]
    assert len(told) == 500, "the whole message of the check is longer, and is cut"
    assert "tools" in told


def test_a_list_that_the_server_refuses_is_told_in_its_words(bridge_to, raw):
    assert "it does not list its tools: the list is locked" in problem(bridge_to({"s": raw("no-list")}))


@pytest.mark.parametrize("method", ["prompts/list", "resources/list", "resources/templates/list"])
def test_a_list_beside_the_tools_that_is_not_answered_keeps_nobody_from_them(bridge_to, raw, method):
    bridge = bridge_to({"s": replace(parse_entry("s", raw(f"unanswered={method}")), start_timeout=20)})
    listing = bridge.listing("s")
    assert listing.tool("echo")
    assert (listing.prompts, listing.resources) == (method.startswith("prompts"), method.startswith("resources"))
    assert bridge.call_tool("s", "echo", {"text": "works"}).content[0].text == "works"
    assert bridge.status()["s"].starts == 1


def test_a_server_with_documents_that_knows_no_templates_shows_its_documents(raw):
    registry = PluginRegistry()
    with registry, ToolExecutor(registry=registry) as executor:
        registry.expose("mcp", {"servers": {"s": raw("documents")}, "catalogue": False, "list_timeout": 30})
        ok, found = executor.execute("mcp__s__listResources", {})
    assert (ok, found) == (True, {"resources": [{"uri": "memo://one", "name": "one"}], "templates": []})


@pytest.mark.parametrize("method", ["initialize", "tools/list"])
def test_a_server_that_does_not_answer_is_told_with_what_it_was_asked(bridge_to, raw, method):
    bridge = bridge_to({"s": replace(parse_entry("s", raw(f"unanswered={method}")), start_timeout=3)})
    assert f"it did not answer '{method}' within 3 s" in problem(bridge)


@pytest.fixture
def bare(bridge_to, tmp_path):
    """A bridge to a server of the current revision that never says that its list has changed, and what it was asked."""

    def bare(kind):
        (tmp_path / "bare.py").write_text(SERVER)
        asked = tmp_path / "asked for changes"
        arguments = [str(tmp_path / "bare.py"), kind, str(asked)]
        return bridge_to({"s": {"command": sys.executable, "args": arguments}}), asked

    return bare


def test_a_server_without_tools_stays_up(bare):
    bridge, asked = bare("nothing")
    assert bridge.listing("s").tools == ()
    for _ in range(2):
        with pytest.raises(ToolFailedError):
            bridge.call_tool("s", "echo", {})
    status = bridge.status()["s"]
    assert (status.state, status.starts, status.tools) == ("running", 1, 0)
    assert not asked.exists()


def test_a_server_whose_list_never_changes_is_not_asked_to_tell_of_changes(bare):
    bridge, asked = bare("tools")
    for _ in range(4):  # each is sent after what was sent before it, so the last after anything asked at the start
        assert bridge.call_tool("s", "echo", {}).content[0].text == "works"
    assert bridge.status()["s"].protocol == "2026-07-28"
    assert not asked.exists()


class Page:
    def __init__(self, name, items, cursor):
        setattr(self, name, items)
        self.next_cursor = cursor


def endless(name, item):
    """A list that never ends; what was asked for is in the attribute `asked`."""

    async def fetch(cursor=None):
        fetch.asked += 1
        return Page(name, [item(number + 1000 * fetch.asked) for number in range(10)], "more")

    fetch.asked = 0
    return fetch


def test_a_list_of_documents_that_never_ends_is_cut(monkeypatch):
    monkeypatch.setattr(_client, "MOST_ITEMS", 25)
    fetch = endless("resources", lambda number: t.Resource(uri=f"memo://{number}", name="x"))
    assert len(asyncio.run(_client.pages(fetch, "resources"))) == 25
    assert fetch.asked == 3


def test_a_list_of_huge_documents_is_cut_by_what_they_weigh(monkeypatch):
    monkeypatch.setattr(_client, "MOST_CHARACTERS", 100_000)
    fetch = endless("resources", lambda number: t.Resource(uri=f"memo://{number}", name="x" * 30_000))
    assert len(asyncio.run(_client.pages(fetch, "resources"))) == 3
    assert fetch.asked == 1


def test_a_list_of_huge_tools_is_cut_and_that_is_said(monkeypatch):
    monkeypatch.setattr(_client, "MOST_CHARACTERS", 100_000)

    class Client:
        server_capabilities = t.ServerCapabilities(tools=t.ToolsCapability())
        list_tools = staticmethod(
            endless("tools", lambda n: t.Tool(name=f"t{n}", description="x" * 30_000, input_schema={"type": "object"}))
        )

    left_out = {}
    listing = asyncio.run(_client.list_all(Client(), left_out))
    assert len(listing.tools) == 3
    assert "after the first 3 tools" in left_out["…"]
