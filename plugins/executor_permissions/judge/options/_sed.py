"""
A small sed: scripts that print, replace, delete and move lines, and do nothing else.

Not in it, so never covered: ``e`` and ``s///e`` (run). Understood, so that the files can be judged, and never covered
either: ``w``, ``W`` and ``s///w`` (write), ``r`` and ``R`` (read).
One pass from left to right; the manual is that of GNU sed 4.9. Where versions differ (a delimiter in brackets) the
script is not understood.
"""

from __future__ import annotations

import contextlib
import re
from functools import lru_cache
from typing import NamedTuple

_SIMPLE = frozenset("dDgGhHnNpPxzF=")
_NUMBERED = frozenset("qQlL")
_LABELLED = frozenset("btT:")
_TEXT = frozenset("aic")
_FILES = frozenset("rRwW")
_MAY_NAME = re.compile(r"([rRwW])[ \t]*([^\s;}]+)")
_EXPRESSION = re.compile(r"(?:-[nErsuzb]*e|--exp[a-z]*=?)(.*)\Z", re.DOTALL)  # with the script, or in front of it
_SCRIPT_FILE = re.compile(r"-[nErsuzb]*f|--fi")
_NO_DELIMITER = frozenset("\\\n")
# A first "]" stands for itself, as does a "[" that begins no class; "[.x.]", "[=x=]" and "\]" are not understood.
_BRACKET = re.compile(r"\[\^?+\]?+(?:[^]\\\n\[]|\\[^]\n]|\[:[a-z]+:\]|\[(?![.=:]))*+\]")


class NamedFile(NamedTuple):
    """A file that a script names, whether it is written, and whether that is sure."""

    name: str
    writes: bool
    sure: bool


class _NotUnderstoodError(Exception):
    """The script is outside the small language."""


@lru_cache(maxsize=64)
def is_safe_sed(script: str) -> bool:
    """Whether *script* is understood, and runs, reads and writes nothing besides its input and output."""
    read = _Script(script)
    try:
        return read.is_whole() and not read.files
    except (_NotUnderstoodError, IndexError, ValueError):
        return False


def files_of_sed(script: str) -> list[NamedFile]:
    """The files that *script* reads and writes; where it is not understood, what may be their names."""
    read = _Script(script)
    try:
        sure = read.is_whole()
    except (_NotUnderstoodError, IndexError, ValueError):
        sure = False
    found = [NamedFile(name, writes, sure) for name, writes in read.files]
    if not sure:
        found += [NamedFile(one[2], one[1] in "wW", sure=False) for one in _MAY_NAME.finditer(script)]
    return found


def run_by_sed(words: list[str]) -> str | None:
    """The command that sed with these *words* surely runs; "" if that is what it reads, None for none."""
    scripts: list[str] = []
    operands: list[str] = []
    for i, word in enumerate(words[1:], 1):
        option = _EXPRESSION.match(words[i - 1])
        if option is not None and not option[1]:
            scripts.append(word)
        elif (option := _EXPRESSION.match(word)) is not None:
            scripts.extend(filter(None, option.groups()))
        elif word[:1] != "-":
            operands.append(word)
    if not scripts and not any(map(_SCRIPT_FILE.match, words[1:])):
        scripts = operands[:1]
    for script in scripts:
        read = _Script(script)
        with contextlib.suppress(_NotUnderstoodError, IndexError, ValueError):
            read.is_whole()
        if read.runs is not None:
            return read.runs
    return None


