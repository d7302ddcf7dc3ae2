r"""
Texts with ``*`` in them, matched in time that grows with the text: no expression of ours ever goes back.

In all of them ``\`` takes the next character as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

STAR = "*"
ANY = "**"  # a wildcard among the characters of a glob


def tokens_of(text: str) -> list[str]:
    r"""The characters of a glob: ``\x`` is ``x``; a ``*`` that is a wildcard is `ANY`."""
    found: list[str] = []
    i = 0
    while i < len(text):
        if text[i] == "\\" and i + 1 < len(text):
            i += 1
            found.append(text[i])
        else:
            found.append(ANY if text[i] == STAR else text[i])
        i += 1
    return found


def pieces_of(text: str) -> list[str]:
    """What stands between the wildcards of a glob, taken literally; ``**`` is one of them."""
    if STAR not in text and "\\" not in text:
        return [text]
    pieces: list[list[str]] = [[]]
    for token in tokens_of(text):
        if token == ANY:
            if len(pieces) == 1 or pieces[-1]:
                pieces.append([])
        else:
            pieces[-1].append(token)
    return ["".join(piece) for piece in pieces]


def literal(text: str) -> str | None:
    """The text that a glob stands for, or None if it has a wildcard."""
    pieces = pieces_of(text)
    return pieces[0] if len(pieces) == 1 else None


def filled(text: str, star: str) -> str:
    """A text that the glob fits: *star* for each of its wildcards."""
    return star.join(pieces_of(text))


def escaped(text: str) -> str:
    """The glob that fits *text* alone."""
    return text.replace("\\", "\\\\").replace(STAR, "\\*")


class Wildcard(NamedTuple):
    """
    A glob in which ``*`` is any text, also none.

    Attributes:
        pieces: What stands between the wildcards.
    """

    pieces: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> Wildcard:
        """The glob *text*."""
        return cls(tuple(pieces_of(text)))

    def anywhere(self) -> Wildcard:
        """The same with a wildcard in front and behind: it fits whatever has it inside."""
        return Wildcard(("", *self.pieces, ""))

    def folded(self) -> Wildcard:
        """The same in small letters."""
        return Wildcard(tuple(map(str.casefold, self.pieces)))

    def fits(self, text: str) -> bool:
        """Whether the whole of *text* fits: each piece is looked for behind the one before it."""
        pieces = self.pieces
        first, last = pieces[0], pieces[-1]
        if len(pieces) == 1:
            return text == first
        end = len(text) - len(last)
        at = len(first)
        if end < at or not text.startswith(first) or not text.endswith(last):
            return False
        for piece in pieces[1:-1]:
            found = text.find(piece, at, end)
            if found < 0:
                return False
            at = found + len(piece)
        return True


class Texts(NamedTuple):
    """Many texts that many globs are compared with: all as one text tell at once of most globs that none fits."""

    texts: tuple[str, ...]
    joined: str

    @classmethod
    def of(cls, texts: Iterable[str]) -> Texts:
        """Of *texts*, each once."""
        found = tuple(dict.fromkeys(texts))
        return cls(found, "\n".join(found))

    def have(self, glob: Wildcard) -> bool:
        """Whether *glob* fits one of them."""
        return all(piece in self.joined for piece in glob.pieces) and any(map(glob.fits, self.texts))


class TreeWildcard(NamedTuple):
    """
    A glob for what has folders: ``*`` stays between two slashes, ``**`` crosses them, ``**/`` may be no folder at all.

    Every state that the text so far can have led to is one bit of a number, so that a character costs the same
    whatever came before it.

    Attributes:
        letters: For each character the states that it ends.
        stars: The states that stay for any character but a slash.
        crossing: Those that stay for a slash as well.
        entries: The states in front of a ``**/``: what comes behind it may begin at once.
        end: The state in which all of it has been found.
        pieces: What surely is in a text that fits: a look that most texts do not pass.
    """

    letters: dict[str, int]
    stars: int
    crossing: int
    entries: int
    end: int
    pieces: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> TreeWildcard:
        """The glob *text*."""
        letters: dict[str, int] = {}
        stars = crossing = entries = 0
        state, before = 1, "/"
        tokens = tokens_of(text)
        i = 0
        while i < len(tokens):
            token = tokens[i]
            if token != ANY:
                letters[token] = letters.get(token, 0) | state
                i += 1
            else:
                run = i
                while i < len(tokens) and tokens[i] == ANY:
                    i += 1
                crosses = i - run > 1
                if crosses and before == "/" and tokens[i : i + 1] == ["/"]:
                    entries |= state
                    state <<= 1
                stars |= state
                crossing |= state if crosses else 0
            state <<= 1
            before = token
        return cls(letters, stars, crossing, entries, state, _pieces_of(tokens))

    def fits(self, text: str) -> bool:
        """Whether the whole of *text* fits."""
        return all(piece in text for piece in self.pieces) and bool(self.behind(text) & self.end)

    def behind(self, text: str, states: int | None = None) -> int:
        """The states that *text* leads to, from *states* or the beginning; 0 if nothing that begins so fits."""
        states = self._spread(1) if states is None else states
        for character in text:
            stay = self.crossing if character == "/" else self.stars
            states = self._spread((states & self.letters.get(character, 0)) << 1 | states & stay)
            if not states:
                break
        return states

    def _spread(self, states: int) -> int:
        """With what is reached without a character: a star may be nothing, and so may a ``**/``."""
        while True:
            entered = states & self.entries
            further = states | entered << 1 | entered << 3 | (states & self.stars) << 1
            if further == states:
                return states
            states = further


def _pieces_of(tokens: Sequence[str]) -> tuple[str, ...]:
    """What is written between the stars; the slash behind a ``**`` may stand for nothing."""
    pieces, stars = [""], 0
    for token in tokens:
        if token == ANY:
            stars += 1
            pieces.append("")
            continue
        if token != "/" or stars < 2:  # noqa: S105 -- a slash
            pieces[-1] += token
        stars = 0
    return tuple(filter(None, pieces))
