"""What the stages hand on, and the Protocols at the run layer's seams."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from executor._output import CurrentCall
    from executor._tools import Handler, Registered
    from executor._types import Tool, ToolBackend, Verdict


class ToolIndex(Protocol):
    """Knows tools and where they run. Raises ToolNotFoundError for an id it does not know."""

    def get_tool(self, tool_id: str) -> Tool: ...
    def get_all_backends(self, tool_id: str) -> Sequence[ToolBackend]: ...


class LocalRegistry(Protocol):
    """Knows local functions by name; a function is called as ``handler(args)``."""

    def get(self, name: str) -> Handler | None: ...


class Source(Protocol):
    """One place where tools are looked for; None means that the next place is asked."""

    def find(self, tool_id: str) -> Registered | None: ...
    def names(self) -> Iterable[str]: ...


ToolResolver: TypeAlias = "Callable[[str], Tool | None]"
BackendsResolver: TypeAlias = "Callable[[str], Sequence[ToolBackend]]"
BackendSelector: TypeAlias = "Callable[[Sequence[ToolBackend]], ToolBackend]"
Gate: TypeAlias = "Callable[[Prepared], Verdict | None]"


class Prepared:
    """
    A call that has passed everything that comes before it runs.

    Attributes:
        entry: The tool, with what a call needs of it.
        arguments: A checked copy: what was judged is what runs.
    """

    __slots__ = ("arguments", "backend", "call", "entry")

    def __init__(self, call: CurrentCall, entry: Registered, backend: ToolBackend, arguments: dict[str, Any]) -> None:
        self.call = call
        self.entry = entry
        self.backend = backend
        self.arguments = arguments


class RunResult(NamedTuple):
    """
    What a call came to.

    A named tuple: as frozen as a dataclass, and made in a third of the time, for every call.

    Attributes:
        structured: The tool's value.
        content: The blocks of an answer that is more than a value (text, images …).
        mcp_result: The raw answer of an MCP server.
        is_error: Whether the answer says that the tool failed.
        metadata: Keys that a local tool returned beside its result, for the host.
    """

    tool: Tool
    backend: ToolBackend
    structured: Any
    content: tuple[Any, ...] = ()
    mcp_result: Any = None
    is_error: bool = False
    metadata: Mapping[str, Any] | None = None
