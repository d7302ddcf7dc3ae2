"""Walking folders without following links, and the glob patterns by which entries are chosen."""

from __future__ import annotations

import fnmatch
import os
import re
from typing import TYPE_CHECKING, TypeAlias

from executor import paths
from executor.errors import ToolFailedError
from executor_files._common import check_stop

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

Part: TypeAlias = "Callable[[str], object] | None"
_MAX_ALTERNATIVES = 100  # what the braces of one pattern may expand to
_STOP_EVERY = 1000  # entries of a folder that are read between two looks whether the call should stop


class Walk:
    """
    The entries of a folder in order of their names, and with *recursive* of the folders below, each after its parent.

    Links are entries like others, and never followed. Each folder is opened without following links, so that one that
    is swapped for a link meanwhile is left out.

    Args:
        skip: Says of a name whether it is passed over.
        closed: Says of the path of a folder below the top whether it is not entered.
        leave_out: Says the same of a path below the top, and whether it is a folder.

    Attributes:
        unreadable: How many folders below could not be listed.
    """

    def __init__(
        self,
        top: Path,
        *,
        recursive: bool,
        skip: Callable[[str], bool],
        closed: Callable[[str], bool],
        leave_out: Callable[[str, bool], bool] | None = None,
    ) -> None:
        self._top = top
        self._recursive = recursive
        self._skip = skip
        self._closed = closed
        self._leave_out = leave_out
        self.unreadable = 0

    def __iter__(self) -> Iterator[tuple[str, os.DirEntry[str]]]:
        """
        Give (path below the top, entry); the entry's ``stat`` works until the next one is taken.

        Raises:
            OSError: The top folder cannot be listed.
        """
        pending = [""]
        while pending:
            below = pending.pop()
            if below and self._closed(below):
                continue
            try:
                folder = paths.open_resolved(self._top / below, os.O_RDONLY | os.O_DIRECTORY)
            except OSError:
                if not below:
                    raise
                self.unreadable += 1
                continue
            try:
                inner = []
                for entry in self._entries(folder):
                    path, is_folder = f"{below}{entry.name}", entry.is_dir(follow_symlinks=False)
                    if self._leave_out is not None and self._leave_out(path, is_folder):
                        continue
                    if self._recursive and is_folder:
                        inner.append(path + "/")
                    yield path, entry
                pending.extend(reversed(inner))
            finally:
                os.close(folder)

    def _entries(self, folder: int) -> list[os.DirEntry[str]]:
        entries = []
        with os.scandir(folder) as scan:
            for number, entry in enumerate(scan):
                if number % _STOP_EVERY == 0:
                    check_stop()
                if not self._skip(entry.name):
                    entries.append(entry)
        entries.sort(key=lambda entry: entry.name)
        return entries


class Glob:
    """
    A pattern of the usual kind: ``*`` and ``?`` within a name, ``[a-z]``, ``{a,b}``, ``**`` over any number of folders.

    Without a ``/`` it is matched against the name, with one against the whole path below the folder.

    Raises:
        ToolFailedError: Its braces have too many alternatives.
    """

    def __init__(self, pattern: str) -> None:
        pattern = pattern.removeprefix("./")
        self.spans_folders = "/" in pattern or pattern == "**"
        self._alternatives = [[part_matcher(part) for part in one.split("/") if part] for one in _expand(pattern)]

    def __call__(self, path: str) -> bool:
        parts = path.split("/") if self.spans_folders else [path.rpartition("/")[2]]
        return any(matches(pattern, parts) for pattern in self._alternatives)


def part_matcher(part: str) -> Part:
    """The matcher of one part; None stands for ``**``."""
    # fnmatch makes patterns that cannot backtrack without bound, whatever a model writes.
    return None if part == "**" else re.compile(fnmatch.translate(part)).match


def _nothing(_part: str) -> None:
    """The matcher past the end of a pattern."""


def matches(pattern: Sequence[Part], parts: Sequence[str]) -> bool:
    """Whether the parts match; like matching ``*`` in a text, the last ``**`` alone needs to be tried again."""
    at = step = 0
    retry: tuple[int, int] | None = None
    while at < len(parts):
        matcher = pattern[step] if step < len(pattern) else _nothing
        if matcher is None:
            retry = (step, at)
            step += 1
        elif matcher(parts[at]):
            step += 1
            at += 1
        elif retry is not None:
            retry = (retry[0], retry[1] + 1)
            step, at = retry[0] + 1, retry[1]
        else:
            return False
    return all(matcher is None for matcher in pattern[step:])


def _expand(pattern: str) -> list[str]:
    done: list[str] = []
    todo = [pattern]
    while todo:
        one = todo.pop()
        match = re.search(r"\{([^{}]*,[^{}]*)\}", one)  # the innermost braces
        if match is None:
            done.append(one)
        else:
            todo += [one[: match.start()] + choice + one[match.end() :] for choice in match[1].split(",")]
        if len(done) + len(todo) > _MAX_ALTERNATIVES:
            raise ToolFailedError(
                f"The pattern {pattern!r} has more than {_MAX_ALTERNATIVES} alternatives: use fewer {{}}"
            )
    return done
