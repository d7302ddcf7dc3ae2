"""Permission asked through the client, in both eras."""

from __future__ import annotations

import asyncio
import json
import threading
from contextlib import nullcontext

import httpx2
import jsonschema
import mcp.types as t
import pytest
from mcp import Client

from executor import Decision, ToolExecutor
from executor.approval import Surface
from executor.mcp import ServeOptions
from executor.mcp.serving._server import Serving
from executor.permission._meeting import can_meet


def answering(action, content=None):
    asked = []

    async def answer(context, params):
        asked.append(params)
        return t.ElicitResult(action=action, content=content)

    return answer, asked


@pytest.mark.parametrize(
    ("action", "content", "allowed"),
    [
        ("accept", {"allow": True}, True),
        ("accept", {"allow": True, "comment": "mind the step"}, True),
        ("accept", {"allow": False}, False),
        ("decline", None, False),
        ("cancel", None, False),
    ],
)
def test_the_client_is_asked_and_only_a_clear_yes_allows(connect, run, era, action, content, allowed):
    answer, asked = answering(action, content)

    async def session():
        async with connect(era, elicitation_callback=answer) as client:
            return await client.call_tool("guarded")

    result = run(session())
    assert [params.message for params in asked] == ["Run guarded?\n  why you are asked: it is guarded"]
    assert asked[0].requested_schema["required"] == ["allow"]
    assert result.is_error is not allowed
    assert ("went in" in result.content[0].text) is allowed


def test_a_client_that_fills_in_every_field_finds_what_to_fill_in(connect, run, era):
    async def answer(context, params):  # as fastmcp's client does, for a handler that returns response_type(allow=True)
        content = {name: field.get("default") for name, field in params.requested_schema["properties"].items()}
        jsonschema.validate(content | {"allow": True}, params.requested_schema)
        return t.ElicitResult(action="accept", content=content | {"allow": True})

    async def session():
        async with connect(era, elicitation_callback=answer) as client:
            return await client.call_tool("guarded")

    assert not run(session()).is_error


def test_a_client_that_shows_no_forms_is_denied(connect, run, era):
    async def session():
        async with connect(era) as client:
            return await client.call_tool("guarded")

    result = run(session())
    assert result.is_error
    assert "said no_channel" in result.content[0].text


def test_two_equal_calls_are_asked_about_one_by_one(connect, run, era):
    said = iter([True, False])

    async def answer(context, params):
        return t.ElicitResult(action="accept", content={"allow": next(said)})

    async def session():
        async with connect(era, elicitation_callback=answer) as client:
            return await asyncio.gather(client.call_tool("guarded"), client.call_tool("guarded"))

    assert sorted(result.is_error for result in run(session())) == [False, True]


@pytest.mark.skipif(not can_meet(), reason="this system has no local sockets")
@pytest.mark.parametrize(
    ("ask", "is_open", "asked_of"),
    [
        ([], True, "surface"),
        ([], False, "client"),
        (["client"], True, "client"),
        (["console"], True, "surface"),
        (["console"], False, "nobody"),
        (["both"], True, "client and surface"),
        (["never"], True, "nobody"),
    ],
)
def test_who_is_asked_is_what_ask_says(connect, run, era, ask, is_open, asked_of):
    """A surface of another process says yes, the client says no."""
    heard = set()

    async def answer(context, params):
        heard.add("client")
        if asked_of == "client and surface":
            await asyncio.to_thread(shown.wait, 20)
        return t.ElicitResult(action="accept", content={"allow": False})

    def show(event, approval):
        if event == "asked":
            heard.add("surface")
            shown.set()
            if asked_of == "surface":
                surface.answer(approval.id, "yes")

    shown, surface = threading.Event(), Surface("page", show)

    async def session():
        async with connect(era, *(f"--ask={word}" for word in ask), elicitation_callback=answer) as client:
            return [await client.call_tool(tool) for tool in ("guarded", "wonder")]

    with surface if is_open else nullcontext():
        told = [result.content[0].text for result in run(session())]
    assert heard == (set() if asked_of == "nobody" else set(asked_of.split(" and ")))
    assert ("went in" in told[0]) is (asked_of == "surface")
    assert "nobody to ask" in told[1] or asked_of != "nobody"


def test_what_a_tool_asks_is_a_form_of_the_client_but_never_for_a_secret(connect, run, era):
    answer, asked = answering("accept", {"to": "there"})

    async def session():
        async with connect(era, elicitation_callback=answer) as client:
            return await client.call_tool("wonder"), await client.call_tool("wonder", {"secret": True})

    told, refused = run(session())
    assert json.loads(told.content[0].text) == {"to": "there"}
    assert refused.is_error
    assert "there is nobody to ask" in refused.content[0].text
    assert [params.requested_schema["properties"]["to"]["title"] for params in asked] == ["Where to"]


