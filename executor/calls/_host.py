"""The executor that runs a call, as the call's tool sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from executor.values import ToolCall, ToolDefinition, ToolResult


class Host(Protocol):
    """The executor that runs the current call, as tools and plugins see it (``current_call().host``)."""

    @property
    def tasks(self) -> Any: ...

    @property
    def approvals(self) -> Any: ...

    def call(self, call: ToolCall) -> ToolResult:
        """Run a tool through the whole pipeline, gate included."""
        ...

    def start(self, call: ToolCall, timeout: float | None = None) -> ToolResult:
        """Start a tool in the background, through the whole pipeline."""
        ...

    def list_tools(self) -> list[ToolDefinition]: ...

    def background_tools(self) -> Sequence[tuple[str, str, float | None]]:
        """(tool, plugin, threshold) of every tool that may go to the background."""
        ...
