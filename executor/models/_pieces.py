"""What comes in pieces, put together once: to join each with all before it would take the square of their number."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from executor.models._results import clean

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_FIRST_HALVES = ("\ud800", "\udbff")  # of surrogate pairs
_MARKS = re.compile(r'[\\"{}]')


class Pieces:
    """
    The text of an object of JSON, as far as it has come.

    Attributes:
        size: Its characters.
    """

    __slots__ = ("_depth", "_escaped", "_in_text", "_pieces", "size")

    def __init__(self) -> None:
        self.size = 0
        self._pieces: list[str] = []
        self._depth = 0
        self._in_text = False
        self._escaped = -1  # where a character is that means nothing

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    @property
    def is_closed(self) -> bool:
        """Whether every brace that has come is closed. Of a whole object this is so; no other text need be parsed."""
        return self.size > 0 and not self._depth and not self._in_text

    def add(self, piece: str) -> None:
        """Take the next piece."""
        for mark in _MARKS.finditer(piece):
            at = self.size + mark.start()
            if at != self._escaped:
                self._take(mark[0], at)
        self.size += len(piece)
        self._pieces.append(piece)

    def _take(self, mark: str, at: int) -> None:
        if mark == '"':
            self._in_text = not self._in_text
        elif mark == "\\":
            self._escaped = at + 1
        elif not self._in_text:
            self._depth += 1 if mark == "{" else -1


class Spoken:
    """Hands on what is said, in whole characters: some servers cut one in the middle of its surrogate pair."""

    __slots__ = ("_half", "_say")

    def __init__(self, say: Callable[[str], object]) -> None:
        self._say = say
        self._half = ""

    def __call__(self, piece: str) -> None:
        """Take the next piece."""
        said = self._half + piece
        self._half = said[-1] if _FIRST_HALVES[0] <= said[-1:] <= _FIRST_HALVES[1] else ""
        if said := clean(said.removesuffix(self._half)):
            self._say(said)


def joined(values: Sequence[Any]) -> Any:
    """What stands in a message for values that came one after another; None for none."""
    if all(isinstance(value, str) for value in values):
        return "".join(values) if values else None
    if all(isinstance(value, list) for value in values):
        return [item for value in values for item in value]
    together = None
    for value in values:
        alike = any(isinstance(together, kind) and isinstance(value, kind) for kind in (str, list))
        together = together + value if alike else value
    return together
