"""What is served, and how."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, get_args

from executor.run._limits import names, text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from executor.calls._host import Approvals, TaskAccess
    from executor.mcp._bridge import MCPBridge
    from executor.values import Check, ProgressCallback, ToolCall, ToolDefinition, ToolOutputCallback, ToolResult

Ask: TypeAlias = Literal["client", "console", "both", "never"]


class Future(Protocol):
    """The result of a call that was submitted."""

    def cancel(self) -> bool: ...

    def cancelled(self) -> bool: ...

    def result(self) -> ToolResult: ...

    def add_done_callback(self, fn: Callable[[Any], object]) -> None: ...


class Executor(Protocol):
    """What is needed of a `ToolExecutor`."""

    @property
    def conversation(self) -> str | None: ...

    @property
    def tasks(self) -> TaskAccess: ...

    @property
    def approvals(self) -> Approvals: ...

    def list_tools(self) -> list[ToolDefinition]: ...

    def background_tools(self) -> list[tuple[str, str, float | None]]: ...

    def on_tools_changed(self, fn: Callable[[], object]) -> Callable[[], None]: ...

    def check(self, call: ToolCall, *, context: Mapping[str, Any] | None = None) -> Check: ...

    def submit(
        self,
        call: ToolCall,
        *,
        on_output: ToolOutputCallback | None = None,
        on_progress: ProgressCallback | None = None,
        on_done: Callable[[ToolResult], object] | None = None,
        background: bool | None = None,
        context: Mapping[str, Any] | None = None,
    ) -> Future: ...


class Resources(Protocol):
    """
    Documents that a server offers beside the tasks' output, each as MCP writes it in JSON.

    The methods are called on worker threads.
    """

    def list_resources(self) -> list[dict[str, Any]]:
        """``{"uri", "name", …}`` of each."""
        ...

    def list_templates(self) -> list[dict[str, Any]]:
        """``{"uriTemplate", "name", …}`` of each."""
        ...

    def read(self, uri: str) -> list[dict[str, Any]] | None:
        """``{"uri", "mimeType", "text" or "blob"}`` of each part; None where there is no such document."""
        ...


class Servers(Protocol):
    """
    The MCP servers of an executor. Each client has its own, except of those that are shared.

    Each is read by a tool of the executor, so that reading is judged and recorded as every call is, and what has no
    such tool is not offered. The methods are called on worker threads.
    """

    def readers(self) -> Mapping[str, Mapping[str, str]]:
        """By server, the first first: the ids of the tools that are its ``readResource`` and ``getPrompt``."""
        ...

    def server_of(self, tool: str) -> str | None:
        """The server that has the executor's tool of this id; None: it is no server's."""
        ...

    def bridge(self) -> MCPBridge:
        """By which the servers are asked what they have."""
        ...


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """
    How an executor is served.

    Attributes:
        name: The server's name, as clients show it.
        version: Its version; by default this package's.
        instructions: What a client tells its model of the server, or None.
        tools: Patterns (``*``, ``?``) of the names of the tools that are offered; none: all tools.
        ask: Where a person is asked: by the client that makes the call and nowhere else (``client``); on the surfaces
            of the executor's inbox, in whatever process of the user (``console``); on ``both``; or nowhere (``never``:
            what needs a yes is denied). None: on a surface if one is open anywhere when the question comes up, else by
            the client. What is said holds for the executor for good: also for tasks that go on.
        wait: Wait for the end of every call, whatever its threshold: no call becomes a task.
        requires: By tool, the capabilities (``{"extensions": {"io.modelcontextprotocol/tasks": {}}}``) without which
            a client's calls of it are refused.
        resources: Documents that are offered beside the tasks' output.
        principal: Who calls where no token says it; "": that is not told apart.
        servers: The executor's own MCP servers: those of a client end with it.
        proxy: Pass on what they have beside tools: documents and prompts.
    """

    name: str = "toolexec"
    version: str | None = None
    instructions: str | None = None
    tools: tuple[str, ...] = ()
    ask: Ask | None = None
    wait: bool = False
    requires: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    resources: Resources | None = None
    principal: str = ""
    servers: Servers | None = None
    proxy: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "tools", names(self.tools, "tools"))  # "*" in a text alone would offer all there is
        if self.ask is not None and self.ask not in get_args(Ask):
            raise ValueError(f"ask is {self.ask!r}: use one of {', '.join(get_args(Ask))}, or None")
        text(self.principal, "principal")
