"""Who is told of the ends of tasks, and what is still to be delivered: a part of `_table`."""

from __future__ import annotations

import threading
import time
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

from executor.errors import ExecutorUnavailableError, TaskNotFoundError
from executor.tasks._live import notify
from executor.threads._gate import Gate
from executor.values import TaskInfo

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from executor.calls._token import CancelToken
    from executor.tasks._durable import Durable
    from executor.tasks._live import LiveTask

Tasks: TypeAlias = list[TaskInfo]  # `list` is a method's name in managers
KEPT = 1000  # acknowledged tasks that stay readable in memory; the others stay until they are acknowledged
KEPT_OUTPUT = 64 << 20  # bytes of their output in memory
KEPT_STORED = 100  # ended tasks that stay in memory although the store has them


class Forgettable:
    """
    The ended tasks that may be forgotten, the oldest first.

    Attributes:
        size: How many bytes of memory they hold.
    """

    def __init__(self) -> None:
        self._sizes: dict[str, int] = {}
        self.size = 0

    def __len__(self) -> int:
        return len(self._sizes)

    def __contains__(self, task_id: str) -> bool:
        return task_id in self._sizes

    def add(self, task_id: str, size: int = 0) -> None:
        """The newest one."""
        self._sizes[task_id] = size
        self.size += size

    def pop(self) -> str:
        """The oldest one, which is none of them any more."""
        oldest = next(iter(self._sizes))
        self.size -= self._sizes.pop(oldest)
        return oldest


class Delivery:
    """The half of `TaskTable` that has to do with the ends of tasks."""

    lock: threading.Lock
    durable: Durable | None
    tasks: dict[str, LiveTask]
    waiting: list[Gate]
    _subscribers: list[Callable[[TaskInfo], object]]
    _over: Forgettable
    _output_cap: int

    def on_done(self, task_id: str, fn: Callable[[TaskInfo], object]) -> None:
        """Call *fn* once when the task has ended; at once, if it has."""
        with self.lock:
            task = self.tasks.get(task_id)
            if task is None:
                raise TaskNotFoundError(task_id)
            if not task.status.final:
                task.on_done.append(fn)
                return
            info = task.info()
        notify(fn, info)

    def subscribe(self, fn: Callable[[TaskInfo], object], conversation: str | None) -> Callable[[], None]:
        """See `TaskManager.subscribe`."""
        # Wrapped, so that each of two subscriptions of one function is an entry of its own.
        entry = partial(fn) if conversation is None else partial(_tell_of, conversation, fn)
        with self.lock:
            self._subscribers.append(entry)
        if self.durable is not None:
            self.durable.expect_detached()

        def forget() -> None:
            with self.lock:
                if entry in self._subscribers:
                    self._subscribers.remove(entry)

        return forget

    def claim(self, task_id: str) -> bool:
        """Whether the caller is the first to tell of the end of this task, and is to say when that is done: `told`."""
        with self.lock:
            task = self.tasks.get(task_id)
            if task is None or task.told:
                return False
            task.told = True
            return True

    def told(self, task_id: str) -> None:
        """Somebody has been told of its end."""
        if self.durable is not None:
            self.durable.told(task_id)

    def claim_untold(self, conversation: str | None) -> Iterator[TaskInfo]:
        """
        The ended tasks of whose end nobody was told, those from before a restart included, each claimed as it is given.

        Args:
            conversation: Only those of this conversation.

        Raises:
            ExecutorUnavailableError: Nobody can say which there are.
        """
        if self.durable is not None:
            for info in self.durable.all.claim_untold(conversation):
                if info.id not in self.tasks or self.claim(info.id):
                    yield info
            return
        with self.lock:
            ended = [task for task in self.tasks.values() if task.status.final]
        ended = [task for task in ended if conversation in (None, task.conversation)]
        yield from (task.info() for task in ended if self.claim(task.id))

    def later(self, do: Callable[[], bool]) -> None:
        """Call the method *do* in a while, again as long as it returns False: there is much, or the store is away."""
        if self.durable is not None:
            self.durable.later(do)

    def acknowledge(self, task_id: str) -> bool:
        """It is delivered. Returns whether it is a task of this process."""
        with self.lock:
            task = self.tasks.get(task_id)
            if task is not None and not task.acknowledged:
                task.acknowledged = True
                if task.status.final:
                    self._forget_old(task)
            return task is not None

    def undelivered(self, conversation: str | None, most: int | None = None) -> Tasks:
        """See `TaskManager.undelivered`; only the first so many."""
        stored: Tasks = []
        if self.durable is not None:
            try:
                stored = [*islice(filter(self._is_undelivered, self.durable.all.undelivered(conversation)), most)]
            except ExecutorUnavailableError:  # those of this process are known all the same
                stored = []
        with self.lock:
            known = {info.id for info in stored}
            ended = [task for task in self.tasks.values() if task.status.final and not task.acknowledged]
            ended = [task for task in ended if conversation in (None, task.conversation) and task.id not in known]
            ended.sort(key=lambda task: task.ended_clock)
            return [*stored, *(task.info() for task in ended)][:most]

    def next_undelivered(
        self, timeout: float | None, conversation: str | None, cancel: CancelToken | None
    ) -> TaskInfo | None:
        """See `TaskManager.next_undelivered`."""
        deadline = None if timeout is None else time.monotonic() + timeout
        gate = Gate()
        with self.lock:
            self.waiting.append(gate)
        forget = cancel.on_cancel(gate.set) if cancel is not None else None
        if self.durable is not None:
            self.durable.expect_detached()
        try:
            while True:
                gate.clear()  # first: what happens from here on either is seen below, or sets it again
                found = self.undelivered(conversation, 1)
                if gate not in self.waiting:  # the manager was closed
                    return None
                if found:
                    return found[0]
                left = threading.TIMEOUT_MAX if deadline is None else deadline - time.monotonic()
                stopped = left <= 0 or (cancel is not None and cancel.cancelled)
                if stopped or not gate.wait_lending(min(left, threading.TIMEOUT_MAX)):
                    return None
        finally:
            if forget is not None:
                forget()
            with self.lock:
                if gate in self.waiting:
                    self.waiting.remove(gate)

    def ended_elsewhere(self, info: TaskInfo | None) -> None:
        """A task that was left to another process has ended, or (None) been forgotten."""
        with self.lock:
            waiting, told = list(self.waiting), list(self._subscribers)
        for gate in waiting:
            gate.set()
        if info is not None:
            for fn in told:
                notify(fn, info)

    def _is_undelivered(self, info: TaskInfo) -> bool:
        """
        Of those that run here more is known: the store may not have taken it yet, or have an end that is known here,
        with its result, a moment later.
        """
        task = self.tasks.get(info.id)
        return task is None or (task.status.final and not task.acknowledged)

    def _forget_old(self, task: LiveTask) -> None:
        """*task* has ended and may be forgotten: the oldest of too many such, or with too much output, are."""
        over = self._over
        if self.durable is None:
            if task.acknowledged:
                over.add(task.id, min(task.spool.size, self._output_cap))
            while len(over) > KEPT or (over.size > KEPT_OUTPUT and len(over) > 1):
                self.tasks.pop(over.pop(), None)
            return
        if task.id not in over:
            over.add(task.id)
        if len(over) > KEPT_STORED:
            oldest = over.pop()
            if self.durable.unsaved(oldest):
                over.add(oldest)  # memory is all that knows of it
            else:
                self.tasks.pop(oldest, None)


def _tell_of(conversation: str, fn: Callable[[TaskInfo], object], info: TaskInfo) -> None:
    if info.conversation == conversation:
        fn(info)
