"""
The small bash that is understood, as values: a script, its pipelines, their commands, their words.

A `Span` counts characters of the whole text, inside substitutions too: ``text[slice(*node.span)]`` is what was written.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

Span: TypeAlias = tuple[int, int]

Separator: TypeAlias = Literal["", ";", "&", "&&", "||", "\n"]
Pipe: TypeAlias = Literal["|", "|&"]
RedirectOperator: TypeAlias = Literal[
    "<", ">", ">>", ">|", "&>", "&>>", "<&", ">&", "<<", "<<-", "<<<"
]  # fmt: skip
CompoundKind: TypeAlias = Literal["subshell", "group", "if", "for", "while", "until", "case"]


# Words.


class Text(NamedTuple):
    """Characters that stand for themselves, quotes and backslashes taken away. An empty quoted one is ``""``."""

    text: str
    quoted: bool


class Variable(NamedTuple):
    """
    ``$name`` or ``${name}``, or one of ``$?``, ``$#``, ``$$`` (with the names ``?``, ``#``, ``$``).

    Not quoted, it may become no word, one or many.

    Attributes:
        operator: Of ``${name:-text}`` it is ``:-``: the text instead of it, or of ``${name%text}`` ``%``: it without.
        operand: The text, every character of which stands for itself, but for ``*`` and ``?`` of what is taken away.
    """

    name: str
    quoted: bool
    operator: str = ""
    operand: str = ""


class Arithmetic(NamedTuple):
    """``$((1+2))`` with nothing but digits, blanks and ``+ - * / %``: it becomes one number."""

    text: str
    quoted: bool


class Substitution(NamedTuple):
    """What a script prints: ``$(…)`` or backticks. Not quoted, it may become no word, one or many."""

    script: Script
    quoted: bool


class GlobMark(NamedTuple):
    """An unquoted ``*``, ``?`` or ``[``; what stands between brackets is `Text`, not quoted."""

    text: str


class Tilde(NamedTuple):
    """
    An unquoted ``~``, ``~name``, ``~+`` or ``~-`` where bash may put a folder for it.

    It does at the start of a word and of an assignment's value. Behind ``=`` or ``:`` within a word, the word
    is to be taken for unknown.
    """

    text: str


class Brace(NamedTuple):
    """An unquoted ``{`` that may begin a brace expansion: its word may become any number of words."""

    text: str


Piece: TypeAlias = Text | Variable | Arithmetic | Substitution | GlobMark | Tilde | Brace


class Word(NamedTuple):
    """
    One word as written.

    Attributes:
        span: Where it stands.
        pieces: What it is made of, from left to right; none for the value of ``x=``.
    """

    span: Span
    pieces: tuple[Piece, ...]

    @property
    def literal(self) -> str | None:
        """What the word becomes, if every character of it stands for itself."""
        text = ""
        for piece in self.pieces:
            if type(piece) is not Text:
                return None
            text += piece.text
        return text


# Commands.


class Assignment(NamedTuple):
    """``name=value`` in front of a command, or as one."""

    name: str
    value: Word
    span: Span


class Redirect(NamedTuple):
    """
    A redirection.

    Attributes:
        operator: As written, without its descriptor.
        descriptor: The number in front of the operator, or None.
        target: The file; for ``<&`` and ``>&`` a number, ``-`` or (``>&`` only) a file; the word of ``<<<``; the
            delimiter of a here-document.
        body: What is read, of a here-document and of a ``<<<`` whose word is literal.
        span: Operator and target.
    """

    operator: RedirectOperator
    descriptor: int | None
    target: Word
    body: str | None
    span: Span


class Simple(NamedTuple):
    """A simple command. It has an assignment, a word or a redirection at least."""

    assignments: tuple[Assignment, ...]
    words: tuple[Word, ...]
    redirects: tuple[Redirect, ...]
    span: Span


class Branch(NamedTuple):
    """
    A part of a compound command.

    Attributes:
        condition: What decides whether the body runs: of ``if``, ``elif``, ``while`` and ``until``.
        patterns: Those of ``case``.
        body: What runs. It has no items where ``case`` has none.
        end: ``;;``, ``;&`` or ``;;&`` behind a branch of ``case``; empty behind a last one without.
    """

    condition: Script | None
    body: Script
    patterns: tuple[Word, ...] = ()
    end: str = ""


class Compound(NamedTuple):
    """
    A compound command.

    Attributes:
        kind: Which.
        branches: One of a subshell, group, loop; of ``if`` one for each condition, and one without for ``else``; of
            ``case`` one for each line of patterns.
        redirects: Those of the whole, opened before it runs.
        span: From its first character to the last of its redirections.
        variable: That of ``for``.
        words: What ``for`` goes over, or the one word that ``case`` looks at; else None.
    """

    kind: CompoundKind
    branches: tuple[Branch, ...]
    redirects: tuple[Redirect, ...]
    span: Span
    variable: str | None = None
    words: tuple[Word, ...] | None = None


Node: TypeAlias = Simple | Compound


class Item(NamedTuple):
    """
    One pipeline.

    Attributes:
        operator: What stands between it and the item before; empty for the first.
        nodes: Its commands. With more than one, each runs in a subshell of its own.
        pipes: What stands between them: one less than there are nodes.
        negated: Whether ``!`` turns its status round.
        timed: Whether ``time`` stands in front.
        background: Whether ``&`` ends its list: the whole list of ``a && b &`` runs in a subshell.
    """

    operator: Separator
    nodes: tuple[Node, ...]
    pipes: tuple[Pipe, ...]
    negated: bool
    timed: bool
    background: bool


class Script(NamedTuple):
    """What a shell is given, or what stands in a compound command or a substitution. Of an empty one nothing runs."""

    items: tuple[Item, ...]
    span: Span
