"""Patterns for shell commands, compared word by word: ``git push *``."""

# ruff: noqa: SIM905 -- sets of words are read, and changed, best as a line of words
from __future__ import annotations

import os.path
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from executor_permissions.judge._guards import exposed
from executor_permissions.judge._words import Glob, Unknown

if TYPE_CHECKING:
    from collections.abc import Callable

    from executor_permissions.judge._words import Command

Match = Literal[0, 1, 2]  # no; it may be, only the running shell knows; yes
OPERATORS = frozenset({"|", "||", "&&", ";", "|&", "&"})

_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_CLUSTER = re.compile(r"-[A-Za-z0-9]{1,3}\Z")
_STARS = frozenset({"*"})
_KEY = re.compile(r"[A-Za-z_]\w*=")
_OCTAL = re.compile(r"0+([0-7]{3,4})\Z")
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


def _literal(token: str) -> str | None:
    """The text that *token* stands for, or None if it has a wildcard."""
    bare = _ESCAPE.sub("", token)
    return None if "*" in bare else _ESCAPE.sub(r"\1", token)


def wildcard(token: str, star: str = ".*") -> re.Pattern[str]:
    r"""A token as a regular expression: ``*`` is *star*, ``\`` takes the next character as it is."""
    out, i = [], 0
    while i < len(token):
        if token[i] == "\\" and i + 1 < len(token):
            i += 1
            out.append(re.escape(token[i]))
        elif token[i] == "*":
            out.append(star)
        else:
            out.append(re.escape(token[i]))
        i += 1
    return re.compile("".join(out) + r"\Z", re.DOTALL)


def tokenize(text: str) -> list[str]:  # noqa: C901 -- one state machine
    """
    The words of a pattern. What is quoted keeps its blanks, and its ``*`` stands for itself.

    Raises:
        ValueError: A quote is not closed.
    """
    tokens: list[str] = []
    current: list[str] | None = None
    quote = ""
    i = 0
    while i < len(text):
        character = text[i]
        i += 1
        if quote:
            if character == quote:
                quote = ""
            elif current is not None:
                current.append("\\" + character if character in "*\\;|&" else character)
        elif character in "'\"":
            quote, current = character, current if current is not None else []
        elif character.isspace():
            if current is not None:
                tokens.append("".join(current))
                current = None
        else:
            current = current if current is not None else []
            current.append(character)
            if character == "\\" and i < len(text):
                current.append(text[i])
                i += 1
    if quote:
        raise ValueError(f"the quote {quote} is not closed")
    if current is not None:
        tokens.append("".join(current))
    return tokens


