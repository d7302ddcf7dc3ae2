"""What git shows of files that it tracks, and that no tool may read: ``git diff``, ``git log -p``, ``git grep``."""

# ruff: noqa: PTH118 -- texts, not files
from __future__ import annotations

import os
import re
from bisect import bisect_left
from typing import TYPE_CHECKING

from executor_permissions.judge._expand import ANYWHERE
from executor_permissions.judge._git_index import tracked
from executor_permissions.judge._paths import UnclearPathError, under
from executor_permissions.judge._unwrap import program_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from executor_permissions.judge._expand import Folders
    from executor_permissions.judge._file_rules import FileRules, Found
    from executor_permissions.judge._links import Links

_MOST_COMPARED = 10_000  # times a tracked file is compared with a rule that has a wildcard, 2 µs each
_PATCH = re.compile(
    r"-(?:[pucWm]|[UL].*|-patch.*|-unified.*|-cc|-check|-word-diff.*|-color-words.*|-binary|-function-context"
    r"|-remerge-diff|-diff-merges.*)\Z"
)
_NO_PATCH = re.compile(
    r"-(?:[sq]|-no-patch|-quiet|-raw|-summary|-name-(?:only|status)|-(?:short|num|dir)?stat(?:=.*)?)\Z"
)
_ONLY_NAMES = re.compile(r"-(?:[A-Za-z]*[lLcq]|-files-with.*|-name-only|-count|-quiet)\Z")
_ABOUT_OBJECTS = re.compile(r"-(?:[tse]|-batch-check.*)\Z")
_VERBOSE = re.compile(r"-(?:[A-Za-z]*v|-verbose)\Z")
_PATCHES = frozenset({"diff", "show", "range-diff", "format-patch"})
_PATCHES_IF_TOLD = frozenset({"log", "whatchanged", "reflog", "stash", "diff-tree", "diff-index", "diff-files"})
_OTHERS = frozenset({"grep", "status", "commit", "archive", "cat-file"})
_TAKING_A_VALUE = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--exec-path"})
_TYPES = frozenset({"blob", "tree", "commit", "tag"})
LEAVING_OUT = re.compile(r":(?:[!^]|\(exclude\))")  # pathspecs for what a command of git is not about
_MAGIC = frozenset("*?[:")


class TrackedFiles:
    """
    Looks at what the git commands of one call may show of files that they are not given by name.

    Args:
        rules: The files that the policy keeps.
        links: Resolves paths.
    """

    def __init__(self, rules: FileRules, links: Links) -> None:
        self._rules = rules
        self._links = links
        self._known: dict[tuple[str, bool], list[Found]] = {}

    def shown(self, words: list[str], folders: Folders) -> tuple[str, str | None] | None:
        """Why *words* may show what no tool may read, and the rule about that; None if they do not."""
        if program_of(words) != "git":
            return None
        lead = _sub_command(words)
        if not _shows_content(words[lead:]):
            return None
        for folder in folders - {ANYWHERE}:
            try:
                reached = self._reached(words, lead, folder)
            except UnclearPathError as error:
                return str(error), None
            if reached is not None:
                return reached
        return None

    def _reached(self, words: list[str], lead: int, folder: str) -> tuple[str, str | None] | None:
        base = folder
        for i in range(1, lead - 1):
            if words[i] == "-C":
                base = os.path.join(base, words[i + 1])
        base = self._links.real(base, folder)
        top = _work_tree(base)
        if top is None:
            return None
        wanted, without = self._pathspecs(words[lead:], base)
        untracked = any(word.startswith("--untracked") for word in words)
        if (top, untracked) not in self._known:
            self._known[top, untracked] = list(self._kept(top, untracked=untracked))
        for one in self._known[top, untracked]:
            if one.path not in without and (not wanted or any(under(one.path, path) for path in wanted)):
                name = os.path.relpath(one.path, top)
                return f"it may show {name}, which a rule denies: ':!{name}' at its end leaves that out", one.rule
        return None

    def _pathspecs(self, words: Sequence[str], base: str) -> tuple[list[str], set[str]]:
        """The files and folders that it is about, none for all; and those that it leaves out."""
        end = words.index("--") if "--" in words else len(words)
        # What stands behind an option may be its value, and the first operand of grep is a pattern.
        given = [
            words[i]
            for i in range(1, end)
            if words[0] != "grep"
            and words[i][:1] != "-" != words[i - 1][:1]
            and os.path.lexists(os.path.join(base, words[i]))
        ]
        wanted: list[str] = []
        without: set[str] = set()
        everything = False
        for word in (*given, *words[end + 1 :]):
            excluded = LEAVING_OUT.match(word)
            if excluded is not None:
                without.add(os.path.normpath(os.path.join(base, word[excluded.end() :])))
            elif type(word) is not str or not _MAGIC.isdisjoint(word):
                everything = True
            else:
                wanted.append(self._links.real(os.path.join(base, word), base))
        return [] if everything else wanted, without

    def _kept(self, top: str, *, untracked: bool) -> Iterator[Found]:
        """The tracked files of the work tree *top* that no tool may read."""
        named = [one for one in self._rules.below(top) if one.kept == "read"]
        patterns = sum(one.kept == "read" for _, _, one in self._rules.patterns)
        if not named and not patterns:
            return
        names = None if untracked else tracked(top)
        for one in named:
            rest = one.path[len(top) + 1 :]
            if one.is_there() if names is None else _has(names, rest) or _has(names, rest + "/"):
                yield one
        if not patterns:
            return
        if names is None or len(names) * patterns > _MOST_COMPARED:
            raise UnclearPathError("it may show more files than are looked at")
        yield from self._rules.among(top, names)


def _sub_command(words: list[str]) -> int:
    """The index of git's sub-command."""
    at = 1
    while at < len(words) and words[at][:1] == "-":
        at += 2 if words[at] in _TAKING_A_VALUE else 1
    return at


def _shows_content(words: Sequence[str]) -> bool:
    """Whether a sub-command with these words prints lines of files that it is not given by name."""
    name = words[0] if words else ""
    if name not in _PATCHES and name not in _PATCHES_IF_TOLD and name not in _OTHERS:
        return False
    if len(words) == 1:
        return name in _PATCHES or name in ("grep", "archive")
    options = [word for word in words if word[:1] == "-"]
    operands = [word for word in words[1:] if word[:1] != "-" and not (name == "cat-file" and word in _TYPES)]
    if operands and all(word.find(":") > 0 for word in operands):
        return False  # HEAD:src/a.py
    if name in _PATCHES or name in _PATCHES_IF_TOLD:
        if any(map(_PATCH.match, options)):
            return True
        return name in _PATCHES and not any(map(_NO_PATCH.match, options))
    if name == "grep":
        return not any(map(_ONLY_NAMES.match, options))
    if name in ("status", "commit"):
        return any(map(_VERBOSE.match, options))
    return name == "archive" or (name == "cat-file" and not any(map(_ABOUT_OBJECTS.match, options)))


def _work_tree(folder: str) -> str | None:
    """The folder with ``.git`` that git finds from the resolved *folder*."""
    while not os.path.lexists(f"{folder}/.git"):
        if folder in ("", "/"):
            return None
        folder = folder.rpartition("/")[0]
    return folder


def _has(names: tuple[str, ...], start: str) -> bool:
    """Whether one of the sorted *names* is *start*, or begins with it if that ends in ``/``."""
    at = bisect_left(names, start)
    return at < len(names) and (names[at].startswith(start) if start[-1:] == "/" else names[at] == start)
