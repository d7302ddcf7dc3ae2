"""The tasks of all processes of a user, as the store has them; and what one process asks of the tasks of another."""

from __future__ import annotations

import contextlib
import json
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from executor.errors import ExecutorUnavailableError, TaskNotFoundError, ToolExecutorError
from executor.tasks._answers import Stored
from executor.tasks._changes import ENGINE, claim, mark, request_cancel
from executor.tasks._left import LeftToEngines
from executor.tasks._live import merged
from executor.tasks._recovery import forget, give_back
from executor.tasks._told import all_told, just_told
from executor.threads._gate import Gate
from executor.values import TaskStatus

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from executor.tasks._place import Place
    from executor.tasks._rows import Row
    from executor.values import TaskInfo

POLL = 0.1  # seconds between two looks at another process's task
CANCEL_WAIT = 3.0  # seconds for the owner of a task to stop it: it looks every 0.2 s, commands take 2 s to end
LATELY = 10.0  # seconds for the process of a live task to enter it anew, where another store is in the place of its own
UNTOLD = 100  # ended tasks that are looked at at once for those of whose end nobody was told


class AllTasks:
    """
    The tasks of all processes.

    Args:
        place: Where they are.
        host: Whose results those of this process are.

    Raises:
        ExecutorUnavailableError: From every method, within half a second: the store cannot be used.
    """

    def __init__(self, place: Place, host: str) -> None:
        self._place = place
        self._host = host
        self._left = LeftToEngines(place)
        self._seen: dict[str, float] = {}  # when live tasks were last there, by id; older ones may be left out

    # Looking -----------------------------------------------------------------------------------------------------

    def get(self, task_id: str) -> TaskInfo:
        """A task. Raises TaskNotFoundError."""
        row = self._row(task_id)
        if row.live and row.owner == ENGINE:
            seen = self._left.visit([row])
            if task_id in seen:
                return seen[task_id].told(self._info(row))
            row = self._row(task_id)
        return self._info(row)

    def beginning(self, begins: str, limit: int) -> list[str]:
        """The ids that begin so, at most so many."""
        return self._place.swept().beginning(begins, limit)

    def visit(self, task_ids: set[str]) -> set[str]:
        """Store the ends of those of these tasks that engines have ended. Returns those that engines have not ended."""
        left = [row for row in self._place.store.left_to_engines() if row.id in task_ids] if task_ids else []
        return set(self._left.visit(left)) if left else set()

    def _row(self, task_id: str) -> Row:
        store = self._place.swept()
        row = store.get(task_id)
        if row is None:
            row = just_told(self._place, task_id)
        if row is not None and row.live and self._sweep({row.owner}):
            row = store.get(task_id)
        self._note(task_id, row)
        if row is None:
            raise TaskNotFoundError(task_id)
        return row

    def _note(self, task_id: str, row: Row | None) -> None:
        """
        Raises ExecutorUnavailableError: the task was there a moment ago, and lived.

        No live task is ever forgotten: this is another store, and the task's process has still to enter it here.
        """
        now = time.monotonic()
        if row is None:
            if now < self._seen.get(task_id, now - LATELY) + LATELY:
                raise ExecutorUnavailableError(
                    f"The task store {self._place.store.path} is not the one that had {task_id} a moment ago: its "
                    "process enters it anew; ask again"
                )
        elif not row.live:
            self._seen.pop(task_id, None)
        else:
            if task_id not in self._seen:
                for each, when in list(self._seen.items()):  # a copy: other threads look at tasks as well
                    if when < now - LATELY:
                        self._seen.pop(each, None)
            self._seen[task_id] = now

    def newest(self, status: TaskStatus | None, tool: str | None, limit: int | None) -> list[TaskInfo]:
        """All tasks, newest first."""
        store = self._place.swept()
        rows = store.newest(status, tool, limit)
        with contextlib.suppress(ExecutorUnavailableError):  # it can be read only: then this is what there is to know
            if self._sweep({row.owner for row in rows if row.ended is None}):
                rows = store.newest(status, tool, limit)
        told = [
            self._info(row)
            for row in all_told(self._place)
            if status in (None, row.status) and tool in (None, row.tool)
        ]
        return merged(told, self._infos(rows))[:limit]

    def _infos(self, rows: list[Row]) -> list[TaskInfo]:
        left = [row for row in rows if row.live and row.owner == ENGINE]
        if not left:
            return [self._info(row) for row in rows]
        seen = self._left.visit(left)
        ended = {row.id for row in left} - seen.keys()
        rows = [(self._place.store.get(row.id) or row) if row.id in ended else row for row in rows]
        return [seen[row.id].told(self._info(row)) if row.id in seen else self._info(row) for row in rows]

    def _info(self, row: Row) -> TaskInfo:
        size = self._place.output.size(row.id) if row.output_bytes is None else row.output_bytes
        return row.info(size, abandoned=bool(row.abandoned) and self._place.lives(row.owner))

    def _sweep(self, owners: set[str]) -> bool:
        """Interrupt the tasks of those among *owners* that are dead. Returns whether there were any."""
        dead = {owner for owner in owners if not self._place.lives(owner)}
        return bool(dead) and self._place.sweep(dead) > 0

    def read(self, task_id: str, offset: int, limit: int | None) -> tuple[str, int, int]:
        """Output of a task; see `TaskManager.output`."""
        output = self._place.output
        try:
            row = self._row(task_id)
        except ExecutorUnavailableError:
            known = self._place.store.get(task_id)  # what it has said can be read though its end cannot be written
            if known is None:
                raise
            row = known
        if row.live and row.owner == ENGINE and self._left.visit([row]):
            return self._left.read(row, offset, limit)
        if row.live and row.owner == ENGINE:
            row = self._row(task_id)  # it has just ended
        if not row.live and (whole := self._place.store.output(task_id)) is not None:
            return output.read_whole(whole, offset, limit)
        found = output.read(task_id, offset, limit, row.output_cap, total=row.output_bytes, complete=not row.live)
        if row.live and not found[0] and ((now := self._place.store.get(task_id)) is None or not now.live):
            return self.read(task_id, offset, limit)  # it has just ended: its output may have gone to the store
        return found

    def outcome(self, task_id: str) -> Stored | None:
        """What a task came to; None while it lives. Raises ToolExecutorError: it is lost."""
        found = self._place.store.outcome(task_id)
        if found is None:
            return None
        success, value, more, filed = found
        try:
            if filed:
                value, more = json.loads(self._place.output.load_result(task_id))
            return Stored((bool(success), json.loads(value)), more)
        except (OSError, ValueError, TypeError) as error:
            raise ToolExecutorError(f"The result of the task {task_id} cannot be read any more: {error}") from error

    # Delivering --------------------------------------------------------------------------------------------------

    def undelivered(self, conversation: str | None) -> Iterator[TaskInfo]:
        """Ended tasks of this host that nobody has acknowledged: of this process, of those gone, and detached ones."""
        store, last = self._place.swept(), -1
        while page := store.undelivered(self._host, conversation, last):
            last = page[-1][-1]
            alive = self._alive(row for row, detached, _ in page if not detached)
            yield from (self._info(row) for row, detached, _ in page if detached or row.owner not in alive)

    def _alive(self, rows: Iterable[Row]) -> set[str]:
        """Which other processes are there: nobody but they delivers their tasks."""
        others = {row.owner for row in rows} - {self._place.own_id, ENGINE}
        return {owner for owner in others if self._place.lives(owner)}

    def detached(self, since: float) -> set[str]:
        """The tasks of this host that were left to other processes, and have not ended before that time."""
        store = self._place.store
        return set(store.detached(self._host, since)) if store.path.exists() else set()

    def claim_untold(self, conversation: str | None) -> Iterator[TaskInfo]:
        """
        The ended tasks of this host of whose end nobody was told. Each is claimed when it is given: nobody else tells
        of it while this process lives.
        """
        store, last = self._place.swept(), -1
        while page := store.untold(self._host, conversation, last, UNTOLD):
            alive = self._alive(row for row, _, _ in page)
            last = page[-1][-1]
            for row, teller, _ in page:
                if row.owner in alive or (teller is not None and self._place.lives(teller)):
                    continue
                if row.owner == self._place.own_id or self._place.write(partial(self._claim, row.id, teller)):
                    yield self._info(row)

    def _claim(self, task_id: str, before: str | None, connection: Any) -> bool:
        return claim(connection, task_id, self._place.present(connection), before)

    def acknowledge(self, task_id: str) -> None:
        """A task of another process is delivered. Raises TaskNotFoundError."""
        if not self._place.write(lambda connection: mark(connection, task_id, "acknowledged", 1)):
            self._row(task_id)

    # Changing ----------------------------------------------------------------------------------------------------

    def cancel(self, task_id: str, reason: str) -> bool:
        """Ask another process to stop its task, and wait a little. Returns whether that ended it."""
        row = self._row(task_id)
        if row.live and row.owner == ENGINE:
            return self._left.cancel(row, reason)
        if not row.live:
            return False
        if not self._place.write(lambda connection: request_cancel(connection, task_id, reason)):
            return False
        deadline = time.monotonic() + CANCEL_WAIT
        rest = Gate()
        while time.monotonic() < deadline:
            with contextlib.suppress(ExecutorUnavailableError):  # it has been asked for, and the store may come back
                row = self._row(task_id)
                if not row.live:
                    return row.status == TaskStatus.CANCELLED
            rest.wait(POLL)
        return False

    def prune(self, before: float) -> list[str]:
        """Forget tasks that ended at or before that time. Returns which."""
        store = self._place.swept()
        removed = forget(self._place.write, self._place.output, lambda: store.ended_before(before))
        if removed:
            try:
                give_back(store, self._place.write)
            except ExecutorUnavailableError:  # a file that is longer than it has to be is no reason for an error
                return removed
        return removed
