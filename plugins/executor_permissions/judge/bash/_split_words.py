"""
Words, as the strict parser reads them: quotes, escapes and expansions. Each character belongs to exactly one piece.

``a"b $c"`` is one word of two pieces: ``a``, and a text in quotes that holds a variable.
"""

from __future__ import annotations

import re
from typing import NoReturn

from executor_permissions.judge.bash._marks import Mark, Segments
from executor_permissions.judge.bash._syntax import (
    Arithmetic,
    Brace,
    GlobMark,
    Piece,
    Script,
    Substitution,
    Text,
    Tilde,
    Variable,
    Word,
)

MAX_PARTS = 2500  # words, and the parts of those that are made of several
DELIMITER = r"(?=[ \t\n;|&)]|\Z)"

_RUN = re.compile(r"[A-Za-z0-9_./:@%+,=^!\]}#-]++")
_IN_QUOTES = re.compile(r'[^"\\$`]++')
_TILDE = re.compile(r"~[A-Za-z0-9_.+-]*+(?=[/ \t\n;|&)]|\Z)")
_NAME = "[A-Za-z_][A-Za-z0-9_]*+"
# "$$" in front of these is taken for another expansion by a part of bash.
_PARAMETER = re.compile(rf"\$(?:({_NAME})|\{{({_NAME})\}}|([?#])|(\$)(?![({{\['\"$#])|\{{(PIPESTATUS)\[[0-9]\]\}})")
# What is there instead of a value, or is taken from it, is literal.
_ALTERED = re.compile(rf"\$\{{({_NAME})(?:(:?[-+])([A-Za-z0-9_./:@%+,-]*+)|(%%?|##?)([A-Za-z0-9_./:@+,*?-]++))\}}")
_EXPANSION = re.compile(r"\$\{[^{}\n]{1,40}\}|\$\(\([^()\n]{1,40}\)\)")  # as it is shown to a person
_ARITHMETIC = re.compile(r"\$\(\([0-9 +*/%-]++\)\)")
_PLAIN_DOLLAR = re.compile(rf"\${DELIMITER}")
_PLAIN_DOLLAR_QUOTED = re.compile(r'\$(?=["\s/.,:;|)\\])')
_ESCAPED_IN_QUOTES = frozenset('$`"\\')
_IN_BACKTICKS = re.compile(r"[^`\\#]*+")
_WORD_ENDS = frozenset(" \t\n;|&)<>")


class NotUnderstoodError(Exception):
    """The command is outside the small language, or may be. Its text says what is, for a person."""


