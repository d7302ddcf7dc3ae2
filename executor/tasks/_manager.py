"""What hosts and tools ask about background tasks, and where a task is found that another process runs."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from executor._deprecated import warn_deprecated
from executor._json import snapshot
from executor.calls._answer import apart
from executor.calls._content import LEAST_CONTENT, MAX_CONTENT, bounded, encoded
from executor.errors import ExecutorUnavailableError, TaskNotFoundError, ToolExecutorError
from executor.tasks._answers import Stored, restore, whole_content
from executor.tasks._input import Input
from executor.tasks._live import merged
from executor.tasks._rows import text
from executor.tasks._spool import CAP
from executor.tasks._stream import check
from executor.tasks._table import TaskTable
from executor.threads._gate import Gate
from executor.values import TaskInfo, TaskStatus

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from executor.calls._token import CancelToken
    from executor.tasks._delivery import Tasks
    from executor.tasks._elsewhere import AllTasks
    from executor.values import Outcome, ToolResult

POLL = 0.1  # seconds between two looks at a task of another process
AWAY = 10.0  # seconds without any look at it after which a wait is given up: the store is away, and stays so


class TaskManager(Input):
    """
    The background tasks, as hosts, tools and commands see them; made by `open` or `in_memory`.

    A task is in exactly one state; a final state never changes. Its result has the shape of a foreground call's.

    From `open`, every method that has to look at the store may raise ExecutorUnavailableError.
    """

    def __init__(
        self, table: TaskTable | None = None, *, output_cap: int | None = None, conversation: str | None = None
    ) -> None:
        if output_cap is not None:
            warn_deprecated("TaskManager(output_cap=)", "TaskManager.in_memory(output_cap=)")
        self._conversation = conversation
        self._table = table if table is not None else TaskTable(output_cap=CAP if output_cap is None else output_cap)

    @classmethod
    def in_memory(cls, *, output_cap: int = CAP) -> TaskManager:
        """
        Tasks that live as long as this object.

        Args:
            output_cap: How many bytes of output are kept of each task.
        """
        return cls(TaskTable(output_cap=output_cap))

    @classmethod
    def open(
        cls,
        folder: str | os.PathLike[str] | None = None,
        *,
        host: str | None = None,
        output_cap: int = CAP,
        patience: float | None = None,
    ) -> TaskManager:
        """
        Tasks that outlive this process, and are seen by all processes of the user. Nothing is opened before a task is.

        Args:
            folder: Where they are kept; by default the user's state folder.
            host: A name under which a host finds, when it is started again, what was not delivered before; by default
                the program's name and the working folder.
            output_cap: How many bytes of output are kept of each task.
            patience: Seconds for another process to be done with the store; None for a quarter. Who asks for tasks
                waits for twice that at most: a person at a terminal may have more patience than an assistant.
        """
        from executor.tasks._durable import Durable

        where = Path(folder).absolute() if folder is not None else None
        return cls(TaskTable(output_cap=output_cap, durable=Durable(where, host, patience=patience)))

    def get(self, task_id: str) -> TaskInfo:
        """What is known of a task now. Raises TaskNotFoundError."""
        with self._table.lock:
            task = self._table.tasks.get(task_id)
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
            limit: At most so many, from 0 on.
        """
        check(0, limit)
        wanted = TaskStatus(state) if state is not None else None
        found: dict[str, TaskInfo] = {}
        more: Tasks = []
        if (durable := self._table.durable) is not None:
            withdrawn = durable.withdrawn
            found = {info.id: info for info in durable.all.newest(wanted, tool, limit) if info.id not in withdrawn}
        with self._table.lock:  # of those that run here more is known than is stored by now
            for task in reversed(self._table.tasks.values()):
                if not (wanted is None or task.status is wanted) or not (tool is None or task.tool_name == tool):
                    found.pop(task.id, None)
                elif task.id in found:
                    found[task.id] = task.info()
                elif durable is None or durable.unsaved(task.id):
                    more.append(task.info())
        return merged(more, list(found.values()))[:limit]

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
        with self._table.lock:
            task = self._table.tasks.get(task_id)
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
        return snapshot(self._ended(task_id)[1].outcome)

    def tool_result(self, task_id: str, max_content: int | None = None) -> ToolResult:
        """
        The result of a task that has ended, as `ToolExecutor.call` would have returned it; ``task_id`` is the task's.

        Args:
            max_content: At most so many bytes of content, from 1,024 on; the rest is kept for `read_result`, and the
                content says so. By default it is as long as the executor made it.

        Raises:
            TaskNotFoundError: No such task.
            ToolExecutorError: It has not ended; `wait` for it.
            ValueError: A *max_content* that is too small.
        """
        if max_content is not None and max_content < LEAST_CONTENT:
            raise ValueError(f"max_content is {max_content!r}, not a number of bytes from {LEAST_CONTENT} on")
        info, stored, made = self._ended(task_id)
        if made is None and max_content is None and stored.is_whole:
            max_content = MAX_CONTENT
        made = apart(restore(info, stored) if made is None else made)
        if max_content is None or len(encoded(made.content)) <= max_content:
            return made
        content = bounded(whole_content(made), max_content, partial(self._save, info), self._table.has_reader)
        return replace(made, content=content)

    def _save(self, info: TaskInfo, text: str) -> str:
        """Keep the whole content of a task's result, once for all who ask. Raises OSError."""
        table = self._table
        saved = table.saved.get(info.id)
        if saved is not None:
            try:
                table.results.read(saved, 0, 0)
            except ToolExecutorError:  # it has been cleaned away
                saved = None
        if saved is None:
            saved = table.saved[info.id] = table.save_result(text, info.conversation)
        return saved

    def _ended(self, task_id: str) -> tuple[TaskInfo, Stored, ToolResult | None]:
        """A task that has ended, what it came to, and the result if it was made here."""
        with self._table.lock:
            if (task := self._table.tasks.get(task_id)) is not None:
                info, outcome, made = task.info(), task.outcome, task.result
                stored = Stored(outcome, None) if outcome is not None else None
        if task is None:
            made, info = None, self._elsewhere(task_id).get(task_id)  # which also looks whether its owner is there
            stored = self._elsewhere(task_id).outcome(task_id)
        if stored is None:
            raise ToolExecutorError(f"The task {task_id} is {info.status}: wait for it before asking for its result")
        return info, stored, made

    def read_result(
        self, result_id: str, offset: int = 0, limit: int | None = None, *, conversation: str | None = None
    ) -> tuple[str, int, int]:
        """
        Part of a content that was too long for a model, by the id that stands in what it was given.

        Args:
            offset: The byte to begin at; in the middle of a character it begins with that.
            limit: At most so many bytes, but at least a character.
            conversation: Only a result of this one; others are as unknown as those that never were.

        Returns:
            (text, offset to go on from, bytes of the whole). At the end: ("", offset, size).

        Raises:
            ToolExecutorError: There is no such result, or none any more.
            ValueError: An offset or limit that is negative or no integer.
        """
        check(offset, limit)
        return self._table.results.read(result_id, offset, limit, conversation)

    def wait(self, task_id: str, timeout: float | None = None, *, cancel: CancelToken | None = None) -> TaskInfo:
        """
        The task once it has ended, or as it is when *timeout* seconds have passed. A tool lends its worker meanwhile.

        Args:
            cancel: Ends the wait early.

        Raises:
            TaskNotFoundError: No such task.
        """
        gate, began = Gate(), time.monotonic()
        with self._table.lock:
            task = self._table.tasks.get(task_id)
            if task is not None and task.status.final:
                return task.info()
            if task is not None:
                task.waiting.append(gate)
        forget = cancel.on_cancel(gate.set) if cancel is not None else None
        try:
            if task is None:
                return self._wait_elsewhere(task_id, timeout, gate)
            gate.wait_lending(timeout)
        finally:
            if forget is not None:
                forget()
        with self._table.lock:
            if gate in task.waiting:
                task.waiting.remove(gate)
            info = task.info()
        if not task.left or (cancel is not None and cancel.cancelled):
            return info
        left = None if timeout is None else max(0.0, began + timeout - time.monotonic())
        return self.wait(task_id, left, cancel=cancel)  # an engine has it, and this process looks no more after it

    def _wait_elsewhere(self, task_id: str, timeout: float | None, gate: Gate) -> TaskInfo:
        deadline = None if timeout is None else time.monotonic() + timeout
        elsewhere, known = self._elsewhere(task_id), time.monotonic()
        info: TaskInfo | None = None
        while True:
            left = POLL if deadline is None else min(POLL, deadline - time.monotonic())
            try:
                info, known = elsewhere.get(task_id), time.monotonic()
            except ExecutorUnavailableError:
                if time.monotonic() > known + AWAY or (info is None and left <= 0):
                    raise
            if info is not None and (info.status.final or left <= 0):
                return info
            if gate.wait_lending(left):
                return info or elsewhere.get(task_id)

    def cancel(self, task_id: str, reason: str | None = None) -> bool:
        """
        Stop a task's work. Of a task of another process that one is asked to do it, and waited for a few seconds.

        Returns:
            Whether this is what ended it; False when it had ended before. Raises TaskNotFoundError: no such task.
        """
        reason = reason or "The task was cancelled"
        with self._table.lock:
            here = task_id in self._table.tasks
        return self._table.stop(task_id, reason) if here else self._elsewhere(task_id).cancel(task_id, reason)

    def undelivered(self, conversation: str | None = None) -> Tasks:
        """
        The tasks that have ended and were not acknowledged, in the order of their end.

        From `open`: those of this manager, and those of this host whose process is gone.

        Args:
            conversation: Only those of this conversation. As ``tasks`` of an executor that has one, its own is meant
                without a word, here and below.
        """
        return self._table.undelivered(self._own(conversation))

    def next_undelivered(
        self, timeout: float | None = None, *, conversation: str | None = None, cancel: CancelToken | None = None
    ) -> TaskInfo | None:
        """
        The first of `undelivered`; if there is none, it is waited for.

        Nothing is claimed: the same task is returned until it is acknowledged. Deliver its result, then `ack` it: it is
        delivered again only if the process dies in between.

        Args:
            timeout: Seconds to wait at most; None: without end.
            conversation: Only tasks of this conversation.
            cancel: Ends the wait early.

        Returns:
            None when the time has passed, *cancel* was cancelled, or the manager was closed.
        """
        return self._table.next_undelivered(timeout, self._own(conversation), cancel)

    def ack(self, task_id: str) -> None:
        """The result of this task has reached whom it was for. Raises TaskNotFoundError."""
        here = self._table.acknowledge(task_id)
        if not here:
            self._elsewhere(task_id)
        if self._table.durable is not None:
            self._table.durable.acknowledge(task_id, here=here)

    def subscribe(self, fn: Callable[[TaskInfo], object], *, conversation: str | None = None) -> Callable[[], None]:
        """
        Call *fn* at the end of each task of this manager from now on, exactly once each, in the thread that ends it.

        From `open` also at the end of a task that was left to a process of its own, before a restart too, within a
        quarter of a second. What *fn* raises is warned about, and changes nothing. What has ended before is in
        `undelivered`.

        Args:
            conversation: Only for tasks of this conversation.

        Returns:
            A function that ends the subscription.
        """
        return self._table.subscribe(fn, self._own(conversation))

    def open_count(self) -> int:
        """How many tasks of this manager have not ended."""
        return self._table.running

    @property
    def running(self) -> int:
        """Deprecated: use `open_count`."""
        warn_deprecated("TaskManager.running", "TaskManager.open_count()")
        return self.open_count()

    def live(self) -> Tasks:
        """The tasks of this manager, and of no other process, that have not ended, newest first."""
        return self._table.live()

    def prune(self, older_than: float = 0.0) -> int:
        """
        Forget tasks that ended more than *older_than* seconds ago, acknowledged or not, and contents saved before.

        Returns:
            How many tasks.
        """
        # What has ended has ended before now, whatever a clock has said that was ahead.
        return self._table.forget(time.time() - older_than if older_than > 0 else math.inf)

    def close(self) -> None:
        """
        This process has no more to do with tasks: those that still run are `interrupted` from now on.

        It happens by itself when the manager is no longer used, and when the process exits.
        """
        self._table.close()

    def _delivering(self, conversation: str) -> TaskManager:
        """These tasks, of which those of one conversation are delivered."""
        return TaskManager(self._table, conversation=conversation)

    def _own(self, conversation: str | None) -> str | None:
        return conversation if conversation is not None else self._conversation

    def _elsewhere(self, task_id: str) -> AllTasks:
        """Where a task is that this manager does not run. Raises TaskNotFoundError: nowhere."""
        if (durable := self._table.durable) is None or task_id in durable.withdrawn or task_id != text(task_id):
            raise TaskNotFoundError(task_id)
        return durable.all


def engine_of(manager: TaskManager) -> TaskTable:
    """The half of a manager that enters, starts and ends tasks: for executors only."""
    return manager._table  # noqa: SLF001 -- the one way in, so that whoever writes can be found


def of_conversation(manager: TaskManager, conversation: str | None) -> TaskManager:
    """The same tasks, of which those of one conversation are delivered; None: as *manager* has it."""
    return manager if conversation is None else manager._delivering(conversation)  # noqa: SLF001 -- as above
