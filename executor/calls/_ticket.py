"""How one call stands in line, as whoever made the request sees it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from executor.calls._lines import Request

if TYPE_CHECKING:
    from collections.abc import Hashable

    from executor.calls._lines import Resume
    from executor.calls._locks import Locks


class Ticket(Request):
    """The request of one call, made by `Locks.request`. Whoever made it calls `release` in the end, granted or not."""

    __slots__ = ("_locks",)

    def __init__(self, locks: Locks, owner: Hashable, parents: tuple[Hashable, ...], label: str) -> None:
        super().__init__(owner, parents, label)
        self._locks = locks

    @property
    def waiting_for(self) -> str | None:
        """What it waits for now and who has that, for people; None when it does not wait."""
        return self._locks.describe(self)

    def block(self) -> None:
        """
        Wait in this thread until it is granted. An interrupt leaves it in its lines, until `release`.

        Raises:
            BaseException: What `abandon` was given.
            ToolCancelledError: It was released while it waited.
        """
        if self.granted:
            return
        gate = threading.Lock()
        gate.acquire()
        self.then(lambda _: gate.release())
        gate.acquire()
        if self.error is not None:
            raise self.error

    def then(self, resume: Resume) -> None:
        """
        Call *resume* once: with None when it is granted, with the error that ended the wait otherwise.

        That is now if it has happened, else in the thread that makes it happen, or one in its place, which is kept from
        its own work meanwhile: leave to a worker what takes long.
        """
        if not self._locks.notify(self, resume):
            resume(self.error)

    def abandon(self, error: BaseException) -> None:
        """Leave all lines at once, and end the wait with *error*. What is granted already stays so, until `release`."""
        self._locks.leave(self, error)

    def release(self) -> None:
        """Give back what is held, and let the next ones begin. Again, or while it waits, is no error."""
        self._locks.leave(self, None)
