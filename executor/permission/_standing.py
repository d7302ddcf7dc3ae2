"""Decisions that stand: what a permission plugin says of a call without being given a request of its own to judge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from executor.permission._plugin import Context
    from executor.values import Decision, Tool

    Decide: TypeAlias = Callable[..., Decision]
    Standing: TypeAlias = Callable[[str, Tool, dict[str, Any], Context], Decision | None]


def standing_of(plugin: object) -> tuple[Decide, Standing] | None:
    """
    The ``standing`` of *plugin*, with the ``decide`` that it speaks for: the one in the same class.

    A subclass or a wrapper with another ``decide`` is asked by that one about each call: a ``standing`` that it merely
    inherits or hands through knows nothing of it.
    """
    own = vars(type(plugin))
    if plugin is None or "decide" not in own or "standing" not in own:
        return None
    return own["decide"], plugin.standing  # type: ignore[attr-defined]  # its class has it
