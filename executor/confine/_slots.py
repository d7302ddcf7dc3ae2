"""Starting commands under Landlock, in boxes that are kept for the next one."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Any

from executor.confine import _kernel
from executor.confine._filter import filters_of_keeper
from executor.confine._forkserver import Keeper, Kind, servers
from executor.confine._landlock import Slot
from executor.confine._standing import inherited

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
        self._keeper = self._new_keeper()  # is forked while the rest is made
        try:
            self.slot = Slot(want)
        except BaseException:
            self._keeper.close()
            raise

    def _new_keeper(self) -> Keeper:
        _, box, standing = self.made_from
        return Keeper(standing, Kind(*filters_of_keeper(box), _kernel.landlock_abi() >= _kernel.ABI_OF_SCOPES))

    def refresh(self) -> None:
        """Make anew what is not any more as it should be. Raises OSError; then it is closed."""
        try:
            if not self.slot.fresh():
                self.slot.renew()
            if not self._keeper.ready():
                self._keeper.close()
                self._keeper = self._new_keeper()
        except BaseException:
            self.close()
            raise

    def start(self, argv: list[str], env: Mapping[str, str], **told: Any) -> Process:
        """See `Keeper.start`."""
        return self._keeper.start(self.slot.ruleset.descriptor, argv, env, **told)

    def ours(self) -> bool:
        """Whether it is this process's, and not the one's that this was forked from."""
        return self._keeper.ours()

    def over(self) -> None:
        """The command has ended, or is to end: end all that is in the box."""
        self._keeper.over()

    def close(self) -> None:
        """The command, if there was one, has ended."""
        with contextlib.ExitStack() as stack:  # to the end, whatever is interrupted of it
            stack.callback(self.slot.close)
            stack.callback(self._keeper.close)
            self._keeper.over()


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
        surplus, stored = kept, False
        try:
            kept.over()
            if kept.ours() and kept.slot.temporary.emptied():
                with self._lock:
                    stored = True
                    self._kept.append(kept)
                    if len(self._kept) <= _MOST_KEPT:
                        return
                    surplus = self._kept.pop(0)
        finally:
            if not stored or surplus is not kept:
                surplus.close()

    def close(self) -> None:
        """Give up all that are kept, and what they come from."""
        with self._lock:
            kept, self._kept = self._kept, []
        for each in kept:
            with contextlib.suppress(OSError):  # what is left of it is removed by the next box
                each.close()
        servers.close()
