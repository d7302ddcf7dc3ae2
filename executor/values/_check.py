"""What would become of a call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from executor.values._decision import Decision


@dataclass(frozen=True, slots=True)
class Check:
    """
    What would become of a call, from a rehearsal in which nothing runs.

    Attributes:
        tool: The name asked for.
        arguments: The checked copy; None when they do not fit, or the tool is not known.
        decision: What would be decided; None when nobody has an opinion, and the call would run.
        kind: ``ok``, ``ask`` (a person would be), ``denied``, or why it cannot run (a `ResultKind`).
        error: What it would fail with, or None.
        errors: What is wrong with the arguments: ``{"path", "keyword", "message"}`` each.
    """

    call_id: str
    tool: str
    arguments: Mapping[str, Any] | None
    decision: Decision | None
    kind: str
    error: str | None = None
    errors: tuple[Mapping[str, str], ...] = ()
