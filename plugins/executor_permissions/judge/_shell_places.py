"""
Where a command writes, and whose code it runs, by the table of its program.

Outside the project, and in a repository's own folder, only a rule that names the place covers it: ``cp *`` is no leave
to write ``~/.bashrc`` or ``.git/hooks``, nor ``pytest *`` to run the tests of another project.
"""

# ruff: noqa: SIM905 -- sets of words are read, and changed, best as a line of words
from __future__ import annotations

import os
import re
import shlex
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Literal, NamedTuple

from executor_permissions.judge._expand import ANYWHERE
from executor_permissions.judge._paths import UnclearPathError, under
from executor_permissions.judge._unwrap import program_of
from executor_permissions.judge.options import walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from executor_permissions.judge._expand import Folders
    from executor_permissions.judge._links import Links
    from executor_permissions.judge._words import Command

_MAX_NESTING = 8
_WILDCARD = re.compile(r"[*?\[]")
# Where programs may leave what nobody keeps.
_FREE = ("/tmp", "/var/tmp")  # noqa: S108 -- compared, not opened
_STREAMS = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "-"})
# They may make a link that leads anywhere: what is written behind them may not be where it seems.
_LINKERS = frozenset({"ln", "tar", "bsdtar", "unzip", "cpio", "7z", "rsync", "patch"})
_COPIES_LINKS = re.compile(r"-[^-]*[adPrR]|--(?:archive|no-dereference|recursive|preserve)")
# Of git what puts no file of a commit into the work tree, where it may be a link.
_GIT_WITHOUT_FILES = frozenset(
    "status diff log show add commit fetch branch remote tag config blame describe grep shortlog reflog push ls-files"
    " ls-tree ls-remote cat-file for-each-ref name-rev rev-parse rev-list merge-base diff-tree diff-index diff-files"
    " show-ref symbolic-ref count-objects var version help whatchanged range-diff format-patch archive gc".split()
)
# Of these what does not look at the files of the work tree either, and so not into repositories among them.
_GIT_WITHOUT_TREE = _GIT_WITHOUT_FILES - frozenset(
    "status diff add commit describe grep ls-files diff-index diff-files".split()
)


class Use(NamedTuple):
    """What a command does to a file or folder that it is given; the path as it is written."""

    verb: Literal["writes", "runs"]
    path: str


def uses_of(command: Command) -> tuple[Use, ...]:
    """What *command* is given to write and to run."""
    return tuple(_uses(command.words, 0))


def _uses(words: list[str], depth: int) -> Iterator[Use]:
    found = walk(words) if words and depth <= _MAX_NESTING else None
    if found is None:
        return
    yield from (Use("writes", path) for path in found.writes if path not in _STREAMS)
    yield from (Use("runs", path.partition("::")[0]) for path in found.runs)
    for start, end in found.inner:
        yield from _uses(words[start:end], depth + 1)


def makes_links(command: Command) -> bool:
    """Whether *command* may make a link to somewhere else."""
    words, program = command.words, program_of(command.words)
    if program == "git":
        return _sub_command(words) not in _GIT_WITHOUT_FILES
    if program == "cp":
        return any(_COPIES_LINKS.match(word) for word in words[1:])
    return program in _LINKERS


def looks_at_the_tree(words: Sequence[str]) -> bool:
    """Whether this command of git looks at the files of the work tree, and into repositories among them."""
    return _sub_command(words) not in _GIT_WITHOUT_TREE and "--ignore-submodules=all" not in words


def _sub_command(words: Sequence[str]) -> str:
    """What git is to do; "" if that cannot be told."""
    at = next((i for i in range(1, len(words)) if words[i][:1] != "-" and words[i - 1] not in ("-C", "-c")), 0)
    return words[at] if at else ""


class Destinations:
    """
    Says of files that are written or run whether a rule has to name them.

    Args:
        project: The folder in which it need not.
    """

    def __init__(self, project: str, links: Links) -> None:
        self._project = project
        self._links = links

    def unnamed(self, uses: Iterable[Use], folders: Folders, rule: str | None) -> str | None:
        """Why *rule* does not cover all of *uses*, in whichever of *folders*; None if it does."""
        for use in uses:
            for place in self._places(_fixed(use.path), folders):
                why = self._why(use, place)
                if why is not None and not _names(rule, use.path):
                    return why
        return None

    def _places(self, path: str, folders: Folders) -> Iterator[str | None]:
        for folder in folders:
            try:
                yield None if folder == ANYWHERE else self._links.real(os.path.join(folder, path), folder)  # noqa: PTH118 -- text, not a file
            except UnclearPathError:
                yield None

    def _why(self, use: Use, place: str | None) -> str | None:
        if place is None:
            return f"it {use.verb} {use.path}, and nobody knows where that is"
        if under(place, self._project):
            inside = "/.git/" in place[len(self._project) :] + "/"
            return f"it {use.verb} what is in a repository's own folder: {use.path}" if inside else None
        if any(under(place, free) for free in _FREE):
            return None
        return f"it {use.verb} what is outside the project: {use.path}"


def _fixed(path: str) -> str:
    """The folder in which a glob's names are; any other path as it is."""
    wildcard = _WILDCARD.search(path)
    return path if wildcard is None else path[: path.rfind("/", 0, wildcard.start()) + 1] or "."


def _names(rule: str | None, path: str) -> bool:
    """Whether one of the words of *rule*, other than a mere ``*``, is *path*."""
    try:
        words = shlex.split(rule or "")
    except ValueError:
        words = (rule or "").split()
    return any(word != "*" and (word == path or fnmatchcase(path, word)) for word in words)
