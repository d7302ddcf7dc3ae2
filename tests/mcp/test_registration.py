"""Tools that run elsewhere, as a plugin registers them, and tools that change while the plugin is exposed."""

from __future__ import annotations

import pytest

from executor import PluginRegistry, Tool, ToolExecutor, hookimpl
from executor.run import ToolBackend


class Elsewhere:
    """A plugin whose tools are the names that it has at the moment."""

    def __init__(self, *names: str) -> None:
        self.names = list(names)
        self.register = None
        self.broken = False

    @hookimpl
    def executor_register_tools(self, register):
        self.register = register
        if self.broken:
            raise ZeroDivisionError("its list of tools")
        for name in self.names:
            register(Tool(name), backend=ToolBackend.provider("here", name))

    @hookimpl
    def executor_register_backends(self, register):
        register("provider", self)

    def call_tool(self, provider_id, tool_id, args):
        return [provider_id, tool_id, args]


@pytest.fixture
def plugin():
    return Elsewhere("one", "two")


@pytest.fixture
def registry(plugin):
    made = PluginRegistry(bundled=False, entry_points=False)
    made.register(plugin, "elsewhere")
    assert made.expose("elsewhere")
    return made


def test_a_tool_without_a_function_runs_on_its_backend(registry):
    with ToolExecutor(registry=registry) as executor:
        assert executor.execute("one", {"a": 1}) == (True, ["here", "one", {"a": 1}])


def test_an_executors_own_backend_comes_before_a_plugins(registry):
    from executor.run import Runner

    class Own:
        def call_tool(self, *_):
            return "own"

    with ToolExecutor(registry=registry, runner=Runner(provider=Own())) as executor:
        assert executor.execute("one") == (True, "own")


def test_the_backend_of_a_plugin_goes_with_it(registry):
    with ToolExecutor(registry=registry) as executor:
        registry.unexpose("elsewhere")
        assert not executor.execute("one")[0]
        registry.expose("elsewhere")
        assert executor.execute("one")[0]


@pytest.mark.parametrize(
    ("tool", "options", "problem"),
    [
        (Tool("x"), {}, "has no function: give it one, or the backend that runs it"),
        (Tool("x", fn=lambda args: 1), {"backend": ToolBackend.mcp("s")}, "both a function and a backend"),
    ],
)
def test_a_tool_has_either_a_function_or_a_backend(tool, options, problem):
    class Wrong:
        @hookimpl
        def executor_register_tools(self, register):
            register(tool, **options)

    registry = PluginRegistry(bundled=False, entry_points=False)
    registry.register(Wrong(), "wrong")
    assert not registry.expose("wrong")
    assert problem in registry.failures()[0].error


def test_tools_that_changed_are_registered_again(registry, plugin):
    with ToolExecutor(registry=registry) as executor:
        plugin.names = ["two", "three"]
        plugin.register.again()
        assert [tool.name for tool in executor.list_tools()] == ["two", "three"]
        assert executor.execute("three")[0]
        assert not executor.execute("one")[0]


def test_a_plugin_that_fails_to_say_its_tools_again_keeps_those_it_had(registry, plugin):
    plugin.broken = True
    registry.refresh("elsewhere")
    assert list(registry.tools) == ["one", "two"]
    assert "its list of tools" in registry.failures()[-1].error


def test_a_tool_that_another_plugin_took_meanwhile_stays_with_it(registry, plugin):
    registry.register(Elsewhere("three"), "other")
    registry.expose("other")
    plugin.names = ["one", "three"]
    plugin.register.again()
    assert registry.tools["three"].plugin_name == "other"
    assert "keeps it" in registry.failures()[-1].error


def test_an_unexposed_plugin_is_not_asked_again(registry, plugin):
    registry.unexpose("elsewhere")
    plugin.names = ["three"]
    plugin.register.again()
    assert list(registry.tools) == []
