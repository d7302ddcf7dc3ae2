"""What the words of a command become, as far as that can be known before it runs."""

from __future__ import annotations

import re

from executor_permissions.judge._syntax import (
    Arithmetic,
    GlobMark,
    Simple,
    Substitution,
    Text,
    Tilde,
    Variable,
    Word,
)
from executor_permissions.judge._words import Glob, Number, Unknown

_PLAIN_HOME = re.compile(r"[A-Za-z0-9_./:@%+,^-]+\Z")
_NUMBERS = frozenset({"?", "#", "$"})


class WordReader:
    """
    Gives words their values.

    Args:
        text: The whole command.
        home: What ``~`` and ``$HOME`` stand for.
    """

    def __init__(self, text: str, home: str) -> None:
        self.text = text
        self.home = home
        self._sets_home = "HOME" in text.replace("$HOME", "").replace("${HOME}", "")

    def value(self, word: Word) -> str:
        """What *word* becomes: a plain text if that is known."""
        pieces = word.pieces
        if len(pieces) == 1 and type(pieces[0]) is Text:
            return pieces[0].text
        known = [self._piece(piece, first=not index) for index, piece in enumerate(pieces)]
        kinds = {type(piece) for piece in known} - {str}
        if not kinds:
            return "".join(known)
        if len(kinds) > 1 or Unknown in kinds:
            return Unknown(self.text[slice(*word.span)])
        text = "".join(known)
        if Number in kinds and text[0] == "-":  # a part of an option, not a number
            return Unknown(self.text[slice(*word.span)])
        return kinds.pop()(text)

    def _piece(self, piece: object, *, first: bool) -> str:
        match piece:
            case Text(text=text):
                return text
            case GlobMark(text=text):
                return Glob(text)
            case Tilde(text="~") if first:
                return self.home
            case Variable(name="HOME", quoted=quoted) if not self._sets_home:
                return self.home if quoted or _PLAIN_HOME.match(self.home) else Unknown("$HOME")
            case Variable(name=name) if name in _NUMBERS:
                return Number("$" + name)
            case Arithmetic(text=text):
                return Number(text)
            case Substitution(quoted=True):
                return _quoted_text(piece) or Unknown("$()")
            case _:
                return Unknown("…")


def _quoted_text(piece: Substitution) -> str | None:
    """The text of ``"$(cat <<'E' …)"``, as long messages are written."""
    (item, *more) = piece.script.items
    node = item.nodes[0]
    if more or len(item.nodes) > 1 or type(node) is not Simple or item.negated:
        return None
    if len(node.redirects) != 1 or node.assignments or [word.literal for word in node.words] != ["cat"]:
        return None
    redirect = node.redirects[0]
    if redirect.operator[:2] != "<<" or redirect.body is None:
        return None
    return redirect.body.rstrip("\n")
