"""The plugin registry: discovery, exposing, isolation of failures, blocking and tracing."""

from __future__ import annotations

import importlib.metadata
import threading

import pytest

from executor import PluginRegistry, ToolExecutor, errors, hookimpl


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


@pytest.fixture
def registry():
    return PluginRegistry(bundled=False, entry_points=False)


class EntryPoint:
    """A stand-in for an installed package's entry point."""

    def __init__(self, name, load):
        self.name, self.load = name, load
        self.dist = type("Distribution", (), {"name": f"executor-{name}", "version": "1.2"})()


@pytest.fixture
def installed(monkeypatch):
    """Pretend that packages with these plugins are installed."""

    def install(**plugins):
        def load(plugin):
            def load():
                if isinstance(plugin, BaseException):
                    raise plugin
                return plugin

            return load

        found = [EntryPoint(name, load(plugin)) for name, plugin in plugins.items()]
        monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: found if group == "executor" else [])

    return install


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


def test_an_unknown_plugin_is_an_error_that_names_those_there_are(registry):
    registry.register(Plugin(), "one")
    with pytest.raises(errors.PluginError, match="available: one"):
        registry.expose("two")


def test_two_plugins_with_one_name_are_an_error(registry):
    registry.register(Plugin(), "one")
    with pytest.raises(errors.PluginConflictError):
        registry.register(Plugin(), "one")


def test_hook_wrappers_are_refused(registry):
    class Wrapper:
        @hookimpl(wrapper=True)
        def executor_check_permission(self):
            return (yield)

    with pytest.raises(errors.PluginLoadError, match="wrapper"):
        registry.register(Wrapper(), "wrapper")
    assert registry.list_available() == []


def test_an_implementation_with_a_wrong_argument_is_refused(registry):
    class Wrong:
        @hookimpl
        def executor_check_permission(self, nonsense):
            pass

    with pytest.raises(errors.PluginLoadError, match="nonsense"):
        registry.register(Wrong(), "wrong")


def test_a_misspelt_hook_is_a_warning_that_names_the_plugin(registry, caplog):
    class Misspelt:
        @hookimpl
        def executor_register_tolls(self):
            pass

    registry.register(Misspelt(), "misspelt")
    assert "'misspelt'" in caplog.text
    assert "executor_register_tolls" in caplog.text


def test_bundled_plugins_come_first_and_nothing_takes_their_name(installed, caplog):
    intruder = Plugin("echo", "intruder")
    installed(echo=intruder, other=Plugin("other"))
    registry = PluginRegistry()
    assert registry.discover()[:4] == ["shell", "files", "background", "echo"]
    assert registry.get_plugin("echo") is not intruder
    assert "other" in registry.list_available()
    (failure,) = registry.failures()
    assert (failure.plugin, failure.distribution, failure.version) == ("echo", "executor-echo", "1.2")


def test_one_broken_package_does_not_keep_the_others_away(installed, caplog):
    installed(bad=ImportError("no module"), worse=SystemExit(0), good=Plugin())
    registry = PluginRegistry(bundled=False)
    assert registry.expose_all() == ["good"]
    assert [failure.plugin for failure in registry.failures()] == ["bad", "worse"]
    assert {row["name"]: row["status"] for row in registry.describe()} == {
        "good": "exposed",
        "bad": "failed",
        "worse": "failed",
    }
    assert caplog.text.count("'bad'") == 1


def test_strict_mode_raises_instead(installed, monkeypatch):
    monkeypatch.setenv("TOOLEXEC_STRICT", "1")
    installed(bad=ImportError("no module"))
    with pytest.raises(errors.PluginLoadError, match="no module"):
        PluginRegistry(bundled=False).discover()


def test_plugins_can_be_chosen_and_blocked(installed, monkeypatch):
    installed(one=Plugin("a"), two=Plugin("b"), three=Plugin("c"))
    assert PluginRegistry(bundled=False, blocked=["two"]).discover() == ["one", "three"]
    monkeypatch.setenv("TOOLEXEC_BLOCK_PLUGINS", "one, three")
    assert PluginRegistry(bundled=False).discover() == ["two"]
    monkeypatch.setenv("TOOLEXEC_PLUGINS", "two,three")
    assert PluginRegistry(bundled=False).discover() == ["two"]
    monkeypatch.setenv("TOOLEXEC_PLUGINS", "")
    assert PluginRegistry().discover() == []


def test_only_bundled_plugins_may_register_carriers(registry):
    class Carrier:
        @hookimpl
        def executor_register_tools(self, register):
            register("carry", lambda args: 1, carrier=True)

    registry.register(Carrier(), "carrier")
    assert registry.expose("carrier") is False
    assert "bundled" in registry.failures()[0].error


def test_tracing_prints_each_hook_call(monkeypatch, capsys):
    monkeypatch.setenv("TOOLEXEC_TRACE_PLUGINS", "1")
    registry = PluginRegistry(bundled=False, entry_points=False)
    registry.register(Plugin(), "one")
    registry.expose("one")
    assert "executor_register_tools -> one(register)" in capsys.readouterr().err


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


def test_observers_see_frozen_copies_of_what_happens(registry):
    seen = []

    class Observer:
        @hookimpl
        def executor_before_call(self, call):
            seen.append(("before", call.name, dict(call.arguments)))
            call.arguments["a"] = "changed"

        @hookimpl
        def executor_after_call(self, call, result):
            seen.append(("after", call.id, result.success))
            result.value["x"] = "changed"

    registry.register(Observer(), "observer")
    registry.expose("observer")
    with ToolExecutor(registry=registry) as executor:
        executor.register("give", lambda args: {"a": args["a"]})
        assert executor.execute("give", {"a": 1}, call_id="c1") == (True, {"a": 1})
    assert seen == [("before", "give", {"a": 1}), ("after", "c1", True)]


def test_an_observer_that_raises_is_recorded_and_changes_nothing(registry, caplog):
    class Broken:
        @hookimpl
        def executor_before_call(self, call):
            raise SystemExit("no")

        @hookimpl
        def executor_after_call(self, call, result):
            raise RuntimeError("no")

    registry.register(Broken(), "broken")
    registry.expose("broken")
    with ToolExecutor(registry=registry) as executor:
        executor.register("give", lambda args: 1)
        assert [executor.execute("give") for _ in range(3)] == [(True, 1)] * 3
    assert {failure.stage for failure in registry.failures()} == {"executor_before_call", "executor_after_call"}
    assert len(caplog.records) == 2


def test_the_end_of_a_task_is_observed_once(registry):
    ended, told = threading.Event(), []

    class Observer:
        @hookimpl
        def executor_task_done(self, task):
            told.append((task.tool_name, str(task.status)))
            ended.set()

    registry.register(Observer(), "observer")
    registry.expose("observer")
    with ToolExecutor(registry=registry) as executor:
        executor.register("work", lambda args: 1, auto_background=0)
        executor.execute("work")
        assert ended.wait(10)
    assert told == [("work", "completed")]


def test_plugins_are_told_to_free_what_they_hold_after_the_last_executor(registry):
    freed = []

    class Holder:
        @hookimpl
        def executor_shutdown(self):
            freed.append(1)

    registry.register(Holder(), "holder")
    registry.expose("holder")
    first, second = ToolExecutor(registry=registry), ToolExecutor(registry=registry)
    first.shutdown()
    first.shutdown()
    assert freed == []
    second.shutdown()
    assert freed == [1]


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
