"""Calls on workers: waiting for them, giving them up at their time limit, and handing those that last over as tasks."""

from __future__ import annotations

import contextvars
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from executor._log import warn
from executor.calls._answer import answer
from executor.calls._content import MAX_CONTENT, bounded
from executor.calls._kinds import kind_of_task
from executor.calls._outcome import failure, status, success
from executor.errors import (
    CapacityError,
    ExecutionError,
    ExecutorUnavailableError,
    ToolCancelledError,
    ToolTimeoutError,
)
from executor.threads._deadlines import Deadlines
from executor.threads._jobs import Job

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Executor

    from executor.calls._current import CurrentCall
    from executor.run import Prepared
    from executor.tasks._table import TaskTable
    from executor.threads._workers import Workers
    from executor.values import Outcome, TaskInfo, ToolResult


class Background:
    """
    Runs prepared calls on workers.

    Args:
        workers: The threads.
        tasks: Gives the table of tasks, when it is needed.
        max_tasks: How many tasks there may be before starts in the background are refused.
        finish: Carries a prepared call out; never raises.
        ended: Told of every task that has ended.
        pool: Runs what is in the background from the start.
    """

    def __init__(
        self,
        workers: Workers,
        tasks: Callable[[], TaskTable],
        max_tasks: int,
        finish: Callable[[Prepared], Outcome],
        ended: Callable[[CurrentCall, TaskInfo], None],
        pool: Executor | None = None,
    ) -> None:
        self.workers = workers
        self._pool = pool
        self.tasks = tasks
        self.finish = finish
        self.ended = ended
        self._max_tasks = max_tasks
        self._deadlines = Deadlines()
        self._full_warned = False
        self.abandoned: set[Job[Any]] = set()  # given up, but still on a thread; set operations are atomic

    def run(
        self,
        prepared: Prepared,
        threshold: float | None,
        limit: float | None,
        on_done: Callable[[TaskInfo], object] | None = None,
    ) -> tuple[Outcome, str | None]:
        """
        Carry a call out on a worker and wait for it.

        Args:
            threshold: Seconds after which it goes on as a task.
            limit: Seconds after which it is given up, in the background too.

        Returns:
            The outcome, and the task's id if it was handed over.
        """
        if threshold is not None and limit is not None and limit <= threshold:
            threshold = None  # it is given up before it would go to the background
        try:
            if prepared.call.depth > 0 or self.workers.here:
                with self.workers.lent():
                    return self._run(prepared, threshold, limit, on_done)
            return self._run(prepared, threshold, limit, on_done)
        except BaseException:  # the caller's own Ctrl-C: nobody waits for this call any more
            prepared.call.token.cancel("The caller was interrupted while waiting")
            raise

    def _run(
        self,
        prepared: Prepared,
        threshold: float | None,
        limit: float | None,
        on_done: Callable[[TaskInfo], object] | None,
    ) -> tuple[Outcome, str | None]:
        work = _Work(self, prepared, limit)
        if threshold is not None:
            prepared.call.keep_output(work.keep_output())
        task_id = None
        if threshold == 0:  # at once, however soon it ends
            self._use_pool(prepared)
            task_id = self._hand_over(work, on_done)
        work.submit()
        if threshold and work.job.wait(work.began + threshold - time.monotonic()) is None:
            task_id = self._hand_over(work, on_done)
        if task_id is not None:
            return _handed_over(work.prepared, task_id, threshold or 0.0), task_id
        outcome = work.job.wait(None if work.deadline is None else work.deadline - time.monotonic())
        if outcome is None:
            work.time_out()
            outcome = work.job.wait(None)  # the stop has ended the job, or the work had just ended by itself
        assert outcome is not None
        work.discard_output()
        return outcome, None  # whoever ran the call closes it, and nobody was asked to keep its deadline

    def start(
        self, prepared: Prepared, limit: float | None, on_done: Callable[[TaskInfo], object] | None = None
    ) -> tuple[Outcome, str]:
        """
        Carry a call out in the background from the start.

        Raises:
            ExecutionError: The tool is not fit for the background.
            CapacityError: There are too many tasks.
            ToolError: The call was stopped before it began.
        """
        if not prepared.entry.background:
            raise ExecutionError(
                f"The tool {prepared.entry.name} cannot run in the background: call it directly, or register it with "
                "auto_background=SECONDS",
                tool_id=prepared.entry.name,
            )
        tasks = self.tasks()
        self._use_pool(prepared)
        work = _Work(self, prepared, limit)
        prepared.call.keep_output(work.keep_output())
        task_id = work.make_task(tasks, on_done, self._max_tasks)
        if work.job.hand_over(partial(tasks.start, task_id), work.task_ended) is None:
            tasks.remove(task_id)
            work.discard_output()
            raise prepared.call.token.error or ToolCancelledError("The call was cancelled")
        work.watch_deadline()
        work.submit()
        told = {
            "task_id": task_id,
            "status": str(tasks.get(task_id).status),
            "plugin_name": prepared.entry.plugin_name,
            "tool_name": prepared.entry.name,
            "message": f"Started in the background. Use task_id '{task_id}' to check status and output.",
        }
        return success(told, None, prepared.call.permission), task_id

    def _use_pool(self, prepared: Prepared) -> None:
        if self._pool is not None:
            from executor.background._pool import on_pool

            prepared.entry = on_pool(prepared.entry, self._pool)

    def _hand_over(self, work: _Work, on_done: Callable[[TaskInfo], object] | None) -> str | None:
        """The id under which the call goes on, or None when it stays in the foreground or has ended by now."""
        try:
            tasks = self.tasks()
            task_id = work.make_task(tasks, on_done, self._max_tasks)
        except CapacityError:
            self._warn_once(f"{self._max_tasks} background tasks are the limit")
            return None
        except Exception as error:  # noqa: BLE001 -- a store that cannot take the task must not lose the call
            self._warn_once(f"the task could not be stored: {error!r}")
            return None
        started = work.job.hand_over(partial(tasks.start, task_id), work.task_ended)
        if started is None:
            tasks.remove(task_id)
            return None
        if started:
            tasks.start(task_id, work.job.started)
        work.watch_deadline()
        return task_id

    def _warn_once(self, reason: str) -> None:
        if not self._full_warned:
            self._full_warned = True
            warn(f"A call past its threshold stays in the foreground (said once): {reason}")

    def aside(self, fn: Callable[[], object]) -> None:
        """Run *fn* on a worker now, so that it may block; in this thread when the system has no other left."""
        if not self.workers.submit_aside(fn):
            fn()

    def at(self, when: float, fn: Callable[[], object]) -> Callable[[], None]:
        """Run *fn* on a worker at the monotonic time *when*; the returned function takes it back."""
        return self._deadlines.at(when, lambda: self.aside(fn))


