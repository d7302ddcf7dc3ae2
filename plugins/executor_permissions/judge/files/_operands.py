"""
Which words of a shell command may be paths, and which parts of them: of ``--file=.env`` and ``x:.env`` it is ``.env``.
"""

# ruff: noqa: SIM905 -- lines of words
from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal
from urllib.parse import unquote

from executor_permissions.judge.bash._moves import OWN_VARIABLE
from executor_permissions.judge.bash._words import Unknown
from executor_permissions.judge.files._searching import CHOOSING
from executor_permissions.judge.options._programs import AWKS, GREPS
from executor_permissions.judge.paths._paths import LONGEST_PATH, UnclearPathError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from executor_permissions.judge.bash._words import Command
    from executor_permissions.judge.rules._file_rules import FileRules

Role = Literal["path", "maybe"]

_SHORT_CLUSTER = 12  # characters of several options in one word, whatever they are
_MOST_LETTERS = 250  # of options in one word
_LETTERS = re.compile(r"-[A-Za-z0-9]*")
_ENDS = [slice(at, None) for at in range(_MOST_LETTERS + 2)]
_NOTHING = frozenset({""})
_MOST_PIECES = 40  # of one word that may be paths
_PARTING = re.compile(r"[=:,@]")
_ENCODED = re.compile(r"%[0-9A-Fa-f]{2}")
# The path, with and without what may be a host in front of it, of an address that may have further parts.
_FILE_ADDRESS = re.compile(r"file:((?://[^/?#]*(?=/))?([^?#]*))", re.IGNORECASE)
WHOLE = re.compile(r"[^-=:,@%][^=:,@%]*\Z")  # no option, and no parts: it can be a path as a whole only
SETTLED = re.compile(rf"{WHOLE.pattern}|-(?:-[^=:,@]*|[^=:,@]?)\Z")  # or an option without a value: no path at all
# Their operands are texts, and no files.
TEXTS = frozenset(
    "echo printf basename dirname true false : seq sleep exit break continue test [ [[ read unset export whoami".split()
)
_SEARCHES = GREPS | AWKS | frozenset("rg ag ack sed jq yq".split())  # the first operand is a text
_PATTERN_OPTIONS = re.compile(r"(-[A-Za-z]*[ef]|--regexp|--file|--expression)(=|\Z)")
_SEVERAL = frozenset("{[")
_CLASS = re.compile(r"\[[^\]]*\]")
_ALONE = re.compile(r"\{([^{},]*)\}")  # which is one
_CHOOSERS = GREPS | frozenset("tar zip rsync diff du tree ls".split())


def looked_at(program: str, words: list[str]) -> list[str]:
    """The words behind the program, without those that say what it leaves out."""
    words = words[1:]
    if program == "git" and any(word[:1] == ":" for word in words):
        from executor_permissions.judge.git._shows import LEAVING_OUT

        return [word for word in words if not LEAVING_OUT.match(word)]
    if program == "curl" and not _SEVERAL.isdisjoint("".join(words)):
        return [_one_of_several(words[i - 1] if i else "", words[i]) for i in range(len(words))]
    if program in _CHOOSERS and "--" in " ".join(words):
        return [word for word in words if not word.startswith(CHOOSING)]
    return words


def _one_of_several(before: str, word: str) -> str:
    """*word* of curl as `Unknown` if it names several files."""
    sent = before in ("-T", "--upload-file") or word.startswith(("-T", "--upload-file="))
    if _SEVERAL.isdisjoint(word) or not (sent or "file:" in word.lower()):
        return word
    told = _ALONE.sub(r"\1", word)
    return type(word)(told) if _SEVERAL.isdisjoint(told) else Unknown(_CLASS.sub("*", told))


def operands(program: str, words: list[str]) -> Iterable[tuple[str, Role]]:
    """The words behind the program, each with what it is to it."""
    if program in TEXTS:
        return [(word, "maybe") for word in words]
    if program in _SEARCHES and not any(word[:1] == "-" and _PATTERN_OPTIONS.match(word) for word in words):
        first = next((i for i, word in enumerate(words) if word[:1] != "-"), len(words))
        return [(word, "maybe" if i == first else "path") for i, word in enumerate(words)]
    if program == "find":
        first = next((i for i, word in enumerate(words) if word[:1] in ("-", "(", "!")), len(words))
        return [(word, "path" if i < first else "maybe") for i, word in enumerate(words)]
    return [(word, "path") for word in words]


def told_by_variables(command: Command) -> Iterator[str]:
    """
    What programs are told by the variables that *command* sets for them, a word at a time: of ``X='-f a' make`` both.

    Its own are for itself alone where it runs nothing.
    """
    given = command.assignments
    if not command.words:
        given = [(name, value) for name, value in given if not OWN_VARIABLE.match(name)]
    elif command.program == "export":
        given = [*given, *((word, type(word)(word.partition("=")[2])) for word in command.words[1:])]
    for _, value in given:
        if type(value) is str:
            yield from value.split()
        else:
            yield value


def candidates(word: str, rules: FileRules) -> Iterable[str]:
    """
    What of a word may be a path: all of it, an option's value, what is behind ``=``, ``:``, ``,`` or ``@``.

    Raises:
        UnclearPathError: It may be more options than are looked at, and a path behind them.
    """
    if len(word) > _MOST_LETTERS:
        letters = _LETTERS.match(word)
        if letters is not None and letters.end() > _MOST_LETTERS:
            raise UnclearPathError(f"it has more than {_MOST_LETTERS} options in one word")
        if len(word) > LONGEST_PATH and type(word) is str:
            return ()
    found = _candidates(word, rules)
    if ":" not in word and "%" not in word:
        return found  # as of nearly every word
    # Whoever decodes a NUL ends there.
    decoded = unquote(word).partition("\0")[0] if _ENCODED.search(word) else ""
    if decoded:
        found = {*found, *_candidates(decoded, rules)}
    for text in filter(None, (word, decoded)):
        address = _FILE_ADDRESS.search(text)
        if address is not None:
            found = {*found, *address.groups("")} - _NOTHING
    return found


def _candidates(word: str, rules: FileRules) -> Iterable[str]:
    """The same of what is no address."""
    parted = _PARTING.search(word) is not None
    if word[:1] != "-":
        if not parted:
            return (word,) if word else ()
        found = {word}
    else:
        found = _ends(word, rules) if word[1:2] != "-" else set()
        if not parted:
            return found
    pieces = _PARTING.split(word)
    found.add(word[len(pieces[0]) + 1 :])
    found.update(pieces[:_MOST_PIECES] if pieces[0][:1] != "-" else pieces[1:_MOST_PIECES])
    found.update(piece[2:] for piece in pieces[:1] if piece[:1] == "-" != piece[1:2])
    found.discard("")
    return found


def _ends(word: str, rules: FileRules) -> set[str]:
    """What the value of an option that is attached to it may be: of the last of several in one word, too."""
    found = {word[2:]}
    letters = _LETTERS.match(word)
    last = max(_SHORT_CLUSTER, letters.end() + 1 if letters is not None else 0)
    ends = [*map(word.__getitem__, _ENDS[3 : min(last, len(word))])]
    if "/" in word or not rules.is_plain("/".join(ends)):
        found.update(end for end in ends if "/" in end or not rules.is_plain(end))
    return found - _NOTHING
