"""Tools that start another call: what they carry is judged, as a call of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

CARRIERS = frozenset({"startBackgroundTask", "askPermission"})
_MAX_CARRIED = 5  # within one another


def carried(tool: Any, args: Any) -> Iterator[tuple[Any, Any]]:
    """A call, the one that it carries, and so on; of these all but the last are known to be carriers with an object."""
    yield tool, args
    for _ in range(_MAX_CARRIED):
        if not isinstance(tool, str) or tool not in CARRIERS or not isinstance(args, dict):
            return
        tool, args = args.get("tool_name"), args.get("arguments", {})
        yield tool, args


def innermost(tool: str, args: Any) -> tuple[str, Any]:
    """What a call comes to: the one that it carries in the end. One whose inner call cannot be told stays as it is."""
    if tool not in CARRIERS:
        return tool, args
    *_, (inner, given) = carried(tool, args)
    told = isinstance(inner, str) and inner not in CARRIERS and isinstance(given, dict)
    return (inner, given) if told else (tool, args)
