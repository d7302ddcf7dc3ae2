"""
What a repository's ``.gitignore`` files leave out, as gitignore(5) has it.

The last pattern that matches decides; what is in a folder that is left out is left out, whatever a pattern says of it.
Patterns of a user's own (``core.excludesFile``) are not read.
"""

from __future__ import annotations

import os
import re
import string
from typing import TYPE_CHECKING, NamedTuple

from executor import paths
from executor_files._common import check_stop
from executor_files._walk import matches

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from executor_files._walk import Part

_MAX_READ = 1 << 18  # bytes of one file of patterns
_LONGEST = 4096  # bytes of a pattern: longer than any path
_NAME = ".gitignore"
_BYTES = [chr(byte) for byte in range(256)]
_LETTERS = string.ascii_letters
_CLASSES = {
    "alnum": _LETTERS + string.digits,
    "alpha": _LETTERS,
    "blank": " \t",
    "cntrl": "".join(_BYTES[:32]) + "\x7f",
    "digit": string.digits,
    "graph": _LETTERS + string.digits + string.punctuation,
    "lower": string.ascii_lowercase,
    "print": _LETTERS + string.digits + string.punctuation + " ",
    "punct": string.punctuation,
    "space": string.whitespace,
    "upper": string.ascii_uppercase,
    "xdigit": string.hexdigits,
}
# What is in a set: a class, a character, a range. None is tried again: what has no end that way matches nothing.
_CLASS = r"\[:[^\]]{0,40}:\]"
_ONE = rf"(?:{_CLASS}|(?:\\.|[^\\])(?:-(?:\\.|[^\\\]]))?)"
_SET = rf"\[(?:(?P<other>[!^])|(?![!^]))(?P<set>(?>{_ONE}(?:(?!\]){_ONE})*))\]"
_TOKEN = re.compile(rf"\\(?P<quoted>.?)|{_SET}|(?P<open>\[)|\*+|.", re.DOTALL)
_ELEMENT = re.compile(r"\[:(?P<kind>[^\]]*):\]|\\?(?P<low>.)(?:-\\?(?P<high>[^\]]))?", re.DOTALL)
_ANY = frozenset(_BYTES)


class _Pattern(NamedTuple):
    parts: Sequence[Part]
    folders_only: bool
    ignores: bool


class Ignored:
    """
    Whether entries below *top* are left out.

    Args:
        top: A folder, resolved. Its repository's patterns hold from the repository's folder on.
    """

    def __init__(self, top: Path) -> None:
        self._top = top
        self._known: dict[str, list[_Pattern]] = {}  # the patterns of each folder, by its path
        self._root = _repository(top)

    def __call__(self, below: str, *, folder: bool) -> bool:
        """
        Whether the entry *below* the top, none of whose folders is left out, is so itself.

        Args:
            folder: It is one.
        """
        if self._root is None:
            return False
        check_stop()  # there may be many patterns
        path = self._top / below
        for base in (path.parent, *path.parent.parents):
            verdict = _verdict(self._of(base), path.relative_to(base).as_posix(), folder=folder)
            if verdict is not None:
                return verdict
            if base == self._root:
                break
        return bool(_verdict(self._excluded(), path.relative_to(self._root).as_posix(), folder=folder))

    def _of(self, base: Path) -> list[_Pattern]:
        return self._patterns(str(base), base / _NAME)

    def _excluded(self) -> list[_Pattern]:
        assert self._root is not None
        return self._patterns("", self._root / ".git" / "info" / "exclude")

    def _patterns(self, key: str, file: Path) -> list[_Pattern]:
        if key not in self._known:
            self._known[key] = _read(file)
        return self._known[key]


def _repository(folder: Path) -> Path | None:
    """The repository's folder that *folder* is in."""
    for each in (folder, *folder.parents):
        if os.path.lexists(each / ".git"):
            return each
    return None


def _read(file: Path) -> list[_Pattern]:
    try:
        with os.fdopen(paths.open_resolved(file, os.O_RDONLY), "rb") as opened:
            text = opened.read(_MAX_READ).decode("latin-1")  # byte for byte, as git matches
    except OSError:  # most folders have none
        return []
    return [found for line in text.split("\n") if (found := _pattern(line.removesuffix("\r"))) is not None]


def _verdict(patterns: list[_Pattern], path: str, *, folder: bool) -> bool | None:
    parts = os.fsencode(path).decode("latin-1").split("/")
    for pattern in reversed(patterns):
        if (folder or not pattern.folders_only) and matches(pattern.parts, parts):
            return pattern.ignores
    return None


def _pattern(line: str) -> _Pattern | None:
    """A line of such a file; None for one that says nothing."""
    bare = line.rstrip(" ")
    quoted = bare != line and (len(bare) - len(bare.rstrip("\\"))) % 2
    line = bare + " " if quoted else bare
    if line.startswith("#") or len(line) > _LONGEST:
        return None
    ignores = not line.startswith("!")
    line = line if ignores else line[1:]
    folders_only = line.endswith("/")
    line = line.rstrip("/")
    parts = [part for part in _split(line) if part]
    if not parts:
        return None
    if "/" not in line:
        parts = ["**", *parts]  # anywhere
    if parts[-1] == "**":
        parts.append("*")  # all that is in it, and not itself
    return _Pattern([_matcher(part) for part in parts], folders_only, ignores)


def _split(line: str) -> list[str]:
    """The parts of a pattern, where a ``/`` in a set parts nothing; none of one that matches nothing."""
    parts = [""]
    for token in _TOKEN.finditer(line):
        if token["open"]:
            return []
        if token[0] == "/":
            parts.append("")
        else:
            parts[-1] += token[0]
    return parts


def _matcher(part: str) -> Part:
    """The matcher of one part, as wildmatch of git reads it; None stands for ``**``."""
    if part == "**":
        return None
    tokens: list[Part] = []
    tail = ""  # what comes after its last wildcard
    for token in _TOKEN.finditer(part):
        fitting = _ANY if token[0][0] == "*" else _characters(token)
        tokens.append(None if token[0][0] == "*" else fitting.__contains__)
        tail = tail + min(fitting) if len(fitting) == 1 else ""
    if len(tail) == len(tokens):
        return tail.__eq__
    return lambda name: name.endswith(tail) and matches(tokens, name)


def _characters(token: re.Match[str]) -> frozenset[str]:
    """The bytes that one token other than ``*`` stands for."""
    if token["quoted"] is not None:
        return frozenset(token["quoted"])  # a last backslash: none
    if token["set"] is None:
        return _ANY if token[0] == "?" else frozenset(token[0])
    found: set[str] = set()
    for element in _ELEMENT.finditer(token["set"]):
        kind, low, high = element.group("kind", "low", "high")
        if kind is None:
            found.update(low, _BYTES[ord(low) : ord(high or low) + 1])
        elif kind in _CLASSES:
            found.update(_CLASSES[kind])
        else:
            return frozenset()  # there is no such class: it matches nothing
    return _ANY - found if token["other"] else frozenset(found)
