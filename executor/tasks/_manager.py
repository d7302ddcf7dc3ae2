"""
States, ids, waiting and output of background tasks.

`TaskManager._lock` guards the table and every task in it. Output has a lock of its own in each spool. Callbacks are
called after the lock is released.
"""

from __future__ import annotations

import os
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from executor._log import warn
from executor._types import TaskInfo, TaskStatus
from executor.errors import TaskNotFoundError, ToolExecutorError
from executor.tasks._spool import CAP, MemorySpool

if TYPE_CHECKING:
    from executor._output import CancelToken
    from executor._types import Outcome

Tasks: TypeAlias = list[TaskInfo]  # `list` is a method's name in here
KEPT = 1000  # acknowledged tasks that stay readable in memory; the others stay until they are acknowledged


class _Task:
    """One task. `call` is what still runs for it: how to stop it, and what it has reported."""

    __slots__ = (
        "abandoned", "acknowledged", "call_id", "cancel", "created", "ended", "ended_clock", "id", "on_done", "outcome",
        "plugin_name", "reached", "spool", "started", "started_clock", "status", "tool_name", "waiting",
    )  # fmt: skip

    def __init__(self, task_id: str, tool_name: str, plugin_name: str, call_id: str, spool: MemorySpool) -> None:
        self.id = task_id
        self.tool_name = tool_name
        self.plugin_name = plugin_name
        self.call_id = call_id
        self.spool = spool
        self.status = TaskStatus.PENDING
        self.created = time.time()
        self.started: float | None = None
        self.ended: float | None = None
        self.started_clock = self.ended_clock = 0.0
        self.outcome: Outcome | None = None
        self.acknowledged = False
        self.abandoned = False
        self.cancel: Callable[[str | None], bool] | None = None
        self.reached: Callable[[], tuple[float, float | None, str | None] | None] | None = None
        self.on_done: list[Callable[[TaskInfo], object]] = []
        self.waiting: list[threading.Event] = []


