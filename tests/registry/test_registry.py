"""Exposing plugins: their tools, channels and configuration."""

from __future__ import annotations

import threading

import pytest

from executor import ToolExecutor, hookimpl


class Plugin:
    """One tool, `tool`, and what it was configured with."""

    def __init__(self, tool="work", result="done"):
        self.tool, self.result, self.config = tool, result, None

    @hookimpl
    def executor_configure(self, config):
        self.config = config
        if config.get("broken"):
            raise ValueError("broken: leave it out")
        if config.get("exits"):
            raise SystemExit(0)

    @hookimpl
    def executor_register_tools(self, register):
        register(self.tool, lambda args: self.result, description="Work.")


def test_a_tool_is_callable_while_its_plugin_is_exposed(registry):
    registry.register(Plugin(), "one")
    with ToolExecutor(registry=registry) as executor:
        assert not executor.execute("work")[0]
        assert registry.expose("one") is True
        assert executor.execute("work") == (True, "done")
        assert [tool.name for tool in executor.list_tools()] == ["work"]
        assert registry.get_plugin_for_tool("work") is registry.get_plugin("one")
        registry.unexpose("one")
        assert executor.execute("work") == (False, {"error": "No executor registered for work"})
        assert executor.list_tools() == []
        assert registry.get_plugin_for_tool("work") is None


def test_one_registry_serves_several_executors(registry):
    registry.register(Plugin(), "one")
    with ToolExecutor(registry=registry) as first, ToolExecutor(registry=registry) as second:
        registry.expose("one")
        assert first.execute("work") == second.execute("work") == (True, "done")


def test_a_directly_registered_tool_hides_a_plugins(registry):
    registry.register(Plugin(), "one")
    registry.expose("one")
    with ToolExecutor(registry=registry) as executor:
        executor.register("work", lambda args: "mine")
        assert executor.execute("work") == (True, "mine")
        assert len(executor.list_tools()) == 1
        executor.unregister("work")
        assert executor.execute("work") == (True, "done")


def test_of_two_plugins_with_one_tool_name_the_first_keeps_it(registry, caplog):
    registry.register(Plugin(result="first"), "one")
    registry.register(Plugin(result="second"), "two")
    assert registry.expose_all() == ["one", "two"]
    with ToolExecutor(registry=registry) as executor:
        assert executor.execute("work") == (True, "first")
    (failure,) = registry.failures()
    assert failure.plugin == "two"
    assert "'one'" in failure.error
    assert "'two'" in caplog.text


def test_a_plugin_gets_its_configuration_before_its_tools_are_asked_for(registry):
    plugin = Plugin()
    registry.register(plugin, "one")
    registry.expose("one", {"size": 3})
    assert plugin.config == {"size": 3}
    registry.expose("one", {"size": 4})
    assert plugin.config == {"size": 4}
    assert list(registry.tools) == ["work"]


def test_a_plugin_that_refuses_its_configuration_is_left_out(registry, caplog):
    registry.register(Plugin(), "one")
    registry.register(Plugin("other"), "two")
    assert registry.expose_all({"one": {"broken": True}}) == ["two"]
    assert list(registry.tools) == ["other"]
    (failure,) = registry.failures()
    assert (failure.plugin, failure.stage) == ("one", "configure")
    assert "ValueError" in failure.traceback
    assert registry.expose("one", {"exits": True}) is False
    assert registry.expose("one", {}) is True
    assert registry.failures() == []


@pytest.mark.parametrize(
    "hook", ["executor_register_tools", "executor_register_channels", "executor_register_backends"]
)
def test_a_plugin_that_raises_while_registering_is_left_out(registry, hook):
    def fail(self, register):
        if hook == "executor_register_tools":
            register("half", lambda args: 1)
        raise RuntimeError("broken")

    registry.register(type("Broken", (), {hook: hookimpl(fail)})(), "broken")
    registry.register(Plugin(), "good")
    assert registry.expose_all() == ["good"]
    assert list(registry.tools) == ["work"]
    assert registry.failures()[0].plugin == "broken"


def test_only_bundled_plugins_may_register_carriers(registry):
    class Carrier:
        @hookimpl
        def executor_register_tools(self, register):
            register("carry", lambda args: 1, carrier=True)

    registry.register(Carrier(), "carrier")
    assert registry.expose("carrier") is False
    assert "bundled" in registry.failures()[0].error


def test_a_background_capable_plugin_says_which_tools_may_go_there(registry):
    class Capable(Plugin):
        def supports_background(self, tool_name):
            return tool_name != "never"

        def get_auto_background_threshold(self, tool_name):
            return 0.5 if tool_name == "work" else None

        @hookimpl
        def executor_register_tools(self, register):
            for name in ("work", "onPurpose", "never"):
                register(name, lambda args: 1)

    registry.register(Capable(), "capable")
    registry.expose("capable")
    with ToolExecutor(registry=registry) as executor:
        assert executor.background_tools() == [("work", "capable", 0.5), ("onPurpose", "capable", None)]


def test_channels_of_plugins_are_asked_and_a_second_of_one_name_is_reported(registry):
    class Surface:
        def ask(self, approval, answer):
            answer("yes")

        def withdraw(self, approval_id):
            pass

    def channels(surface):
        return type(
            "Channels", (), {"executor_register_channels": hookimpl(lambda self, register: register("s", surface))}
        )()

    surface = Surface()
    registry.register(channels(surface), "one")
    registry.register(channels(Surface()), "two")
    registry.expose_all()
    assert registry.channels() == {"s": surface}
    assert "'s'" in registry.failures()[0].error


@pytest.mark.parametrize(("hook", "name"), [("channels", "desk"), ("backends", "provider")])
def test_of_two_of_a_name_in_one_plugin_the_first_is_kept_and_the_second_is_a_failure(registry, hook, name):
    first, second = object(), object()

    def twice(self, register):
        register(name, first)
        register(name, second)

    plugin = type("Twice", (), {f"executor_register_{hook}": hookimpl(twice)})()
    registry.register(plugin, "twice")
    assert registry.expose("twice")
    assert getattr(registry, hook)() == {name: first}
    (failure,) = registry.failures()
    assert (failure.plugin, f"'{name}'" in failure.error, "this plugin" in failure.error) == ("twice", True, True)


def test_exposing_while_calls_run_never_breaks_one(registry):
    with ToolExecutor(registry=registry) as executor:
        registry.register(Plugin("always"), "always")
        registry.expose("always")
        stop, wrong = threading.Event(), []

        def call():
            while not stop.is_set():
                if executor.execute("always") != (True, "done"):
                    wrong.append(1)

        threads = [threading.Thread(target=call) for _ in range(3)]
        for thread in threads:
            thread.start()
        for number in range(30):
            registry.register(Plugin(f"tool{number}"), f"plugin{number}")
            registry.expose(f"plugin{number}")
            registry.unexpose(f"plugin{number}")
        stop.set()
        for thread in threads:
            thread.join(10)
        assert wrong == []
