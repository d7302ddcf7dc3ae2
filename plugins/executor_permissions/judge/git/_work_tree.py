"""Where the work tree is, and whether a command of git looks at its files, or puts others there."""

# ruff: noqa: SIM905 -- sets of words are read, and changed, best as a line of words
from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from executor_permissions.judge.git._shows import shows_patches

if TYPE_CHECKING:
    from collections.abc import Sequence

    from executor_permissions.judge.paths._links import Links

# What puts no file of a commit into the work tree, where it may be a link.
_WITHOUT_FILES = frozenset(
    "status diff log show add commit fetch branch remote tag config blame describe grep shortlog reflog push ls-files"
    " ls-tree ls-remote cat-file for-each-ref name-rev rev-parse rev-list merge-base diff-tree diff-index diff-files"
    " show-ref symbolic-ref count-objects var version help whatchanged range-diff format-patch archive gc".split()
)
# Of these what does not look at the files of the work tree either, and not into repositories among them.
_WITHOUT_TREE = _WITHOUT_FILES - frozenset(
    "status diff add commit describe grep ls-files diff-index diff-files fetch remote push".split()
)
_ELSEWHERE = frozenset(
    "GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_COMMON_DIR GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES".split()
)
_PATHSPECS = re.compile(r"GIT_[A-Z]+_PATHSPECS\Z")
_INTO_REPOSITORIES = re.compile("--submodule|--recurse-submodules")


def work_tree_of(folder: str, links: Links) -> str | None:
    """The folder with ``.git`` that git finds from *folder*, which is absolute; None if there is none."""
    while not links.exists(f"{folder}/.git"):
        if folder in ("", "/"):
            return None
        folder = folder.rpartition("/")[0]
    return folder


def sent_elsewhere() -> str | None:
    """
    The variable of the environment by which git takes another repository, index or work tree than it finds by itself,
    or reads paths in another way; None if there is none. A hook of git's that runs us sets some: see git(1).
    """
    return next((name for name in os.environ if name in _ELSEWHERE or _PATHSPECS.match(name)), None)


def puts_files_of_commits(words: Sequence[str]) -> bool:
    """Whether this command of git may put files of a commit into the work tree."""
    return plain_sub_command(words) not in _WITHOUT_FILES


def looks_at_the_tree(words: Sequence[str]) -> bool:
    """Whether this command of git looks at the files of the work tree, and into repositories among them."""
    if any(map(_INTO_REPOSITORIES.match, words)):
        return True
    if "--ignore-submodules=all" in words:
        return False
    name = plain_sub_command(words)
    if name == "push":  # unless told otherwise here, by the user's settings (push.recurseSubmodules)
        return "--no-recurse-submodules" not in words
    # With the user's diff.submodule a patch is what git diff shows in there.
    return name not in _WITHOUT_TREE or shows_patches(words[words.index(name) :] if name else [])


def plain_sub_command(words: Sequence[str]) -> str:
    """
    The name of git's sub-command, as far as it needs no knowledge of git's options; "" if there is none.

    Behind ``--git-dir`` it is the folder: a name that stands for nothing, as of any repository but the one that git
    finds by itself nothing is known.
    """
    for i in range(1, len(words)):
        if words[i][:1] != "-" and words[i - 1] not in ("-C", "-c"):
            return words[i]
    return ""
