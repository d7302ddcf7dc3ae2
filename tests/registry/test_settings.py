"""Options of plugins' tools, said by whoever exposes the plugins."""

from __future__ import annotations

import pickle

import pytest

from executor import PluginRegistry, ToolCall, ToolExecutor, hookimpl
from executor.errors import InvalidToolIdError, ToolNotFoundError
from executor.testing import HeldTool
from executor.tools import ToolSettings


class Brings:
    def __init__(self, **tools):
        self.tools = tools

    @hookimpl
    def executor_register_tools(self, register):
        for name, fn in self.tools.items():
            register(name, fn, timeout=100.0)


@pytest.fixture
def registry():
    with PluginRegistry(bundled=False, entry_points=False) as registry:
        yield registry


def test_settings_hold_before_and_after_the_plugin_is_exposed(registry):
    registry.adjust("t", ToolSettings(timeout=1.0))
    registry.register(Brings(t=lambda args: args, other=lambda args: args), "p")
    registry.expose("p")
    assert (registry.tools["t"].tool.timeout, registry.tools["other"].tool.timeout) == (1.0, 100.0)
    registry.refresh("p")
    assert registry.tools["t"].tool.timeout == 1.0
    registry.adjust("t", ToolSettings(rate="5/s"))
    assert registry.tools["t"].tool.timeout == 100.0
    assert str(registry.tools["t"].rate) == "5/s"


@pytest.mark.parametrize(("tool", "settings"), [("t", {"rate": "5/s"}), ("t", None), (7, ToolSettings(rate="5/s"))])
def test_what_are_no_settings_is_refused_and_takes_no_tool_away(registry, tool, settings):
    registry.register(Brings(t=lambda args: args), "p")
    registry.expose("p")
    with pytest.raises(TypeError, match=r"give ToolSettings|give its name"):
        registry.adjust(tool, settings)
    registry.refresh("p")
    assert list(registry.tools) == ["t"]


def test_an_executor_sees_what_is_said_later(registry):
    registry.register(Brings(t=lambda args: args), "p")
    registry.expose("p")
    with ToolExecutor(registry=registry) as executor:
        registry.adjust("t", ToolSettings(auto_background=3.0))
        assert executor.background_tools() == [("t", "p", 3.0)]


def test_calls_with_a_common_name_run_one_after_another(registry):
    held = HeldTool("done")
    registry.register(Brings(t=held), "p")
    registry.expose("p")
    registry.adjust("t", ToolSettings(resources=("file:{path}",)))
    with ToolExecutor(registry=registry) as executor:
        first = executor.submit(ToolCall("1", "t", {"path": "a"}))
        assert held.started.wait(10)
        second = executor.submit(ToolCall("2", "t", {"path": "a"}))
        waiting = [call.waiting_for for call in executor._way.calls if call.id == "2"]
        held.go_on()
        assert [future.result(10).value for future in (first, second)] == ["done", "done"]
    assert "file:a" in waiting[0]


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ({"path": "a", "n": 1}, ["file:a/1", "{all}"]),
        ({"path": ["a"]}, ['file:["a"]/', "{all}"]),
        ({}, ["file:/", "{all}"]),
    ],
)
def test_names_are_made_of_arguments(registry, arguments, names):
    registry.register(Brings(t=lambda args: args), "p")
    registry.expose("p")
    registry.adjust("t", pickle.loads(pickle.dumps(ToolSettings(resources=("file:{path}/{n}", "{{all}}")))))
    assert registry.tools["t"].tool.resources(arguments) == names


def test_a_tool_is_found_or_told_of_with_its_neighbours(registry):
    registry.register(Brings(search=lambda args: args), "p")
    registry.expose("p")
    assert registry.get_tool("search").plugin_name == "p"
    with pytest.raises(ToolNotFoundError, match="Did you mean search"):
        registry.get_tool("serch")
    with pytest.raises(InvalidToolIdError):
        registry.get_tool("a b")
