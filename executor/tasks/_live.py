"""One task that this process runs, or has run."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from executor._log import warn
from executor.values import TaskInfo, TaskStatus

if TYPE_CHECKING:
    from executor.tasks._spool import Spool
    from executor.tasks._thread import Change
    from executor.threads._gate import Gate
    from executor.values import Outcome, ToolResult

Progress: TypeAlias = tuple[float, float | None, str | None] | None


class LiveTask:
    """A task, guarded by its manager's lock. `cancel`, `reached` and `waits` are of what still runs for it."""

    __slots__ = (
        "abandoned", "acknowledged", "call_id", "cancel", "conversation", "created", "early", "ended", "ended_clock",
        "ending", "id", "left", "on_done", "outcome", "plugin_name", "progress", "reached", "result", "spool",
        "started", "started_clock", "status", "told", "tool_name", "waited_for", "waiting", "waits",
    )  # fmt: skip

    def __init__(
        self,
        task_id: str,
        tool_name: str,
        plugin_name: str,
        call_id: str,
        spool: Spool,
        conversation: str | None = None,
    ) -> None:
        self.id = task_id
        self.tool_name = tool_name
        self.plugin_name = plugin_name
        self.call_id = call_id
        self.conversation = conversation
        self.spool = spool
        self.status = TaskStatus.PENDING
        self.created = time.time()
        self.started: float | None = None
        self.ended: float | None = None
        self.started_clock = self.ended_clock = 0.0
        self.ending = False  # its end is being stored
        self.left = False  # an engine has it, and this process looks no more after it
        self.early: Change[None] | None = None  # what makes a row of it before its id is told
        self.outcome: Outcome | None = None
        self.result: ToolResult | None = None  # None: nobody made one of the outcome
        self.acknowledged = False
        self.told = False
        self.abandoned = False
        self.cancel: Callable[[str | None], bool] | None = None
        self.reached: Callable[[], Progress] | None = None
        self.waits: Callable[[], str | None] | None = None
        self.progress: Progress = None  # the last one that was stored, or, once it has ended, that there was
        self.waited_for: str | None = None  # what was last stored of `waits`
        self.on_done: list[Callable[[TaskInfo], object]] = []
        self.waiting: list[Gate] = []

    def begin(self, started: float | None) -> bool:
        """Its work has begun, at this monotonic time. Returns False when it had before."""
        if self.status is not TaskStatus.PENDING or self.ending:
            return False
        ago = 0.0 if started is None else time.monotonic() - started
        self.status = TaskStatus.RUNNING
        self.started, self.started_clock = time.time() - ago, time.monotonic() - ago
        return True

    def end(self, status: TaskStatus, outcome: Outcome, result: ToolResult | None) -> None:
        """It has this end."""
        self.status, self.outcome, self.result = status, outcome, result
        self.cancel = self.reached = self.waits = None  # nothing of the call is held on to

    def info(self, status: TaskStatus | None = None, outcome: Outcome | None = None) -> TaskInfo:
        """As everybody sees it; with *status* and *outcome* as it will be once it has ended so."""
        status = status or self.status
        outcome = outcome or self.outcome
        now = self.ended_clock if status.final else time.monotonic()
        error = None
        if outcome is not None and not outcome[0]:
            value = outcome[1]
            error = str(value.get("error")) if isinstance(value, Mapping) else str(value)
        return TaskInfo(
            id=self.id,
            status=status,
            tool_name=self.tool_name,
            plugin_name=self.plugin_name,
            call_id=self.call_id,
            created=self.created,
            started=self.started,
            ended=self.ended if status.final else None,
            duration=max(0.0, now - self.started_clock) if self.started is not None else 0.0,
            error=error,
            output_bytes=self.spool.size,
            owner=str(os.getpid()),
            progress=self.progress if self.reached is None else self.reached(),
            abandoned=self.abandoned,
            conversation=self.conversation,
            waiting_for=self.waits() if self.waits is not None and not status.final else None,
        )


def notify(fn: Callable[[TaskInfo], object], info: TaskInfo) -> None:
    """Call a done-callback; what it raises is said, and changes nothing."""
    try:
        fn(info)
    except BaseException as error:  # noqa: BLE001 -- who is told does not decide how a task ended
        warn(f"A done-callback of the task {info.id} raised: {error!r}", error=error)


def merged(some: Sequence[TaskInfo], others: Sequence[TaskInfo]) -> list[TaskInfo]:
    """Both, newest first, as each is; what has the same time is as it would be stored, the first of *some* first."""
    merged, rest = [], list(reversed(others))
    for info in some:
        while rest and rest[-1].created > info.created:
            merged.append(rest.pop())
        merged.append(info)
    return [*merged, *reversed(rest)]
