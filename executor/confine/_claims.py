"""
The repositories that boxes of a project have made, and the rebases that they have begun: they stay theirs, to be
changed and removed by the next ones.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from executor.confine import _kernel, _records
from executor.confine._folders import in_use

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from executor.confine._repositories import Repositories

# A box that has run for longer, as servers do, is not taken for whoever made what came meanwhile.
_LONGEST = 3_600 * 1_000_000_000  # nanoseconds
_PARTS = ("HEAD", "config", "objects", "refs")  # of a repository
_RUNS, _RECORD = "runs", "repositories.json"
_BARE = ("HEAD", "objects", "refs")  # by what git takes a folder for a repository
_NONE, _A_BARE_ONE = 0, 1  # for a time: what the project was when a box began that may give it a repository


class Claims:
    """
    Each is told by its path and by when it was made, which no command can change; where a file system does not say
    that, none is a box's own. All methods are called while the boxes' folder is held.

    Args:
        boxes: The folder of a project's boxes.
    """

    def __init__(self, boxes: str) -> None:
        self._runs, self._record = os.path.join(boxes, _RUNS), os.path.join(boxes, _RECORD)

    def others(self, nested: Repositories) -> Repositories:
        """Those of *nested* that no box has made, or may be making now."""
        if not nested.trees and not nested.bare:
            return nested
        return _chosen(nested, self._is_other())

    def others_begun(self, begun: Iterable[str]) -> tuple[str, ...]:
        """Those of *begun* (`_closed.begun`) that no box has begun, or may be beginning now."""
        begun = tuple(begun)
        return tuple(filter(self._is_other(), begun)) if begun else ()

    def _is_other(self) -> Callable[[str], bool]:
        claimed, running = self._listed(), self._running_since()

        def is_other(path: str) -> bool:
            told = _told(path)
            # Of the same tick of the clock: a box takes longer to start, so it was there before.
            return not told or (abs(told) <= running and claimed.get(path) != told)

        return is_other

    def may_have_made(self, project: str) -> bool:
        """Whether the repository of *project* itself is a box's, or may be one of those that are there now."""
        git = os.path.join(project, ".git")
        told = _told(git)
        listed = self._listed().get(git)
        return listed in (_NONE, _A_BARE_ONE) or (told != 0 and not self._is_other()(git))

    def expect(self, project: str) -> None:
        """
        A box begins that may write *project*. Where that has no ``.git``, whatever comes there until no box is left is
        a box's, though nobody be left to say so, and whenever it was made: it may be moved there. Raises OSError.
        """
        git, listed = os.path.join(project, ".git"), self._listed()
        if not os.path.lexists(git) and listed.get(git) not in (_NONE, _A_BARE_ONE):
            _records.write(self._record, {**listed, git: _A_BARE_ONE if _is_bare(project) else _NONE})

    def is_expected(self, project: str) -> bool:
        """Whether one has begun in *project* so."""
        return self._listed().get(os.path.join(project, ".git")) in (_NONE, _A_BARE_ONE)

    def _still_expected(self, project: str, run: str) -> bool:
        git = os.path.join(project, ".git")
        came = os.path.lexists(git) or (_is_bare(project) and self._listed().get(git) != _A_BARE_ONE)
        return came or any(other != run for other in in_use(self._runs))

    def add(self, nested: Repositories, run: str, begun: Iterable[str] = (), project: str = "") -> None:
        """
        A box is over, whose TMPDIR is *run*: what came while it was there is its own. Raises OSError.

        Args:
            nested: The repositories that are there.
            run: Its TMPDIR.
            begun: What git has begun there.
            project: That it could write.
        """
        began = _began(run)
        before, claimed = self._listed(), {}
        for repository in (*_all(nested), *begun):
            told = _told(repository)
            if told and (before.get(repository) == told or abs(told) > began):
                claimed[repository] = told
        if self.is_expected(project) and self._still_expected(project, run):
            git = os.path.join(project, ".git")
            claimed[git] = before[git]
        if claimed != before:
            _records.write(self._record, claimed)

    def _running_since(self) -> int:
        """When the first of the boxes began that are there now."""
        return min(map(_began, in_use(self._runs)), default=time.time_ns())

    def _listed(self) -> dict[str, int]:
        found = _records.read(self._record)
        try:
            return {str(path): int(born) for path, born in found.items()}
        except (TypeError, ValueError, AttributeError):
            return {}


def _told(path: str) -> int:
    """
    When *path* was made; less than nothing for a folder that is called ``.git`` and is no repository yet.

    Whoever makes one of that later has made it, whoever has made the folder.
    """
    born = _kernel.born(path)
    if os.path.basename(path) != ".git" or not os.path.isdir(path):
        return born
    return born if all(os.path.lexists(os.path.join(path, name)) for name in _PARTS) else -born


def _is_bare(folder: str) -> bool:
    return all(os.path.lexists(os.path.join(folder, name)) for name in _BARE)


def _began(run: str) -> int:
    """When a box began; the end of time if that is not known, or too long ago."""
    now, began = time.time_ns(), _kernel.born(run)
    return began if now - began < _LONGEST else now


def _all(nested: Repositories) -> Iterable[str]:
    return (*(os.path.join(tree, ".git") for tree in nested.trees), *nested.bare)


def _chosen(nested: Repositories, keep: Callable[[str], bool]) -> Repositories:
    trees = tuple(tree for tree in nested.trees if keep(os.path.join(tree, ".git")))
    return nested._replace(trees=trees, bare=tuple(filter(keep, nested.bare)))
