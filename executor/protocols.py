"""The Protocols at the library's seams: what people annotate with and build on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from executor.permission._inbox import Inbox
    from executor.tasks import TaskManager
    from executor.values import ToolCall, ToolDefinition, ToolResult


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


class Host(Protocol):
    """The executor that runs the current call, as tools and plugins see it (``current_call().host``)."""

    @property
    def tasks(self) -> TaskManager: ...

    @property
    def approvals(self) -> Inbox: ...

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


class Ledger(Protocol):
    """Where the events of calls are recorded."""

    def record(self, stage: str, payload: Mapping[str, Any]) -> None: ...