@dataclass(slots=True)
class TokenPattern:
    """
    One pattern for shell commands.

    Attributes:
        text: As written in the file.
        tokens: Its words, without the last ``*``.
        tail: Whether the last word was ``*``: zero or more further words.
    """

    text: str
    tokens: tuple[str, ...]
    tail: bool
    prefix: bool = False
    literals: tuple[str | None, ...] = field(init=False)
    _tests: tuple[Callable[[str], object] | None, ...] = field(init=False)
    _spelled: int = field(init=False)
    _options: tuple[str, ...] = field(init=False)
    _operands: tuple[str, ...] = field(init=False)
    _keys: tuple[str, ...] = field(init=False)
    _open: bool = field(init=False)

    def __post_init__(self) -> None:
        self.literals = tuple(_literal(token) for token in self.tokens)
        self._tests = tuple(
            None if literal is not None else wildcard(token, "[^/]*" if i == 0 else ".*").match
            for i, (token, literal) in enumerate(zip(self.tokens, self.literals, strict=True))
        )
        self._spelled = self._count_spelled()
        rest = self.tokens[1:]
        self._options = tuple(token for token in rest if token[:1] == "-" and token not in ("-", "--"))
        # "dd of=/dev/*": found wherever it stands; "dd if=" with any value.
        self._keys = tuple(token for token in rest if _KEY.match(token))
        operands = [token for token in rest if (token[:1] != "-" or len(token) == 1) and token not in self._keys]
        while operands and operands[-1] == "*":
            operands.pop()
        self._operands = tuple(operands)
        self._open = self.tail or self.prefix or len(self.tokens) == 1 or "*" in rest or bool(self._keys)

    @classmethod
    def of(cls, text: str, tokens: list[str]) -> TokenPattern:
        """The pattern that *tokens* make; the last ``*`` becomes the tail."""
        tail = len(tokens) > 1 and tokens[-1] == "*"
        return cls(text, tuple(tokens[:-1] if tail else tokens), tail)

    def _count_spelled(self) -> int:
        count = 0
        for i, (token, literal) in enumerate(zip(self.tokens, self.literals, strict=True)):
            names_option = token[:1] == "-" and "=" in token.partition("*")[0]
            value_of_option = token in _STARS and i > 0 and self.tokens[i - 1][:1] == "-"
            if literal is None and not names_option and not value_of_option:
                break
            count += 1
        return count

    @property
    def program(self) -> str | None:
        """The program it is about, or None if that has a wildcard."""
        return self.literals[0]

    # Allowing: strictly word by word.

    def covers(self, command: Command) -> bool:
        """Whether every word of *command* is covered, and what may run or write something is spelled out."""
        words = command.words
        count = len(self.tokens)
        if len(words) < count or (len(words) > count and not self.tail):
            return False
        for i in range(count):
            word = words[i]
            if type(word) is not str and not (type(word) is Glob and i and "[" not in word):
                return False
            literal, test = self.literals[i], self._tests[i]
            if not (word == literal if test is None else test(word)):
                return False
        if any(type(word) is Unknown for word in words[count:]):
            return False
        return self._reaches(command)

    def _reaches(self, command: Command) -> bool:
        reach = exposed(command)
        if reach < self._spelled or self._names_find_option(command, reach):
            return True
        # Word for word the command itself: only what comes from its input is left open.
        exact = not self.tail and self._spelled == len(self.tokens)
        return exact and not command.stdin and reach == len(command.words) - 1

    def _names_find_option(self, command: Command, reach: int) -> bool:
        """``find * -delete``: the option is spelled out, and what is before it are folders."""
        if self.program != "find" or reach >= len(self.tokens) or self.literals[reach] is None:
            return False
        before = zip(command.words[:reach], self.literals, strict=False)
        return all(literal is not None or word[:1] not in ("-", "(", "!") for word, literal in before)

    # Denying: any spelling.

    def catches(self, words: list[str]) -> Match:
        """Whether *words* are this command in any spelling."""
        program = words[0]
        if type(program) is not str:
            return 1
        if not self._is_program(program.rpartition("/")[2] or program):
            return 0
        unknown = any(type(word) is Unknown for word in words)
        if not all(any(wildcard_match(key, word) for word in words) for key in self._keys):
            if not unknown:
                return 0
            return 1
        found = self._options_found(words, unknown=unknown)
        if found == 0:
            return 0
        operands = self._operands_found(words)
        return min(found, operands)

    def _is_program(self, name: str) -> bool:
        literal = self.literals[0]
        if literal is None:
            test = self._tests[0]
            return test is not None and bool(test(name))
        own = literal.rpartition("/")[2] or literal
        return name == own or name.startswith(own + ".")

    def _options_found(self, words: list[str], *, unknown: bool) -> Match:
        if not self._options:
            return 2
        given = _Options(self.program or "", words)
        if all(given.has(option) for option in self._options):
            return 2
        return 1 if unknown else 0

    def _operands_found(self, words: list[str]) -> Match:
        wanted = self._operands
        operands = _operands(words)
        if wanted and all(token[:1] in ("/", "~") for token in wanted):
            return self._paths_found(wanted, operands)
        return _sequence(wanted, operands, open_end=self._open)

    def _paths_found(self, wanted: tuple[str, ...], operands: list[tuple[str, bool]]) -> Match:
        """Paths are found wherever they stand: ``rm -rf a /`` is ``rm -rf /`` as well."""
        worst: Match = 2
        for token in wanted:
            test = wildcard(token)
            if any(type(word) is not Unknown and test.match(_normal(word)) for word, _ in operands):
                continue
            if not any(type(word) is Unknown for word, _ in operands):
                return 0
            worst = 1
        return worst


def _normal(word: str) -> str:
    """A path without ``//``, ``/./`` and ``..``."""
    return os.path.normpath("/" + word.lstrip("/")) if word.startswith("/") else word


def _operands(words: list[str]) -> list[tuple[str, bool]]:
    """The words that are no options, each with whether it may be the value of an option in front of it."""
    result: list[tuple[str, bool]] = []
    after_option = only_operands = False
    chmod = words[0].endswith("chmod")
    for word in words[1:]:
        if not only_operands and word == "--" and type(word) is str:
            only_operands, after_option = True, False
        elif not only_operands and word[:1] == "-" and len(word) > 1 and type(word) is str:
            after_option = "=" not in word
        else:
            match = _OCTAL.match(word) if chmod and type(word) is str else None
            result.append((match[1] if match else word, after_option))
            after_option = False
    return result


def _sequence(wanted: tuple[str, ...], operands: list[tuple[str, bool]], *, open_end: bool) -> Match:
    """Whether the wanted words come in this order; values of options may stand between them, ``*`` is any number."""
    end = len(wanted)

    def reached(states: set[int]) -> set[int]:
        for state in sorted(states):
            while state < end and wanted[state] == "*":
                state += 1  # noqa: PLW2901 -- follows the chain of stars from here
                states.add(state)
        return states

    states = reached({0})
    for word, skippable in operands:
        if open_end and end in states:
            return 2
        if type(word) is Unknown:
            return 1
        further = set(states) if skippable else {state for state in states if state < end and wanted[state] == "*"}
        further.update(state + 1 for state in states if state < end and wildcard_match(wanted[state], word))
        states = reached(further)
        if not states:
            return 0
    return 2 if end in states else 0


def wildcard_match(token: str, word: str) -> bool:
    """Whether *word* fits *token*; a token ending in ``=`` fits every value behind it."""
    literal = _literal(token)
    if literal is not None:
        return word == literal or (literal.endswith("=") and word.startswith(literal))
    return wildcard(token).match(word) is not None


class _Options:
    """The options of a command, in whatever order and clusters they were given."""

    __slots__ = ("letters", "program", "words")

    def __init__(self, program: str, words: list[str]) -> None:
        self.program = os.path.basename(program)  # noqa: PTH119 -- as above
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
        if _literal(option) is None:
            test = wildcard(option)
            return any(test.match(word) for word in self.words)
        option = _literal(option) or option
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