class TaskManager:
    """
    The background tasks of a host; made by `in_memory`.

    A task is in exactly one state; a final state never changes. Its result has the shape of a foreground call's.
    """

    def __init__(self, *, output_cap: int = CAP) -> None:
        self._lock = threading.Lock()
        self._tasks: dict[str, _Task] = {}
        self._running = 0
        self._output_cap = output_cap
        self._owner = f"{os.getpid()}"

    @classmethod
    def in_memory(cls, *, output_cap: int = CAP) -> TaskManager:
        """
        Tasks that live as long as this object.

        Args:
            output_cap: How many bytes of output are kept of each task.
        """
        return cls(output_cap=output_cap)

    # For hosts and tools -----------------------------------------------------------------------------------------

    def get(self, task_id: str) -> TaskInfo:
        """What is known of a task now. Raises TaskNotFoundError."""
        with self._lock:
            return self._info(self._find(task_id))

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
        with self._lock:
            found: Tasks = []
            for task in reversed(self._tasks.values()):
                if limit is not None and len(found) >= limit:
                    break
                if (wanted is None or task.status is wanted) and (tool is None or task.tool_name == tool):
                    found.append(self._info(task))
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
        for name, number in (("offset", offset), ("limit", limit)):
            if number is not None and (type(number) is not int or number < 0):
                raise ValueError(f"{name} is {number!r}, not a whole number from 0 on")
        with self._lock:
            spool = self._find(task_id).spool
        return spool.read(offset, limit)

    def result(self, task_id: str) -> Outcome:
        """
        (success, value), as `execute` would have returned it.

        Raises:
            TaskNotFoundError: No such task.
            ToolExecutorError: It has not ended; `wait` for it.
        """
        with self._lock:
            task = self._find(task_id)
            if task.outcome is None:
                raise ToolExecutorError(
                    f"The task {task_id} is {task.status}: wait for it before asking for its result"
                )
            return task.outcome

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
            task = self._find(task_id)
            if task.status.final:
                return self._info(task)
            task.waiting.append(gate)
        forget = cancel.on_cancel(gate.set) if cancel is not None else None
        try:
            gate.wait(timeout)
        finally:
            if forget is not None:
                forget()
        with self._lock:
            if gate in task.waiting:
                task.waiting.remove(gate)
            return self._info(task)

    def cancel(self, task_id: str, reason: str | None = None) -> bool:
        """
        Stop a task's work.

        Returns:
            Whether this is what ended it; False when it had ended before.

        Raises:
            TaskNotFoundError: No such task.
        """
        with self._lock:
            cancel = self._find(task_id).cancel
        return cancel is not None and cancel(reason or "The task was cancelled")

    def undelivered(self) -> Tasks:
        """The tasks that have ended and were not acknowledged, in the order of their end."""
        with self._lock:
            ended = [task for task in self._tasks.values() if task.status.final and not task.acknowledged]
            return [self._info(task) for task in sorted(ended, key=lambda task: task.ended or 0.0)]

    def ack(self, task_id: str) -> None:
        """The result of this task has reached whom it was for. Raises TaskNotFoundError."""
        with self._lock:
            self._find(task_id).acknowledged = True
            done = [task.id for task in self._tasks.values() if task.acknowledged and task.status.final]
            for old in done[: max(0, len(done) - KEPT)]:
                del self._tasks[old]

    def prune(self, older_than: float = 0.0) -> int:
        """Forget tasks that ended more than *older_than* seconds ago, acknowledged or not. Returns how many."""
        limit = time.time() - older_than
        with self._lock:
            old = [task.id for task in self._tasks.values() if task.ended is not None and task.ended <= limit]
            for task_id in old:
                del self._tasks[task_id]
            return len(old)

    # For the executor --------------------------------------------------------------------------------------------

    @property
    def running(self) -> int:
        """How many tasks have not ended."""
        return self._running

    def new_spool(self) -> MemorySpool:
        """Where a call's output is kept from its start, in case it becomes a task."""
        return MemorySpool(self._output_cap)

    def add(
        self,
        tool_name: str,
        plugin_name: str,
        call_id: str,
        spool: MemorySpool,
        *,
        cancel: Callable[[str | None], bool],
        reached: Callable[[], tuple[float, float | None, str | None] | None],
        started: float | None = None,
    ) -> str:
        """
        Enter a task. When this returns, the id can be handed out.

        Args:
            cancel: Stops its work; returns whether that made the difference.
            reached: Its last progress.
            started: The monotonic time at which its work began; None: it is pending.
        """
        task_id = f"{plugin_name}_{secrets.token_hex(16)}"
        task = _Task(task_id, tool_name, plugin_name, call_id, spool)
        task.cancel, task.reached = cancel, reached
        with self._lock:
            self._tasks[task_id] = task
            self._running += 1
        if started is not None:
            self.start(task_id, started)
        return task_id

    def remove(self, task_id: str) -> None:
        """Take back an id that was never handed out."""
        with self._lock:
            if self._tasks.pop(task_id, None) is not None:
                self._running -= 1

    def start(self, task_id: str, started: float | None = None) -> None:
        """Its work has begun (*started*: at this monotonic time)."""
        ago = 0.0 if started is None else time.monotonic() - started
        with self._lock:
            task = self._tasks.get(task_id)
            if task is not None and task.status is TaskStatus.PENDING:
                task.status = TaskStatus.RUNNING
                task.started, task.started_clock = time.time() - ago, time.monotonic() - ago

    def finish(self, task_id: str, status: TaskStatus, outcome: Outcome) -> TaskInfo | None:
        """Give it its final state, result and end. None when it has one already: a late finisher changes nothing."""
        with self._lock:
            task = self._tasks.get(task_id)
            if task is None or task.status.final:
                return None
            task.status, task.outcome = status, outcome
            task.ended, task.ended_clock = time.time(), time.monotonic()
            task.cancel = None
            self._running -= 1
            info = self._info(task)
            waiting, task.waiting = task.waiting, []
            on_done, task.on_done = task.on_done, []
        for gate in waiting:
            gate.set()
        for fn in on_done:
            _tell(fn, info)
        return info

    def abandon(self, task_id: str, *, abandoned: bool) -> None:
        """Its thread is still at work although it has a final state, or has come back now."""
        with self._lock:
            task = self._tasks.get(task_id)
            if task is not None:
                task.abandoned = abandoned

    def on_done(self, task_id: str, fn: Callable[[TaskInfo], object]) -> None:
        """Call *fn* once when the task has ended; at once, if it has."""
        with self._lock:
            task = self._find(task_id)
            if not task.status.final:
                task.on_done.append(fn)
                return
            info = self._info(task)
        _tell(fn, info)

    def describe_running(self) -> tuple[str, ...]:
        """One text a running task: its id, tool and age."""
        return tuple(
            f"{task.id} ({task.tool_name}, {time.time() - task.created:.0f} s)"
            for task in self.list()
            if not task.status.final
        )

    def _find(self, task_id: str) -> _Task:
        task = self._tasks.get(task_id)
        if task is None:
            raise TaskNotFoundError(task_id)
        return task

    def _info(self, task: _Task) -> TaskInfo:
        now = task.ended_clock if task.status.final else time.monotonic()
        error = None
        if task.outcome is not None and not task.outcome[0]:
            value = task.outcome[1]
            error = str(value.get("error")) if isinstance(value, Mapping) else str(value)
        return TaskInfo(
            id=task.id,
            status=task.status,
            tool_name=task.tool_name,
            plugin_name=task.plugin_name,
            call_id=task.call_id,
            created=task.created,
            started=task.started,
            ended=task.ended,
            duration=max(0.0, now - task.started_clock) if task.started is not None else 0.0,
            error=error,
            output_bytes=task.spool.size,
            owner=self._owner,
            progress=task.reached() if task.reached is not None else None,
            abandoned=task.abandoned,
        )


def _tell(fn: Callable[[TaskInfo], object], info: TaskInfo) -> None:
    try:
        fn(info)
    except Exception as error:  # noqa: BLE001 -- who is told does not decide how a task ended
        warn(f"A done-callback of the task {info.id} raised: {error!r}", error=error)
