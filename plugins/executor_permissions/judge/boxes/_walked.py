"""The files that there are now for a rule with a ``*``: of ``**/*.pem`` each such file, as a box is told paths only."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, NamedTuple

from executor_permissions.judge.paths._paths import under

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from executor_permissions.judge.rules._file_rules import FileRules, Found, Several

# ruff: noqa: PTH116, PTH118 -- text, as in _paths, and by the ten thousands

MOST_NAMES = 100_000  # that are looked at; each costs some microseconds once, and a folder one look for each command
_SETTLED = 2_000_000_000  # ns after its last change from which a folder's time tells the next one
_NO_FILES = ("/proc", "/sys", "/dev")


class _Folder(NamedTuple):
    """What was found in a folder: its stamp, how many names, what rules fit, where to look next and in which states."""

    stamp: tuple[int, int, int]
    names: int
    found: tuple[Found, ...]
    next: tuple[tuple[str, tuple[int, ...]], ...]


class Walked:
    """
    Looks for the files that the rules about several are about, and remembers folders that have not changed.

    Args:
        files: The rules.
        project: What is kept from being written is kept only below it.
    """

    def __init__(self, files: FileRules, project: str) -> None:
        self._files = files
        self._project = project
        self._known: dict[str, _Folder] = {}

    def found(self) -> tuple[list[Found], str | None]:
        """All that there are; and a rule that may be about more than could be looked at, if there is one."""
        rules = [rule for rule in self._files.several if rule.about.kept != "other"]
        found: list[Found] = []
        seen = 0
        known: dict[str, _Folder] = {}
        folders = [(path, tuple(self._going(rule, path) for rule in rules)) for path in self._starts(rules)]
        for path, states in folders:  # those nearest to where rules begin come first
            folder = self._looked(path, rules, states) if any(states) else None
            if folder is None:
                continue
            seen += folder.names
            if seen > MOST_NAMES:
                self._known = known
                return found, next(rule.about.rule for rule, state in zip(rules, states, strict=True) if state)
            known[path] = folder
            found += folder.found
            folders += folder.next
        self._known = known
        return found, None

    def _starts(self, rules: Iterable[Several]) -> Iterator[str]:
        starts = set()
        for rule in rules:
            if rule.about.kept == "read" or under(rule.root, self._project):
                starts.add(rule.root)
            elif under(self._project, rule.root):
                starts.add(self._project)
        return (one for one in sorted(starts) if not any(one != other and under(one, other) for other in starts))

    def _looked(self, path: str, rules: list[Several], states: tuple[int, ...]) -> _Folder | None:
        """What is in the folder *path*, in which the *rules* are in these *states*; None if there is none."""
        try:
            status = os.stat(path, follow_symlinks=False)
        except OSError:
            return None
        stamp = status.st_dev, status.st_ino, status.st_ctime_ns
        known = self._known.get(path)
        if known is not None and known.stamp == stamp:
            return known
        now = time.time_ns()
        try:
            names, found, further = self._listed(path, rules, states)
        except NotADirectoryError:
            return None
        except OSError:  # it cannot be listed, but may be made so: as a whole
            going = [rule for rule, state in zip(rules, states, strict=True) if state]
            names, found, further = 0, [rule.about._replace(path=path) for rule in going], []
        # One that changed just now may change again without another time: it is looked at again.
        if now - status.st_ctime_ns < _SETTLED:
            stamp = 0, 0, 0
        return _Folder(stamp, names, tuple(found), tuple(further))

    def _listed(
        self, path: str, rules: list[Several], states: tuple[int, ...]
    ) -> tuple[int, list[Found], list[tuple[str, tuple[int, ...]]]]:
        names, found, further = 0, [], []
        in_project = under(path, self._project)
        with os.scandir(path) as entries:
            for entry in entries:
                names += 1
                if names > MOST_NAMES:
                    break
                one = os.path.join(path, entry.name)
                read, left = False, states
                for at, rule in enumerate(rules):
                    if states[at] and (in_project or rule.about.kept == "read") and rule.glob.fits(one):
                        found.append(rule.about._replace(path=one))
                        read = read or rule.about.kept == "read"  # closed as a whole
                        left = (*left[:at], 0, *left[at + 1 :])
                if read or not entry.is_dir(follow_symlinks=False) or one in _NO_FILES:
                    continue
                further_on = tuple(self._further(*pair, one, entry.name) for pair in zip(rules, left, strict=True))
                if any(further_on):
                    further.append((one, further_on))
        return names, found, further

    def _further(self, rule: Several, state: int, folder: str, name: str) -> int:
        """The state of *rule* below *folder*, whose last part is *name*."""
        if not state or not self._is_kept(rule, folder):
            return 0
        # Behind a ** that crosses folders it goes on in all of them.
        return state if state & rule.glob.crossing else rule.glob.behind(name + "/", state)

    def _going(self, rule: Several, folder: str) -> int:
        return rule.glob.behind(folder.rstrip("/") + "/") if self._is_kept(rule, folder) else 0

    def _is_kept(self, rule: Several, folder: str) -> bool:
        """Whether a box keeps what is in *folder*, or below it, as *rule* says."""
        return rule.about.kept == "read" or under(folder, self._project) or under(self._project, folder)
