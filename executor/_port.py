"""`ToolExecutorPort` over an executor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from executor.errors import ExecutorUnavailableError

if TYPE_CHECKING:
    from executor._calls import Calls
    from executor.values import ToolCall, ToolDefinition, ToolResult


class Port:
    """The narrow face."""

    def __init__(self, executor: Calls) -> None:
        self._executor = executor

    def list_tools(self) -> list[ToolDefinition]:
        return self._executor.list_tools()

    def execute(self, call: ToolCall) -> ToolResult:
        result = self._executor.call(call)
        if not result.success and isinstance(result.value, dict) and result.value.get("unavailable"):
            raise ExecutorUnavailableError(result.error or "The tool's backend is unavailable")
        return result
