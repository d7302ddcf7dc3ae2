"""The run layer inside a `ToolExecutor`: time limits by precedence, backends of plugins, content for a model."""

from __future__ import annotations

import pytest

from executor import PluginRegistry, ToolCall, ToolExecutor, current_call, errors, hookimpl
from executor.run import Runner, Tool, ToolBackend
from executor.testing import Answer, StubBackend, StubIndex


@pytest.mark.parametrize(
    ("default", "own", "given", "expected"),
    [(100, None, None, 100), (100, 200, None, 200), (100, 200, 300, 300), (None, None, None, None)],
)
def test_a_time_limit_is_the_callers_else_the_tools_else_the_default(default, own, given, expected):
    def look(args):
        yield current_call().remaining

    with ToolExecutor(default_timeout=default) as executor:
        executor.register("look", look, timeout=own)
        seen = [
            next(executor.execute_stream("look", timeout=given)).data,
            executor.call(ToolCall("1", "look"), timeout=given).value[0],
        ]
    for left in seen:
        assert left is None if expected is None else expected - 5 < left <= expected


def test_backends_of_plugins_run_the_tools_of_a_runners_index():
    class Plugin:
        @hookimpl
        def executor_register_backends(self, register):
            register("mcp", StubBackend(Answer.text("from the plugin")))

    registry = PluginRegistry(bundled=False, entry_points=False)
    registry.expose(registry.register(Plugin(), "plugged"))
    index = StubIndex([Tool("x")], {"x": [ToolBackend.mcp("s")]})
    with ToolExecutor(runner=Runner(index), registry=registry) as executor:
        assert executor.execute("x") == (True, "from the plugin")
        executor.set_registry(None)
        assert "No mcp backend" in executor.execute("x")[1]["error"]


def test_a_runners_ways_are_kept_behind_the_executors_gate():
    order = []

    def middleware(prepared, proceed):
        order.append("around")
        return proceed()

    class Keeper:
        def check_permission(self, name, args, context, call_id):
            order.append("gate")
            return True, {"reason": "ok", "method": "default"}

    down = errors.BackendUnavailableError("no connection", started=False)
    stub = StubBackend(down, Answer.text("second"))
    index = StubIndex([Tool("x")], {"x": [ToolBackend.mcp("a"), ToolBackend.mcp("b")]})
    runner = Runner(index, backend_selector=lambda given: given, middleware=[middleware], mcp=stub)
    with ToolExecutor(runner=runner, permission_plugin=Keeper()) as executor:
        assert executor.execute("x") == (True, "second")
    assert order == ["gate", "around", "gate"]  # another server: judged again


def test_an_executor_called_by_a_tool_of_a_chain_nests():
    from executor.run import ChainStep

    with ToolExecutor() as executor:
        executor.register("inner", lambda args: {"depth": current_call().depth})
        executor.register("outer", lambda args: executor.execute_chain([ChainStep("inner")]).final.structured)
        assert executor.execute_chain([ChainStep("outer")]).final.structured == {"depth": 1}
