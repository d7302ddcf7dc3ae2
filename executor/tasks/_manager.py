"""What hosts and tools ask about background tasks, and where a task is found that another process runs."""

from __future__ import annotations

import threading
import time
import weakref
from pathlib import Path
from typing import TYPE_CHECKING

from executor.errors import TaskNotFoundError, ToolExecutorError
from executor.tasks._spool import CAP
from executor.tasks._stream import check
from executor.tasks._table import Tasks, TaskTable
from executor.values import TaskInfo, TaskStatus

if TYPE_CHECKING:
    import os

    from executor.calls._token import CancelToken
    from executor.tasks._durable import Durable
    from executor.values import Outcome

POLL = 0.1  # seconds between two looks at a task of another process


class TaskManager(TaskTable):
    """
    The background tasks; made by `open` or `in_memory`.

    A task is in exactly one state; a final state never changes. Its result has the shape of a foreground call's.

    From `open`, every method that has to look at the store may raise ExecutorUnavailableError.
    """

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

    def _elsewhere(self, task_id: str) -> Durable:
        """Where a task is that this manager does not run. Raises TaskNotFoundError: nowhere."""
        if self._durable is None:
            raise TaskNotFoundError(task_id)
        return self._durable
