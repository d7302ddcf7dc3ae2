"""Handing calls over to the background: work that nobody waits for any more becomes a task."""

from __future__ import annotations

import threading
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from executor._log import warn
from executor.calls._answer import apart
from executor.calls._content import MAX_CONTENT, READER, bounded, surely_fits
from executor.calls._outcome import describe
from executor.errors import CapacityError, ExecutorUnavailableError, ToolCancelledError
from executor.run._ended import HandedOver, outcome_of, result_in_any_case, settled, status_of
from executor.run._limits import text
from executor.threads._loop import UNLOADABLE

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Executor

    from executor.background._on_engine import OnEngine
    from executor.calls._state import CallState
    from executor.calls._work import Work
    from executor.engines._remote import Remote
    from executor.run._backends import Prepared
    from executor.run._options import Options
    from executor.tasks._table import TaskTable
    from executor.tasks._thread import Change
    from executor.values import TaskInfo, ToolResult

STOPPING = 0.5  # seconds that who stops a task waits for what is done then: a tool's or host's function may not end


class HandOver:
    """
    Takes work over; the `Background` of a `Way`.

    Args:
        tasks: Gives the table of tasks, when it is needed.
        most: How many tasks there may be before starts in the background are refused.
        ended: Told of every task that has ended.
        pool: Runs what is in the background from the start, or None.
        max_content: How many bytes of content a result may have.
        conversation: Stored with each task, or None.
        find: Finds the tools that a model has; None: it has none.
        cluster: Carries out what is in the background from the start, or None.
    """

    def __init__(
        self,
        tasks: Callable[[], TaskTable],
        most: int,
        ended: Callable[[CallState, TaskInfo], None],
        pool: Executor | None = None,
        *,
        max_content: int = MAX_CONTENT,
        conversation: str | None = None,
        find: Callable[[str], object | None] | None = None,
        cluster: OnEngine | None = None,
    ) -> None:
        self._tasks = cache(partial(_made, tasks))  # each call with a threshold asks for them
        self._find = find
        self._most = most
        self._ended = ended
        self._pool = pool
        self.cluster = cluster
        self.max_content = max_content
        self.conversation = None if conversation is None else text(conversation, "conversation")
        self._warned = False

    def watch(self, work: Work) -> None:
        """Keep the output of *work* from its start, in case it becomes a task."""
        work.call.sink = work.spool = self._tasks().new_spool()

    def unwatch(self, work: Work) -> None:
        """*work* has ended in the foreground."""
        if work.early is not None:
            self._tasks().withdraw(work.early)
        if work.spool is not None:
            work.spool.discard()

    def withdraw(self, work: Work) -> None:
        """Who waits for *work* was interrupted: a task that it may be by now is none, since nobody has its id."""
        if work.early is not None:
            self._tasks().remove(work.early.id)
        if work.spool is not None:
            work.spool.discard()

    @property
    def lead(self) -> float | None:
        """How many seconds before its threshold `prepare` should be called; None: not at all."""
        return self._tasks().lead

    @property
    def ready(self) -> bool:
        """Whether taking over from the start keeps nobody waiting, but for the store."""
        return self.cluster is None or self.cluster.ready

    def prepare(self, work: Work, prepared: Prepared) -> Change[None] | None:
        """*work* is about to become a task: have it stored by then, beside the call."""
        entry, tasks = prepared.entry, self._tasks()
        work.early = tasks.prepare(
            entry.name,
            entry.plugin_name,
            work.call.id,
            work.spool,
            started=work.job.started,
            conversation=self.conversation,
        )
        return work.early.early if work.early is not None else None

    def hand_over(self, work: Work, prepared: Prepared, threshold: float, options: Options) -> HandedOver | None:
        """
        Make a task of *work*.

        Returns:
            None when it stays in the foreground, for want of room, or has ended by now.
        """
        try:
            remote = self._place(work, prepared, options) if threshold == 0 else None
            task_id = self._add(work, prepared, remote)
        except CapacityError:
            self._warn_once(f"{self._most} background tasks are the limit")
            return None
        except Exception as error:  # noqa: BLE001 -- whatever keeps it from being a task must not lose the call
            self._warn_once(f"the task could not be entered: {error!r}")
            return None
        if not self._follow(work, task_id, options):
            return None
        return HandedOver(task_id, prepared, threshold, durable=self._tasks().tell(task_id))

    def start(self, work: Work, prepared: Prepared, options: Options) -> HandedOver:
        """
        Make a task of *work* before it begins.

        Raises:
            CapacityError: There are too many tasks.
            ExecutorUnavailableError: It is to begin only if it is stored, and the store is away.
            ToolError: The call was stopped before it began.
        """
        remote, tasks = self._place(work, prepared, options), self._tasks()
        task_id = self._add(work, prepared, remote)
        stored = tasks.tell(task_id)
        if options.stored and not stored:
            tasks.remove(task_id)
            why = tasks.durable.why if tasks.durable is not None else "it is in memory only"
            raise ExecutorUnavailableError(f"Nothing was started, since the task could not be stored: {why}")
        if not self._follow(work, task_id, options):
            raise work.call.source.error or ToolCancelledError("The call was cancelled")
        return HandedOver(task_id, prepared, None, durable=stored)

    def _place(self, work: Work, prepared: Prepared, options: Options) -> Remote | None:
        """Have *work* done where such work is done. Returns the call on a cluster that it is, if it is one."""
        if self.cluster is not None:
            return self.cluster.place(work, prepared, options, self._tasks())
        if self._pool is not None:
            from executor.background._pool import on_pool

            prepared.entry, prepared.bound = on_pool(prepared.entry, self._pool), None  # else it would be called here
        return None

    def _add(self, work: Work, prepared: Prepared, remote: Remote | None) -> str:
        tasks, call = self._tasks(), work.call
        entry = prepared.entry
        if work.early is None:
            work.early = tasks.new(entry.name, entry.plugin_name, call.id, work.spool, self.conversation)
        task_id = tasks.add(
            entry.name,
            entry.plugin_name,
            call.id,
            work.spool,
            # An engine is told before it is said that the task is stopped; of nobody else more is waited for.
            cancel=partial(call.source.cancel, within=STOPPING if remote is None else None),
            reached=lambda: call.reached,
            waits=lambda: call.waiting_for,
            started=work.job.started,
            most=self._most,
            conversation=self.conversation,
            early=work.early,
            engine=remote.engine_ref if remote is not None else None,
        )
        if remote is not None:
            remote.task_id = task_id
        return task_id

    def _follow(self, work: Work, task_id: str, options: Options) -> bool:
        """Be told of the end of *work* from now on. Returns False when it has ended."""
        tasks, job, call = self._tasks(), work.job, work.call
        work.came_back = partial(tasks.came_back, task_id)
        call.on_terminal = partial(tasks.terminals.look, task_id, lambda: call.terminal)
        try:
            if call.terminal is not None:  # it had one before
                call.on_terminal()
            started = job.hand_over(partial(tasks.start, task_id), partial(self._task_ended, work, task_id, options))
            if started:
                tasks.start(task_id, job.started)
            if started is not None:
                work.leave()
        except BaseException:  # the caller's own Ctrl-C: nobody has the id
            tasks.remove(task_id)
            raise
        if started is None:
            tasks.remove(task_id)
        return started is not None

    def _task_ended(self, work: Work, task_id: str, options: Options, ended: Any) -> None:
        work.close()
        tasks, call = self._tasks(), work.call
        call.teller = threading.get_ident()
        abandoned = work.abandoned
        ended, result = result_in_any_case(settled(ended), call, self.bounded, task_id)
        info = tasks.finish(
            task_id,
            status_of(ended),
            outcome_of(ended, call),
            result=result,
            abandoned=abandoned,
            started=work.job.started,  # it may have been taken up while it was handed over
        )
        if abandoned and not work.abandoned:
            tasks.came_back(task_id)  # in between
        if info is not None:
            if options.on_done is not None:
                notify_done(options.on_done, apart(result))
            self._ended(call, info)

    def holds(self, content: str) -> bool:
        """Whether *content* is short enough for a model: nothing of it is left out, and kept."""
        return surely_fits(content, self.max_content)

    def bounded(self, content: str) -> str:
        """*content*, short enough for a model; what is left out is kept to be read on."""

        def save(text: str) -> str:
            return self._tasks().save_result(text, self.conversation)

        return bounded(content, self.max_content, save, self._has_reader)

    def _has_reader(self) -> bool:
        return self._find is not None and self._find(READER) is not None

    def _warn_once(self, reason: str) -> None:
        if not self._warned:
            self._warned = True
            warn(f"A call past its threshold stays in the foreground (said once): {reason}")


def _made(tasks: Callable[[], TaskTable]) -> TaskTable:
    try:
        return tasks()
    except UNLOADABLE as error:
        raise ExecutorUnavailableError(f"There can be no tasks now: {describe(error)}") from error


def notify_done(on_done: Callable[[ToolResult], object], result: ToolResult) -> None:
    """Call a done-callback; what it raises is said, and changes nothing."""
    try:
        on_done(result)
    except BaseException as error:  # noqa: BLE001 -- SystemExit too: who is told does not decide how a call ended
        warn(f"The done-callback of call {result.call_id} raised: {error!r}", error=error)
