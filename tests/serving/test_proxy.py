"""What the executor's own MCP servers have beside tools, passed on."""

from __future__ import annotations

import asyncio
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import mcp.types as t
import pytest
from mcp import Client, MCPError

from executor import Decision, PluginRegistry, ToolExecutor, Verdict
from executor.mcp import ServeOptions
from executor.mcp.serving import _view
from executor.mcp.serving._server import Serving

SERVER = str(Path(__file__).parent / "proxied.py")


def entry(*words, **more):
    return {"command": sys.executable, "args": [SERVER, *words], **more}


class Gate:
    """Denies what is named; asks nobody."""

    def __init__(self, *denied):
        self.denied = denied

    def decide(self, call, context):
        return Decision("deny" if call.name in self.denied else "allow", "by the test", "test")

    def ask(self, call, decision, context):
        return Verdict(False, None, {"reason": "nobody is asked", "method": "test"})


@pytest.fixture
def proxy():
    """``async with proxy(mode, servers)`` is a client of an executor with these servers."""
    made = []

    @asynccontextmanager
    async def opened(mode, servers, *, gate=None, tools=(), proxy=True, **options):
        registry = PluginRegistry()
        made.append(registry)
        registry.expose("mcp", {"catalogue": False, "servers": servers, "list_timeout": 60})
        executor = ToolExecutor(registry=registry, permission_plugin=gate or Gate())
        made.append(executor)
        offered = ServeOptions(servers=registry.get_plugin("mcp"), proxy=proxy, tools=tools)
        serving = Serving(lambda _: executor, offered)
        try:
            async with Client(serving.server, mode=mode, cache=None, **options) as client:
                yield client
        finally:
            await serving.close()

    yield opened
    for each in reversed(made):
        each.shutdown(cancel=True) if isinstance(each, ToolExecutor) else each.close()


BOTH = {"a": entry("a"), "b": entry("b", "hostile")}


def test_documents_are_listed_under_names_of_their_own_and_read_by_them(proxy, run, era):
    async def session():
        async with proxy(era, BOTH) as client:
            listed = [each.uri for each in (await client.list_resources()).resources]
            templates = [each.uri_template for each in (await client.list_resource_templates()).resource_templates]
            wanted = [uri for uri in listed if "big" not in uri] + [
                "town://x/weather", "mcp://b/town://z/weather", "mcp://a/memo://same",
            ]  # fmt: skip
            read = {uri: (await client.read_resource(uri)).contents[0] for uri in wanted}
            assert all(content.uri == uri for uri, content in read.items())
            return listed, templates, {uri: content.text for uri, content in read.items()}

    listed, templates, read = run(session())
    assert listed == [
        "memo://same", "memo://only-a", "mcp://b/memo://same", "memo://only-b", "mcp://b/task://0123/output",
        "mcp://b/town://london/weather", "memo://big",
    ]  # fmt: skip
    assert templates[-2:] == ["town://{town}/weather", "mcp://b/town://{town}/weather"]
    assert read == {
        "memo://same": "same of a",
        "memo://only-a": "only of a",
        "mcp://b/memo://same": "same of b",
        "memo://only-b": "only of b",
        "mcp://b/task://0123/output": "not yours",
        "mcp://b/town://london/weather": "hijacked",
        "town://x/weather": "x by a",
        "mcp://b/town://z/weather": "z by b",
        "mcp://a/memo://same": "same of a",
    }


def test_what_an_evil_server_lists_is_neither_ours_nor_endless_nor_hidden(proxy, run, era):
    async def session():
        async with proxy(era, BOTH) as client:
            listed = {each.uri: each for each in (await client.list_resources()).resources}
            problems = []
            for uri in ("task://0123/output", "memo://big", "memo://none", "mcp://c/memo://same", "mcp://"):
                with pytest.raises(MCPError) as problem:
                    await client.read_resource(uri)
                problems.append(problem.value.message)
            return listed, problems

    listed, problems = run(session())
    big = listed["memo://big"]
    assert len(big.name) < 5000
    assert len(big.description) < 5000
    assert listed["mcp://b/task://0123/output"].name == "<U+001B>[31mred<U+202E>"
    assert problems[1].startswith("It has 2097")
    assert all(text.startswith("There is no resource") for text in [problems[0], *problems[2:]])


