"""
What a repository's ``.gitignore`` files leave out, as gitignore(5) has it.

The last pattern that matches decides; what is in a folder that is left out is left out, whatever a pattern says of it.
Patterns of a user's own (``core.excludesFile``) are not read.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from executor import paths
from executor_files._walk import matches, part_matcher

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from executor_files._walk import Part

_MAX_READ = 1 << 20  # bytes of one file of patterns
_NAME = ".gitignore"


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
            text = opened.read(_MAX_READ).decode("utf-8", "surrogateescape")
    except OSError:  # most folders have none
        return []
    return [found for line in text.split("\n") if (found := _pattern(line.removesuffix("\r"))) is not None]


def _verdict(patterns: list[_Pattern], path: str, *, folder: bool) -> bool | None:
    parts = path.split("/")
    for pattern in reversed(patterns):
        if (folder or not pattern.folders_only) and matches(pattern.parts, parts):
            return pattern.ignores
    return None


def _pattern(line: str) -> _Pattern | None:
    """A line of such a file; None for one that says nothing."""
    line = re.sub(r"(?<!\\) +$", "", line)
    if line.startswith("#"):
        return None
    ignores = not line.startswith("!")
    line = line if ignores else line[1:]
    folders_only = line.endswith("/")
    line = line.rstrip("/")
    parts = [part for part in line.split("/") if part]
    if not parts:
        return None
    if "/" not in line:
        parts = ["**", *parts]  # anywhere
    if parts[-1] == "**":
        parts.append("*")  # all that is in it, and not itself
    return _Pattern([part_matcher(_glob(part)) for part in parts], folders_only, ignores)


def _glob(part: str) -> str:
    """A name with git's wildcards as `fnmatch` has them: a backslash is for what comes after it, ^ is no other !."""
    plain = re.sub(r"\\(.)", lambda found: f"[{found[1]}]" if found[1] in "*?[" else found[1], part, flags=re.DOTALL)
    return plain.replace("[^", "[!")
