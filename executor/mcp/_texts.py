"""
Halves of characters in what servers write: JavaScript cuts texts between the two that an emoji is made of.

JSON may have such a half as an escape, but no text of Unicode can: it is read as a mark that something is missing here,
wherever it comes from, so that it costs neither the answer nor, when it is given back, the session.
"""

from __future__ import annotations

import re

_ANY = re.compile(rb"\\u[dD][89a-fA-F]")
_FIRST, _SECOND = rb"\\u[dD][89abAB][0-9a-fA-F]{2}", rb"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_HALF = re.compile(rb"%b(?!%b)|(?<!%b)%b" % (_FIRST, _SECOND, _FIRST, _SECOND))
_MARK = rb"\\ufffd"  # as a template
_UNFINISHED = re.compile(rb"\\(?:u[0-9a-fA-F]{0,3}|u[dD][89abAB][0-9a-fA-F]{2}(?:\\(?:u[0-9a-fA-F]{0,3})?)?)?\Z")
_LONGEST = 11  # bytes of an escape of which the last is missing
_BACKSLASH, _ASIDE = rb"\\", b"\0\0"  # an escaped one begins no escape; no JSON has the other


class Halves:
    """Replaces them in JSON that comes in pieces, cut anywhere. No step of it is Python's for each escape."""

    def __init__(self) -> None:
        self._held = b""  # an escape of which the rest is still to come

    def without(self, piece: bytes) -> bytes:
        """*piece*, and what was held back before it; an escape at its end that is not whole is held back."""
        piece = self._held + piece
        self._held = b""
        if b"\\" not in piece[-_LONGEST:] and not _ANY.search(piece):
            return piece
        piece = piece.replace(_BACKSLASH, _ASIDE)
        found = _UNFINISHED.search(piece, max(0, len(piece) - _LONGEST))
        if found is not None:
            piece, self._held = piece[: found.start()], found[0]
        return _HALF.sub(_MARK, piece).replace(_ASIDE, _BACKSLASH)

    def rest(self) -> bytes:
        """What is still held back at the end."""
        held, self._held = self._held, b""
        return _HALF.sub(_MARK, held)


def whole(text: bytes) -> bytes:
    """A JSON text without them, and in UTF-8."""
    halves = Halves()
    return in_utf8(halves.without(text) + halves.rest())


def in_utf8(text: bytes) -> bytes:
    """*text*; bytes that are no UTF-8 cost a character each."""
    try:
        text.decode()
    except UnicodeDecodeError:
        return text.decode("utf-8", "replace").encode()
    return text
