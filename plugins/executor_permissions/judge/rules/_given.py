"""
The options that a command was given, whatever their order and spelling: ``tar -xzf a`` has ``-x``, ``-z`` and ``-f``.
"""

# ruff: noqa: SIM905 -- sets of words are read, and changed, best as a line of words
from __future__ import annotations

import os.path
import re
from typing import TYPE_CHECKING

from executor_permissions.judge.bash._words import Unknown
from executor_permissions.judge.paths._globs import STAR, Wildcard, escaped, literal
from executor_permissions.judge.rules._pairs import pairs_of

if TYPE_CHECKING:
    from collections.abc import Sequence

_CLUSTER = re.compile(r"-[A-Za-z0-9]{1,3}\Z")
# Programs whose options are whole words behind one dash.
_WORD_OPTIONS = frozenset("find go java javac openssl terraform ffmpeg convert gcc g++ clang xrandr".split())

# What they set may be a program that runs: a rule has to say which setting it means, ``git -c color.ui=* log``.
_SETTINGS = frozenset(("git", name) for name in ("--config", "--config-env"))
_OF_GIT = ("-c", "-C")


class Given:
    """The options of a command, in whatever order and clusters they were given."""

    __slots__ = ("letters", "pairs", "program", "words")

    def __init__(self, program: str, words: list[str]) -> None:
        self.program = os.path.basename(program)  # noqa: PTH119 -- text, not a file
        self.pairs = pairs_of(self.program, words)
        self.words: list[str] = []
        self.letters: set[str] = set()
        for word in words[1:]:
            if type(word) is Unknown:
                continue
            if word == "--":
                break
            if word[:1] != "-" or len(word) == 1:
                continue
            self.words.append(word)
            if word[1] != "-":
                self.letters.update(word[1:])

    def _spells(self, long: str) -> bool:
        """Whether it is given: itself, or the letter for it."""
        if not self.letters.isdisjoint(self.pairs.letters.get(long, ())):
            return True
        # GNU programs take any beginning of a long option that is not ambiguous.
        names = (word.partition("=")[0] if "=" not in long else word for word in self.words)
        return any(name == long or (len(name) > 2 and name[:2] == "--" and long.startswith(name)) for name in names)

    def _means(self, letter: str) -> bool:
        """Whether it is given: itself, or what it is spelled out."""
        return letter in self.letters or any(
            all(map(self._spells, longs)) for longs in self.pairs.longs.get(letter, ())
        )

    def has(self, option: str) -> bool:
        """Whether *option* (of a pattern) was given, in any spelling."""
        text = literal(option)
        if text is None:
            if any(map(Wildcard.of(option).fits, self.words)):
                return True
            text = literal(option.rstrip(STAR))  # "--force*" is --force, and so -f, as well
            return text is not None and text[-1:].isalnum() and self.has(escaped(text))
        option = text
        if option.startswith("--"):
            name, _, value = option.partition("=")
            if value:
                return any(word.startswith("--") and _abbreviates(word, name, value) for word in self.words)
            # As another long one that is the same, too.
            return self._spells(option) or any(
                frozenset((option,)) in self.pairs.longs[letter] and self._means(letter)
                for letter in self.pairs.letters.get(option, ())
            )
        if self.program in _WORD_OPTIONS or not _CLUSTER.match(option):
            return any(word == option or word == "-" + option for word in self.words)
        return all(map(self._means, option[1:]))


def _abbreviates(word: str, name: str, value: str) -> bool:
    given, _, given_value = word.partition("=")
    return len(given) > 2 and name.startswith(given) and given_value == value


def is_option(tokens: Sequence[str], at: int) -> bool:
    """Whether the word there, which has a wildcard, names an option, ``-o=*``, or is all of the value of one."""
    token, before = tokens[at], tokens[at - 1] if at else ""
    fixed = token.partition(STAR)[0]
    named = "=" in fixed
    if tokens[0] == "git" and before in _OF_GIT:
        return named if before == "-c" else fixed[-1:] in ("", "/")
    name = before if token == STAR else fixed.partition("=")[0]
    return (named or token == STAR) and name[:1] == "-" and (tokens[0], name) not in _SETTINGS


def option_within(token: str) -> str:
    """*token*, or the option that stands behind its first wildcards."""
    within = token.lstrip(STAR)
    return within if within[:1] == "-" and len(within) > 1 else token