def test_prompts_and_values_for_their_arguments_are_passed_on(proxy, run, era):
    async def session():
        async with proxy(era, BOTH) as client:
            names = [each.name for each in (await client.list_prompts()).prompts]
            said = {}
            for name in names:
                arguments = {"who": "me"} if name in ("greet", "b__greet") else None
                said[name] = (await client.get_prompt(name, arguments)).messages[0].content.text
            with pytest.raises(MCPError, match="Unknown prompt: none"):
                await client.get_prompt("none")
            prompt = await client.complete(t.PromptReference(name="b__greet"), {"name": "who", "value": "x"})
            template = t.ResourceTemplateReference(uri="mcp://b/town://{town}/weather")
            town = await client.complete(template, {"name": "town", "value": "y"})
            return names, said, prompt.completion.values, town.completion.values

    names, said, prompt, town = run(session())
    assert names[:4] == ["greet", "only_a", "b__greet", "only_b"]
    assert names[4].startswith("b__greet_0_owned__")
    assert [said[name] for name in names] == ["a greets me", "a", "b greets me", "b", "odd"]
    assert (prompt, town) == (["x-b"], ["y-b"])


def test_reading_is_judged_as_the_tool_is_that_reads(proxy, run, era):
    gate = Gate("mcp__a__readResource", "mcp__a__getPrompt")

    async def session():
        async with proxy(era, {"a": entry("a")}, gate=gate) as client:
            with pytest.raises(MCPError, match="by the test"):
                await client.read_resource("memo://same")
            with pytest.raises(MCPError, match="by the test"):
                await client.get_prompt("greet", {"who": "me"})
            values = await client.complete(t.PromptReference(name="greet"), {"name": "who", "value": "x"})
            return values.completion.values

    assert run(session()) == []


def test_nothing_is_passed_on_unasked_or_without_the_tool_that_reads(proxy, run):
    async def session():
        async with proxy("legacy", {"a": entry("a")}, proxy=False) as client:
            plain = client.server_capabilities
            documents = [each.uri for each in (await client.list_resources()).resources]
        async with proxy("legacy", {"a": entry("a")}, tools=("mcp__a__pid",)) as client:
            narrow = await client.list_resources(), await client.list_prompts()
            return plain, documents, [*narrow[0].resources, *narrow[1].prompts]

    plain, documents, narrow = run(session())
    assert (plain.prompts, plain.completions, documents, narrow) == (None, None, [], [])


def test_a_server_that_does_not_answer_holds_up_nobody(proxy, run, monkeypatch, tmp_path):
    monkeypatch.setattr(_view, "WAIT_SECONDS", 2)
    monkeypatch.setattr(_view, "ANSWER_SECONDS", 6.0)
    servers = {"mute": entry("mute", "mute", str(tmp_path / "asked")), "a": entry("a")}

    async def session():
        async with proxy("legacy", servers) as client:
            listed = [each.uri for each in (await client.list_resources()).resources]
            read = (await client.read_resource("memo://same")).contents[0].text
            return listed, read

    listed, read = run(session())
    assert (tmp_path / "asked").exists()
    assert {"memo://same", "memo://only-a"} <= set(listed)
    assert read == "same of a"


def test_clients_hear_of_changes_and_of_a_storm_of_them_only_now_and_then(proxy, run):
    heard, both = [], asyncio.Event()

    async def message(notification):
        heard.append(type(notification))
        if {t.ResourceListChangedNotification, t.PromptListChangedNotification} <= set(heard):
            both.set()

    async def session():
        async with proxy("legacy", {"a": entry("a", protocol="legacy")}, message_handler=message) as client:
            await client.list_resources()
            await client.call_tool("mcp__a__announce", {"times": 300})
            await both.wait()
            return (await client.list_resources()).resources

    assert run(session())
    assert len(heard) <= 12, heard


def test_links_in_results_lead_to_the_server_that_gave_them(proxy, run):
    async def session():
        async with proxy("legacy", {"a": entry("a"), "b": entry("b")}) as client:
            await client.list_resources()
            told = [(await client.call_tool(f"mcp__{name}__link")).content[0] for name in ("a", "b")]
            return [(str(block.uri), (await client.read_resource(str(block.uri))).contents[0].text) for block in told]

    assert run(session()) == [("memo://same", "same of a"), ("mcp://b/memo://same", "same of b")]
