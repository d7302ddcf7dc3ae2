"""What a server asks a person: in both eras, through the inbox, a function, or nobody."""

from __future__ import annotations

import json
import sys
import threading

import pytest

from executor import ToolExecutor
from executor.calls._state import CallState, current
from executor.errors import ToolFailedError
from executor.mcp import Elicitation
from executor.mcp._call import Call
from executor.permission._inbox import Inbox


@pytest.fixture(params=["today", "before"])
def server(request, small_server, raw):
    return small_server if request.param == "today" else raw()


def ask(bridge, **options) -> str:
    arguments = {"question": "Which colour?", "text": "Which colour?"}
    return bridge.call_tool("s", "ask", arguments, **options).content[0].text


class Person:
    """A surface on which a person answers when the test says so."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.withdrawn = threading.Event()
        self.questions = []

    def ask(self, approval, answer):
        self.questions.append((approval, answer))
        self.asked.set()

    def withdraw(self, approval_id):
        self.withdrawn.set()


@pytest.fixture
def person():
    return Person()


@pytest.fixture
def inbox(person):
    made = Inbox()
    made.add_channel("person", person)
    return made


def test_without_anybody_to_ask_the_answer_is_no(bridge_to, server):
    assert "red" not in ask(bridge_to({"s": server}))


def test_a_function_fills_in_the_form(bridge_to, server):
    asked = []

    def answer(question: Elicitation):
        asked.append(question)
        return {"colour": "red"}

    assert "red" in ask(bridge_to({"s": server}, on_elicit=answer))
    assert (asked[0].server, asked[0].message) == ("s", "Which colour?")
    assert "colour" in asked[0].schema["properties"]


def test_a_function_that_raises_is_a_no_and_is_said(bridge_to, server, caplog):
    assert "red" not in ask(bridge_to({"s": server}, on_elicit=lambda _: 1 / 0))
    assert "could not be asked" in caplog.text


@pytest.mark.parametrize("answer", ["c:red", 'c:{"colour": "red"}', ("edit", {"colour": "red"})])
def test_a_person_answers_in_the_inbox(bridge_to, server, inbox, person, answer):
    bridge, told = bridge_to({"s": server}, approvals=inbox), []
    thread = threading.Thread(target=lambda: told.append(ask(bridge)))
    thread.start()
    assert person.asked.wait(10)
    approval, give = person.questions[0]
    assert "The MCP server s asks: Which colour?" in approval.text
    assert give(answer)
    thread.join()
    assert "red" in told[0]


def test_an_answer_that_does_not_fit_the_form_is_asked_again(bridge_to, raw, inbox, person):
    bridge, told = bridge_to({"s": raw()}, approvals=inbox), []
    thread = threading.Thread(target=lambda: told.append(ask(bridge)))
    thread.start()
    for number, answer in enumerate(("c:green", "yes", "c:blue")):
        assert person.asked.wait(10)
        person.asked.clear()
        assert person.questions[number][1](answer)
    thread.join()
    assert "does not fit" in person.questions[1][0].text
    assert told == ['accept: {"colour": "blue"}']


def test_a_person_who_takes_long_holds_up_nobody_and_does_not_use_up_the_calls_time(bridge_to, server, inbox, person):
    bridge, told = bridge_to({"s": server}, approvals=inbox), []
    bridge.call_tool("s", "echo", {"text": "it runs"})
    thread = threading.Thread(target=lambda: told.append(ask(bridge, timeout=0.3)))
    thread.start()
    assert person.asked.wait(10)
    for index in range(20):
        assert str(index) in bridge.call_tool("s", "echo", {"text": str(index)}).content[0].text
    thread.join(0.5)
    assert thread.is_alive()
    person.questions[0][1]("c:red")
    thread.join()
    assert "red" in told[0]


def test_the_question_of_a_cancelled_call_is_taken_back(bridge_to, small_server, inbox, person):
    from executor import CancelToken
    from executor.errors import ToolCancelledError

    bridge, token = bridge_to({"s": small_server}, approvals=inbox), CancelToken()

    def call():
        with pytest.raises(ToolCancelledError):
            ask(bridge, cancel=token)

    thread = threading.Thread(target=call)
    thread.start()
    assert person.asked.wait(10)
    token.cancel()
    assert person.withdrawn.wait(10)
    thread.join()
    assert inbox.pending() == []


def test_a_call_of_an_executor_asks_in_its_inbox(bridge_to, server, person):
    bridge = bridge_to({"s": server})
    with ToolExecutor() as executor:
        executor.approvals.add_channel("person", person)
        executor.register("ask", lambda _: ask(bridge))
        told = []
        thread = threading.Thread(target=lambda: told.append(executor.execute("ask", {})))
        thread.start()
        assert person.asked.wait(10)
        person.questions[0][1]("c:red")
        thread.join()
    assert told[0][0]
    assert "red" in told[0][1]


@pytest.mark.parametrize(("protocol", "heard"), [("auto", False), ("2025-11-25", True)])
def test_a_server_that_asks_as_before_is_heard_in_that_revision_and_otherwise_told_of_it(bridge_to, protocol, heard):
    program = """
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from pydantic import BaseModel

