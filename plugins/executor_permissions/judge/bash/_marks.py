"""
What two readings of a command are compared by: where each of its tokens stands, and what it is.

Every token gives one `Mark`. Blanks and newlines give none: what they separate says where they are.
"""

from __future__ import annotations

from typing import TypeAlias

Segment: TypeAlias = tuple[int, int, str]
"""Where a part of a word stands, and what it is: ``u`` unquoted, ``r`` in single quotes, ``d`` in double quotes,
``q`` a double quote around an expansion, ``v`` a variable, ``s`` a substitution."""

Mark: TypeAlias = tuple[int, int, str, int, str | tuple[Segment, ...]]
"""Start, end, kind, how many compound commands and substitutions it stands in, and for a word its `Segments`.

The kinds: ``program``, ``word``, ``assignment``, ``descriptor``, ``delimiter``, ``body``, ``comment``; every operator
and reserved word is its own."""


class Segments:
    """The parts of a word, neighbours of one kind joined."""

    __slots__ = ("_parts",)

    def __init__(self) -> None:
        self._parts: list[Segment] = []

    def add(self, start: int, end: int, kind: str) -> None:
        parts = self._parts
        if parts and parts[-1][2] == kind and parts[-1][1] == start:
            start = parts.pop()[0]
        parts.append((start, end, kind))

    def extend(self, other: Segments) -> None:
        for part in other._parts:
            self.add(*part)

    def told(self) -> str | tuple[Segment, ...]:
        """The kind alone where there is but one."""
        parts = self._parts
        if len(parts) > 1:
            return tuple(parts)
        return parts[0][2] if parts else ""
