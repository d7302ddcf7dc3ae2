"""Who is told what happened: the ledger, observing plugins, and the callbacks for ended tasks."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from executor._json import shown_arguments, snapshot
from executor._log import warn
from executor.calls._answer import apart
from executor.errors import ExecutorUnavailableError, PermissionDeniedError
from executor.run._ended import Ended, HandedOver, error_of, outcome_of, result_of, status_of
from executor.run._limits import able, function
from executor.values import TaskStatus, ToolCall

if TYPE_CHECKING:
    from collections.abc import Callable

    from executor.calls._state import CallState
    from executor.protocols import Ledger
    from executor.records._ledger import Recording
    from executor.registry._registry import PluginRegistry
    from executor.run import Prepared
    from executor.tasks._table import TaskTable
    from executor.values import TaskDoneCallback, TaskInfo

UNTOLD = 100  # ended tasks that a new done-callback is told of at once


class Reports:
    """
    Reports of one executor.

    Args:
        tasks: Gives the tasks, which know of whose end somebody was told.
        conversation: Whose earlier tasks a done-callback is told of; None: those of all.

    Attributes:
        record: The ledger's record function, or None.
        wanted: Whether anybody listens to calls at all; looked at before anything is made for them.
    """

    def __init__(self, tasks: Callable[[], TaskTable], conversation: str | None = None) -> None:
        self.record: Recording | None = None
        self.wanted = False
        self._registry: PluginRegistry | None = None
        self._tasks = tasks
        self._conversation = conversation
        self._task_done: TaskDoneCallback | None = None

    def to_ledger(self, ledger: Ledger | None) -> None:
        """Record events there."""
        able(ledger, "ledger", "record", "an object with record(stage, payload), such as JsonLinesLedger(path)")
        self.record = None
        if ledger is not None:
            from executor.records._ledger import Recording  # with pathlib behind it, 5 ms

            self.record = Recording(ledger)
        self.to_plugins(self._registry)

    def to_plugins(self, registry: PluginRegistry | None) -> None:
        """Tell the observers among these plugins."""
        self._registry = registry
        self.wanted = self.record is not None or (registry is not None and registry.hooks.observes)

    def call_starts(self, call: CallState) -> None:
        """A call has come in. Raises what a required ledger raises."""
        if self._registry is not None and self._registry.hooks.surrounds:
            request = _request(call)
            call.notes, call.leave = self._registry.hooks.start_call(request)
        if self.record is not None:
            told = {"tool": call.name, "call_id": call.id, "args": call.arguments}
            self.record("call-start", {**told, **call.notes})

    def call_prepared(self, prepared: Prepared) -> None:
        """A call fits its tool, and is about to be judged."""
        if self._registry is not None:
            request = ToolCall(prepared.call.id, prepared.entry.name, snapshot(prepared.arguments))
            self._registry.hooks.before_call(request)

    def call_ended(self, call: CallState, ended: Ended, began: float) -> None:
        """A call has been answered; *began* is the monotonic time at which it came in."""
        if self.record is not None:
            self._record_end(self.record, call, ended, began)
        if self._registry is not None:
            request = _request(call)
            if isinstance(ended, PermissionDeniedError) and ended.decision is not None:
                self._registry.hooks.deny_call(request, ended.decision)
            self._registry.hooks.after_call(request, apart(result_of(ended, call)))

    def _record_end(self, record: Recording, call: CallState, ended: Ended, began: float) -> None:
        outcome = "backgrounded"
        if isinstance(ended, HandedOver):
            became = {"task_id": ended.task_id, "threshold": ended.threshold or 0.0}
            record("auto-background", {"tool": call.name, "call_id": call.id, **became, **call.notes})
        else:
            outcome = str(status_of(ended))
        told = {"tool": call.name, "call_id": call.id, "outcome": outcome, "duration": time.monotonic() - began}
        error = outcome_of(ended, call)[1].get("error") if error_of(ended) is not None else None
        record("call-end", {**told, **_given(error), **call.notes}, call.arguments, call.changed)

    def task_ended(self, call: CallState, info: TaskInfo) -> None:
        """The background task that *call* became has its final state."""
        if self.record is not None:
            told = {"tool": info.tool_name, "task_id": info.id, "status": str(info.status), "duration": info.duration}
            self.record("task-end", {**told, **_given(info.error), **call.notes}, call.arguments, call.changed)
        if self._registry is not None:
            self._registry.hooks.task_done(info)
        callback = self._task_done
        if callback is not None and self._tasks().claim(info.id):
            notify_done(callback, info)
            self._tasks().told(info.id)

    def to_task_done(self, callback: TaskDoneCallback | None) -> None:
        """Tell *callback* of every task that ends, and now of those that nobody was told of, before a restart too."""
        self._task_done = function(callback, "callback")
        try:
            done = self._tell_earlier()
        except ExecutorUnavailableError as error:
            warn(f"Whether tasks have ended before cannot be told yet: {error}")
            done = False
        if not done:
            self._tasks().later(self._tell_earlier)

    def _tell_earlier(self) -> bool:
        """Tell of some of the tasks that have ended untold. Returns whether there are no more."""
        callback = self._task_done
        if callback is None:
            return True
        tasks = self._tasks()
        for count, info in enumerate(tasks.claim_untold(self._conversation), 1):
            notify_done(callback, info)
            tasks.told(info.id)  # one by one, and after it is true: should the process die, none is lost
            if count == UNTOLD:
                return False
        return True


def notify_done(callback: TaskDoneCallback, info: TaskInfo) -> None:
    """Call a done-callback; what it raises is said, and changes nothing."""
    try:
        callback(info.id, info.status is TaskStatus.COMPLETED, info.error, info.duration)
    except (Exception, SystemExit) as error:  # noqa: BLE001 -- who is told does not decide how a task ended
        warn(f"A done-callback for the task {info.id} raised: {error!r}", error=error)


def _given(error: str | None) -> dict[str, str]:
    return {} if error is None else {"error": error}


def _request(call: CallState) -> ToolCall:
    """What observers are told was asked for: theirs to write to."""
    try:
        arguments = shown_arguments(call.arguments)
    except BaseException:  # noqa: BLE001 -- it raises when it is read, as a dict does that a thread still fills
        arguments = call.arguments
    return ToolCall(call.id, call.name, arguments)
