"""Whose call it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from executor import CurrentCall


def agent_of(context: Mapping[str, Any] | None) -> str | None:
    """Who calls, as the caller's context says."""
    agent = (context or {}).get("agent")
    return agent if isinstance(agent, str) else None


def conversation_of(call: CurrentCall | None) -> str | None:
    """Which conversation of the program *call* belongs to, or None."""
    try:
        return call.host.conversation if call is not None else None
    except RuntimeError:  # no executor makes it
        return None
