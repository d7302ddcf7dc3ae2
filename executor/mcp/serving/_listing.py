"""The tools, as clients are told of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from executor.models._names import cut, wire_name

if TYPE_CHECKING:
    from executor.mcp.serving._values import Executor, ServeOptions
    from executor.values import ToolDefinition

STRICTEST = "anthropic"  # whose names every client takes: letters, digits, _ and -, up to 64


@dataclass(frozen=True, slots=True)
class Offered:
    """
    A tool as clients know it.

    Attributes:
        id: The executor's name of it.
        told: What ``tools/list`` says of it.
        leaves_after: Seconds after which a call of it becomes a task, or None.
    """

    id: str
    told: Mapping[str, Any]
    leaves_after: float | None

    @property
    def has_schema(self) -> bool:
        """Whether a schema of its results is told, which every result then has to fit."""
        return "outputSchema" in self.told


@dataclass(frozen=True, slots=True)
class Listing:
    """The tools that are offered: by the names for clients, in a fixed order."""

    tools: Mapping[str, Offered]

    def by_id(self, tool: str) -> Offered | None:
        """The tool that the executor calls so, if it is offered."""
        return next((offered for offered in self.tools.values() if offered.id == tool), None)

    @property
    def told(self) -> list[Mapping[str, Any]]:
        """What ``tools/list`` says."""
        return [offered.told for offered in self.tools.values()]


def listing_of(executor: Executor, options: ServeOptions) -> Listing:
    """What *executor* offers now."""
    after = {} if options.wait else {name: seconds for name, _, seconds in executor.background_tools()}
    found: dict[str, Offered] = {}
    for definition in sorted(executor.list_tools(), key=lambda each: each.name):
        if not options.tools or any(fnmatchcase(definition.name, pattern) for pattern in options.tools):
            name = _free_name(definition.name, found)
            found[name] = Offered(
                definition.name, _told(definition, name, after.get(definition.name)), after.get(definition.name)
            )
    return Listing(found)


def _told(definition: ToolDefinition, name: str, leaves_after: float | None) -> dict[str, Any]:
    hints = definition.annotations.to_dict() if definition.annotations is not None else {}
    told = {
        "title": definition.title,
        "description": definition.description or None,
        "annotations": hints or None,
        # A call that becomes a task is answered with its id, which fits no schema of the tool's results; and up to
        # 2025-11-25 a schema of results has to be one of objects: there is one list for all clients.
        "outputSchema": _of_object(definition.output_schema) if leaves_after is None else None,
    }
    schema = _of_object(definition.input_schema) or {"type": "object"}
    return {"name": name, "inputSchema": schema, **{key: value for key, value in told.items() if value is not None}}


def _of_object(schema: object) -> dict[str, Any] | None:
    """The schema, if it is one of objects; one that does not say what it is of is that."""
    if not isinstance(schema, Mapping) or schema.get("type", "object") != "object":
        return None
    return {"type": "object", **schema}


def _free_name(tool: str, taken: Mapping[str, Offered]) -> str:
    """A name that all clients take and no other tool has, the same as long as the tools are the same."""
    name, number = wire_name(tool, STRICTEST), 1
    while name in taken:
        number += 1
        name = cut(f"{wire_name(tool, STRICTEST)}_{number}", f"{tool} {number}")
    return name
