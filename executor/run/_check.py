"""A rehearsal: what would become of a call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from executor.calls._kinds import kind_of
from executor.calls._outcome import describe
from executor.calls._state import current
from executor.errors import InvalidArgumentsError, ToolError
from executor.values import Check

if TYPE_CHECKING:
    from collections.abc import Callable

    from executor.calls._state import CallState
    from executor.run._way import Way
    from executor.values import Decision


def check(way: Way, call: CallState, opinion: Callable[[CallState, dict[str, Any]], Decision | None]) -> Check:
    """What would become of *call*; *opinion* says what would be decided of it."""
    reset = current.set(call)
    try:
        prepared = way.pipeline.prepare(call, way.setup)
        decision = None if prepared.entry.carrier else opinion(call, prepared.arguments)
    except Exception as error:  # noqa: BLE001 -- whatever keeps a call from running is the answer
        said = error.message if isinstance(error, ToolError) else describe(error)
        errors = tuple(error.errors) if isinstance(error, InvalidArgumentsError) else ()
        return Check(call.id, call.name, None, None, str(kind_of(error)), said, errors)
    finally:
        current.reset(reset)
    kind = {"deny": "denied", "ask": "ask"}.get(decision.verdict if decision is not None else "", "ok")
    denied = decision.reason if decision is not None and kind == "denied" else None
    return Check(call.id, prepared.entry.name, prepared.arguments, decision, kind, denied)
