"""
The tasks that one process runs: entered, started, ended.

`TaskTable._lock` guards the table and every task in it. Neither the store nor a spool is used, nor a callback called,
while it is held, except for the lengths of outputs. What is to be durable is stored first, and then known here.
"""

from __future__ import annotations

import os
import secrets
import threading
import time
import weakref
from collections import deque
from typing import TYPE_CHECKING, TypeAlias

from executor.errors import CapacityError, TaskNotFoundError
from executor.tasks._live import LiveTask, Progress, tell
from executor.tasks._spool import CAP, MemorySpool
from executor.values import TaskInfo, TaskStatus

if TYPE_CHECKING:
    from collections.abc import Callable

    from executor.tasks._durable import Durable
    from executor.tasks._spool import Spool
    from executor.values import Outcome

Tasks: TypeAlias = list[TaskInfo]  # `list` is a method's name in managers
KEPT = 1000  # acknowledged tasks that stay readable in memory; the others stay until they are acknowledged
KEPT_STORED = 100  # ended tasks that stay in memory although the store has them

_tables: weakref.WeakSet[TaskTable] = weakref.WeakSet()


class TaskTable:
    """What an executor does with tasks."""

    def __init__(self, *, output_cap: int = CAP) -> None:
        self._durable: Durable | None = None
        self._output_cap = output_cap
        self._begin()
        _tables.add(self)

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._tasks: dict[str, LiveTask] = {}
        self._over: deque[str] = deque()  # ended tasks that may be forgotten, in that order
        self._running = 0

    @property
    def running(self) -> int:
        """How many tasks of this manager have not ended."""
        return self._running

    def new_spool(self) -> Spool:
        """Where a call's output is kept from its start, in case it becomes a task."""
        if self._durable is None:
            return MemorySpool(self._output_cap)
        return self._durable.new_spool(self._output_cap)

    def add(
        self,
        tool_name: str,
        plugin_name: str,
        call_id: str,
        spool: Spool,
        *,
        cancel: Callable[[str | None], bool],
        reached: Callable[[], Progress],
        started: float | None = None,
        most: int | None = None,
    ) -> str:
        """
        Enter a task. When this returns, the id can be handed out.

        Args:
            cancel: Stops its work; returns whether that made the difference.
            reached: Its last progress.
            started: The monotonic time at which its work began; None: it is pending.
            most: How many tasks there may be, this one included.

        Raises:
            CapacityError: There are that many already.
            ExecutorUnavailableError, OSError: It cannot be stored.
        """
        self._make_room(tool_name, most)
        try:
            task_id = f"{plugin_name}_{secrets.token_hex(16)}"
            task = LiveTask(task_id, tool_name, plugin_name, call_id, spool)
            task.cancel, task.reached = cancel, reached
            if started is not None:
                task.begin(started)
            if self._durable is not None:
                spool.keep(task_id)
                self._durable.add(task.info(), self._output_cap, spool)
        except BaseException:
            with self._lock:
                self._running -= 1
            raise
        with self._lock:
            self._tasks[task_id] = task
        return task_id

    def _make_room(self, tool_name: str, most: int | None) -> None:
        with self._lock:
            if most is None or self._running < most:
                self._running += 1
                return
        running = self.describe_running()
        raise CapacityError(
            f"There are {most} background tasks, which is the limit: wait for one, or cancel one of "
            + ", ".join(running[:10]),
            running=running,
            tool_id=tool_name,
        )

    def remove(self, task_id: str) -> None:
        """Take back an id that was never handed out."""
        with self._lock:
            task = self._tasks.pop(task_id, None)
            if task is None:
                return
            self._running -= 1
            waiting, task.waiting = task.waiting, []
        if self._durable is not None:
            self._durable.remove(task_id)
        for gate in waiting:  # somebody who had it from `list`
            gate.set()

    def start(self, task_id: str, started: float | None = None) -> None:
        """Its work has begun (*started*: at this monotonic time)."""
        with self._lock:
            task = self._tasks.get(task_id)
            if task is None or not task.begin(started):
                return
            when = task.started or 0.0
        if self._durable is not None:
            self._durable.start(task_id, when)

    def finish(self, task_id: str, status: TaskStatus, outcome: Outcome, *, abandoned: bool = False) -> TaskInfo | None:
        """
        Give it its final state, result and end. None when it has one already: a late finisher changes nothing.

        Args:
            abandoned: Its thread is still at work.
        """
        with self._lock:
            task = self._tasks.get(task_id)
            if task is None or task.status.final or task.ending:
                return None
            task.ending = True
            task.ended, task.ended_clock = time.time(), time.monotonic()
            task.abandoned = abandoned
            task.progress = task.reached() if task.reached is not None else None
        task.spool.finish()
        info = task.info(status, outcome)
        if self._durable is not None:
            info, outcome = self._durable.finish(info, outcome)
        with self._lock:
            task.end(info.status, outcome)
            self._running -= 1
            if task.acknowledged or self._durable is not None:
                self._forget_old(task)
            waiting, task.waiting = task.waiting, []
            on_done, task.on_done = task.on_done, []
        for gate in waiting:
            gate.set()
        for fn in on_done:
            tell(fn, info)
        return info

    def came_back(self, task_id: str) -> None:
        """The thread of a task that was abandoned has come back."""
        with self._lock:
            task = self._tasks.get(task_id)
            if task is not None:
                task.abandoned = False
        if self._durable is not None:
            self._durable.came_back(task_id)

    def on_done(self, task_id: str, fn: Callable[[TaskInfo], object]) -> None:
        """Call *fn* once when the task has ended; at once, if it has."""
        with self._lock:
            task = self._tasks.get(task_id)
            if task is None:
                raise TaskNotFoundError(task_id)
            if not task.status.final:
                task.on_done.append(fn)
                return
            info = task.info()
        tell(fn, info)

    def claim(self, task_id: str) -> bool:
        """Whether the caller is the first to tell of the end of this task; asked before telling, it is told once."""
        with self._lock:
            task = self._tasks.get(task_id)
            if task is not None:
                if task.told:
                    return False
                task.told = True
        return self._durable is None or self._durable.claim(task_id)

    def untold(self, limit: int) -> Tasks:
        """Ended tasks, as in `undelivered`, of whose end nobody was told; claimed by being returned."""
        if self._durable is not None:
            return self._durable.untold(limit)
        with self._lock:
            found = [task for task in self._tasks.values() if task.status.final and not task.told][-limit:]
            for task in found:
                task.told = True
            return [task.info() for task in found]

    def live(self) -> Tasks:
        """The tasks of this manager, and of no other, that have not ended, newest first."""
        with self._lock:
            return [task.info() for task in reversed(self._tasks.values()) if not task.status.final]

    def describe_running(self) -> tuple[str, ...]:
        """One text a task of `live`: its id, tool and age."""
        return tuple(f"{task.id} ({task.tool_name}, {time.time() - task.created:.0f} s)" for task in self.live())

    def _stop(self, task_id: str, reason: str) -> bool:
        with self._lock:
            task = self._tasks.get(task_id)
            cancel = task.cancel if task is not None else None
        return cancel is not None and cancel(reason)

    def _forget_old(self, task: LiveTask) -> None:
        """*task* has ended and may be forgotten: the oldest of too many such are."""
        if self._durable is None:
            if task.acknowledged:
                self._over.append(task.id)
        elif task.id not in self._over:
            self._over.append(task.id)
        if len(self._over) > (KEPT if self._durable is None else KEPT_STORED):
            oldest = self._over.popleft()
            if self._durable is None or not self._durable.unsaved(oldest):
                self._tasks.pop(oldest, None)

    def _after_fork(self) -> None:
        self._begin()
        if self._durable is not None:
            self._durable.after_fork()


def _after_fork() -> None:
    # The threads that run the parent's tasks, and may have held a lock, are not in the child.
    for table in list(_tables):
        table._after_fork()  # noqa: SLF001 -- of this very module


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
