"""Starting commands under Landlock, in boxes that are kept for the next one."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Any

from executor.confine._filter import filters_of_keeper
from executor.confine._forkserver import Keeper, inherited, servers
from executor.confine._landlock import Slot

if TYPE_CHECKING:
    from collections.abc import Mapping

    from executor.confine._landlock import Want
    from executor.confine._process import Process
    from executor.confine._values import Box

_MOST_KEPT = (
    4  # for commands that run at the same time; each is a small process, a folder, descriptors and kernel memory
)


class Kept:
    """
    A slot, and the keeper that starts commands in it: for one command at a time.

    Raises:
        OSError: It cannot be made.
    """

    def __init__(self, want: Want, box: Box, standing: object) -> None:
        self.made_from = want, box, standing
        self._ended: list[Keeper] = []
        self._keeper = self._new_keeper()  # is forked while the rest is made
        try:
            self.slot = Slot(want)
            try:
                self._enter()
            except BaseException:
                self.slot.close()
                raise
        except BaseException:
            self._keeper.close()
            raise

    def _new_keeper(self) -> Keeper:
        _, box, standing = self.made_from
        return Keeper(standing, filters_of_keeper(box))

    def _enter(self) -> None:
        ruleset = self.slot.ruleset
        self._keeper.enter(ruleset.descriptor, scoped=ruleset.scoped)

    def refresh(self) -> None:
        """Make anew what is not any more as it should be. Raises OSError; then it is closed."""
        try:
            fresh = self.slot.fresh()
            if fresh and self._keeper.ready():
                return
            self._ended.append(self._keeper)
            self._keeper = self._new_keeper()
            if not fresh:
                self.slot.renew()
            self._enter()
        except BaseException:
            self.close()
            raise

    def start(self, argv: list[str], env: Mapping[str, str], **told: Any) -> Process:
        """See `Keeper.start`."""
        return self._keeper.start(argv, env, **told)

    def ours(self) -> bool:
        """Whether it is this process's, and not the one's that this was forked from."""
        return self._keeper.ours()

    def over(self) -> None:
        """The command has ended: end what it left running."""
        self._keeper.over()
        ended, self._ended = self._ended, []
        for keeper in ended:  # only now, when nobody waits for it; and it is not waited for itself until the next time
            if keeper.dismiss():
                self._ended.append(keeper)
            else:
                keeper.close()

    def close(self) -> None:
        """The command, if there was one, has ended."""
        self._keeper.over()
        for keeper in (*self._ended, self._keeper):
            keeper.close()
        self.slot.close()


class Slots:
    """What is kept for the next command: to make a box costs ten times what it costs to use one."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Have none: after a fork they are the parent's."""
        self._lock = threading.Lock()  # guards what follows
        self._kept: list[Kept] = []

    def take(self, want: Want, box: Box) -> Kept:
        """One for nobody else, until it is given back. Raises OSError."""
        standing = inherited()
        found = self._pop((want, box, standing))
        if found is None:
            return Kept(want, box, standing)
        found.refresh()
        return found

    def _pop(self, made_from: tuple[Want, Box, object]) -> Kept | None:
        with self._lock:
            found = next((each for each in self._kept if each.made_from == made_from), None)
            if found is not None:
                self._kept.remove(found)
            return found

    def give_back(self, kept: Kept) -> None:
        """The command is over."""
        kept.over()
        if not kept.ours() or not kept.slot.temporary.emptied():
            kept.close()
            return
        with self._lock:
            self._kept.append(kept)
            surplus = self._kept.pop(0) if len(self._kept) > _MOST_KEPT else None
        if surplus is not None:
            surplus.close()

    def close(self) -> None:
        """Give up all that are kept, and what they come from."""
        with self._lock:
            kept, self._kept = self._kept, []
        for each in kept:
            with contextlib.suppress(OSError):  # what is left of it is removed by the next box
                each.close()
        servers.close()
