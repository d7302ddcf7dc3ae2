"""A piece of what a tool says while it works."""

from __future__ import annotations

from typing import Self


class OutputChunk(str):
    """
    A piece of a command's output that knows where it comes from; for whoever only shows output a text like any other.

    Attributes:
        stream: ``stdout`` or ``stderr``.
        raw: The bytes that the command wrote; what is no UTF-8 in them is U+FFFD in the text.
    """

    __slots__ = ("raw", "stream")
    stream: str
    raw: bytes

    def __new__(cls, text: str, stream: str, raw: bytes) -> Self:
        made = super().__new__(cls, text)
        made.stream = stream
        made.raw = raw
        return made
