"""
Links that a command makes or takes along: behind ``ln -s .env x``, the name ``x`` does not say which file is meant.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from executor_permissions.judge.bash._expand import ANYWHERE
from executor_permissions.judge.bash._words import Glob
from executor_permissions.judge.git._work_tree import puts_files_of_commits
from executor_permissions.judge.options import walk
from executor_permissions.judge.paths._globbed import WILDCARD
from executor_permissions.judge.paths._overlap import may_meet
from executor_permissions.judge.paths._paths import UnclearPathError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from executor_permissions.judge.bash._expand import Folders
    from executor_permissions.judge.paths._links import Links
    from executor_permissions.judge.runs._runs import Run

_LINKERS = frozenset({"ln", "tar", "bsdtar", "unzip", "cpio", "7z", "rsync", "patch"})
MAKERS = _LINKERS | {"git", "mv", "cp"}  # nothing else may make a link
MAKING_LINKS = re.compile(r"-[^-]*[sl]|--(?:s|li)")  # cp --symbolic-link, --link
_KEEPING = re.compile(r"-[^-]*[adPrR]|--(?:a|no-d|r|pr)")  # cp --archive, --no-dereference, --recursive, --preserve
_MOST_ENTRIES = 2000  # files that are looked at for one decision


class LinkMakers:
    """
    Looks at what the commands of one call copy and move.

    Args:
        links: Resolves paths.
    """

    def __init__(self, links: Links) -> None:
        self._links = links
        self._entries = 0

    def may_link(self, run: Run, folders: Folders) -> bool:
        """
        Whether *run*, in one of *folders*, may make a link to somewhere else.

        A relative link that is moved, with a folder or alone, leads elsewhere as well.
        """
        words, program = run.words, run.program
        if program == "git":
            return puts_files_of_commits(words)
        if program == "mv" or (program == "cp" and any(map(_KEEPING.match, words))):
            making = program == "cp" and any(map(MAKING_LINKS.match, words))
            return making or any(self._holds_links(path, folder) for path in _taken(words) for folder in folders)
        return program in _LINKERS or (program == "cp" and any(map(MAKING_LINKS.match, words)))

    def _holds_links(self, path: str, folder: str) -> bool:
        """Whether *path* is or may be a link, or a folder in which there is one."""
        if folder == ANYWHERE or type(path) not in (str, Glob):
            return True
        wildcard = WILDCARD.search(path) if type(path) is Glob else None
        start = path if wildcard is None else path[: path.rfind("/", 0, wildcard.start()) + 1]
        try:
            entry = self._links.place(os.path.join(folder, start), folder).entry  # noqa: PTH118 -- text, not a file
            if wildcard is None and self._links.real(entry) != entry:
                return True
        except UnclearPathError:
            return True
        return self._is_below(entry, "*" if wildcard is None else path[len(start) :].partition("/")[0])

    def _is_below(self, top: str, pattern: str) -> bool:
        """Whether a link is in the folder *top*, at or below one of the entries that *pattern* fits."""
        self._links.looked_beyond = True
        waiting = [top]
        while waiting:
            folder = waiting.pop()
            try:
                with os.scandir(folder) as entries:
                    for entry in entries:
                        self._entries += 1
                        if folder == top and not may_meet(f"/{pattern}", f"/{entry.name}", dots=pattern == "*"):
                            continue
                        if entry.is_symlink() or self._entries > _MOST_ENTRIES:
                            return True
                        if entry.is_dir(follow_symlinks=False):
                            waiting.append(entry.path)
            except NotADirectoryError:
                continue
            except OSError:  # also what is not there yet
                return True
        return False


def _taken(words: list[str]) -> Iterable[str]:
    """What a copy or a move takes: all but the last operand, or all of it that may be one."""
    found = walk(words)
    if found is None or found.reach >= 0:
        return [word for word in words[1:] if word[:1] != "-"]
    return [*found.reads, *found.writes[:-1]]
