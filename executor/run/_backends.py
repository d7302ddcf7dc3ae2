"""What the stages hand on, and the Protocols at the run layer's seams."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from executor._deprecated import FormerNamedTuple
from executor.calls._current import token_of
from executor.errors import ExecutionError, StreamNotSupportedError
from executor.values import BackendKind
from executor.values._frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from executor.calls._scope import Pause, Steps
    from executor.calls._state import CallState
    from executor.calls._token import CancelToken
    from executor.threads._loop import LoopThread
    from executor.tools._make import Registered
    from executor.tools._signature import Handler
    from executor.values import ProgressCallback, Tool, ToolBackend, Verdict
    from executor.values._retry import RetryConfig


class ToolIndex(Protocol):
    """Knows tools and where they run. Raises ToolNotFoundError for an id it does not know."""

    def get_tool(self, tool_id: str) -> Tool: ...
    def get_all_backends(self, tool_id: str) -> Sequence[ToolBackend]: ...


class LocalRegistry(Protocol):
    """Knows local functions by name; a function is called as ``handler(args)``."""

    def get(self, name: str) -> Handler | None: ...


class MCPExecutor(Protocol):
    """
    Calls tools of MCP servers. Used from many threads.

    One that streams has ``call_tool_stream`` with the same arguments, which returns an iterator of `StreamEvent`.
    """

    def call_tool(
        self,
        server_name: str,
        tool_name: str,
        arguments: Mapping[str, Any],
        *,
        timeout: float | None,
        on_progress: ProgressCallback | None,
        cancel: CancelToken | None,
    ) -> Any:
        """
        What the server answered: an object with ``content``, ``structured_content`` and ``is_error``.

        Raises:
            BackendUnavailableError, ToolTimeoutError, ToolCancelledError: There was no answer.
        """
        ...


class ProviderExecutor(Protocol):
    """
    Calls tools of other providers. Used from many threads; `current_call` has deadline, token and progress.

    One that streams has ``call_tool_stream`` with the same arguments, which returns an iterator of `StreamEvent`.
    """

    def call_tool(self, provider_id: str, tool_id: str, args: Mapping[str, Any]) -> Any:
        """The tool's value. Raises BackendUnavailableError when the provider is down, ToolFailedError for a no."""
        ...


class SchemaValidator(Protocol):
    """Compares values with a tool's schemas in place of the built-in validation. Raises whatever says what is wrong."""

    def validate_input(self, tool: Tool, arguments: Mapping[str, Any]) -> None: ...
    def validate_output(self, tool: Tool, value: Any) -> None: ...


class Source(Protocol):
    """One place where tools are looked for; None means that the next place is asked."""

    def find(self, tool_id: str) -> Registered | None: ...
    def names(self) -> Iterable[str]: ...


ToolResolver: TypeAlias = "Callable[[str], Tool | None]"
BackendsResolver: TypeAlias = "Callable[[str], Sequence[ToolBackend]]"
BackendSelector: TypeAlias = "Callable[[Sequence[ToolBackend]], ToolBackend | Sequence[ToolBackend]]"
Bound: TypeAlias = "tuple[dict[str, Any], Callable[[], Any]]"
Gate: TypeAlias = "Callable[[Prepared], Verdict | Pause | None]"
Middleware: TypeAlias = "Callable[[Prepared, Callable[[], Any]], Any]"


@dataclass(frozen=True, slots=True, repr=False)
class Backends:
    """
    What runs tools, by kind; None for a kind that nobody configured.

    Attributes:
        local: Functions by backend name, for local tools that bring none.
    """

    local: LocalRegistry | None = None
    mcp: MCPExecutor | None = None
    provider: ProviderExecutor | None = None

    def with_others(self, others: Mapping[str, Any]) -> Backends:
        """These, and for the kinds that nobody configured those of plugins."""
        return Backends(self.local, self.mcp or others.get("mcp"), self.provider or others.get("provider"))

    def handler(self, prepared: Prepared) -> Handler:
        """The function of a local tool. Raises ExecutionError when nobody has registered one."""
        handler, name = prepared.entry.handler, prepared.backend.name
        if handler is None and self.local is not None:
            handler = self.local.get(name or prepared.entry.name)
        if handler is None:
            raise ExecutionError(f"No local function is registered as {name!r}")
        return handler

    def elsewhere(self, prepared: Prepared, method: Literal["call_tool", "call_tool_stream"]) -> Any:
        """
        What the executor of an MCP or provider backend returns.

        Raises:
            ExecutionError: There is no such backend, or it does not say where the tool is.
            StreamNotSupportedError: The executor has no such method.
        """
        backend, call, name = prepared.backend, prepared.call, prepared.entry.name
        executor: object
        where: str | None
        tool: str | None
        options: dict[str, Any] = {}
        if backend.kind is BackendKind.MCP:
            executor, where, tool = self.mcp, backend.server_name, backend.tool_name or prepared.entry.tool.name
            options = {"timeout": call.remaining, "on_progress": call.progress, "cancel": token_of(call)}
        elif backend.kind is BackendKind.PROVIDER:
            executor, where, tool = self.provider, backend.provider_id, backend.tool_id
        else:
            raise ExecutionError(f"There is no backend of the kind {backend.kind!r}: use local, mcp or provider")
        if executor is None:
            raise ExecutionError(f"No {backend.kind} backend is configured: the tool {name} cannot be reached")
        if not where or not tool:
            raise ExecutionError(f"The {backend.kind} backend of {name} does not say where the tool is: {backend}")
        function = getattr(executor, method, None)
        if function is None:
            raise not_streaming(prepared)
        return function(where, tool, prepared.arguments, **options)


