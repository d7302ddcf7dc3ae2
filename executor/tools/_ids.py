"""The parts of a tool id."""

from __future__ import annotations

from dataclasses import dataclass

from executor._deprecated import FormerNamedTuple
from executor.tools._names import check_name


@dataclass(frozen=True, slots=True)
class ToolId(FormerNamedTuple):
    """The parts of a tool id: ``name``, ``namespace:name`` or ``namespace:name:version``."""

    name: str
    namespace: str | None = None
    version: str | None = None

    @classmethod
    def parse(cls, text: str) -> ToolId:
        """The parts of *text*. Raises InvalidToolIdError."""
        parts = check_name(text).split(":")
        return cls(parts[0]) if len(parts) == 1 else cls(parts[1], parts[0], *parts[2:])
