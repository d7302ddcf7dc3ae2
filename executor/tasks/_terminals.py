"""The terminals of the tasks that one process runs: found by the task's id, here and, over a socket, elsewhere."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from executor._log import warn

if TYPE_CHECKING:
    from collections.abc import Callable

    from executor.tasks._door import Door
    from executor.values._terminal import Terminal


class Terminals:
    """
    The terminals of the tasks of one table.

    Args:
        shared: Whether other processes see the tasks.

    `_lock` guards the tables. A terminal that came is met elsewhere when `look` returns; one that went is not.
    """

    def __init__(self, *, shared: bool) -> None:
        self._shared = shared
        self._lock = threading.RLock()
        self._news = threading.Condition(self._lock)
        self._found: dict[str, Terminal] = {}
        self._doors: dict[str, Door] = {}

    def look(self, task_id: str, get: Callable[[], Terminal | None]) -> None:
        """A task has a terminal now, or none any more."""
        with self._lock:
            terminal = get()  # under the lock: of two that look, the last one sees what is
            old = None
            if self._found.get(task_id) is not terminal:
                self._found.pop(task_id, None)
                old = self._doors.pop(task_id, None)
                if terminal is not None:
                    self._found[task_id] = terminal
                    self._open(task_id, terminal)
            self._news.notify_all()
        if old is not None:
            old.close()

    def _open(self, task_id: str, terminal: Terminal) -> None:
        if not self._shared:
            return
        from executor.permission._meeting import Meeting, can_meet  # sockets, as the next

        if not can_meet():
            return
        from executor.tasks._door import Door  # asyncio, wanted once there is a terminal

        try:
            self._doors[task_id] = Door(task_id, terminal, Meeting())
        except Exception as error:  # noqa: BLE001 -- the command goes on, whoever can type to it
            warn(f"The terminal of the task {task_id} is for its own process only: {error}", error=error)

    def find(self, task_id: str, seconds: float = 0.0) -> Terminal | None:
        """The terminal of a task; one that is about to have one is waited for."""
        with self._lock:
            self._news.wait_for(lambda: task_id in self._found, seconds)
            return self._found.get(task_id)

    def abandon(self) -> None:
        """This process is a fork: what it has inherited must not keep the sockets open. Its locks may be held."""
        for door in list(self._doors.values()):
            door.abandon()
