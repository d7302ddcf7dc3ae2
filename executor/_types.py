"""The values that cross the library's seams (frozen), and the Protocols at them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, runtime_checkable

if TYPE_CHECKING:
    from executor._approval import Inbox
    from executor._retry import RetryConfig
    from executor.tasks import TaskManager

JSON: TypeAlias = Any  # dict, list, str, int, float, bool or None; typing cannot say "finite and acyclic"
ToolOutputCallback: TypeAlias = Callable[[str], None]
OutputCallback: TypeAlias = Callable[[str, str, str], None]
ProgressCallback: TypeAlias = Callable[[float, "float | None", "str | None"], None]
TaskDoneCallback: TypeAlias = Callable[[str, bool, "str | None", float], None]
Outcome: TypeAlias = "tuple[bool, Any]"
ArgumentKind: TypeAlias = Literal["shell", "argv", "path", "url"]


class BackendKind(StrEnum):
    """Where a tool runs."""

    LOCAL = "local"
    PROVIDER = "provider"
    MCP = "mcp"


@dataclass(frozen=True, slots=True)
class ToolBackend:
    """
    One place where a tool can run; made by `local`, `mcp` or `provider`.

    Attributes:
        kind: Which of the three; says which of the other fields are set.
    """

    kind: BackendKind
    name: str | None = None
    server_name: str | None = None
    tool_name: str | None = None
    provider_id: str | None = None
    tool_id: str | None = None

    @classmethod
    def local(cls, name: str) -> ToolBackend:
        """A function of this process, by the name its registry knows."""
        return cls(BackendKind.LOCAL, name=name)

    @classmethod
    def mcp(cls, server_name: str, tool_name: str | None = None) -> ToolBackend:
        """A tool of an MCP server; without *tool_name* the tool's bare name is used."""
        return cls(BackendKind.MCP, server_name=server_name, tool_name=tool_name)

    @classmethod
    def provider(cls, provider_id: str, tool_id: str) -> ToolBackend:
        """A tool of a registered provider."""
        return cls(BackendKind.PROVIDER, provider_id=provider_id, tool_id=tool_id)

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it: ``{"kind": "mcp", "mcp": {"serverName": …}}``."""
        parts = {wire: getattr(self, name) for wire, name in _BACKEND_KEYS.get(self.kind, {}).items()}
        details = {wire: value for wire, value in parts.items() if value is not None}
        return {"kind": str(self.kind), str(self.kind): details} if details else {"kind": str(self.kind)}

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> ToolBackend:
        """
        The backend that `to_dict` described.

        Raises:
            ValueError: The kind is none, or a part has another name.
        """
        kind = BackendKind(str(value.get("kind")))
        names, details = _BACKEND_KEYS[kind], value.get(kind, {})
        unknown = sorted(set(details) - set(names))
        if unknown:
            raise ValueError(f"unknown key {unknown[0]!r} in a backend of kind {kind}: use {', '.join(names)}")
        return cls(kind, **{names[wire]: part for wire, part in details.items()})


_BACKEND_KEYS = {
    BackendKind.LOCAL: {"name": "name"},
    BackendKind.MCP: {"serverName": "server_name", "toolName": "tool_name"},
    BackendKind.PROVIDER: {"providerId": "provider_id", "toolId": "tool_id"},
}


@dataclass(frozen=True, slots=True)
class ToolAnnotations:
    """
    MCP's four hints about a tool; None means that nobody said.

    Attributes:
        read_only: It changes nothing.
        destructive: What it changes may be lost.
        idempotent: A second call with the same arguments changes nothing more.
        open_world: It reaches things outside this machine.
    """

    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None

    @classmethod
    def of(cls, value: ToolAnnotations | Mapping[str, Any] | None) -> ToolAnnotations | None:
        """
        The annotations, from themselves or from a mapping.

        Raises:
            ValueError: A key is not one of the four hints (MCP's spelling ``readOnlyHint`` is understood).
        """
        if value is None or isinstance(value, ToolAnnotations):
            return value
        known = {f.name: f.name for f in fields(cls)} | _MCP_HINTS
        unknown = sorted(set(value) - set(known))
        if unknown:
            raise ValueError(f"unknown annotation {unknown[0]!r}: use {', '.join(f.name for f in fields(cls))}")
        return cls(**{known[key]: hint for key, hint in value.items()})

    def to_dict(self) -> dict[str, bool]:
        """The hints that somebody gave, in MCP's spelling."""
        return {wire: getattr(self, name) for wire, name in _MCP_HINTS.items() if getattr(self, name) is not None}


_MCP_HINTS = {
    "readOnlyHint": "read_only",
    "destructiveHint": "destructive",
    "idempotentHint": "idempotent",
    "openWorldHint": "open_world",
}


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """What a model is told about a tool. `name` is the id by which it is called."""

    name: str
    description: str = ""
    input_schema: Mapping[str, Any] | bool | None = None
    output_schema: Mapping[str, Any] | bool | None = None
    title: str | None = None
    annotations: ToolAnnotations | None = None


@dataclass(frozen=True, slots=True)
class Tool:
    """
    A tool: what is told about it, and for local tools the function behind it.

    Schemas are kept by reference and compiled once: do not change one that is registered.

    Attributes:
        name: The bare name; with `namespace` and `version` it makes the `id`.
        argument_kinds: What an argument means to the permission plugin: ``{"command": "shell"}``.
        fn: The function of a local tool; None for a tool that lives elsewhere.
        auto_background: Seconds after which a call of it goes to the background; None never.
        timeout: Seconds after which a call of it is given up; None never.
        retry: Whether, how often and after how long a failed call of it is tried again; None never.
        isolation: ``process``: each call in a process of its own, which a stop kills; the function is found by name.
    """

    name: str
    input_schema: Mapping[str, Any] | bool | None = None
    output_schema: Mapping[str, Any] | bool | None = None
    namespace: str | None = None
    version: str | None = None
    description: str = ""
    title: str | None = None
    annotations: ToolAnnotations | None = None
    argument_kinds: Mapping[str, ArgumentKind] | None = None
    tags: tuple[str, ...] = ()
    fn: Callable[..., Any] | None = field(default=None, compare=False)
    auto_background: float | None = None
    timeout: float | None = None
    retry: RetryConfig | None = field(default=None, compare=False)
    isolation: Literal["thread", "process"] = "thread"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function itself, as if it had never been decorated: no executor, no gate."""
        if self.fn is None:
            raise TypeError(f"the tool {self.id!r} has no function of its own: call it through an executor")
        return self.fn(*args, **kwargs)

    @property
    def id(self) -> str:
        if self.namespace is None:
            return self.name
        return ":".join(part for part in (self.namespace, self.name, self.version) if part is not None)

    def portable(self) -> Tool:
        """This tool without what cannot cross to another process: its function and its retries."""
        return replace(self, fn=None, retry=None)

    @property
    def definition(self) -> ToolDefinition:
        """What a model is told about this tool."""
        return ToolDefinition(
            self.id, self.description, self.input_schema, self.output_schema, self.title, self.annotations
        )

    @property
    def definition_hash(self) -> str:
        """SHA-256, in hex, of everything a model is told: it changes when the tool's meaning may have."""
        import hashlib  # 4 ms, wanted by grants and MCP only
        import json

        hints = self.annotations.to_dict() if self.annotations else None
        told = [self.id, self.description, self.title, self.input_schema, self.output_schema, hints]
        return hashlib.sha256(json.dumps(told, sort_keys=True, default=str).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One request of a model: run the tool `name` with `arguments` (a mapping, JSON text, or None)."""

    id: str
    name: str
    arguments: Mapping[str, Any] | str | None = None


@dataclass(frozen=True, slots=True)
class ToolResult:
    """
    The one answer to a `ToolCall`.

    Attributes:
        call_id: The id of the call.
        success: Whether the tool ran and was content.
        value: What `execute` returns as its second part.
        content: The value as text for a model.
        error: Why it failed, or None.
        is_error: Not `success`; a field of its own because model formats ask for it.
        backgrounded: Whether the work goes on in the background, under `task_id`.
        permission: What the gate decided (``decision``, ``reason``, ``method``), or None if nobody was asked.
    """

    call_id: str
    success: bool
    value: Any = None
    content: str = ""
    error: str | None = None
    is_error: bool = False
    backgrounded: bool = False
    task_id: str | None = None
    permission: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """
    An opinion on one call.

    Attributes:
        verdict: ``allow``, ``ask`` (a person) or ``deny``.
        reason: For the person and the model.
        method: How it was reached: ``blacklist``, ``whitelist``, ``default``, ``hook`` …
        rule: The rule that decided, as written, or None.
        parts: What was judged one by one (the commands of a shell line), each with its own verdict.
    """

    verdict: Literal["allow", "ask", "deny"]
    reason: str = ""
    method: str = "hook"
    rule: str | None = None
    parts: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """
    The gate's answer to one call.

    Attributes:
        allowed: Whether it may run.
        arguments: Other arguments to run it with, or None to leave them. They are validated and judged again.
        info: The ``_permission`` entry of the result; None if nobody was asked.
    """

    allowed: bool
    arguments: Mapping[str, Any] | None = None
    info: Mapping[str, Any] | None = None


class TaskStatus(StrEnum):
    """The states of a background task. The last five are final: a final state never changes."""

    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    TIMEOUT = "timeout"
    INTERRUPTED = "interrupted"

    @property
    def final(self) -> bool:
        return self not in (TaskStatus.PENDING, TaskStatus.RUNNING)


@dataclass(frozen=True, slots=True)
class TaskInfo:
    """
    What is known of one background task at one moment. Times are seconds since the epoch.

    Attributes:
        duration: Seconds from start to end, or up to now while it runs; 0 before it started.
        output_bytes: How many bytes of output (UTF-8) it has written so far.
        owner: Which process runs it.
        progress: The last (done, total, message) it reported, or None.
        abandoned: It has a final state, but its thread has not come back yet.
    """

    id: str
    status: TaskStatus
    tool_name: str
    plugin_name: str
    call_id: str
    created: float
    started: float | None = None
    ended: float | None = None
    duration: float = 0.0
    error: str | None = None
    output_bytes: int = 0
    owner: str = ""
    progress: tuple[float, float | None, str | None] | None = None
    abandoned: bool = False


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
