"""A call and its one answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeAlias

from executor.values._frozen import dataclass

if TYPE_CHECKING:
    from executor.values._blocks import Block

JSON: TypeAlias = Any  # dict, list, str, int, float, bool or None; typing cannot say "finite and acyclic"
ToolOutputCallback: TypeAlias = Callable[[str], None]
OutputCallback: TypeAlias = Callable[[str, str, str], None]
ProgressCallback: TypeAlias = Callable[[float, "float | None", "str | None"], None]
Progress: TypeAlias = "tuple[float, float | None, str | None]"  # done, total, message
TaskDoneCallback: TypeAlias = Callable[[str, bool, "str | None", float], None]
Outcome: TypeAlias = "tuple[bool, Any]"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One request of a model: run the tool `name` with `arguments` (a mapping, JSON text, or None)."""

    id: str
    name: str
    arguments: Mapping[str, Any] | str | None = None


class ResultKind(StrEnum):
    """
    What a call came to.

    ``unknown_outcome``: it was started, and whether it had its effect cannot be known. ``interrupted``: what ran it was
    ended in the middle. ``invalid_result``: it ran, and its result does not fit its own schema.
    """

    OK = "ok"
    INVALID_ARGUMENTS = "invalid_arguments"
    NOT_FOUND = "not_found"
    DENIED = "denied"
    FAILED = "failed"
    INVALID_RESULT = "invalid_result"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"
    UNAVAILABLE = "unavailable"
    CAPACITY = "capacity"
    UNKNOWN_OUTCOME = "unknown_outcome"
    BACKGROUNDED = "backgrounded"


@dataclass(frozen=True, slots=True)
class ToolResult:
    """
    The one answer to a `ToolCall`.

    Attributes:
        call_id: The id of the call.
        success: Whether the tool ran and was content.
        value: What `execute` returns as its second part.
        content: The value as text for a model; bounded: what is left out is said, and how to read it.
        error: Why it failed, or None.
        is_error: Not `success`, whatever is given here; a field because model formats ask for it.
        backgrounded: Whether the work goes on in the background, under `task_id`.
        permission: What the gate decided (``decision``, ``reason``, ``method``), or None if nobody was asked.
        blocks: The blocks, of a tool that returned any and of an MCP server. Their text is in `content` as well:
            beside `content` a model needs only those that are not text.
        structured: The value as JSON, without ``_permission``; None for a value that is blocks, and for a failure.
        kind: What it came to; by default what the other fields say.
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
    blocks: tuple[Block, ...] = ()
    structured: JSON = None
    kind: ResultKind = None  # type: ignore[assignment]  # __post_init__ replaces it: nobody sees a None

    def __post_init__(self) -> None:
        object.__setattr__(self, "is_error", not self.success)
        if self.kind is None:
            usual = ResultKind.BACKGROUNDED if self.backgrounded else ResultKind.OK
            object.__setattr__(self, "kind", usual if self.success else ResultKind.FAILED)