class _Work:
    """One prepared call on its way through a worker."""

    __slots__ = (
        "_background",
        "_forget_deadline",
        "_spool",
        "began",
        "deadline",
        "job",
        "limit",
        "prepared",
        "task_id",
    )

    def __init__(self, background: Background, prepared: Prepared, limit: float | None) -> None:
        self._background = background
        self.prepared = prepared
        self.limit = limit
        self.began = time.monotonic()
        self.deadline = prepared.call.deadline = None if limit is None else self.began + limit
        self.job: Job[Outcome] = Job(self._carry_out, contextvars.copy_context())
        self.task_id: str | None = None
        self._spool: Any = None
        self._forget_deadline: Callable[[], None] | None = None
        # A stop ends the job at once, whether or not the tool heeds it: its late result is dropped.
        prepared.call.token.tell(self._stopped)

    def _carry_out(self) -> Outcome:
        try:
            return self._background.finish(self.prepared)
        except BaseException as error:  # noqa: BLE001 -- it never should; but somebody waits for this end
            return failure(error, self.prepared.call.permission)

    def submit(self) -> None:
        if not self._background.workers.submit(self.job):
            self.job.end(
                failure(ExecutorUnavailableError("The executor has been shut down"), self.prepared.call.permission)
            )

    def keep_output(self) -> Any:
        self._spool = self._background.tasks().new_spool()
        return self._spool

    def discard_output(self) -> None:
        """The call has ended in the foreground."""
        if self._spool is not None:
            self._spool.discard()

    def make_task(self, tasks: TaskTable, on_done: Callable[[TaskInfo], object] | None, most: int) -> str:
        call, entry = self.prepared.call, self.prepared.entry
        self.task_id = tasks.add(
            entry.name,
            entry.plugin_name,
            call.id,
            self._spool,
            cancel=call.token.cancel,
            reached=lambda: call.reached,
            started=self.job.started,
            most=most,
        )
        if on_done is not None:
            tasks.on_done(self.task_id, on_done)
        return self.task_id

    def task_ended(self, outcome: Outcome) -> None:
        """The end of a call that was handed over."""
        self.close()
        assert self.task_id is not None
        tasks = self._background.tasks()
        if self.job.started is not None:
            tasks.start(self.task_id, self.job.started)  # it may have been taken up while it was handed over
        abandoned = self.job in self._background.abandoned
        info = tasks.finish(self.task_id, status(outcome), outcome, result=self._result(outcome), abandoned=abandoned)
        if abandoned and self.job not in self._background.abandoned:
            tasks.came_back(self.task_id)  # in between
        if info is not None:
            self._background.ended(self.prepared.call, info)

    def _result(self, outcome: Outcome) -> ToolResult:
        """The outcome as the call would have been answered in the foreground."""
        call = self.prepared.call
        return answer(
            call.id,
            outcome,
            kind_of_task(status(outcome), outcome[1]),
            permission=call.permission,
            blocks=call.apart.blocks if call.apart is not None else (),
            bound=lambda content: bounded(content, MAX_CONTENT, self._background.tasks().save_result),
        )

    def watch_deadline(self) -> None:
        """Nobody waits for the limit any more: have it kept."""
        if self.deadline is not None:
            self._forget_deadline = self._background.at(self.deadline, self.time_out)
            if self.job.result is not None:
                self._forget_deadline()  # it ended before there was something to take back

    def time_out(self) -> None:
        limit = self.limit or 0.0
        name = self.prepared.entry.name
        self.prepared.call.token.stop(ToolTimeoutError(f"{name} timed out after {limit:g} s", tool_id=name))

    def close(self) -> None:
        self.prepared.call.close()
        if self._forget_deadline is not None:
            self._forget_deadline()

    def _stopped(self) -> None:
        call = self.prepared.call
        # Entered before it is looked at: a thread that comes back now either is seen here, or finds itself there.
        self.job.on_return = self._returned
        self._background.abandoned.add(self.job)
        if not self.job.running:
            self._background.abandoned.discard(self.job)
        self.job.end(failure(call.token.error or ToolCancelledError("The call was cancelled"), call.permission))

    def _returned(self) -> None:
        """The thread has come back from the tool, late or not."""
        if self.job in self._background.abandoned:
            self._background.abandoned.discard(self.job)
            if self.task_id is not None:
                self._background.tasks().came_back(self.task_id)


def _handed_over(prepared: Prepared, task_id: str, threshold: float) -> Outcome:
    entry = prepared.entry
    told = {
        "auto_backgrounded": True,
        "task_id": task_id,
        "plugin_name": entry.plugin_name,
        "tool_name": entry.name,
        "threshold_seconds": threshold,
        "message": (
            f"Task exceeded {threshold:g}s threshold, continuing in background. "
            f"Use task_id '{task_id}' to check status and output."
        ),
    }
    return success(told, None, prepared.call.permission)
