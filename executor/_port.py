"""`ToolExecutorPort` over an executor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from executor.errors import ExecutorUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable

    from executor.values import ToolCall, ToolDefinition, ToolResult


class Port:
    """The narrow face, made of an executor's ``list_tools`` and ``call``."""

    def __init__(self, list_tools: Callable[[], list[ToolDefinition]], call: Callable[[ToolCall], ToolResult]) -> None:
        self.list_tools = list_tools
        self._call = call

    def execute(self, call: ToolCall) -> ToolResult:
        """Run one call. Raises ExecutorUnavailableError when the infrastructure is down."""
        result = self._call(call)
        if not result.success and isinstance(result.value, dict) and result.value.get("unavailable"):
            raise ExecutorUnavailableError(result.error or "The tool's backend is unavailable")
        return result