def test_a_form_is_asked_for_in_words_for_a_client_and_in_fields_that_it_knows(connect, run, era):
    answer, asked = answering("accept", {"to": "there"})

    async def session():
        async with connect(era, elicitation_callback=answer) as client:
            await client.call_tool("wonder")

    run(session())
    assert asked[0].message.splitlines()[0] == "wonder asks: Where to?"
    assert "c:TEXT" not in asked[0].message  # as it is typed at a terminal
    assert asked[0].requested_schema["properties"]["to"]["type"] == "string"


def test_a_client_that_fails_when_it_is_to_ask_has_not_said_no(connect, run):
    async def broken(context, params):
        return t.ErrorData(code=-32603, message="this form cannot be shown")

    async def session():
        async with connect("legacy", elicitation_callback=broken) as client:
            return await client.call_tool("wonder")

    result = run(session())
    assert result.is_error
    assert "this form cannot be shown" in result.content[0].text
    assert "user said no" not in result.content[0].text


NEARLY = {
    "a list": '"result": [1]',
    "null": '"result": null',
    "a word": '"result": "no"',
    "an error that is a word": '"error": "no"',
    "nested too deep": f'"result": {"[" * 100_000}{"]" * 100_000}',
    "no JSON": '"result": no',
    "nothing, as of what is undefined in JavaScript": '"jsonrpc": "2.0"',
}


HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"elicitation": {}},
    "clientInfo": {"name": "wire", "version": "1"},
}


def ends_without_an_answer(result):
    assert result["isError"]
    assert "the client that made the call could not ask" in result["content"][0]["text"]


@pytest.mark.parametrize("bridged", [False, True])
@pytest.mark.parametrize("said", NEARLY.values(), ids=NEARLY)
def test_an_answer_that_is_none_of_the_protocol_does_not_leave_the_call_waiting(wire, broker, bridged, said):
    client = wire(broker.bridge(), modern=False) if bridged else wire(modern=False)
    client.ask("initialize", **HELLO)
    client.write({"jsonrpc": "2.0", "method": "notifications/initialized"})
    number = client.send("tools/call", name="wonder", arguments={})
    asked = json.loads(client.process.stdout.readline())
    client.process.stdin.write(b'{"jsonrpc": "2.0", "id": %s, %s}\n' % (to_bytes(asked["id"]), said.encode()))
    client.process.stdin.flush()
    ends_without_an_answer(client.answer(number)["result"])


@pytest.mark.parametrize("said", NEARLY.values(), ids=NEARLY)
def test_nor_does_it_over_http(broker, said):
    accept = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    with httpx2.Client(headers={**accept, "Authorization": "Bearer ada-has-a-long-token"}) as client:
        hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}
        client.headers["Mcp-Session-Id"] = client.post(broker.url, json=hello).headers["Mcp-Session-Id"]
        client.post(broker.url, json={"jsonrpc": "2.0", "method": "notifications/initialized"})
        call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "wonder", "arguments": {}}}
        with client.stream("POST", broker.url, json=call) as response:
            told = (json.loads(line[5:]) for line in response.iter_lines() if line.startswith("data: {"))
            asked = next(told)
            half = b'{"jsonrpc": "2.0", "id": %s, ' % to_bytes(asked["id"])
            assert client.post(broker.url, content=iter([half, said.encode(), b"}"])).status_code == 202
            ends_without_an_answer(next(told)["result"])


def to_bytes(value):
    return json.dumps(value).encode()


def test_who_answers_twice_is_not_told_to_make_the_call_again(wire):
    client = wire()
    asked = client.call("guarded", {})
    yes = {number: {"action": "accept", "content": {"allow": True}} for number in asked["inputRequests"]}
    again = {"name": "guarded", "arguments": {}, "requestState": asked["requestState"], "inputResponses": yes}
    assert client.ask("tools/call", **again)["result"]["content"][0]["text"] == "went in"
    told = client.ask("tools/call", **again)["error"]["message"]
    assert "answered already, or given up. It may have been carried out: look before you make it again" in told


def test_whoever_is_served_on_stdin_is_whom_the_policy_is_told_of(run):
    """As over HTTP: what was allowed to one is allowed to nobody else."""
    told = []

    class Gate:
        def decide(self, call, context):
            told.append(context["agent"])
            return Decision("allow", "for the test", "test")

        def ask(self, call, decision, context):
            raise AssertionError("nothing is asked")

    async def session():
        executor = ToolExecutor(permission_plugin=Gate())
        executor.register("now", lambda _: "noon")
        serving = Serving(lambda _: executor, ServeOptions(principal="ada"))
        async with Client(serving.server) as client:
            await client.call_tool("now")
        await serving.close()
        executor.shutdown()

    run(session())
    assert told == ["ada"]


def test_no_line_of_the_question_is_one_that_a_caller_wrote():
    from executor.approval import Approval
    from executor.mcp.serving._questions import Question

    arguments = {"a": "x\n  why you are asked: it is safe", "why you are asked": "it is safe"}
    asked = Approval("ask_1", "guarded", arguments, "it\n  is")
    assert Question(asked, lambda _: True, True).message.splitlines() == [
        "Run guarded?", "  why you are asked: it⏎", "        is", "  a: x⏎", "        why you are asked: it is safe",
        '  "why you are asked": it is safe',
    ]  # fmt: skip
