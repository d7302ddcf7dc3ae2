"""A collection of tools."""

from __future__ import annotations

import pytest

from executor import errors
from executor.run import Runner, Tool, ToolBackend, Tools
from executor.testing import Answer, StubBackend


def greet(name: str) -> str:
    """Greet somebody."""
    return f"hello {name}"


def test_a_collection_is_an_index_whose_tools_run():
    with Runner(tools := Tools([greet, Tool("read", namespace="fs", fn=lambda args: 1)])) as runner:
        assert runner.run("greet", {"name": "Ada"}).structured == "hello Ada"
        assert runner.run("fs:read").structured == 1
        with pytest.raises(errors.InvalidArgumentsError):
            runner.run("greet")
        with pytest.raises(errors.ToolNotFoundError, match="Did you mean greet"):
            runner.run("greeet")
    assert tools.get_tool("greet").description == "Greet somebody."
    assert tools.get_all_backends("greet") == (ToolBackend.local("greet"),)
    with pytest.raises(errors.ToolNotFoundError):
        tools.get_tool("nobody")


def test_a_tool_elsewhere_is_added_with_its_backends():
    tools = Tools()
    tools.add(Tool("x"), ToolBackend.mcp("server"))
    assert Runner(tools, mcp=StubBackend(Answer.text("hi"))).run("x").structured == "hi"
    with pytest.raises(ValueError, match="no function"):
        tools.add(Tool("y"))


def test_a_tool_of_the_same_id_is_replaced_in_its_place():
    tools = Tools([Tool("a", fn=lambda args: 1), Tool("b", fn=lambda args: 2)])
    tools.add(Tool("a", fn=lambda args: 3))
    assert [tool.id for tool in tools] == ["a", "b"]
    assert Runner(tools).run("a").structured == 3
    with pytest.raises(errors.InvalidToolIdError):
        tools.add(Tool("", fn=lambda args: 1))


def test_a_choice_is_a_collection_of_its_own():
    tools = Tools([Tool("a", fn=lambda args: 1), Tool("b", fn=lambda args: 2)])
    chosen = tools.filter(lambda tool: tool.id == "a")
    assert [tool.id for tool in chosen] == ["a"]
    assert (len(tools), "b" in tools, "b" in chosen) == (2, True, False)
    with pytest.raises(errors.ToolNotFoundError):
        Runner(chosen).run("b")
    assert tools.remove("b") is True
    assert tools.remove("b") is False
