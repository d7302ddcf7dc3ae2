"""A rehearsal: what would become of a call."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from executor.calls._kinds import kind_of
from executor.calls._outcome import describe
from executor.calls._state import current
from executor.errors import InvalidArgumentsError, ToolError
from executor.values import Check

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from executor.calls._state import CallState
    from executor.run._way import Way
    from executor.values import Decision


def check(way: Way, call: CallState, opinion: Callable[[CallState, dict[str, Any]], Decision | None]) -> Check:
    """
    What would become of *call*.

    Args:
        opinion: Says what would be decided of it. Of a carrier the call inside its arguments is judged.
    """
    reset = current.set(call)
    try:
        prepared = way.pipeline.prepare(call, way.setup)
        if prepared.entry.carrier:
            inner = check(way, _carried(call, prepared.arguments), opinion)
            return replace(inner, tool=prepared.entry.name, arguments=prepared.arguments)
        decision = opinion(call, prepared.arguments)
    except Exception as error:  # noqa: BLE001 -- whatever keeps a call from running is the answer
        said = error.message if isinstance(error, ToolError) else describe(error)
        errors = tuple(error.errors) if isinstance(error, InvalidArgumentsError) else ()
        return Check(call.id, call.name, None, None, str(kind_of(error)), said, errors)
    finally:
        current.reset(reset)
    kind = {"deny": "denied", "ask": "ask"}.get(decision.verdict if decision is not None else "", "ok")
    denied = decision.reason if decision is not None and kind == "denied" else None
    return Check(call.id, prepared.entry.name, prepared.arguments, decision, kind, denied)


def _carried(call: CallState, arguments: Mapping[str, Any]) -> CallState:
    """The call that a carrier makes, as a rehearsal of its own."""
    inner = type(call)(call.id, arguments["tool_name"], arguments.get("arguments"), call.host, parent=call)
    inner.context = call.context
    return inner
