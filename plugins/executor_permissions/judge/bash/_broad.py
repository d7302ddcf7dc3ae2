"""
A reading of a command that is not understood, for denying only: a linear scan that finds what may be run, and more.

It knows words, quotes, redirections and separators, and no nesting: what stands in a function, a test, an expansion
or a here-document is a command to it. Of ``f() { rm x; }`` it finds ``rm x``, though nothing calls ``f``.
"""

# ruff: noqa: SIM905 -- sets of words are read, and changed, best as a line of words
from __future__ import annotations

import re
from typing import NamedTuple

from executor_permissions.judge.bash._words import NO_FILES, Command, Redirect

_MAX_COMMANDS = 250
_MAX_REDIRECTS = 20  # judging one costs as much as a command of three words
_MAX_TOKENS = 6000

_TOKEN = re.compile(
    r"\\(?P<escaped>.)|(?P<blank>[ \t\r\v\f]+)|(?P<open>\$\(|`)|(?P<close>\))|(?P<end>[\n;&|({}]+)"
    r"|(?P<redirect>[<>]+[&|]?)|(?P<quote>\$?['\"])|(?P<text>[^\\\s`();&|{}<>'\"$]+)|(?P<other>\$+|.)",
    re.DOTALL,
)
_RESERVED = frozenset("! if then elif else while until do".split())  # behind which a command begins
_DESCRIPTOR = re.compile(r"[0-9]+-?\Z|-\Z")


def commands(text: str) -> tuple[list[Command], bool]:
    """
    What may be run by *text*: each command with its plain words and the files it redirects to.

    Returns:
        The commands, and whether they are all: a text that is too long is read up to a limit.
    """
    aware, unaware = _Scan(quotes=True), _Scan(quotes=False)
    aware.scan(text)
    if aware.doubtful:
        unaware.scan(text)
    found = list({_key(command): command for command in aware.commands + unaware.commands}.values())
    return found[:_MAX_COMMANDS], aware.whole and unaware.whole and len(found) <= _MAX_COMMANDS


def _key(command: Command) -> tuple[object, ...]:
    return (*command.words, 0, *((redirect.operator, redirect.target) for redirect in command.redirects))


class _Open(NamedTuple):
    """A command that goes on behind a substitution in one of its words."""

    words: list[str]
    redirects: list[Redirect]
    word: str | None
    target: str
    double: bool


class _Scan:
    """
    One scan.

    Args:
        quotes: Whether quotes keep words together; else they are left out.

    Attributes:
        doubtful: Whether quotes may mean nothing: in comments and here-documents, or as one has no end.
        whole: Whether the text was read to its end.
    """

    __slots__ = (
        "_braces", "_double", "_outer", "_redirects", "_target", "_targets", "_word", "_words", "commands", "doubtful",
        "quotes", "whole",
    )  # fmt: skip

    def __init__(self, *, quotes: bool) -> None:
        self.quotes = quotes
        self.commands: list[Command] = []
        self.doubtful = False
        self.whole = True
        self._outer: list[_Open] = []
        self._words: list[str] = []
        self._redirects: list[Redirect] = []
        self._word: str | None = None
        self._target = ""
        self._double = self._braces = False
        self._targets = 0

    def scan(self, text: str) -> None:
        at, tokens, backtick = 0, 0, False
        while (match := _TOKEN.match(text, at)) is not None:
            tokens += 1
            if tokens > _MAX_TOKENS:
                self.whole = False
                break
            at = match.end()
            kind, found = match.lastgroup or "", match[0]
            if kind == "quote":
                at = self._quote(text, found, at)
            elif kind == "open" and not (found == "`" and backtick):
                backtick = found == "`"
                self._enter()
            elif kind == "close" or found == "`":
                backtick = backtick and found != "`"
                self._leave()
            elif self._double:
                self._add(match["escaped"] or found)
            else:
                self._plain(kind, found, match["escaped"])
        self.doubtful = self.doubtful or self._double
        while self._outer:
            self._leave()
        self._end()

    def _plain(self, kind: str, found: str, escaped: str | None) -> None:
        """A found outside quotes."""
        if kind == "blank":
            self._end_word()
        elif kind == "end":
            self._end()
            self._braces = found[-1] == "{"
        elif kind == "redirect":
            self.doubtful = self.doubtful or "<<" in found
            if self._word is not None and self._word.isdigit():
                self._word = None
            self._end_word()
            self._target = found
        elif escaped is not None:
            self._add(escaped if escaped != "\n" else "")
        else:
            self.doubtful = self.doubtful or (self._word is None and found[0] == "#")
            first, *rest = found.split(",") if self._braces else [found]
            self._add(first)
            for part in rest:  # {rm,-rf,x} is a command
                self._end_word()
                self._add(part)

    def _quote(self, text: str, found: str, at: int) -> int:
        mark = found[-1]
        if not self.quotes:
            self._add("")
        elif self._double:
            if mark == '"':
                self._double = False
                self._add(found[:-1])
            else:
                self._add(found)
        elif mark == '"':
            self._double = True
            self._add("")
        else:
            close = text.find("'", at)
            if close < 0 or found == "$'":
                self.doubtful = True
            if close >= 0:
                self._add(text[at:close])
                return close + 1
        return at

    def _add(self, text: str) -> None:
        self._word = (self._word or "") + text

    def _end_word(self) -> None:
        if self._word is None:
            return
        if not self._target:
            self._words.append(self._word)
        elif not self._is_harmless(self._word):
            self._targets += 1
            self.whole = self.whole and self._targets <= _MAX_REDIRECTS
            if self.whole:
                self._redirects.append(Redirect(">" if ">" in self._target else "<", self._word))
        self._word, self._target = None, ""

    def _is_harmless(self, target: str) -> bool:
        return target in NO_FILES or (self._target[-1] == "&" and _DESCRIPTOR.match(target) is not None)

    def _end(self) -> None:
        self._end_word()
        while self._words and self._words[0] in _RESERVED:
            del self._words[0]
        if self._words or self._redirects:
            self.commands.append(Command(self._words, " ".join(self._words), redirects=self._redirects))
        self._words, self._redirects, self._target = [], [], ""

    def _enter(self) -> None:
        self._outer.append(_Open(self._words, self._redirects, self._word, self._target, self._double))
        self._words, self._redirects, self._word, self._target, self._double = [], [], None, "", False

    def _leave(self) -> None:
        if self._double:
            self.doubtful = True
        self._end()
        if self._outer:
            outer = self._outer.pop()
            self._words, self._redirects, self._target = outer.words, outer.redirects, outer.target
            self._word, self._double = (outer.word or "") + "$()", outer.double