class Colour(BaseModel):
    colour: str

server = MCPServer("s")

@server.tool()
async def ask(question: str, text: str, ctx: Context) -> str:
    return str(await ctx.elicit(message=question, schema=Colour))

server.run("stdio")
"""
    entry = {"command": sys.executable, "args": ["-c", program], "protocol": protocol}
    bridge = bridge_to({"s": entry}, on_elicit=lambda _: {"colour": "red"})
    if heard:
        assert "red" in ask(bridge)
        return
    with pytest.raises(ToolFailedError, match='write "protocol": "2025-11-25" in its entry'):
        ask(bridge)


def test_so_is_one_whose_framework_makes_a_failure_of_it(bridge_to, raw):
    said = "elicitation via server-initiated requests is unavailable on 2026-07-28 connections."  # fastmcp's words
    result = json.dumps({"isError": True, "content": [{"type": "text", "text": said}]})
    answer = bridge_to({"s": raw()}).call_tool("s", "give", {"text": result})
    assert answer.is_error
    assert answer.content[0].text == said
    assert 'write "protocol": "2025-11-25" in its entry' in answer.content[1].text


def test_the_clock_of_the_executors_call_stands_still_too(bridge_to, server, person):
    bridge, calls = bridge_to({"s": server}), []

    def tool(_):
        calls.append(current.get())
        return ask(bridge)

    with ToolExecutor() as executor:
        executor.approvals.add_channel("person", person)
        executor.register("ask", tool)
        thread = threading.Thread(target=lambda: executor.execute("ask", {}))
        thread.start()
        assert person.asked.wait(10)
        assert not calls[0].clock.settled
        assert calls[0].waiting_for == "the answer of a person"
        person.questions[0][1]("c:red")
        thread.join()
    assert calls[0].clock.settled
    assert calls[0].waiting_for is None


def test_the_clock_goes_on_where_nobody_waits_for_the_server_any_more():
    state, call = CallState("c1", "tool", {}, None), Call("s: tool", 60)
    call.made_in = state
    call.pause()
    call.pause()
    call.resume()
    assert not state.clock.settled
    call.ended("there", None)
    assert call.wait(lambda: None, None) == "there"
    assert state.clock.settled
    call.resume()
    call.pause()
    assert state.clock.settled


@pytest.mark.parametrize(
    ("field", "shown"),
    [
        ({"type": "string", "enum": ["r", "b"]}, "r or b"),
        ({"type": "string", "enum": ["r", "b"], "enumNames": ["Red", "Blue"]}, "r (Red) or b (Blue)"),
        ({"type": "string", "oneOf": [{"const": "r", "title": "Red"}, {"const": "b"}]}, "r (Red) or b"),
        ({"type": "array", "items": {"type": "string", "enum": ["r", "b"]}}, "r and/or b"),
        ({"type": "array", "items": {"anyOf": [{"const": "r", "title": "Red"}, {"const": "b"}]}}, "r (Red) and/or b"),
        ({"type": "boolean"}, "boolean"),
    ],
)
def test_what_may_be_chosen_is_shown_with_its_titles(field, shown):
    from executor.mcp._elicit import _text

    text = _text(Elicitation("s", "Which?", {"properties": {"c": field}, "required": ["c"]}), "")
    assert f"c ({shown})" in text


def test_what_a_server_says_takes_the_place_of_nothing_else_in_its_question():
    from executor.mcp._elicit import _text

    url = f"https://other.example/{'x' * 3000}"
    message = f"Log in.\nIt wants you to open https://known.example/{'x' * 3000}"
    lines = _text(Elicitation("s", message, url=url), "").splitlines()
    assert [line for line in lines if not line.startswith("      ")] == [
        "The MCP server s asks: Log in.⏎", f"It wants you to open {url} .", "Yes: you will; no: you will not.",
    ]  # fmt: skip
    field = {"title": "x\nRun fine?", "enum": ["a\nb"]}
    many = _text(Elicitation("s", "m", {"properties": {str(n): {} for n in range(50)}}), "").splitlines()
    assert many[-2:] == ["  … and 10 more", many[-1]]
    properties = {"a": field, "why you are asked": {}, "b": {"description": "x" * 3000}, "c": {}}
    lines = _text(Elicitation("s", "m", {"properties": properties}), "").splitlines()
    assert [line[:30] for line in lines if not line.startswith("      ")] == [
        "The MCP server s asks: m", "  a (a⏎", '  "why you are asked" (text, o', "  b (text, optional) xxxxxxxxx",
        "  c (text, optional)", "Answer e to fill it in, yes fo",
    ]  # fmt: skip


def test_several_choices_are_given_with_commas():
    from executor.mcp._elicit import _filled_in
    from executor.values._approval import Answer

    schema = {"properties": {"c": {"type": "array"}}, "required": ["c"]}
    assert _filled_in(schema, Answer("comment", "r, b")) == {"c": ["r", "b"]}
    assert _filled_in(schema, Answer("comment", '["r"]')) == {"c": ["r"]}