class _Script:
    """
    Reads a script.

    Attributes:
        files: The files that it names so far, each with whether it is written.
        runs: The command that it runs; "" if that is a line that it has read, None for none so far.
    """

    def __init__(self, text: str) -> None:
        self.text = text + "\n"  # so that there always is a character to look at
        self.at = 0
        self.runs: str | None = None
        self.files: list[tuple[str, bool]] = []

    def is_whole(self) -> bool:
        """Whether all of it is in the language. Raises `_NotUnderstoodError`, IndexError and ValueError if not."""
        depth = 0
        end = len(self.text)
        while True:
            self._skip(" \t\n;")
            if self.at >= end:
                return depth == 0
            self._addresses()
            command = self._take()
            if command == "{":
                depth += 1
                continue
            if command == "}":
                depth -= 1
                if depth < 0:
                    return False
            elif command == "#":
                self._line()
                continue
            elif command in _TEXT:
                self._text()
                continue
            elif command in _FILES:
                self._file(command)
                continue
            elif self._command(command):
                continue
            self._end()

    def _take(self) -> str:
        character = self.text[self.at]
        self.at += 1
        return character

    def _skip(self, characters: str) -> None:
        while self.at < len(self.text) and self.text[self.at] in characters:
            self.at += 1

    def _end(self) -> None:
        """What ends a command: a semicolon, a newline, or the end of its block, which is left for the next one."""
        self._skip(" \t")
        if self.text[self.at] not in ";\n}#":
            raise _NotUnderstoodError

    def _line(self) -> str:
        start = self.at
        self.at = self.text.index("\n", start) + 1
        return self.text[start : self.at - 1]

    def _text(self) -> None:
        r"""The text of ``a``, ``i`` and ``c``, or of ``a\``: one line; more are not understood."""
        line = self._line().strip(" \t")
        text = line.removeprefix("\\")
        if "\\" in text or (text != line and not text):
            raise _NotUnderstoodError

    def _addresses(self) -> None:
        if self._address():
            self._skip(" \t")
            if self.text[self.at] == ",":
                self.at += 1
                self._skip(" \t")
                if self.text[self.at] in "+~":
                    self.at += 1
                    if not self._digits():
                        raise _NotUnderstoodError
                elif not self._address():
                    raise _NotUnderstoodError
        self._skip(" \t")
        while self.text[self.at] == "!":
            self.at += 1
            self._skip(" \t")

    def _address(self) -> bool:
        character = self.text[self.at]
        if character == "$":
            self.at += 1
            return True
        if character in "/\\":
            self.at += 1
            delimiter = "/" if character == "/" else self._take()
            if delimiter in _NO_DELIMITER:
                raise _NotUnderstoodError
            self._until(delimiter)
            self._skip("IM")
            return True
        if not self._digits():
            return False
        if self.text[self.at] == "~":
            self.at += 1
            self._digits()
        return True

    def _digits(self) -> bool:
        start = self.at
        self._skip("0123456789")
        return self.at > start

    def _until(self, delimiter: str, *, replacement: bool = False) -> None:
        """Go behind the next *delimiter* that is not escaped; brackets mean nothing in a *replacement*."""
        while True:
            character = self._take()
            if character == "\n":
                raise _NotUnderstoodError
            if character == "\\":
                if self._take() == "\n":
                    raise _NotUnderstoodError
            elif character == delimiter:
                return
            elif character == "[" and not replacement:
                self._bracket(delimiter)

    def _bracket(self, delimiter: str) -> None:
        """Go behind the bracket that has just begun: with a *delimiter* in it versions differ where it ends."""
        match = _BRACKET.match(self.text, self.at - 1)
        if match is None or delimiter in match[0][1:]:
            raise _NotUnderstoodError
        self.at = match.end()

    def _file(self, command: str) -> None:
        """A name: to the end of the line."""
        self._skip(" \t")
        self.files.append((self._line(), command in "wW"))

    def _command(self, command: str) -> bool:
        """A command, and whether its line is at its end."""
        if command in _SIMPLE:
            return False
        if command in _NUMBERED:
            self._skip(" \t")
            self._digits()
        elif command in _LABELLED:
            self._label()
        elif command in "sy":
            delimiter = self._take()
            if delimiter in _NO_DELIMITER:
                raise _NotUnderstoodError
            self._until(delimiter)
            self._until(delimiter, replacement=command == "s")
            if command == "s":
                self._skip("gpiImM0123456789")
                if self.text[self.at] == "w":
                    self.at += 1
                    self._file("w")
                    return True
                if self.text[self.at] == "e":
                    self.runs = ""
        elif command == "e":
            self.runs = self._line().strip(" \t;}")
            raise _NotUnderstoodError
        else:
            raise _NotUnderstoodError
        return False

    def _label(self) -> None:
        """A name of letters: what else ends a label differs between versions."""
        self._skip(" \t")
        while self.text[self.at].isalnum() or self.text[self.at] == "_":
            self.at += 1
