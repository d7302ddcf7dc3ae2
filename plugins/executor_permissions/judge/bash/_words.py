"""
The values that parsing a shell command gives: its commands, their words and redirections, and what is known of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from executor_permissions.judge.bash._syntax import Script


class _Kind(str):
    """A text that means something else than a plain one of the same characters, and is never equal to it."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return ~str.__hash__(self)


class Unknown(_Kind):
    """
    A word that only the running shell knows: ``$x``, ``$(date)``, ``{a,b}``. Its text is that of the command.

    It may become no word, one, or many. A word that is known is a plain ``str``: look with ``type(word) is str``.
    """

    __slots__ = ()


class Glob(Unknown):
    """A word that becomes the names of files: ``src/*.py``."""

    __slots__ = ()


class Number(Unknown):
    """A word that becomes one number: ``$?``, ``$((2+3))``."""

    __slots__ = ()


class Module(_Kind):
    """The dotted name of what Python imports, where others have a path."""

    __slots__ = ()


class PublicWord(Unknown):
    """
    One word that says nothing a person may not see: ``"$(date)"``, ``"$USER"``, what ``read`` was given.

    It may look like an option, or name any file.
    """

    __slots__ = ()


class PublicWords(PublicWord):
    """The same not quoted, ``$(git ls-files)``: no word, one or many."""

    __slots__ = ()


KNOWN: frozenset[type[str]] = frozenset({str})  # the types of words that are known
DEFINITE: frozenset[type[str]] = KNOWN | {Glob, Number}  # and of those that become names that are there, or a number
NO_FILES = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr"})  # redirected to, they keep nothing
MAX_NESTING = 8  # commands that run commands: more of them than anybody writes
HANDED = "${}"  # in a word, what xargs puts there
REST = Unknown("…")  # words that come from elsewhere (xargs, "$@"): any number of them


def program_of(words: list[str]) -> str | None:
    """The program's name without its folder; None when only the shell knows it."""
    if not words:
        return None
    first = words[0]
    if type(first) is not str:
        return None
    return first if "/" not in first else first.rpartition("/")[2] or first


_TEXTS = frozenset({"<<<", "case", "set -x"})


@dataclass(slots=True)
class Redirect:
    """
    One redirection to or from a file; or a text, known to the running shell alone, that something is made to look at,
    or that the shell shows.

    Attributes:
        operator: ``>``, ``>>``, ``<``, ``&>`` …; for a text ``<<<``, ``case`` or ``set -x``, as in front of it.
        target: The file, or the text as written.
    """

    operator: str
    target: str

    @property
    def writes(self) -> bool:
        return self.operator != "<" and not self.is_text

    @property
    def is_text(self) -> bool:
        return self.operator in _TEXTS


@dataclass(slots=True, init=False)
class Command:
    """
    One simple command.

    Attributes:
        words: The program and its arguments, without quotes; empty if there are only assignments or redirects.
        text: As written.
        assignments: In front of it: ``LANG=C ls``.
        redirects: To and from files; duplicated descriptors and /dev/null are left out.
        stdin: Where its input comes from: nothing, ``pipe``, ``file``, or ``text`` (a here-document).
        body: The text of a here-document that has nothing to expand.
        files: Those that its input is from, by redirections of its own or around it.
        around: The redirections that write, of what stands around it.
        sender: The simple command whose output is its input, by a pipe between these two alone.
        program: As `program_of` says.
        parts: What `parts_of` found once it was asked.
        inside: What `look_inside` found once it was asked.
    """

    words: list[str]
    text: str
    assignments: list[tuple[str, str]]
    redirects: list[Redirect]
    stdin: str
    body: str | None
    files: tuple[str, ...]
    around: tuple[Redirect, ...]
    sender: Command | None
    program: str | None = field(init=False, repr=False, compare=False)
    parts: Sequence[Command] | None = field(init=False, repr=False, compare=False)
    inside: Inside | None = field(init=False, repr=False, compare=False)

    def __init__(
        self,
        words: list[str],
        text: str,
        assignments: list[tuple[str, str]] | None = None,
        redirects: list[Redirect] | None = None,
        stdin: str = "",
        body: str | None = None,
        files: tuple[str, ...] = (),
        around: tuple[Redirect, ...] = (),
        sender: Command | None = None,
    ) -> None:
        self.words = words
        self.text = text
        self.assignments = [] if assignments is None else assignments
        self.redirects = [] if redirects is None else redirects
        self.stdin = stdin
        self.body = body
        self.files = files
        self.around = around
        self.sender = sender
        first = words[0] if words else None
        self.program = first if type(first) is str and "/" not in first else program_of(words)
        self.parts = self.inside = None


@dataclass(slots=True)
class Reading:
    """
    What was understood of a whole command.

    Attributes:
        commands: Every simple command, also those in substitutions and loops.
        script: The whole as it was understood; None if *commands* are all there is to it, or if it was not understood,
            and then *opaque* and *hidden* say why.
        moves: Whether the first of *commands* is a ``cd``, and all others run behind it only if it succeeds.
        opaque: Why no rule can allow the whole, or None.
        hidden: Why it may run something that is not among the commands, or None.
        partial: Whether there is more of it, too much to be read.
    """

    commands: list[Command] = field(default_factory=list)
    script: Script | None = None
    moves: bool = False
    opaque: str | None = None
    hidden: str | None = None
    partial: bool = False


@dataclass(slots=True)
class Inner:
    """
    A command that another one runs.

    Attributes:
        words: Its program and arguments, when it is given as words.
        script: Its text, when it is given to a shell.
        at: The first of the outer command's words that belongs to it: a rule must spell the command out beyond it.
        certain: Whether it surely runs; if not it is a possibility (an option of the wrapper is not known).
    """

    words: list[str] | None
    script: str | None
    at: int
    certain: bool = True


class Suffix(list[str]):
    """Words from the middle of a command: every place in it where another may begin is looked at already."""


@dataclass(slots=True)
class Inside:
    """Everything a command runs besides itself, and why there may be more than could be seen."""

    commands: list[Inner]
    hidden: str | None = None
