"""
What the words of a command become when the shell expands them: ``f=a.txt; cat "$f"`` is ``cat a.txt``.

Known are the variables that the same script has set, and the folder it is in; any other word stays `Unknown`.
"""

# ruff: noqa: SIM905 -- sets of words are read, and changed, best as a line of words
from __future__ import annotations

import os
import re
from itertools import product
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from executor_permissions.judge.bash._braces import listed
from executor_permissions.judge.bash._syntax import Arithmetic, Brace, GlobMark, Substitution, Text, Tilde, Variable
from executor_permissions.judge.bash._words import Glob, Number, PublicWord, PublicWords, Unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from executor_permissions.judge.bash._syntax import Piece, Word

Values: TypeAlias = "tuple[str, ...]"  # what a variable may hold: one of these, each known or a kind of `Unknown`
Words: TypeAlias = "list[str]"
Folders: TypeAlias = "frozenset[str]"  # each absolute, as ``pwd`` would print it, with links; or `ANYWHERE`

MAX_FORMS = 16  # ways in which one command may come out, before its words count as not known
MAX_FOLDERS = 8  # where a command may be, before that is anywhere
LONGEST_MORE = 4096  # characters that a word may be longer than it is written, before it counts as not known
ANYWHERE = ""  # among the folders: or some other one
_PUBLIC = frozenset({"USER", "LANG", "TERM", "CI", "SHELL", "PATH", "VIRTUAL_ENV", "PIPESTATUS"})
_NUMBERS = frozenset({"?", "#", "$", "RANDOM", "SECONDS", "LINENO", "UID", "EUID", "PPID"})
# What these hold is bash's to say, whatever they are assigned.
_OWN = frozenset(
    "_ DIRSTACK EPOCHREALTIME EPOCHSECONDS EUID FUNCNAME GROUPS HISTCMD LINENO OPTIND PIPESTATUS PPID RANDOM SECONDS"
    " SHELLOPTS SRANDOM UID".split()
)
_BLANKS = re.compile(r"[ \t\n]+")
_GLOB = re.compile(r"[*?\[\\]")
_COUNTED = re.compile(r"-?\d{1,9}\.\.-?\d{1,9}(?:\.\.-?\d{1,9})?\}\Z")
_MOST_DIGITS = 17  # with fewer than these nothing but powers comes to more than 63 bits, which would be negative


class State(NamedTuple):
    """
    What a shell may be like at one point of a script.

    Attributes:
        folders: Where it may be.
        visited: Everywhere it may have been.
        variables: Those that the script has set.
        wild: Whether something may have set any variable at all.
        altering: Whether a variable may become another value than it is given, or be another: ``declare -l x``.
        traced: Whether it may print each command before it runs that, with its words: ``set -x``.
    """

    folders: Folders
    visited: Folders
    variables: Mapping[str, Values]
    wild: bool = False
    altering: bool = False
    traced: bool = False

    def lookup(self, name: str, home: str) -> Values:
        """What the variable *name* may hold."""
        found = self.variables.get(name)
        if found is not None:
            return found
        if self.wild:
            return (Unknown(f"${name}"),)
        if name == "HOME":
            return homes(home)
        if name == "PWD":
            return self.printed_folders()
        if name in _NUMBERS:
            return (Number(f"${name}"),)
        return (PublicWord(f"${name}"),) if name in _PUBLIC else (Unknown(f"${name}"),)

    def assign(self, name: str, values: Values) -> State:
        """The same with *name* set."""
        if self.altering or name in _OWN or name.startswith(("BASH", "COMP_")):
            values = (Unknown(f"${name}"),)
        return self._replace(variables={**self.variables, name: values})

    def moved(self, folders: Folders) -> State:
        """The same in one of *folders*."""
        variables = {name: values for name, values in self.variables.items() if name != "PWD"}
        variables["OLDPWD"] = self.printed_folders()
        visited = _bounded(self.visited | folders)
        return State(_bounded(folders), visited, variables, self.wild, self.altering, self.traced)

    def lost(self) -> State:
        """The same after something that may do anything to a shell."""
        return State(self.folders | {ANYWHERE}, self.visited | {ANYWHERE}, {}, wild=True, altering=True, traced=True)

    def printed_folders(self) -> Values:
        """What ``pwd`` may print."""
        return tuple(folder or PublicWord("$PWD") for folder in sorted(self.folders))


def homes(home: str) -> Values:
    """What a shell may take ``~`` for: *home*, by which the policy goes, and what its environment names instead."""
    told = os.environ.get("HOME")
    if told is None or told == home or os.path.realpath(told) == home:
        return (home,)
    return (home, told)


def joined(one: State | None, other: State | None) -> State | None:
    """A shell that is like the one or the other; None is none at all."""
    if one is None or other is None or one == other:
        return other if one is None else one
    variables = one.variables
    if variables != other.variables:
        names = {*one.variables, *other.variables}
        variables = {name: _either(one.variables.get(name), other.variables.get(name), name) for name in names}
    folders, visited = _bounded(one.folders | other.folders), _bounded(one.visited | other.visited)
    wild, altering = one.wild or other.wild, one.altering or other.altering
    return State(folders, visited, variables, wild, altering, one.traced or other.traced)


