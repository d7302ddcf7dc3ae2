"""What `executor.testing.check_plugin` finds."""

from __future__ import annotations

import importlib
import re
import sys
import types

import pytest

import executor_shell
from executor import hookimpl
from executor.registry import _timing
from executor.testing import check_plugin


def test_a_misspelt_hook_is_found():
    class Misspelt:
        @hookimpl
        def executor_register_tolls(self, register):
            pass

    (finding,) = check_plugin(Misspelt())
    assert finding.startswith("it implements executor_register_tolls")
    assert finding.endswith("did you mean executor_register_tools?")


def test_a_hook_that_resembles_none_is_found():
    class Misspelt:
        @hookimpl
        def qqq(self):
            pass

    assert check_plugin(Misspelt()) == ["it implements qqq, which is no hook: is it misspelt?"]


def test_a_hook_without_the_mark_is_found():
    class Unmarked:
        def executor_register_tools(self, register):
            register("lost", lambda args: 1)

    assert check_plugin(Unmarked()) == ["its executor_register_tools is not marked with @hookimpl: it is never called"]


def test_a_hook_with_a_parameter_that_it_does_not_have_is_found():
    class Misspelt:
        @hookimpl
        def executor_register_tools(self, registry):
            pass

    (finding,) = check_plugin(Misspelt())
    assert "registry" in finding


def test_a_clash_with_a_bundled_tool_is_found():
    class Clash:
        @hookimpl
        def executor_register_tools(self, register):
            register("runCommand", lambda args: 1, description="Run.", schema={})

    (finding,) = check_plugin(Clash())
    assert "'runCommand'" in finding
    assert "'shell'" in finding


def test_a_clash_of_a_plugin_with_itself_is_found():
    class Clash:
        @hookimpl
        def executor_register_tools(self, register):
            register("mine", lambda args: 1, description="Work.", schema={})
            register("mine", lambda args: 2, description="Work.", schema={})

    assert check_plugin(Clash()) == ["register: the tool 'mine' is taken: this plugin registered it first and keeps it"]


def test_two_names_that_would_be_one_for_a_model_are_found():
    class Clash:
        @hookimpl
        def executor_register_tools(self, register):
            register("my:tool", lambda args: 1, description="Work.", schema={})
            register("my__tool", lambda args: 1, description="Work.", schema={})

    assert any("my__tool" in finding for finding in check_plugin(Clash()))


def test_a_bundled_plugin_does_not_clash_with_itself():
    assert check_plugin(executor_shell) == []
    assert check_plugin(executor_shell.ShellPlugin()) == []


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Make a module of this text, which another process finds too, and import it."""
    monkeypatch.syspath_prepend(tmp_path)
    made = []

    def make(text):
        name = f"checked_{tmp_path.name}_{len(made)}"
        made.append(name)
        (tmp_path / f"{name}.py").write_text(text)
        return importlib.import_module(name)

    yield make
    for name in made:
        del sys.modules[name]


SLOW = "import threading\nthreading.Event().wait(0.6)\n"


def test_a_slow_import_is_found_with_its_seconds(module):
    (finding,) = check_plugin(module(SLOW))
    assert 0.6 <= float(re.search(r"^its import took (\d+\.\d) s: import what is heavy", finding).group(1)) < 10
    assert re.search(r"\('python -X importtime -c \"import \w+\"' shows what is\)", finding)


def test_an_import_that_is_slow_only_once_is_not_reported(module, tmp_path):
    once = f"import os, time\ntry:\n    os.remove({str(tmp_path / 'first')!r})\nexcept OSError: pass\nelse:\n    "
    plugin = module(once + SLOW.replace("\n", "; ") + "\nprint('loud')\n")
    (tmp_path / "first").touch()
    assert check_plugin(plugin) == []
    assert not (tmp_path / "first").exists()


def test_an_import_that_works_only_where_everything_is_loaded_already_is_found(module):
    plugin = module("import sys\nif 'pytest' not in sys.modules:\n    raise RuntimeError('who called?')\n")
    assert check_plugin(plugin) == [
        "its import fails in a new process (exit code 1): RuntimeError: who called?",
    ]


def test_an_import_without_an_end_is_given_up(module, monkeypatch):
    monkeypatch.setattr(_timing, "LIMIT", 0.5)
    plugin = module("import sys, threading\nif 'pytest' not in sys.modules:\n    threading.Event().wait()\n")
    assert check_plugin(plugin) == ["its import does not end within 0.5 s: it must only define, and do nothing"]


def test_a_module_that_was_made_in_memory_is_not_imported_anew():
    assert check_plugin(types.ModuleType("nowhere_to_be_found")) == []


def test_a_tool_without_description_or_schema_and_a_failure_are_found():
    class Poor:
        @hookimpl
        def executor_register_tools(self, register):
            register("poor", lambda args: 1)
            raise RuntimeError("boom")

    assert check_plugin(Poor()) == ["register: RuntimeError: boom"]

    class Bare:
        @hookimpl
        def executor_register_tools(self, register):
            register("bare", lambda args: 1)

    assert [finding.split(";")[0] for finding in check_plugin(Bare())] == ["bare: no description", "bare: no schema"]
