"""Another process's tools as a provider of the run layer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from executor.calls._current import current_call
from executor.errors import ToolFailedError
from executor.mcp._bridge import MCPBridge
from executor.values import Tool, ToolAnnotations

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType
    from typing import Self


class RemoteExecutorProvider:
    """
    Runs tools of executors in other processes, which are reached over MCP.

    Unlike the tools of a server that anybody wrote, these are one's own: what they say of themselves is believed, and
    their values come back as they were.

    Args:
        executors: By provider id: what `MCPBridge` takes (``{"url": …}``, or ``{"command": …}`` to start it).
        options: Those of `MCPBridge`.
    """

    def __init__(self, executors: Mapping[str, object], **options: Any) -> None:
        self._bridge = MCPBridge(executors, **options)

    def call_tool(self, provider_id: str, tool_id: str, args: Mapping[str, Any]) -> Any:
        """
        The value of a tool over there.

        Raises:
            ToolFailedError: It failed.
            BackendUnavailableError: The other process cannot be reached.
            ToolTimeoutError, ToolCancelledError: The call took too long, or was cancelled; the other process was told.
        """
        call = current_call()
        result = self._bridge.call_tool(
            provider_id,
            tool_id,
            args,
            timeout=call.remaining if call is not None else None,
            on_progress=call.progress if call is not None else None,
            cancel=call.token if call is not None else None,
        )
        text = "\n".join(block.text for block in result.content if block.type == "text")
        if result.is_error:
            raise ToolFailedError(text or f"{provider_id}: {tool_id} failed without saying why")
        if "structured_content" not in result.model_fields_set or result.structured_content is None:
            return text
        return _unwrapped(result.structured_content, text)

    def tools(self, provider_id: str) -> dict[str, Tool]:
        """The tools of an executor by tool id; raises BackendUnavailableError."""
        return {str(told["name"]): _tool(told) for told in self._bridge.list_tools(provider_id)}

    def close(self) -> None:
        """End the connections."""
        self._bridge.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _unwrapped(value: Any, text: str) -> Any:
    """
    Before 2026-07-28 a value that is no object had to be wrapped in one, and many servers still do so. The text beside
    it tells such a ``{"result": …}`` from one that the tool itself returned.
    """
    if not isinstance(value, dict) or list(value) != ["result"]:
        return value
    inner = value["result"]
    if isinstance(inner, str):
        return inner if text == inner else value
    try:
        return inner if json.loads(text) == inner else value
    except ValueError:
        return value


def _tool(told: Mapping[str, Any]) -> Tool:
    hints = {key: value for key, value in (told.get("annotations") or {}).items() if key != "title"}
    return Tool(
        str(told["name"]),
        input_schema=told["inputSchema"],
        output_schema=told.get("outputSchema"),
        description=str(told.get("description") or ""),
        title=told.get("title"),
        annotations=ToolAnnotations.of(hints) if hints else None,
    )
