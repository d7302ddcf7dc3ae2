"""
States, ids, waiting and output of background tasks.

`TaskManager._lock` guards the table and every task in it. Neither the store nor a spool is used, nor a callback called,
while it is held, except for the lengths of outputs. What is to be durable is stored first, and then known here.
"""

from __future__ import annotations

import os
import secrets
import threading
import time
import weakref
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from executor._types import TaskInfo, TaskStatus
from executor.errors import CapacityError, TaskNotFoundError, ToolExecutorError
from executor.tasks._live import LiveTask, Progress, tell
from executor.tasks._spool import CAP, MemorySpool
from executor.tasks._stream import check

if TYPE_CHECKING:
    from collections.abc import Callable

    from executor._output import CancelToken
    from executor._types import Outcome
    from executor.tasks._durable import Durable
    from executor.tasks._spool import Spool

Tasks: TypeAlias = list[TaskInfo]  # `list` is a method's name in here
KEPT = 1000  # acknowledged tasks that stay readable in memory; the others stay until they are acknowledged
KEPT_STORED = 100  # ended tasks that stay in memory although the store has them
POLL = 0.1  # seconds between two looks at a task of another process

_managers: weakref.WeakSet[TaskManager] = weakref.WeakSet()


class TaskManager:
    """
    The background tasks; made by `open` or `in_memory`.

    A task is in exactly one state; a final state never changes. Its result has the shape of a foreground call's.

    From `open`, every method that has to look at the store may raise ExecutorUnavailableError.
    """

    def __init__(self, *, output_cap: int = CAP) -> None:
        self._durable: Durable | None = None
        self._output_cap = output_cap
        self._begin()
        _managers.add(self)

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._tasks: dict[str, LiveTask] = {}
        self._over: deque[str] = deque()  # ended tasks that may be forgotten, in that order
        self._running = 0

    @classmethod
    def in_memory(cls, *, output_cap: int = CAP) -> TaskManager:
        """
        Tasks that live as long as this object.

        Args:
            output_cap: How many bytes of output are kept of each task.
        """
        return cls(output_cap=output_cap)

    @classmethod
    def open(
        cls, folder: str | os.PathLike[str] | None = None, *, host: str | None = None, output_cap: int = CAP
    ) -> TaskManager:
        """
        Tasks that outlive this process, and are seen by all processes of the user. Nothing is opened before a task is.

        Args:
            folder: Where they are kept; by default the user's state folder.
            host: A name under which a host finds, when it is started again, what was not delivered before; by default
                the program's name and the working folder.
            output_cap: How many bytes of output are kept of each task.
        """
        from executor.tasks._durable import Durable

        made = cls(output_cap=output_cap)
        stop = weakref.WeakMethod(made._stop)  # the other way round nothing would ever be freed
        made._durable = Durable(
            Path(folder) if folder is not None else None, host, lambda *asked: (found := stop()) and found(*asked)
        )
        weakref.finalize(made, made._durable.close)
        return made

    # For hosts and tools -----------------------------------------------------------------------------------------

    def get(self, task_id: str) -> TaskInfo:
        """What is known of a task now. Raises TaskNotFoundError."""
        with self._lock:
            task = self._tasks.get(task_id)
            if task is not None:
                return task.info()
        return self._elsewhere(task_id).get(task_id)

    def list(
        self, state: TaskStatus | str | None = None, tool: str | None = None, limit: int | None = None
    ) -> list[TaskInfo]:
        """
        The tasks, newest first.

        Args:
            state: Only those in this state. Raises ValueError for a word that is no state.
            tool: Only those of this tool.
            limit: At most so many.
        """
        wanted = TaskStatus(state) if state is not None else None
        if self._durable is not None:
            stored = self._durable.newest(wanted, tool, limit)
            with self._lock:  # of those that run here more is known
                known = [task.info() if (task := self._tasks.get(info.id)) is not None else info for info in stored]
            return [info for info in known if wanted is None or info.status is wanted]
        with self._lock:
            found: Tasks = []
            for task in reversed(self._tasks.values()):
                if limit is not None and len(found) >= limit:
                    break
                if (wanted is None or task.status is wanted) and (tool is None or task.tool_name == tool):
                    found.append(task.info())
            return found

    def output(self, task_id: str, offset: int = 0, limit: int | None = None) -> tuple[str, int, int]:
        """
        Output from byte *offset* of the stream on.

        Args:
            limit: At most so many bytes; a character is never cut.

        Returns:
            (text, offset to go on from, bytes between the two offsets that are gone). At the end: ("", offset, 0).

        Raises:
            TaskNotFoundError: No such task.
            ValueError: An offset or limit that is negative or no integer.
        """
        check(offset, limit)
        with self._lock:
            task = self._tasks.get(task_id)
        if task is None:
            return self._elsewhere(task_id).read(task_id, offset, limit)
        return task.spool.read(offset, limit)

    def result(self, task_id: str) -> Outcome:
        """
        (success, value), as `execute` would have returned it.

        Raises:
            TaskNotFoundError: No such task.
            ToolExecutorError: It has not ended; `wait` for it.
        """
        with self._lock:
            task = self._tasks.get(task_id)
            outcome = task.outcome if task is not None else None
        if task is None:
            info = self._elsewhere(task_id).get(task_id)  # which also looks whether its owner is there
            outcome = self._elsewhere(task_id).outcome(task_id)
        else:
            info = self.get(task_id)
        if outcome is None:
            raise ToolExecutorError(f"The task {task_id} is {info.status}: wait for it before asking for its result")
        return outcome

    def wait(self, task_id: str, timeout: float | None = None, *, cancel: CancelToken | None = None) -> TaskInfo:
        """
        The task once it has ended, or as it is when *timeout* seconds have passed.

        Args:
            cancel: Ends the wait early.

        Raises:
            TaskNotFoundError: No such task.
        """
        gate = threading.Event()
        with self._lock:
            task = self._tasks.get(task_id)
            if task is not None and task.status.final:
                return task.info()
            if task is not None:
                task.waiting.append(gate)
        forget = cancel.on_cancel(gate.set) if cancel is not None else None
        try:
            if task is None:
                return self._wait_elsewhere(task_id, timeout, gate)
            gate.wait(None if timeout is None else min(timeout, threading.TIMEOUT_MAX))
        finally:
            if forget is not None:
                forget()
        with self._lock:
            if gate in task.waiting:
                task.waiting.remove(gate)
            return task.info()

    def _wait_elsewhere(self, task_id: str, timeout: float | None, gate: threading.Event) -> TaskInfo:
        deadline = None if timeout is None else time.monotonic() + timeout
        durable = self._elsewhere(task_id)
        while True:
            info = durable.get(task_id)
            left = POLL if deadline is None else min(POLL, deadline - time.monotonic())
            if info.status.final or left <= 0 or gate.wait(left):
                return info

    def cancel(self, task_id: str, reason: str | None = None) -> bool:
        """
        Stop a task's work. Of a task of another process that one is asked to do it, and waited for a few seconds.

        Returns:
            Whether this is what ended it; False when it had ended before.

        Raises:
            TaskNotFoundError: No such task.
        """
        reason = reason or "The task was cancelled"
        with self._lock:
            here = task_id in self._tasks
        return self._stop(task_id, reason) if here else self._elsewhere(task_id).cancel(task_id, reason)

    def _stop(self, task_id: str, reason: str) -> bool:
        with self._lock:
            task = self._tasks.get(task_id)
            cancel = task.cancel if task is not None else None
        return cancel is not None and cancel(reason)

    def undelivered(self) -> Tasks:
        """
        The tasks that have ended and were not acknowledged, in the order of their end.

        From `open`: those of this manager, and those of this host whose process is gone.
        """
        if self._durable is not None:
            return self._durable.undelivered()
        with self._lock:
            ended = [task for task in self._tasks.values() if task.status.final and not task.acknowledged]
            return [task.info() for task in sorted(ended, key=lambda task: task.ended_clock)]

    def ack(self, task_id: str) -> None:
        """The result of this task has reached whom it was for. Raises TaskNotFoundError."""
        if self._durable is not None:
            self._durable.acknowledge(task_id)
        with self._lock:
            task = self._tasks.get(task_id)
            if task is None and self._durable is None:
                raise TaskNotFoundError(task_id)
            if task is not None and not task.acknowledged:
                task.acknowledged = True
                if task.status.final:
                    self._forget_old(task)

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

    def prune(self, older_than: float = 0.0) -> int:
        """Forget tasks that ended more than *older_than* seconds ago, acknowledged or not. Returns how many."""
        limit = time.time() - older_than
        stored = set(self._durable.prune(limit)) if self._durable is not None else None
        with self._lock:
            if stored is None:
                stored = {task.id for task in self._tasks.values() if task.status.final and (task.ended or 0) <= limit}
            for task_id in stored:
                self._tasks.pop(task_id, None)
            return len(stored)

    def close(self) -> None:
        """
        This process has no more to do with tasks: those that still run are `interrupted` from now on.

        It happens by itself when the manager is no longer used, and when the process exits.
        """
        if self._durable is not None:
            self._durable.close()

    # For the executor --------------------------------------------------------------------------------------------

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

    def describe_running(self) -> tuple[str, ...]:
        """One text a running task of this manager: its id, tool and age."""
        with self._lock:
            running = [task for task in reversed(self._tasks.values()) if not task.status.final]
        return tuple(f"{task.id} ({task.tool_name}, {time.time() - task.created:.0f} s)" for task in running)

    def _elsewhere(self, task_id: str) -> Durable:
        """Where a task is that this manager does not run. Raises TaskNotFoundError: nowhere."""
        if self._durable is None:
            raise TaskNotFoundError(task_id)
        return self._durable

    def _after_fork(self) -> None:
        self._begin()
        if self._durable is not None:
            self._durable.after_fork()


def _after_fork() -> None:
    # The threads that run the parent's tasks, and may have held a lock, are not in the child.
    for manager in list(_managers):
        manager._after_fork()  # noqa: SLF001 -- of this very module


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