def _bounded(folders: Folders) -> Folders:
    """The same, or of too many the ones with the shortest names."""
    if len(folders) <= MAX_FOLDERS:
        return folders
    return frozenset(sorted(folders - {ANYWHERE}, key=lambda folder: (len(folder), folder))[:MAX_FOLDERS]) | {ANYWHERE}


def _either(one: Values | None, other: Values | None, name: str) -> Values:
    """The values of both; what only one side has set may be what it was before, which nobody knows."""
    if one is None or other is None:
        return (Unknown(f"${name}"),)
    return one if one == other else bounded([*one, *other])


def bounded(values: Iterable[str]) -> Values:
    """*values* without doubles; many of them become one that stands for all."""
    unique = list({(type(value), value): value for value in values}.values())
    if len(unique) <= MAX_FORMS:
        return tuple(unique)
    return (merged(unique),)


def merged(values: Sequence[str]) -> str:
    """One word that stands for each of *values*, of which none is several words."""
    if any(type(value) is Unknown for value in values):
        return Unknown("…")
    if all(type(value) is Number or (type(value) is str and value.isdecimal()) for value in values):
        return Number("…")
    return PublicWord("…")


class Expander:
    """
    Makes words of what is written.

    Args:
        text: The whole script, of which spans are taken.
        home: What ``~`` stands for.
        printed: What a substitution may print, the commands in it being taken care of; None if that is not known.
    """

    __slots__ = ("_home", "_printed", "_text", "splits")

    def __init__(self, text: str, home: str, printed: Callable[[Substitution, State], Values | None]) -> None:
        self._text = text
        self._home = home
        self._printed = printed
        self.splits = True  # whether blanks, and nothing else, part what is not quoted: nobody has set IFS

    def plain(self, words: Sequence[Word]) -> Words | None:
        """What *words* become, if each stands for itself, whatever the shell is like."""
        plain = [pieces[0].text for _, pieces in words if len(pieces) == 1 and type(pieces[0]) is Text]
        return plain if len(plain) == len(words) else None

    def commands(self, words: tuple[Word, ...], state: State, *, few: bool) -> list[list[str]]:
        """The ways in which the words of a command may come out; not in several at once where they are to be *few*."""
        known = self.plain(words)
        if known is not None:
            return [known]
        plain: list[str] = []
        choices: list[list[list[str]]] = []
        for word in words:
            forms = self.words(word, state)
            if len(forms) > 1 or choices:
                choices.append(forms)
            else:
                plain.extend(forms[0])
        if not choices:
            return [plain]
        count = 1
        for forms in choices:
            count *= len(forms)
        if count > MAX_FORMS or few:
            choices = [forms if len(forms) == 1 else [_one_for_all(forms)] for forms in choices]
        return [[*plain, *(word for form in chosen for word in form)] for chosen in product(*choices)]

    def words(self, word: Word, state: State) -> list[Words]:
        """The words that *word* may become: one list for each way in which it may come out."""
        if len(word.pieces) == 1 and type(word.pieces[0]) is Text:
            return [[word.pieces[0].text]]
        if self.is_counted(word):
            return [[PublicWords(self._written(word))]]
        lists = self._listed(word) if any(type(piece) is Brace for piece in word.pieces) else None
        return lists or [self._form(word, forms, splits=True) for forms in self._forms(word, state)]

    def _listed(self, word: Word) -> list[Words] | None:
        """What ``src/{a,b}.py`` becomes, and that itself: so a shell has it that knows no braces, as dash."""
        written = self._written(word)
        plain = all(type(piece) is not Text or not piece.quoted for piece in word.pieces)
        words = listed(written) if plain else None
        if words is None:
            return None
        return [[Glob(one) if _GLOB.search(one) else one for one in form] for form in (words, [written])]

    def values(self, word: Word, state: State) -> Values:
        """What a variable holds that *word* is assigned to: it is not split, and no glob."""
        if len(word.pieces) == 1 and type(word.pieces[0]) is Text:
            return (word.pieces[0].text,)
        forms = [self._form(word, forms, splits=False) for forms in self._forms(word, state)]
        return bounded(form[0] if form else "" for form in forms)

    def _forms(self, word: Word, state: State) -> Iterable[tuple[str, ...]]:
        """For each way the word may come out, the value of each of its pieces."""
        choices = [self._choices(piece, i, word, state) for i, piece in enumerate(word.pieces)]
        count = 1
        for values in choices:
            count *= len(values)
        if count > MAX_FORMS:
            choices = [values if len(values) == 1 else (merged(values),) for values in choices]
        return product(*choices)

    def _choices(self, piece: Piece, at: int, word: Word, state: State) -> Values:
        if type(piece) is Text or type(piece) is GlobMark:
            return (piece.text,)
        if type(piece) is Arithmetic:
            return (number_of(piece.text),)
        if type(piece) is Variable:
            values = state.lookup(piece.name, self._home)
            return _altered(values, piece, self._written(word)) if piece.operator else values
        if type(piece) is Tilde:
            return self._tilde(piece, at, word, state)
        if type(piece) is Substitution:
            found = self._printed(piece, state)
            return found if found is not None else (PublicWord(self._written(word)),)
        return (PublicWords(self._written(word)),)

    def _tilde(self, piece: Tilde, at: int, word: Word, state: State) -> Values:
        following = word.pieces[at + 1] if at + 1 < len(word.pieces) else None
        plain = following is None or (type(following) is Text and not following.quoted and following.text[:1] == "/")
        if at or not plain or piece.text != "~":
            return (PublicWords(self._written(word)),)
        return state.lookup("HOME", self._home)

    def _written(self, word: Word) -> str:
        return self._text[slice(*word.span)]

    def is_counted(self, word: Word) -> bool:
        """Whether it is ``{1..5}``: numbers, as many as there are."""
        if len(word.pieces) != 2 or type(word.pieces[0]) is not Brace:
            return False
        rest = word.pieces[1]
        return type(rest) is Text and not rest.quoted and _COUNTED.match(rest.text) is not None

    def _form(self, word: Word, values: tuple[str, ...], *, splits: bool) -> Words:
        """The words of one form, known or not."""
        if sum(map(len, values)) > LONGEST_MORE + word.span[1] - word.span[0]:  # x="$x$x", again and again
            return [Unknown(self._written(word))]
        kinds = {type(value) for value in values}
        globs = False
        for piece, value in zip(word.pieces, values, strict=True):
            bare = splits and type(piece) in (Variable, Substitution) and not piece.quoted  # type: ignore[union-attr]  # the two have it
            globs = globs or (splits and type(piece) is GlobMark and (piece.text != "[" or _closes(word, piece)))
            if not bare:
                continue
            if type(value) is str:
                globs = globs or _GLOB.search(value) is not None
            escaped = type(value) is str and "\\" in value
            if escaped or not self.splits or type(value) in (PublicWord, Glob):
                kinds.add(PublicWords)
        return self._kind(word, values, kinds, globs=globs, splits=splits)

    def _kind(self, word: Word, values: tuple[str, ...], kinds: set[type[str]], *, globs: bool, splits: bool) -> Words:
        if kinds <= {str} and not globs:
            return _split(word, values) if splits else ["".join(values)]
        if Unknown in kinds:
            return [Unknown(self._written(word))]
        if PublicWords in kinds or (PublicWord in kinds and globs):
            return [PublicWords(self._written(word)) if splits else PublicWord(self._written(word))]
        if PublicWord in kinds:
            return [PublicWord(self._written(word))]
        if globs or Glob in kinds:
            fields = _split(word, values) if splits else ["".join(values)]
            return [Glob(field) for field in fields] if Number not in kinds else [PublicWords(self._written(word))]
        return [Number("".join(values))]


