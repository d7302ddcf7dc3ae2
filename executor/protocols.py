"""The Protocols at the library's seams: what people annotate with and build on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from executor.values._terminal import Terminal, TerminalMode, Viewer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from executor.values import ToolCall, ToolDefinition, ToolResult

__all__ = ["BackgroundCapable", "Ledger", "Terminal", "TerminalMode", "ToolExecutorPort", "Viewer"]


@runtime_checkable
class BackgroundCapable(Protocol):
    """A plugin whose tools may go to the background."""

    def supports_background(self, tool_name: str) -> bool:
        """Whether this tool of the plugin may."""
        ...

    def get_auto_background_threshold(self, tool_name: str) -> float | None:
        """After how many seconds it does; None: only when it is started there on purpose."""
        ...


class ToolExecutorPort(Protocol):
    """The narrow face of an executor, for hosts that bring their own model loop."""

    def list_tools(self) -> list[ToolDefinition]:
        """Every tool a model may be told of."""
        ...

    def execute(self, call: ToolCall) -> ToolResult:
        """
        Run one call. ``success=False`` when the tool ran and says no, or could not be asked to run.

        Raises:
            ExecutorUnavailableError: The infrastructure is down, and nothing about the call is known.
        """
        ...


class Ledger(Protocol):
    """Where the events of calls are recorded."""

    def record(self, stage: str, payload: Mapping[str, Any]) -> None:
        """
        Take one event: what happened, and what there is to say about it.

        Args:
            payload: See `executor.records._ledger`. Secrets are masked; it is a copy, which may be kept and changed.
        """
        ...
