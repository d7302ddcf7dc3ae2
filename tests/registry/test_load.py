"""Finding plugins: the order, failures, choosing and blocking."""

from __future__ import annotations

import types

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


def test_an_unknown_plugin_is_an_error_that_names_those_there_are(registry):
    registry.register(Plugin(), "one")
    with pytest.raises(errors.PluginError, match="available: one"):
        registry.expose("two")


def test_two_plugins_with_one_name_are_an_error(registry):
    registry.register(Plugin(), "one")
    with pytest.raises(errors.PluginConflictError):
        registry.register(Plugin(), "one")


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


def test_a_module_may_make_a_plugin_for_each_registry(registry):
    module = types.ModuleType("made")
    module.executor_plugin = Plugin
    with PluginRegistry(bundled=False, entry_points=False) as other:
        for each, size in ((registry, 1), (other, 2)):
            assert each.register(module) == "made"
            assert each.expose("made", {"size": size})
        assert [each.get_plugin("made").config for each in (registry, other)] == [{"size": 1}, {"size": 2}]


def test_a_module_that_cannot_make_its_plugin_is_left_out(registry):
    module = types.ModuleType("unmade")
    module.executor_plugin = lambda: 1 / 0
    with pytest.raises(errors.PluginLoadError, match="division"):
        registry.register(module)
    assert registry.list_available() == []


def test_two_registries_of_one_process_configure_the_bundled_plugins_apart(tmp_path):
    folders = [tmp_path / "a", tmp_path / "b"]
    registries = [PluginRegistry(entry_points=False) for _ in folders]
    for registry, folder in zip(registries, folders, strict=True):
        folder.mkdir()
        (folder / "name").write_text(folder.name)
        assert registry.expose("files", {"root": str(folder)})
    for registry, folder in zip(registries, folders, strict=True):
        with ToolExecutor(registry=registry) as executor:
            assert executor.execute("readFile", {"path": "name"})[1]["content"] == folder.name


def test_a_slow_import_is_said(installed, monkeypatch):
    clock = iter([0.0, 0.1, 1.0, 1.5])
    monkeypatch.setattr("executor.registry._load.time.perf_counter", lambda: next(clock))
    installed(quick=Plugin("a"), slow=Plugin("b"))
    quick, slow = PluginRegistry(bundled=False).describe()
    assert (quick["load_seconds"], quick["remarks"]) == (0.1, [])
    assert slow["load_seconds"] == 0.5
    assert "0.5 s" in slow["remarks"][0]


def test_a_plugin_that_is_registered_took_no_time_to_load(registry):
    registry.register(object(), "one")
    (row,) = [row for row in registry.describe() if row["name"] == "one"]
    assert row["load_seconds"] == 0.0


def test_a_failed_import_names_what_the_entry_point_says(installed):
    installed(bad=AttributeError("module 'executor_bad' has no attribute 'Plugin'"))
    registry = PluginRegistry(bundled=False)
    assert registry.expose_all() == []
    (failure,) = registry.failures()
    assert failure.error.startswith("could not be imported as its entry point 'executor_bad' says: AttributeError(")


def test_the_class_of_a_plugin_is_refused_in_words_and_one_of_class_methods_is_a_plugin(registry):
    class Whole:
        @classmethod
        @hookimpl
        def executor_register_tools(cls, register):
            register("whole", lambda args: cls.__name__)

    with pytest.raises(errors.PluginLoadError, match="is a class, whose hooks want an object: name the module"):
        registry.register(Plugin, "one")
    registry.register(Whole, "whole")
    assert registry.expose("whole")
    assert ToolExecutor(registry=registry).execute("whole") == (True, "Whole")


def test_a_factory_that_cannot_be_called_is_refused_in_words(registry):
    module = types.ModuleType("made")
    module.executor_plugin = Plugin()
    with pytest.raises(errors.PluginLoadError, match=r"executor_plugin is .*: give the class, or a function"):
        registry.register(module, "one")


@pytest.mark.parametrize("plugin", [5, "executor_notes", None, lambda: None])
def test_an_entry_point_that_leads_to_no_plugin_is_said(installed, caplog, plugin):
    installed(notes=plugin)
    registry = PluginRegistry(bundled=False)
    registry.expose_all()
    (row,) = registry.describe()
    assert row["remarks"] == [
        f"it is {plugin!r}, which has no hooks: does the entry point, or executor_plugin, give what is meant?"
    ]


def test_settings_for_a_plugin_that_has_none_are_said(registry, caplog):
    class Plain:
        @hookimpl
        def executor_register_tools(self, register):
            register("plain", lambda args: 1)

    registry.register(Plain(), "plain")
    assert registry.expose("plain", {"thresold": 5})
    assert "The plugin 'plain' has no settings: 'thresold' is not used" in caplog.text
