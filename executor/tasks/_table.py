"""
The engine's half of tasks: those that one process runs, entered, started, ended. No host or tool writes here.

`TaskTable.lock` guards the table and every task in it. Neither the store nor a spool is used, nor a callback called,
while it is held, except for the lengths of outputs. What is to be durable is stored first, if that is quick.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from executor._random import token_hex
from executor.calls._content import READER
from executor.errors import CapacityError, TaskNotFoundError
from executor.tasks._delivery import Delivery, Forgettable, Tasks
from executor.tasks._live import LiveTask, Progress, notify
from executor.tasks._results import MemoryResults, StoredResults
from executor.tasks._spool import CAP, MemorySpool
from executor.tasks._terminals import Terminals
from executor.threads._beside import beside
from executor.threads._gate import Gate

if TYPE_CHECKING:
    from collections.abc import Callable

    from executor.tasks._durable import Durable
    from executor.tasks._results import Results
    from executor.tasks._spool import Spool
    from executor.tools._catalogue import Catalogue
    from executor.values import Outcome, TaskInfo, TaskStatus, ToolResult

ENDING = 0.5  # seconds that who stops a task waits for its end: another thread may be about to write it down
_tables: weakref.WeakSet[TaskTable] = weakref.WeakSet()


class TaskTable(Delivery):
    """
    What an executor does with tasks.

    Args:
        output_cap: How many bytes of output are kept of each task.
        durable: The tasks on the disk, or None: then they live as long as this object.

    Attributes:
        tasks: The tasks of this process, by id.
        waiting: Set at the end of any of them; who waits enters and takes away its own.
        results: Texts that were too long for a model.
        saved: Those that hold the content of a task's result, by the task's id.
        catalogues: The tools of those who use these tasks.
        terminals: Those on which commands of the tasks run.
    """

    def __init__(self, *, output_cap: int = CAP, durable: Durable | None = None) -> None:
        self.durable = durable
        if durable is not None:
            durable.stop, durable.ended_elsewhere = _weak(self.stop), _weak(self.ended_elsewhere)
            durable.progress = _weak(self._store_progress)
            weakref.finalize(self, beside, durable.close).atexit = False  # at the exit all that is open is closed
        self._output_cap = output_cap
        self.catalogues: weakref.WeakSet[Catalogue] = weakref.WeakSet()
        self._begin()
        _tables.add(self)

    def _begin(self) -> None:
        self.lock = threading.Lock()
        if (inherited := getattr(self, "terminals", None)) is not None:
            inherited.abandon()
        self.terminals = Terminals(shared=self.durable is not None)
        self.tasks: dict[str, LiveTask] = {}
        self.waiting: list[Gate] = []
        self.saved: dict[str, str] = {}
        stored = self.durable
        self.results: Results = (
            StoredResults(lambda: stored.folder() / "results") if stored is not None else MemoryResults()
        )
        self._subscribers: list[Callable[[TaskInfo], object]] = []
        self._over = Forgettable()
        self._entered: set[str] = set()  # the ids of those that have not ended; those that are about to be entered, too

    @property
    def running(self) -> int:
        """How many tasks of this manager have not ended."""
        return len(self._entered)

    def place(self) -> tuple[str, str, int] | None:
        """Folder, host and output cap of tasks that another process can see; None in memory."""
        if self.durable is None:
            return None
        return str(self.durable.folder()), self.durable.host, self._output_cap

    def new_spool(self) -> Spool:
        """Where a call's output is kept from its start, in case it becomes a task."""
        if self.durable is None:
            return MemorySpool(self._output_cap)
        return self.durable.new_spool(self._output_cap)

    def prepare(
        self,
        tool_name: str,
        plugin_name: str,
        call_id: str,
        spool: Spool,
        *,
        started: float | None = None,
        conversation: str | None = None,
    ) -> LiveTask | None:
        """
        A call is about to become a task: have it stored by then. Nobody sees it before `add`, and nobody waits here.

        Returns:
            What `add` is to be given, or `withdraw`; None where nothing is stored.
        """
        if self.durable is None:
            return None
        task = self.new(tool_name, plugin_name, call_id, spool, conversation)
        if started is not None:
            task.begin(started)
        task.early = self.durable.prepare(task.info(), self._output_cap, spool)  # type: ignore[arg-type]  # a file's
        return task

    @staticmethod
    def new(tool_name: str, plugin_name: str, call_id: str, spool: Spool, conversation: str | None = None) -> LiveTask:
        """A task with its id, not entered yet: whoever `add` does not come back to can `remove` it all the same."""
        return LiveTask(f"{plugin_name}_{token_hex(16)}", tool_name, plugin_name, call_id, spool, conversation)

    def withdraw(self, task: LiveTask) -> None:
        """The call has ended before it became a task."""
        if self.durable is not None:
            self.durable.remove(task.id)

    @property
    def lead(self) -> float | None:
        """How many seconds before its threshold a call should be prepared; None: not at all."""
        return self.durable.lead if self.durable is not None else None

    def add(
        self,
        tool_name: str,
        plugin_name: str,
        call_id: str,
        spool: Spool,
        *,
        cancel: Callable[[str | None], bool],
        reached: Callable[[], Progress],
        waits: Callable[[], str | None] | None = None,
        started: float | None = None,
        most: int | None = None,
        conversation: str | None = None,
        early: LiveTask | None = None,
        engine: tuple[str, str] | None = None,
    ) -> str:
        """
        Enter a task. When it was not prepared, it is stored now, if that does not take long.

        Args:
            cancel: Stops its work; returns whether that made the difference.
            reached: Its last progress.
            waits: What it waits for, for a person; None: nothing.
            started: The monotonic time at which its work began; None: it is pending.
            most: How many tasks there may be, this one included.
            conversation: Which conversation of the host it belongs to.
            early: What `prepare`, or `new`, returned.
            engine: What is to carry it out, where that is not this process; see `Entry`.

        Raises:
            CapacityError: There are that many already.
        """
        task = early or self.new(tool_name, plugin_name, call_id, spool, conversation)
        self._make_room(task, most)
        task.cancel, task.reached, task.waits = cancel, reached, waits
        if started is not None:
            task.begin(started)
        try:
            if self.durable is not None and task.early is None:
                self.durable.add(task.info(), self._output_cap, spool, engine)  # type: ignore[arg-type]  # a file's
            with self.lock:
                self.tasks[task.id] = task
        except BaseException:  # the caller's own Ctrl-C, while the store took its time: nobody has the id
            self.remove(task.id)
            raise
        return task.id

    def tell(self, task_id: str) -> bool:
        """The id is about to be told. Returns False when it is in memory only, because the store is away."""
        return self.durable is None or self.durable.tell(task_id)

    def _make_room(self, task: LiveTask, most: int | None) -> None:
        with self.lock:
            if most is None or len(self._entered) < most:
                self._entered.add(task.id)
                return
        running = self._describe_running()
        raise CapacityError(
            f"There are {most} background tasks, which is the limit: wait for one, or cancel one of "
            + ", ".join(running[:10]),
            running=running,
            tool_id=task.tool_name,
        )

    def remove(self, task_id: str) -> None:
        """Take back an id that was never handed out."""
        with self.lock:
            self._entered.discard(task_id)
            task = self.tasks.pop(task_id, None)
            waiting: list[Gate] = []
            if task is not None:
                waiting, task.waiting = task.waiting, []
        if self.durable is not None:
            self.durable.remove(task_id)
        for gate in waiting:  # somebody who had it from `list`
            gate.set()

    def leave(self, task_id: str) -> None:
        """An engine carries it out, and this process looks no more after it."""
        with self.lock:
            task = self.tasks.pop(task_id, None)
            if task is None:
                return
            self._entered.discard(task_id)
            task.left = True
            waiting, task.waiting = task.waiting, []
        if self.durable is not None:
            self.durable.leave_to_engine(task_id)
        for gate in waiting:
            gate.set()

    def stored(self, task_id: str) -> bool:
        """Whether nothing of a task is still to be stored."""
        return self.durable is None or not self.durable.unsaved(task_id)

    def start(self, task_id: str, started: float | None = None) -> None:
        """Its work has begun (*started*: at this monotonic time)."""
        with self.lock:
            task = self.tasks.get(task_id)
            if task is None or not task.begin(started):
                return
            info = task.info()
        if self.durable is not None:
            self.durable.update(info)

    def finish(
        self,
        task_id: str,
        status: TaskStatus,
        outcome: Outcome,
        *,
        result: ToolResult | None = None,
        abandoned: bool = False,
        started: float | None = None,
    ) -> TaskInfo | None:
        """
        Give it its final state, result and end. None when it has one already: a late finisher changes nothing.

        Args:
            result: The outcome as the call would have given it in the foreground, its content bounded, and with the
                task's id; None: it is made of the outcome when somebody asks.
            abandoned: Its thread is still at work.
            started: The monotonic time at which its work began, where `start` was not told.
        """
        with self.lock:
            task = self.tasks.get(task_id)
            if task is None or task.status.final or task.ending:
                return None
            if started is not None:
                task.begin(started)
            task.ending = True
            task.ended, task.ended_clock = time.time(), time.monotonic()
            task.abandoned = abandoned
            task.progress = task.reached() if task.reached is not None else None
        task.spool.finish()
        info = task.info(status, outcome)
        try:
            stands = self.durable.finish(info, outcome, result) if self.durable is not None else None
            if stands is not None:
                info, outcome, result = stands[0], stands[1].outcome, None
        finally:  # whatever keeps this thread from it, somebody may wait for the end
            told = self._end(task, info, outcome, result)
        for fn in told:
            notify(fn, info)
        return info

    def _end(
        self, task: LiveTask, info: TaskInfo, outcome: Outcome, result: ToolResult | None
    ) -> list[Callable[[TaskInfo], object]]:
        """The end is known from now on: wake who waits for it. Returns who is to be told of it."""
        with self.lock:
            task.end(info.status, outcome, result)
            self._entered.discard(task.id)
            if task.acknowledged or self.durable is not None:
                self._forget_old(task)
            waiting, task.waiting = [*task.waiting, *self.waiting], []
            told, task.on_done = [*task.on_done, *self._subscribers], []
        for gate in waiting:
            gate.set()
        return told

    def came_back(self, task_id: str) -> None:
        """The thread of a task that was abandoned has come back."""
        with self.lock:
            task = self.tasks.get(task_id)
            if task is None:
                return
            task.abandoned = False
            info = task.info()
        if self.durable is not None:
            self.durable.update(info)

    def has_reader(self) -> bool:
        """Whether a model of those who use these tasks has the tool that reads long results on."""
        return any(catalogue.find(READER) is not None for catalogue in list(self.catalogues))

    def save_result(self, text: str, conversation: str | None = None) -> str:
        """Keep a text that is too long for a model. Returns the id to read it by. Raises OSError."""
        return self.results.save(text, conversation)

    def get(self, task_id: str) -> TaskInfo:
        """A task of this process. Raises TaskNotFoundError."""
        with self.lock:
            task = self.tasks.get(task_id)
            if task is None:
                raise TaskNotFoundError(task_id)
            return task.info()

    def live(self) -> Tasks:
        """The tasks of this process that have not ended, newest first."""
        with self.lock:
            return [task.info() for task in reversed(self.tasks.values()) if not task.status.final]

    def _describe_running(self) -> tuple[str, ...]:
        return tuple(f"{task.id} ({task.tool_name}, {time.time() - task.created:.0f} s)" for task in self.live())

    def stop(self, task_id: str, reason: str) -> bool:
        """Stop its work, and have its end written down. Returns whether this is what ended it."""
        gate = Gate()
        with self.lock:
            task = self.tasks.get(task_id)
            cancel = task.cancel if task is not None else None
            if task is not None:
                task.waiting.append(gate)
        stopped = cancel is not None and cancel(reason)
        if stopped:
            gate.wait(ENDING)
        return stopped

    def forget(self, before: float) -> int:
        """Forget tasks that ended, and results that were saved, at or before that time. Returns how many tasks."""
        stored = set(self.durable.all.prune(before)) if self.durable is not None else None
        self.results.prune(before)
        with self.lock:
            if stored is None:
                stored = {task.id for task in self.tasks.values() if task.status.final and (task.ended or 0) <= before}
            for task_id in stored:
                self.tasks.pop(task_id, None)
                self.saved.pop(task_id, None)
            return len(stored)

    def _store_progress(self) -> None:
        """Let other processes see how far the tasks of this one are, and what they wait for."""
        changed = []
        with self.lock:
            for task in self.tasks.values():
                reached = task.reached() if task.reached is not None else task.progress
                waits = task.waits() if task.waits is not None else None
                if reached is not task.progress or waits != task.waited_for:  # not compared: it is the tool's
                    task.progress, task.waited_for = reached, waits
                    changed.append(replace(task.info(), waiting_for=waits or ""))  # to be stored: it waits no more
        if self.durable is not None:
            for info in changed:
                self.durable.update(info)

    def close(self) -> None:
        """See `TaskManager.close`."""
        with self.lock:
            waiting, self.waiting = self.waiting, []
        for gate in waiting:
            gate.set()
        if self.durable is not None:
            self.durable.close()


def _weak(method: Callable[..., Any]) -> Callable[..., Any]:
    """*method*, as long as its object is there: nothing is kept alive by it."""
    found = weakref.WeakMethod(method)
    return lambda *given: (alive := found()) and alive(*given)


def _after_fork() -> None:
    # The threads that run the parent's tasks, and may have held a lock, are not in the child.
    for table in list(_tables):
        table._begin()  # noqa: SLF001 -- of this very module


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
