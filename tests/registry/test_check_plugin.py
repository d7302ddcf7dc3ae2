"""What `executor.testing.check_plugin` finds."""

from __future__ import annotations

import executor_shell
from executor import hookimpl
from executor.testing import check_plugin


def test_a_misspelt_hook_is_found():
    class Misspelt:
        @hookimpl
        def executor_register_tolls(self, register):
            pass

    (finding,) = check_plugin(Misspelt())
    assert "executor_register_tolls" in finding


def test_a_clash_with_a_bundled_tool_is_found():
    class Clash:
        @hookimpl
        def executor_register_tools(self, register):
            register("runCommand", lambda args: 1, description="Run.", schema={})

    (finding,) = check_plugin(Clash())
    assert "'runCommand'" in finding
    assert "'shell'" in finding


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
