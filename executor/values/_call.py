"""A call and its one answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

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
