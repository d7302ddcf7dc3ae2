"""What a box under Landlock is made from: a TMPDIR, and the ruleset that lets it be written."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, NamedTuple

from executor.confine import _kernel
from executor.confine._disk import Disk
from executor.confine._folders import Temporary, boxes_of, cache_of, own_elsewhere
from executor.confine._mounted import Watch, mounts
from executor.confine._places import devices_elsewhere, secrets
from executor.confine._real import check_project
from executor.confine._rulesets import Allowance, Ruleset

if TYPE_CHECKING:
    from executor.confine._mounted import Mount
    from executor.confine._places import Places
    from executor.values._profile import Profile


class Want(NamedTuple):
    """What is asked for."""

    profile: Profile
    places: Places


class Slot:
    """
    A TMPDIR, and a ruleset that lets it be written: for one command at a time.

    Raises:
        ConfinementError: The project is behind a link.
        OSError: It cannot be made.
    """

    def __init__(self, want: Want) -> None:
        check_project(want.profile, os.path.realpath)
        self._want = want
        boxes = boxes_of(want.profile.project, want.places)
        self.temporary = Temporary(os.path.join(boxes, "kept"))
        self._boxes = boxes
        self.cache = self.temporary.path
        self._folders = [self.temporary.path]
        with contextlib.ExitStack() as undo:
            undo.callback(self.temporary.close)
            if want.profile.name != "read":
                self.cache = cache_of(boxes)
                self._folders += [self.cache, *filter(os.path.isdir, (want.profile.project,))]
            self._watch = Watch()
            undo.callback(self._watch.close)
            self._uncertain = False  # whether something may have been mounted since
            self._mounted = mounts()
            self.ruleset = self._made(Disk(self._mounted))
            undo.pop_all()

    def _made(self, disk: Disk) -> Ruleset:
        own = own_elsewhere(self._boxes, self._want.places, self._mounted)
        allowance = _allowance(self._want, self._folders, own, disk, self._mounted)
        return Ruleset(allowance, min(_kernel.landlock_abi(), _kernel.NEWEST_ABI), disk)

    def fresh(self) -> bool:
        """Whether no folder that it lists, nor what is mounted, has changed."""
        return self._mounted_as_before() and self.ruleset.fresh()

    def renew(self) -> None:
        """Have its ruleset be as it would be made now: with more rules if that is all. Raises OSError."""
        as_before = self._mounted_as_before()
        if not as_before:
            self._mounted = mounts()
        disk = Disk(self._mounted)
        if as_before and self.ruleset.caught_up(disk):
            return
        before, self.ruleset = self.ruleset, self._made(disk)
        before.close()

    def _mounted_as_before(self) -> bool:
        self._uncertain = self._uncertain or self._watch.changed()
        if self._uncertain and self._mounted == mounts():
            self._uncertain = False
        return not self._uncertain

    def close(self) -> None:
        """The command, if there was one, has ended."""
        self.ruleset.close()
        self._watch.close()
        self.temporary.close()


def _allowance(
    want: Want, folders: list[str], also_hidden: tuple[str, ...], disk: Disk, mounted: tuple[Mount, ...]
) -> Allowance:
    profile = want.profile
    hidden = (*secrets(profile, want.places, disk, mounted), *also_hidden, *devices_elsewhere(mounted))
    if profile.name != "read":
        # What is hidden below the project would keep all that a command makes beside it from being read.
        root = profile.project.rstrip("/") + "/"
        hidden = tuple(path for path in hidden if not path.startswith(root))
    return Allowance(hidden, tuple(folders), profile.writable, profile.name == "network", profile.project)
