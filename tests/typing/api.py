"""Never run: mypy checks that the public interface means what its users think it means."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, assert_type

from executor import (
    CancelToken,
    CurrentCall,
    Decision,
    PluginRegistry,
    TaskInfo,
    TaskManager,
    TokenLedger,
    Tool,
    ToolCall,
    ToolDefinition,
    ToolExecutor,
    ToolExecutorPort,
    ToolResult,
    current_call,
    get_current_tool_output_callback,
    hookimpl,
    models,
    tool,
)
from executor.hookspecs import RegisterTool
from executor.run import Runner, RunResult
from executor.values import Block, Image, ResultKind


class Gatekeeper:
    def check_permission(
        self, name: str, args: dict[str, Any], context: Any, call_id: str | None
    ) -> tuple[bool, dict[str, Any]]:
        return True, {}


@tool
def double(n: int) -> int:
    return 2 * n


@tool("named", timeout=5, resources=lambda arguments: [f"n:{arguments['n']}"], max_concurrent=2)
def named(n: int) -> int:
    return n


@hookimpl
def executor_register_tools(register: RegisterTool) -> None:
    register("double", lambda args: args)
    register(double)
    register("greet", lambda args: args, timeout=5, annotations={"read_only": True}, rate="20/min")
    register("x", lambda args: args, timeuot=5)  # type: ignore[call-arg]  # a misspelt option is found
    register("x", lambda args: args, timeout="5")  # type: ignore[arg-type]  # and one of the wrong type


@hookimpl
def executor_check_permission(call: ToolCall) -> Decision | None:
    return Decision("deny", call.name) if call.arguments else None


def use() -> None:
    tool("wrong", timeout="5")  # type: ignore[call-overload]  # options have types
    executor = ToolExecutor(TokenLedger(), registry=PluginRegistry(), permission_plugin=Gatekeeper())
    assert_type(executor.execute("x", {"a": 1}, print, "id"), tuple[bool, Any])
    assert_type(executor.call(ToolCall("1", "x", None), cancel=CancelToken()), ToolResult)
    assert_type(executor.execute_many([ToolCall("1", "x")]), list[ToolResult])
    assert_type(executor.list_tools(), list[ToolDefinition])
    assert_type(executor.register(double), Tool)
    assert_type(executor.tasks, TaskManager)
    assert_type(executor.tasks.get("id"), TaskInfo)
    assert_type(executor.tasks.output("id", 0), tuple[str, int, int])
    assert_type(executor.tasks.tool_result("id").kind, ResultKind)
    assert_type(executor.tasks.tool_result("id").blocks, tuple[Block, ...])
    assert_type(executor.tasks.next_undelivered(1.0, conversation="a"), TaskInfo | None)
    assert_type(executor.tasks.subscribe(print), Callable[[], None])
    assert_type(Image(b"", "image/png").to_dict(), dict[str, Any])
    port: ToolExecutorPort = executor.as_port()
    assert_type(port.execute(ToolCall("1", "x")), ToolResult)
    current_call().emit("text")  # in a tool there is one
    call = current_call()
    if isinstance(call, CurrentCall):
        assert_type(call.wait(1.0), bool)
    assert_type(models.problems({}, "openai")[0].refused, bool)
    say = get_current_tool_output_callback()
    if say is not None:
        say("text")
    assert_type(Runner().run("x"), RunResult)
    assert_type(double, Tool)
    assert_type(named, Tool)
