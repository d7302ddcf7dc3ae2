"""
The control sequences of terminals (ECMA-48, and what xterm adds): cut out of a stream, and what of them may be passed
on to a person's own terminal.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_TOKEN = re.compile(
    r"(?P<lines>(?:[ -~]*\r\n){40,})"  # a flood of plain lines, which costs a tenth in one piece
    r"|(?P<text>[^\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]+)"
    r"|(?P<line>\r\n)"
    r"|\x1b\[(?P<given>[0-?]*[ -/]*)(?P<csi>[@-~])"
    r"|\x1b(?P<string>[\]PX^_])"
    r"|\x1b(?P<between>[ -/]*)(?P<esc>[0-~])"
    r"|(?P<control>[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069])"
)
_CUT = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|[ -/]*)\Z|\r\Z")  # a sequence, or an end of a line, whose rest may follow
_LONGEST = 256  # characters of a sequence: what is longer is none
_ENDS = {  # how what is no text for the screen ends: titles, clipboards, pictures, queries
    "]": re.compile("\x07|\x1b\\\\|(?=[\n\r])|[\x18\x1a]"),  # a title has one line: garbage must not swallow the rest
    "P": re.compile("\x1b\\\\|[\x18\x1a]"),
}

_SAFE_CONTROLS = frozenset("\x07\b\t\n\x0b\x0c\r\x0e\x0f")
_SAFE_CSI = frozenset("@ABCDEFGHIJKLMPSTXZ`abdefgmr")  # shows, erases and moves; asks, prints and configures nothing
# Keys of the cursor, wrapping, blinking, cursor shown, the other screen, pasting in brackets. Not the mouse: a terminal
# that is left so types at every move.
SAFE_MODES = frozenset({"1", "7", "12", "25", "47", "1047", "1048", "1049", "2004"})
_SAFE_ESC = frozenset({"7", "8", "D", "E", "M", "=", ">", "(0", "(B", ")0", ")B"})


class Token(NamedTuple):
    """
    A piece of what a program writes to its terminal.

    Attributes:
        kind: ``lines`` (many of plain text, each with CR LF), ``text``, ``line`` (CR LF), ``control``, ``csi`` or
            ``esc``.
        name: What it does: the text, the control character, or the end of the sequence.
        given: What stands between the beginning and the end of a sequence.
        safe: The same for a person's own terminal; empty for what that should not be told.
    """

    kind: str
    name: str
    given: str
    safe: str


class Tokens:
    """Cuts a stream of text into tokens, wherever its pieces were cut before."""

    def __init__(self) -> None:
        self._held = ""
        self._string: re.Pattern[str] | None = None  # within what is no text: how it ends

    def cut(self, text: str) -> Iterator[Token]:
        """The tokens of *text* and of what was held back before."""
        text = self._held + text
        at = self._skip(text, 0)
        if self._string is not None:
            return
        cut = _CUT.search(text, max(at, len(text) - _LONGEST))
        end = cut.start() if cut is not None else len(text)
        while at < end:
            found = _TOKEN.match(text, at, end)
            if found is None:  # an ESC before what ends no sequence
                at += 1
                continue
            at = found.end()
            if found["string"] is not None:
                self._string = _ENDS["]" if found["string"] == "]" else "P"]
                at = self._skip(text, at)
                if self._string is not None:
                    return
                continue
            yield _token(found)
        self._held = text[max(at, end) :]

    def _skip(self, text: str, at: int) -> int:
        """The place after what is no text, if it is within one; what follows there may be the next piece."""
        if self._string is None:
            return at
        ends = self._string.search(text, at)
        if ends is None:
            self._held = "\x1b" if text.endswith("\x1b") else ""
            return len(text)
        self._string, self._held = None, ""
        return ends.end()


def _token(found: re.Match[str]) -> Token:
    kind = found.lastgroup or ""
    name = found[kind]
    if kind in ("lines", "text", "line"):
        return Token(kind, name, "", name)
    if kind == "control":
        return Token(kind, name, "", name if name in _SAFE_CONTROLS else "")
    given = found["given" if kind == "csi" else "between"]
    safe = _is_safe(given, name) if kind == "csi" else given + name in _SAFE_ESC
    return Token(kind, name, given, found[0] if safe else "")


def _is_safe(given: str, name: str) -> bool:
    if name in "hl":
        return given.startswith("?") and all(mode in SAFE_MODES for mode in given[1:].split(";"))
    return name in _SAFE_CSI and not given.strip("0123456789;:")
