"""
A reading of a command for denying only: one linear scan that finds what may be run, and more than that.

It knows words, quotes, redirections and separators, and no nesting: what stands in a function, a test, an expansion
or a here-document is a command to it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from executor_permissions.judge._words import Command, Redirect

MAX_COMMANDS = 250
_MAX_WORDS = 2000
_MAX_REDIRECTS = 50

_TOKEN = re.compile(
    r"\\(?P<escaped>.)|(?P<blank>[ \t\r\v\f]+)|(?P<open>\$\(|`)|(?P<close>\))|(?P<end>[\n;&|({}]+)"
    r"|(?P<redirect>[<>]+[&|]?)|(?P<quote>\$?['\"])|(?P<text>[^\\\s`();&|{}<>'\"$]+)|(?P<other>.)",
    re.DOTALL,
)
_DESCRIPTOR = re.compile(r"[0-9]+-?\Z|-\Z")
_FREE_TARGETS = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr"})


def commands(text: str) -> list[Command]:
    """What may be run by *text*: each command with its plain words and the files it redirects to."""
    aware = _Scan(quotes=True)
    aware.scan(text)
    found = aware.commands
    if aware.doubtful:
        unaware = _Scan(quotes=False)
        unaware.scan(text)
        found = found + unaware.commands
    return found[:MAX_COMMANDS]


@dataclass(slots=True)
class _Open:
    """A command that goes on behind a substitution in one of its words."""

    words: list[str]
    redirects: list[Redirect]
    word: str | None
    target: str
    double: bool


@dataclass(slots=True)
class _Scan:
    """
    One scan.

    Attributes:
        quotes: Whether quotes keep words together; else they are left out.
        doubtful: Whether quotes may mean nothing: in comments and here-documents, or as one has no end.
    """

    quotes: bool
    commands: list[Command] = field(default_factory=list)
    doubtful: bool = False
    _outer: list[_Open] = field(default_factory=list)
    _words: list[str] = field(default_factory=list)
    _redirects: list[Redirect] = field(default_factory=list)
    _word: str | None = None
    _target: str = ""
    _double: bool = False
    _count: int = 0

    def scan(self, text: str) -> None:
        at, backtick = 0, False
        while at < len(text) and self._count < _MAX_WORDS:
            match = _TOKEN.match(text, at)
            if match is None:  # a backslash at the very end
                break
            at = match.end()
            kind, token = match.lastgroup or "", match[0]
            if kind == "quote":
                at = self._quote(text, token, at)
            elif kind == "open" and not (token == "`" and backtick):
                backtick = token == "`"
                self._enter()
            elif kind == "close" or token == "`":
                backtick = backtick and token != "`"
                self._leave()
            elif self._double:
                self._add(match["escaped"] or token)
            else:
                self._plain(kind, token, match["escaped"])
        self.doubtful = self.doubtful or self._double
        while self._outer:
            self._leave()
        self._end()

    def _plain(self, kind: str, token: str, escaped: str | None) -> None:
        """A token outside quotes."""
        if kind == "blank":
            self._end_word()
        elif kind == "end":
            self._end()
        elif kind == "redirect":
            self.doubtful = self.doubtful or "<<" in token
            if self._word is not None and self._word.isdigit():
                self._word = None
            self._end_word()
            self._target = token
        elif escaped is not None:
            self._add(escaped if escaped != "\n" else "")
        else:
            self.doubtful = self.doubtful or (self._word is None and token[0] == "#")
            self._add(token)

    def _quote(self, text: str, token: str, at: int) -> int:
        mark = token[-1]
        if not self.quotes:
            self._add("")
        elif self._double:
            if mark == '"':
                self._double = False
                self._add(token[:-1])
            else:
                self._add(token)
        elif mark == '"':
            self._double = True
            self._add("")
        else:
            close = text.find("'", at)
            if close < 0 or token == "$'":
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
            self._count += 1
        elif self._word not in _FREE_TARGETS and not (self._target[-1] == "&" and _DESCRIPTOR.match(self._word)):
            if len(self._redirects) < _MAX_REDIRECTS:
                self._redirects.append(Redirect(">" if ">" in self._target else "<", self._word))
        self._word, self._target = None, ""

    def _end(self) -> None:
        self._end_word()
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
