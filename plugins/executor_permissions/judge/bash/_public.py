"""Words that only the running shell knows, where nothing can come of them: ``echo "$(date)"``."""

# ruff: noqa: SIM905 -- sets of words are read, and changed, best as a line of words
from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from executor_permissions.judge.bash._split_simple import ONE_SIDED_TESTS
from executor_permissions.judge.bash._words import DEFINITE, Command, PublicWord, PublicWords, Unknown

if TYPE_CHECKING:
    from collections.abc import Callable

_PLACEHOLDER = "\x00"  # a word that no rule spells out
# They print their operands, or look at them as texts; they have no option that does more.
_PRINTERS = frozenset("echo basename dirname true false : exit".split())
_BRACKETS = (("[", "]"), ("[[", "]]"))
# One word, whatever it holds; a test of its length says no more of it than whether it is set.
_IN_QUOTES = re.compile(r'"\$(?:\w+|\{\w+\})"\Z')
_LENGTH = frozenset({"-z", "-n"})
_TWO_SIDED = frozenset("= == != -eq -ne -lt -le -gt -ge -nt -ot -ef < >".split())
# What prints the names of files that are there, one for each line, and nothing else.
_NAMES = re.compile(r"\$\((?:git ls-files|git diff --name-only|find|ls)(?: [A-Za-z0-9_./'\"*=-]*)*\)\Z")
# No option comes of these: find's names begin with where it starts; of tracked ones `Operands` looks at the index.
_NO_OPTIONS = ("$(find ", "$(git ls-files")
_NO_NAMES = re.compile(r"-(?:printf|exec|ok|fprint|z|0|print0|l|s|i)")


def with_public_words(command: Command) -> Command | None:
    """
    *command* with a placeholder for each word that may become anything, as nothing can come of it there.

    Returns:
        None if it has a word of which something can: an option, a file that is read, a secret that is shown.
    """
    words = command.words
    if DEFINITE.issuperset(map(type, words)):
        return command
    if _asks_whether_set(words):
        return replace(command, words=[_PLACEHOLDER if type(word) is Unknown else word for word in words])
    if any(type(word) not in (*DEFINITE, PublicWord, PublicWords) for word in words):
        return None
    harmless = _HARMLESS.get(words[0]) if type(words[0]) is str else None
    if words[0] in _PRINTERS or (harmless is not None and harmless(words)):
        changed = [_PLACEHOLDER if type(word) in (PublicWord, PublicWords) else word for word in words]
        return replace(command, words=changed)
    return None


def _printf(words: list[str]) -> bool:
    """The format is known: what stands behind it is only printed."""
    at = 2 if words[1] == "--" else 1
    return len(words) > at and type(words[at]) is str and words[at][:1] != "-"


def _operands(words: list[str]) -> list[str]:
    """What a test compares or looks at, and how."""
    operands = words[1:-1] if (words[0], words[-1]) in _BRACKETS else words[1:]
    return operands[1:] if operands[:1] == ["!"] and type(operands[0]) is str else operands


def _asks_whether_set(words: list[str]) -> bool:
    """Whether it is a test like ``[ -z "$TOKEN" ]``."""
    if _HARMLESS.get(words[0]) is not _test:
        return False
    first, *rest = _operands(words) or [""]
    return first in _LENGTH and len(rest) == 1 and type(rest[0]) is Unknown and _IN_QUOTES.match(rest[0]) is not None


def _test(words: list[str]) -> bool:
    """Forms in which the operands are taken for texts, or for files that are only looked at, whatever they are."""
    operands = _operands(words)
    if any(type(word) is PublicWords for word in operands):
        return False
    if len(operands) == 2:
        return type(operands[0]) is str and operands[0] in ONE_SIDED_TESTS
    return len(operands) == 3 and type(operands[1]) is str and operands[1] in _TWO_SIDED


def _counts(words: list[str]) -> bool:
    """Counts of files whose names another command lists."""
    return all(type(word) is not PublicWord and (type(word) is not PublicWords or _are_names(word)) for word in words)


def _wc(words: list[str]) -> bool:
    """The same for a program that an option makes read a list of files, so that no name may be taken for one."""
    ends = words.index("--") if "--" in words else len(words)
    return _counts(words) and all(
        type(word) is not PublicWords or i > ends or word.startswith(_NO_OPTIONS) for i, word in enumerate(words)
    )


def _are_names(word: str) -> bool:
    return _NAMES.match(word) is not None and _NO_NAMES.search(word) is None


_HARMLESS: dict[str, Callable[[list[str]], bool]] = {
    "[": _test,
    "[[": _test,
    "ls": _counts,
    "printf": _printf,
    "stat": _counts,
    "test": _test,
    "wc": _wc,
}