class WordSplitter:
    """
    Reads words at the current place.

    Attributes:
        at: The place: how many characters are read.
        end: Where the text ends; the closing backtick, inside backticks.
        parts: How many words, and parts of words, were read.
        depth: How many compound commands and substitutions are open.
        marks: What was found so far, to be compared with another reading.
        pending: How many here-documents still wait for their bodies.
    """

    __slots__ = ("at", "depth", "end", "marks", "parts", "pending", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.end = len(text)
        self.depth = 0
        self.marks: list[Mark] = []
        self.pending = self.parts = 0

    def refuse(self, why: str) -> NoReturn:
        raise NotUnderstoodError(why)

    def count(self) -> None:
        """One more word, or part of one."""
        self.parts += 1
        if self.parts > MAX_PARTS:
            self.refuse(f"its words have more than {MAX_PARTS} parts")

    def substituted(self, opening: str, closing: str) -> Script:
        """The script of a substitution, from its *opening* to its *closing* characters."""
        raise NotImplementedError

    def word(self, kind: str, begin: int | None = None) -> Word:
        """
        The word at the current place, which may be empty.

        Args:
            kind: What its mark calls it.
            begin: Where its mark begins, if not at the word: an assignment's name is in front of its value.
        """
        self.count()
        start, text, end = self.at, self.text, self.end
        pieces: list[Piece] = []
        segments = Segments()
        if begin is not None:
            segments.add(begin, start, "u")
        while self.at < end and text[self.at] not in _WORD_ENDS:
            at = self.at
            run = _RUN.match(text, at, end)
            if run is not None:
                pieces.append(Text(run[0], quoted=False))
                self.at = run.end()
                segments.add(at, self.at, "u")
            else:
                self._special(text[at], start, pieces, segments)
        _settle(self.text[start : self.at], pieces)
        first = start if begin is None else begin
        self.marks.append((first, self.at, kind, self.depth, segments.told()))
        return Word((start, self.at), tuple(pieces))

    def _special(self, char: str, start: int, pieces: list[Piece], segments: Segments) -> None:
        self.count()
        at = self.at
        reader = _READERS.get(char)
        if reader is not None:
            reader(self, pieces, segments)
            return
        if char in "*?[":
            pieces.append(GlobMark(char))
        elif char == "{":
            pieces.append(Brace(char))
        elif char == "~":
            pieces.append(self._tilde(start))
            segments.add(at, self.at, "u")
            return
        elif char == "(":
            self.refuse("it has a '(' in or behind a word: a function, an array or a pattern")
        else:
            self.refuse(f"it has {char!r} outside quotes (quote that word)")
        self.at += 1
        segments.add(at, self.at, "u")

    def _tilde(self, start: int) -> Piece:
        at = self.at
        if at > start and self.text[at - 1] not in "=:":
            self.at += 1
            return Text("~", quoted=False)
        match = _TILDE.match(self.text, at, self.end)
        if match is None:
            self.refuse("it has a '~' that quotes or variables follow")
        self.at = match.end()
        return Tilde(match[0])

    # Quotes.

    def read_escape(self, pieces: list[Piece], segments: Segments) -> None:
        at = self.at
        escaped = self.text[at + 1 : min(at + 2, self.end)]
        if not escaped or escaped == "\n":
            self.refuse("a line continues inside a word")
        if not escaped.isascii():
            self.refuse(f"it has {escaped!r} outside quotes (quote that word)")
        pieces.append(Text(escaped, quoted=True))
        self.at += 2
        segments.add(at, self.at, "u")

    def read_single(self, pieces: list[Piece], segments: Segments) -> None:
        at = self.at
        close = self.text.find("'", at + 1, self.end)
        if close < 0:
            self.refuse("it has a quote without an end")
        self._text(pieces, at + 1, close)
        self.at = close + 1
        segments.add(at, self.at, "r")

    def _text(self, pieces: list[Piece], start: int, end: int) -> None:
        """What stands between quotes stands for itself."""
        content = self.text[start:end]
        if self.pending and "\n" in content:
            self.refuse("a quote goes over several lines behind a here-document")
        pieces.append(Text(content, quoted=True))

    def read_double(self, pieces: list[Piece], segments: Segments) -> None:
        opening = self.at
        inner = Segments()
        before = len(pieces)
        self.at += 1
        while self.at < self.end and self.text[self.at] != '"':
            self._quoted_piece(pieces, inner)
        if self.at >= self.end:
            self.refuse("it has a quote without an end")
        self.at += 1
        if len(pieces) == before:
            pieces.append(Text("", quoted=True))
        if inner.told() in ("", "d"):
            segments.add(opening, self.at, "d")
        else:
            segments.add(opening, opening + 1, "q")
            segments.extend(inner)
            segments.add(self.at - 1, self.at, "q")

    def _quoted_piece(self, pieces: list[Piece], segments: Segments) -> None:
        self.count()
        text, at = self.text, self.at
        if text[at] in "\\`" and text[at - 1] > "\x7f":
            # In GBK, Big5 and their like this may be the second half of a character.
            self.refuse(f"it has {text[at - 1 : at + 1]!r} in double quotes")
        run = _IN_QUOTES.match(text, at, self.end)
        if run is not None:
            self.at = run.end()
            self._text(pieces, at, self.at)
        elif text[at] == "\\":
            escaped = text[at + 1 : min(at + 2, self.end)]
            if escaped in ("", "\n"):
                self.refuse("a line continues inside a word")
            self.at += 2 if escaped in _ESCAPED_IN_QUOTES else 1
            pieces.append(Text(escaped if escaped in _ESCAPED_IN_QUOTES else "\\", quoted=True))
        elif text[at] == "`":
            self._backticks(pieces, segments, quoted=True)
            return
        elif _PLAIN_DOLLAR_QUOTED.match(text, at, self.end):
            self.at += 1
            pieces.append(Text("$", quoted=True))
        else:
            self._expansion(pieces, segments, quoted=True)
            return
        segments.add(at, self.at, "d")

    # What is only known when it runs.

    def read_dollar(self, pieces: list[Piece], segments: Segments) -> None:
        at = self.at
        if _PLAIN_DOLLAR.match(self.text, at, self.end):
            self.at += 1
            pieces.append(Text("$", quoted=False))
            segments.add(at, self.at, "u")
        else:
            self._expansion(pieces, segments, quoted=False)

    def read_backticks(self, pieces: list[Piece], segments: Segments) -> None:
        self._backticks(pieces, segments, quoted=False)

    def _expansion(self, pieces: list[Piece], segments: Segments, *, quoted: bool) -> None:
        at = self.at
        match = _PARAMETER.match(self.text, at, self.end)
        if match is not None:
            self.at = match.end()
            pieces.append(Variable(match[match.lastindex or 0], quoted))
            segments.add(at, self.at, "v")
        elif (altered := _ALTERED.match(self.text, at, self.end)) is not None:
            self.at = altered.end()
            name, *rest = filter(None, altered.groups(""))
            pieces.append(Variable(name, quoted, *rest))
            segments.add(at, self.at, "v")
        elif (number := _ARITHMETIC.match(self.text, at, self.end)) is not None:
            self.at = number.end()
            pieces.append(Arithmetic(number[0], quoted))
            segments.add(at, self.at, "v")
        elif self.text.startswith("$(", at) and not self.text.startswith("$((", at):
            script = self.substituted("$(", ")")
            pieces.append(Substitution(script, quoted))
            segments.add(at, self.at, "s")
        else:
            shown = _EXPANSION.match(self.text, at, self.end)
            self.refuse(f"it has the expansion {shown[0] if shown else self.text[at : at + 3]!r}")

    def _backticks(self, pieces: list[Piece], segments: Segments, *, quoted: bool) -> None:
        """
        A command in backticks.

        It ends at the next backtick whatever quotes are open, and a backslash in it means something else than
        elsewhere: only what is the same in both readings of quotes is read.
        """
        at, end = self.at, self.end
        inside = _IN_BACKTICKS.match(self.text, at + 1, end)
        close = inside.end() if inside else end
        if close >= end or self.text[close] != "`":
            self.refuse("it has backticks that hold a backslash or a comment, or do not end")
        content = self.text[at + 1 : close]
        if "<<" in content or (quoted and '"' in content):
            self.refuse("it has backticks that hold a here-document or quotes within quotes")
        self.end = close
        script = self.substituted("`", "`")
        self.end = end
        pieces.append(Substitution(script, quoted))
        segments.add(at, self.at, "s")


def _settle(written: str, pieces: list[Piece]) -> None:
    """``{`` begins no expansion without a comma or two dots before a ``}``, ``[`` no set without ``]``."""
    within = written[written.find("{") : written.rfind("}")] if "{" in written else ""
    if "{" in written and "," not in within and ".." not in within:
        pieces[:] = [Text("{", quoted=False) if type(piece) is Brace else piece for piece in pieces]
    if "[" in written and "]" not in written:
        pieces[:] = [Text("[", quoted=False) if _opens_set(piece) else piece for piece in pieces]


def _opens_set(piece: Piece) -> bool:
    return type(piece) is GlobMark and piece.text == "["


_READERS = {
    "\\": WordSplitter.read_escape,
    "'": WordSplitter.read_single,
    '"': WordSplitter.read_double,
    "$": WordSplitter.read_dollar,
    "`": WordSplitter.read_backticks,
}
