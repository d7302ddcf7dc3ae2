"""The tasks of this process on their way to the store: each is written as it is by then, as often as it has changed."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from executor._log import warn
from executor.errors import ExecutorUnavailableError
from executor.tasks._answers import Stored
from executor.tasks._changes import leave_to_engine, mark, marks, put, remove_owner, set_groups, speculate, withdraw
from executor.tasks._recovery import gone
from executor.tasks._rows import End, Entry
from executor.tasks._thread import Change
from executor.values import TaskInfo, TaskStatus

if TYPE_CHECKING:
    import sqlite3

    from executor.tasks._files import FileSpool
    from executor.tasks._place import Place
    from executor.tasks._spool import Groups
    from executor.values import Outcome, ToolResult

IN_STORE = 64 * 1024  # characters of JSON of a result that are in the store; longer ones are in files
MOST_KEPT = 10_000  # ended tasks that wait for a store that is away; past it the oldest are given up, and counted


class Kept:
    """
    A task whose end is not stored yet.

    Attributes:
        entry: How it is.
        writing: How it was when the thread that writes took it.
        whole: Its output, where the store has it.
        early: What makes a row of it before anybody is told its id, or None.
        change: What writes it next, or has written it last.
    """

    __slots__ = ("change", "early", "entry", "filed", "spool", "whole", "writing")

    def __init__(self, entry: Entry, spool: FileSpool) -> None:
        self.entry = entry
        self.spool = spool
        self.writing = entry
        self.whole: bytes | None = None
        self.filed = False
        self.early: Change[None] | None = None
        self.change: Change[bool] | None = None


class OwnTasks:
    """
    The tasks of this process.

    `_lock` guards what is kept, and what is noted in the owner's file; of others only the thread's is taken under it.

    Args:
        place: Where they are stored.
        host: Whose results they are.
        detached: Whether another process is to deliver them.
    """

    def __init__(self, place: Place, host: str, *, detached: bool) -> None:
        self._place = place
        self._host = host
        self._detached = detached
        self._lock = threading.Lock()
        self._kept: dict[str, Kept] = {}
        self._noted: set[str] = set()  # tasks of which something is in the owner's file that the store has not
        self._withdrawn: set[str] = set()  # tasks that never were any, while the store still has them
        self._opened = 0
        self.given_up = 0
        self._warned = False

    def prepare(self, info: TaskInfo, cap: int, spool: FileSpool) -> Change[None]:
        """A call is about to become a task: it has a row that nobody sees until its id is told."""
        kept = self._keep(info, cap, spool)
        kept.early = self._place.thread.put(Change(partial(self._speculate, kept), before=partial(spool.keep, info.id)))
        return kept.early

    def _speculate(self, kept: Kept, connection: sqlite3.Connection) -> None:
        owner = self._place.present(connection)
        speculate(connection, kept.entry.values(owner, self._host, detached=self._detached))

    def _keep(self, info: TaskInfo, cap: int, spool: FileSpool, engine: tuple[str, str] | None = None) -> Kept:
        kept = Kept(Entry(info, cap, engine=engine), spool)
        with self._lock:
            self._kept[info.id] = kept
        spool.named(info.id)  # groups from now on come here …
        if spool.groups:  # … and those until now are here
            with self._lock:
                kept.entry = kept.writing = replace(kept.entry, groups=spool.groups)
        return kept

    def add(self, info: TaskInfo, cap: int, spool: FileSpool, engine: tuple[str, str] | None = None) -> None:
        """A task begins. Waits a little until it is on the disk."""
        kept = self._keep(info, cap, spool, engine)
        self._place.thread.wait(self._put(kept))

    def tell(self, task_id: str) -> bool:
        """The id is about to be told. Returns whether the task is in the store by now."""
        kept = self._kept.get(task_id)
        if kept is None:
            return True  # it has ended, and that is stored
        if kept.early is None:
            stored = kept.change is not None and kept.change.stored
            if not stored:
                self._note_all(kept)
            return stored
        if kept.spool.groups:  # which may be newer than the row
            self._note(task_id, json.dumps({"groups": kept.spool.groups}))
        noted = kept.early.stored and self._note(task_id, task_id)
        change = self._put(kept)
        stored = noted or (kept.early.stored and self._place.thread.wait(change))
        if not stored:
            self._note_all(kept)
        return stored

    def _note(self, task_id: str, line: str) -> bool:
        """Write something beside the store that is to be there by then. Returns whether it is."""
        owner = self._place.owner
        with self._lock:
            if owner is None or not owner.note(line):
                return False
            self._noted.add(task_id)
            return True

    def _forget_note(self, task_id: str) -> None:
        """The store has all of this task."""
        with self._lock:
            self._forget(task_id)

    def _forget(self, task_id: str) -> None:
        owner = self._place.owner
        if task_id in self._noted:
            self._noted.discard(task_id)
            if not self._noted and owner is not None:
                owner.forget()

    def _note_all(self, kept: Kept) -> None:
        """The store is away: should this process die before it is back, its tasks are known all the same."""
        try:
            owner = self._place.make_owner()
        except ExecutorUnavailableError:  # the whole folder is away
            return
        entry = kept.entry
        values = entry.values(owner.id, self._host, detached=self._detached)
        if self._note(entry.info.id, json.dumps({"values": values, "final": entry.final()})):
            with contextlib.suppress(OSError):
                kept.spool.keep(entry.info.id)

    def remove(self, task_id: str) -> None:
        """The id never was told."""
        with self._lock:
            kept = self._kept.pop(task_id, None)
        if kept is not None:
            self._withdrawn.add(task_id)
            withdrawn = partial(self._withdrawn.discard, task_id)
            self._place.thread.put(Change(partial(_remove, task_id), kept=True, after=withdrawn))
            self._forget_note(task_id)

    @property
    def withdrawn(self) -> frozenset[str]:
        """Ids that never were told, of which there may be rows. To be looked at before the rows are."""
        return frozenset(self._withdrawn.copy())  # one operation, which is atomic

    def update(self, info: TaskInfo) -> None:
        """It has changed."""
        with self._lock:
            kept = self._kept.get(info.id)
            if kept is not None:
                if kept.entry.end is None:
                    kept.entry = replace(kept.entry, info=info)
                else:
                    kept.entry = replace(kept.entry, info=replace(kept.entry.info, abandoned=info.abandoned))
        if kept is None:
            self._mark_later(info.id, "abandoned", int(info.abandoned))
        elif kept.change is not None:  # a speculative row stays what it is
            self._put(kept)

    def set_groups(self, task_id: str, groups: Groups) -> None:
        """A process group works for it, or is about to: also when it was stopped, and its thread has not heard."""
        with self._lock:
            kept = self._kept.get(task_id)
            if kept is not None:
                groups = kept.spool.groups  # which may be newer
                kept.entry = replace(kept.entry, groups=groups)
        recorded = json.dumps(groups)
        self._note(task_id, f'{{"groups": {recorded}}}')
        if kept is None:
            forget = partial(self._forget_note, task_id)
            self._place.thread.put(Change(partial(set_groups, task_id, recorded), kept=True, after=forget))
        elif kept.change is not None and all(group.number for group in groups):  # else noted, until they are known
            self._put(kept)

    def finish(self, info: TaskInfo, outcome: Outcome, result: ToolResult | None) -> tuple[TaskInfo, Stored] | None:
        """
        A task has ended. Waits a little until that is on the disk; it will be, once that is possible.

        Returns:
            The end that stands in the store, if it is another: some process had reason to take this one for dead.
        """
        end = End.of(outcome, result)
        with self._lock:
            kept = self._kept.get(info.id)
            if kept is None:
                return None
            kept.entry = replace(kept.entry, info=info, end=end, groups=kept.spool.groups)
        change = self._put(kept)
        if self._place.thread.wait(change):
            return None if change.result else self._standing(info)
        self._note_all(kept)
        if change.stored:  # by now
            self._forget_note(info.id)
        self._warn_once(f"The end of a task cannot be stored yet: {change.error or 'the store is slow'}")
        self._bound()
        return None

    def _standing(self, info: TaskInfo) -> tuple[TaskInfo, Stored] | None:
        store = self._place.store
        try:
            row, found = store.get(info.id), store.outcome(info.id)
            if row is None or found is None:
                return None
            return row.info(info.output_bytes), Stored((bool(found[0]), json.loads(found[1])), found[2])
        except (ExecutorUnavailableError, ValueError):
            return None

    def _warn_once(self, message: str) -> None:
        if not self._warned:
            self._warned = True
            warn(f"{message} (said once)")

    def _bound(self) -> None:
        """Give up the oldest ends when too many wait for the store."""
        with self._lock:
            if len(self._kept) <= MOST_KEPT:
                return
            oldest = next((key for key, kept in self._kept.items() if kept.entry.end is not None), None)
            if oldest is not None:
                kept = self._kept.pop(oldest)
                kept.entry = kept.writing = replace(kept.entry, end=None)  # what is written then is next to nothing
                self.given_up += 1
        if self.given_up in (1, 100) or self.given_up % 10_000 == 0:
            warn(
                f"The store is away, and more than {MOST_KEPT} tasks wait for it: the ends of {self.given_up} are lost"
            )

    # What is marked once it has ended ----------------------------------------------------------------------------

    def told(self, task_id: str) -> None:
        """Its done-callback has been called."""
        self._mark_kept(task_id, "told")

    def acknowledge(self, task_id: str) -> Change[Any]:
        """It is delivered."""
        return self._mark_kept(task_id, "acknowledged")

    def _mark_kept(self, task_id: str, column: str) -> Change[Any]:
        with self._lock:
            kept = self._kept.get(task_id)
            if kept is not None:
                kept.entry = replace(kept.entry, **{column: True})  # type: ignore[arg-type]  # both are flags
        return self._mark_later(task_id, column, 1) if kept is None else self._put(kept)

    def _mark_later(self, task_id: str, column: str, value: int) -> Change[bool]:
        return self._place.thread.put(Change(lambda connection: mark(connection, task_id, column, value), kept=True))

    # Writing -----------------------------------------------------------------------------------------------------

    def _put(self, kept: Kept) -> Change[bool]:
        with self._lock:
            change = kept.change
            if change is None or change.taken:
                change = kept.change = Change(
                    partial(self._write, kept),
                    kept=True,
                    slow=kept.entry.end is not None and kept.spool.is_long,
                    before=partial(self._before, kept),
                    after=partial(self._after, kept),
                )
                self._place.thread.put(change)
            return change

    def put_all(self) -> None:
        """Somebody has taken the store away, or what this process has in it."""
        for kept in list(self._kept.values()):
            kept.spool.renew()
            if kept.change is not None:
                self._put(kept)

    def _before(self, kept: Kept) -> None:
        kept.writing = entry = kept.entry
        task_id, end = entry.info.id, entry.end
        if end is None:
            kept.spool.keep(task_id)
            return
        kept.whole = kept.spool.whole()
        if kept.whole is None:
            kept.spool.sync(task_id)
        kept.filed = len(end.value) + len(end.more or "") > IN_STORE
        if kept.filed:
            self._place.output.save_result(task_id, json.dumps([end.value, end.more]))

    def _write(self, kept: Kept, connection: sqlite3.Connection) -> bool:
        owner, entry = self._place.present(connection), kept.writing
        values = entry.values(owner, self._host, detached=self._detached)
        return put(connection, entry, values, filed=kept.filed, output=kept.whole or None)

    def _after(self, kept: Kept) -> None:
        entry = kept.writing
        with self._lock:
            if entry.end is not None:
                self._kept.pop(entry.info.id, None)
                missed = kept.entry if kept.entry is not entry else None
            else:
                missed = None
            if kept.entry is entry or entry.end is not None:  # what is noted from now on is newer
                self._forget(entry.info.id)
        if entry.end is not None and kept.whole is not None:
            kept.spool.stored(kept.whole)
        if missed is not None:  # marks that came while it was written
            self._place.thread.put(Change(lambda connection: marks(connection, missed), kept=True))
        self._warned = False
        if self._opened != (opened := self._place.store.writer.opened):
            first, self._opened = self._opened == 0, opened
            if not first:
                self.put_all()

    # The end -----------------------------------------------------------------------------------------------------

    @property
    def live(self) -> list[str]:
        """The tasks that have not ended."""
        return [key for key, kept in list(self._kept.items()) if kept.entry.end is None]

    def unsaved(self, task_id: str) -> bool:
        """Whether the end of this task is still to be stored."""
        return task_id in self._kept

    @property
    def waiting(self) -> bool:
        """Whether there is a task that has not ended, or whose end is not stored."""
        return bool(self._kept)

    def interrupt(self, pid: int) -> None:
        """This process ends, or has no more to do with tasks: those that still run are interrupted."""
        for task_id in self.live:
            kept = self._kept.get(task_id)
            if kept is None:
                continue
            if kept.change is None:
                self.remove(task_id)
                continue
            if kept.entry.engine is not None:
                self.leave_to_engine(task_id)
                continue
            now, error = time.time(), gone(pid)
            info = replace(
                kept.entry.info, status=TaskStatus.INTERRUPTED, ended=now, error=error, output_bytes=kept.spool.size,
                duration=max(0.0, now - (kept.entry.info.started or now)),
            )  # fmt: skip
            kept.spool.finish()
            with self._lock:
                end = End.of((False, {"error": error, "interrupted": True}), None)
                kept.entry = replace(kept.entry, info=info, end=end)
            self._put(kept)

    def leave_to_engine(self, task_id: str) -> None:
        """This process has no more to do with a task that an engine has. Waits a little until that is stored."""
        with self._lock:
            kept = self._kept.pop(task_id, None)
        if kept is None:
            return
        kept.spool.finish()
        change = Change(partial(self._leave_to_engine, task_id), kept=True, after=partial(self._forget_note, task_id))
        self._place.thread.wait(self._place.thread.put(change))

    def _leave_to_engine(self, task_id: str, connection: sqlite3.Connection) -> None:
        leave_to_engine(connection, self._place.present(connection), task_id)

    def leave(self) -> None:
        """This process is no owner any more, once everything else is written."""
        owner = self._place.owner
        if owner is not None:
            self._place.thread.put(Change(lambda connection: remove_owner(connection, owner.id), kept=True, slow=True))


def _remove(task_id: str, connection: sqlite3.Connection) -> None:
    withdraw(connection, [task_id])
    connection.execute("DELETE FROM task WHERE id = ? AND ended IS NULL", (task_id,))
