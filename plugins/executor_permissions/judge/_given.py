"""The options that a command was given, in whatever order, clusters and spelling."""

# ruff: noqa: SIM905 -- sets of words are read, and changed, best as a line of words
from __future__ import annotations

import os.path
import re

from executor_permissions.judge._globs import STAR, Wildcard, escaped, literal
from executor_permissions.judge._words import Unknown

_CLUSTER = re.compile(r"-[A-Za-z0-9]{1,3}\Z")
# Programs whose options are whole words behind one dash.
_WORD_OPTIONS = frozenset("find go java javac openssl terraform ffmpeg convert gcc g++ clang xrandr".split())
# Short option -> its long spelling, where both mean the same.
_LONG: dict[str, dict[str, str]] = {
    "rm": {"r": "--recursive", "f": "--force", "d": "--dir", "i": "--interactive", "v": "--verbose"},
    "chmod": {"R": "--recursive", "f": "--silent", "v": "--verbose"},
    "chown": {"R": "--recursive", "h": "--no-dereference"},
    "chgrp": {"R": "--recursive"},
    "cp": {"r": "--recursive", "f": "--force", "a": "--archive"},
    "mv": {"f": "--force"},
    "ln": {"f": "--force", "s": "--symbolic"},
    "git": {"f": "--force", "d": "--delete", "a": "--all", "m": "--message", "q": "--quiet", "u": "--set-upstream"},
    "npm": {"g": "--global", "f": "--force"},
    "docker": {"f": "--force"},
    "pip": {"U": "--upgrade", "y": "--yes"},
    "apt": {"y": "--yes"},
    "apt-get": {"y": "--yes"},
    "sed": {"i": "--in-place"},
    "tar": {"x": "--extract", "c": "--create", "f": "--file"},
    "curl": {"o": "--output", "O": "--remote-name", "T": "--upload-file", "d": "--data", "X": "--request"},
    "wget": {"O": "--output-document"},
    "kill": {"9": "--signal=KILL"},
}
_SAME_LETTER = {("rm", "R"): "r", ("cp", "R"): "r", ("git", "D"): "d"}


class Given:
    """The options of a command, in whatever order and clusters they were given."""

    __slots__ = ("letters", "program", "words")

    def __init__(self, program: str, words: list[str]) -> None:
        self.program = os.path.basename(program)  # noqa: PTH119 -- text, not a file
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
                self.letters.update(self._letter(letter) for letter in word[1:])

    def _letter(self, letter: str) -> str:
        return _SAME_LETTER.get((self.program, letter), letter)

    def _has_long(self, option: str) -> bool:
        # GNU programs take any beginning of a long option that is not ambiguous.
        return any(word == option or (word[:2] == "--" and option.startswith(word)) for word in self.words)

    def has(self, option: str) -> bool:
        """Whether *option* (of a pattern) was given, in any spelling."""
        text = literal(option)
        if text is None:
            if any(map(Wildcard.of(option).fits, self.words)):
                return True
            text = literal(option.rstrip(STAR))  # "--force*" is --force, and so -f, as well
            return text is not None and text[-1:].isalnum() and self.has(escaped(text))
        option = text
        longs = _LONG.get(self.program, {})
        if option.startswith("--"):
            name, _, value = option.partition("=")
            if value:
                return any(word.startswith("--") and _abbreviates(word, name, value) for word in self.words)
            short = next((letter for letter, long in longs.items() if long == option), None)
            return self._has_long(option) or (short is not None and short in self.letters)
        if self.program in _WORD_OPTIONS or not _CLUSTER.match(option):
            return any(word == option or word == "-" + option for word in self.words)
        return all(
            self._letter(letter) in self.letters
            or (self._letter(letter) in longs and self._has_long(longs[self._letter(letter)]))
            for letter in option[1:]
        )


def _abbreviates(word: str, name: str, value: str) -> bool:
    given, _, given_value = word.partition("=")
    return len(given) > 2 and name.startswith(given) and given_value == value
