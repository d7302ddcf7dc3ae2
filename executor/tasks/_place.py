"""The folder of the tasks of a user, and what this process has open in it. Nothing is opened before it is needed."""

from __future__ import annotations

import logging  # noqa: F401 -- at the first warning it might be in the middle of a fork, which its locks do not bear
import os
import threading
from typing import TYPE_CHECKING, TypeVar

from executor.errors import ExecutorUnavailableError
from executor.tasks._changes import ENGINE, add_owner
from executor.tasks._damage import set_aside
from executor.tasks._engines import Engines
from executor.tasks._files import OutputFolder
from executor.tasks._owners import OwnerLock
from executor.tasks._processes import birth
from executor.tasks._recovery import Life, life, sweep
from executor.tasks._store import Store
from executor.tasks._thread import Change, StoreThread

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable
    from pathlib import Path

T = TypeVar("T")
CLOSE = 5.0  # seconds to store what is not stored yet when a process ends, if the store can be written at all


class Place:
    """
    A store, its writing thread, the folder of outputs, and this process as an owner of tasks.

    Args:
        folder: Where everything is.
        patience: Seconds for another process to be done with the store, or None; see `Store`.

    Attributes:
        owner: This process as an owner, once it has a task.
    """

    def __init__(self, folder: Path, patience: float | None = None) -> None:
        self.folder = folder
        self.store = Store(folder / "tasks.db", self._seems_damaged, patience)
        self.thread = StoreThread(self.store, self._damaged)
        self.output = OutputFolder(folder / "output")
        self.engines = Engines()
        self.owner: OwnerLock | None = None
        self._pid = os.getpid()
        self._birth = birth(self._pid)
        self._swept = False
        self._lock = threading.Lock()  # guards the making of the owner

    @property
    def owners(self) -> Path:
        """Where the locks of all owners are."""
        return self.folder / "owners"

    @property
    def own_id(self) -> str:
        """This process as an owner; empty as long as it has no tasks."""
        return self.owner.id if self.owner is not None else ""

    def write(self, apply: Callable[[sqlite3.Connection], T], /) -> T:
        """Write to the store, and wait for it. Raises ExecutorUnavailableError within half a second."""
        return self.thread.do(apply)

    def present(self, connection: sqlite3.Connection) -> str:
        """
        This process is an owner of tasks: its lock and its row are there, made anew if somebody has taken them away.

        Called within a transaction by the thread that writes, which so comes to look for the dead, too.
        """
        owner = self.make_owner()
        add_owner(connection, owner.id, self._pid, self._birth)
        return owner.id

    def make_owner(self) -> OwnerLock:
        """The lock of this process, made or made anew if need be. Raises ExecutorUnavailableError."""
        with self._lock:
            if self.owner is None:
                self.owner = OwnerLock(self.owners)
            elif not self.owner.intact:
                self.owner.renew()
            return self.owner

    @property
    def intact(self) -> bool:
        """Whether what this process has made is where others look for it."""
        return self.owner is None or (self.owner.intact and self.store.writer.intact)

    def swept(self) -> Store:
        """The store; before it is used for the first time the tasks of dead owners are interrupted, if that can be."""
        if not self._swept:
            self._swept = True
            try:
                self.sweep(None)
            except ExecutorUnavailableError:  # whoever reads is told, if that cannot be done either
                self._swept = False
        return self.store

    def sweep(self, among: set[str] | None) -> int:
        """Interrupt the tasks of dead owners. Returns how many. Raises ExecutorUnavailableError."""
        return sweep(self.store, self.write, self.output, self.owners, self.own_id, among)

    def lives(self, owner: str) -> bool:
        """Whether an owner is there. Raises ExecutorUnavailableError."""
        return owner in (self.own_id, ENGINE) or life(self.store, self.owners, owner) is Life.ALIVE

    # A damaged file ----------------------------------------------------------------------------------------------

    def _seems_damaged(self) -> None:
        self.thread.put(Change(_nothing, before=self._damaged))

    def _damaged(self) -> bool:
        return set_aside(self.store)

    # The end -----------------------------------------------------------------------------------------------------

    def close(self) -> bool:
        """Free everything. Returns whether all that was to be stored is."""
        self.engines.close()
        stored = self.thread.close(CLOSE)
        if self.owner is not None:
            if stored:
                self.owner.release()
            else:
                self.owner.leave()  # what was told stays in its file, for whoever comes after
        self.store.close()
        return stored

    def hold(self, seconds: float) -> bool:
        """Keep everything as it is while the process forks. Returns whether it is; then `release` it."""
        if not self.store.hold(seconds):
            return False
        if self._lock.acquire(timeout=seconds):  # in this order: the owner is made within transactions
            return True
        self.store.release()
        return False

    def release(self) -> None:
        """The end of `hold`."""
        self._lock.release()
        self.store.release()

    def leave(self) -> None:
        """This process is a forked child: it owns nothing, and touches nothing of its parent's."""
        if self.owner is not None:
            self.owner.leave()


def _nothing(_: sqlite3.Connection) -> None:
    pass