def _altered(values: Values, piece: Variable, written: str) -> Values:
    """What ``${x:-y}`` may become where *values* are those of its variable, which need not be set; and ``${x%y}``."""
    if piece.operator.endswith("-"):
        return bounded((*values, piece.operand))
    if piece.operator.endswith("+"):
        return bounded(("", piece.operand))
    return (merged((*values, PublicWord(written))),)


def number_of(written: str) -> str:
    """A number that is calculated, or counted, as *written*: one below 0 looks like an option."""
    digits = sum(map(str.isdigit, written))
    below = "-" in written or "**" in written or digits > _MOST_DIGITS
    return PublicWord(written) if below else Number(written)


def _closes(word: Word, opening: GlobMark) -> bool:
    """Whether a ``]`` follows: else the ``[`` stands for itself."""
    at = next(i for i, piece in enumerate(word.pieces) if piece is opening)
    return any(type(piece) is not Text or "]" in piece.text for piece in word.pieces[at + 1 :])


def _split(word: Word, values: tuple[str, ...]) -> Words:
    """The fields of a word, of which what is not quoted and comes from a variable is split at blanks."""
    fields: list[str] = []
    current: str | None = None
    for piece, value in zip(word.pieces, values, strict=True):
        if type(piece) in (Text, GlobMark, Tilde) or piece.quoted or not _BLANKS.search(value):  # type: ignore[union-attr]  # those that are left have it
            if value or type(piece) is Text or type(piece) is Tilde or getattr(piece, "quoted", False):
                current = (current or "") + value
            continue
        parts = _BLANKS.split(value)
        if parts[0]:
            current = (current or "") + parts[0]
        if current is not None:
            fields.append(current)
        fields.extend(parts[1:-1])
        current = parts[-1] or None
    if current is not None:
        fields.append(current)
    return fields


def _one_for_all(forms: list[list[str]]) -> list[str]:
    """One way that stands for several."""
    words = [word for form in forms for word in form]
    if any(type(word) is Unknown for word in words):
        return [Unknown("…")]
    if all(len(form) == 1 for form in forms) and not any(type(word) in (PublicWords, Glob) for word in words):
        return [PublicWord("…")]
    return [PublicWords("…")]