def not_streaming(prepared: Prepared) -> StreamNotSupportedError:
    """What the stream of a tool ends in that cannot."""
    return StreamNotSupportedError(
        f"{prepared.entry.name} gives its result in one piece: call it without streaming, or stream it with adapt=True",
        tool_id=prepared.entry.name,
        backend=prepared.backend,
    )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Setup:
    """
    What calls are made with: a runner's own, or a host's that puts something in front of it.

    Attributes:
        sources: Where tools are looked for, in this order.
        find: Asked before them: the look-up of a host's own table.
        gates: Each is asked before a call runs; one that says no ends it.
        backends: What runs tools.
        metadata_keys: See `normalise`.
        loop: Runs coroutines.
    """

    sources: tuple[Source, ...]
    gates: tuple[Gate, ...]
    backends: Backends
    metadata_keys: AbstractSet[str]
    loop: LoopThread
    find: Callable[[str], Registered | None]


@dataclass(slots=True, eq=False, repr=False)
class Prepared:
    """
    A call that has passed everything that comes before it runs.

    Attributes:
        setup: What it is made with.
        entry: The tool, with what a call needs of it.
        backend: Where it runs.
        arguments: A checked copy: what was judged is what runs.
        candidates: The backends to try in turn, should one be down; the first is the one it begins with.
        retry: Whether and how it is tried again; None never.
        bound: The tool's function with these very arguments, to be called once; None where it is to be bound anew.
        judging: What is still to be waited for before it may run (a person, a gate that blocks), or None.
        edited: The arguments are those that a person gave to the gate that is asked now: it asks nobody again.
    """

    call: CallState
    setup: Setup
    entry: Registered
    backend: ToolBackend
    arguments: dict[str, Any]
    candidates: Sequence[ToolBackend]
    retry: RetryConfig | None
    bound: Bound | None = None
    judging: Steps[None] | None = None
    edited: bool = False


@dataclass(slots=True)
class RunResult(FormerNamedTuple):
    """
    What a call came to.

    Not frozen, because one is made for every call and that would triple its cost; nobody writes to one.

    Attributes:
        structured: The tool's value.
        content: The blocks of an answer that is more than a value (text, images …).
        mcp_result: The raw answer of an MCP server.
        is_error: Whether the answer says that the tool failed.
        metadata: Keys that a local tool returned beside its result, for the host.
        warnings: What is wrong with the answer of another's tool, which was carried out all the same.
    """

    tool: Tool
    backend: ToolBackend
    structured: Any
    content: tuple[Any, ...] = ()
    mcp_result: Any = None
    is_error: bool = False
    metadata: Mapping[str, Any] | None = None
    warnings: tuple[str, ...] = field(default=(), kw_only=True)

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it: ``{"tool", "backend", "structured", "mcpResult"}``."""
        from executor.models._tools import tool_in

        parts = {"name": self.tool.name, "namespace": self.tool.namespace, "version": self.tool.version}
        told: dict[str, Any] = {
            "tool": tool_in(self.tool.definition, "mcp")
            | {key: part for key, part in parts.items() if part is not None},
            "backend": self.backend.to_dict(),
            "structured": self.structured,
        }
        if self.mcp_result is not None:
            dump = getattr(self.mcp_result, "model_dump", None)
            told["mcpResult"] = dump(mode="json", by_alias=True, exclude_none=True) if dump else self.mcp_result
        if self.warnings:
            told["warnings"] = list(self.warnings)
        return told
