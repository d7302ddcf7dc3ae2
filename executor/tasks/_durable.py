"""
Tasks on the disk: the store, the output, the owner's lock.

Nothing is imported or opened before it is needed. `Durable._lock` guards what is made once and the two collections; of
other locks the store's is taken under it.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
import threading
import time
import weakref
from pathlib import Path
from typing import TYPE_CHECKING

from executor._log import warn
from executor.errors import ExecutorUnavailableError, TaskNotFoundError
from executor.tasks._files import FileSpool, OutputFolder
from executor.tasks._watch import Watch
from executor.values import TaskStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from executor.tasks._answers import Stored
    from executor.tasks._owners import OwnerLock
    from executor.tasks._spool import Groups, Spool
    from executor.tasks._store import Row, Store
    from executor.values import Outcome, TaskInfo, ToolResult

POLL = 0.1  # seconds between two looks at another process's task
CANCEL_WAIT = 3.0  # seconds for the owner of a task to stop it: it looks every 0.2 s, commands take 2 s to end
CLEAN_EVERY = 24 * 3600.0

_open: weakref.WeakSet[Durable] = weakref.WeakSet()
_inherited: list[Store] = []  # of the parents of a forked process: to be touched, or closed, by them only


class Durable:
    """
    The tasks of all processes of this user.

    Args:
        folder: Where they are; None for the user's state folder.
        host: See `TaskManager.open`.
        stop: Stops a task of this process for another one: ``stop(task_id, reason)``.
    """

    def __init__(self, folder: Path | None, host: str | None, stop: Callable[[str, str], object]) -> None:
        self._folder = folder
        self._host = host if host is not None else _usual_host()
        self._stop = stop
        self._begin()

    def _begin(self) -> None:
        _open.add(self)
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._store: Store | None = None
        self._output: OutputFolder | None = None
        self._owner: OwnerLock | None = None
        self._live: set[str] = set()
        self._unsaved: dict[str, tuple[TaskInfo, Outcome, ToolResult | None]] = {}
        self._cleaned = False
        self._warned = False
        self._watch = Watch(self._look)

    # Opening and closing -----------------------------------------------------------------------------------------

    def store(self) -> Store:
        """
        The store; at first use it is opened, and the tasks of dead owners are swept.

        Raises:
            ExecutorUnavailableError: It cannot be used.
        """
        if self._store is None:
            with self._lock:
                if self._store is None:
                    from executor.tasks._recovery import sweep
                    from executor.tasks._store import Store

                    store = Store(self.folder() / "tasks.db")
                    sweep(store, self.output(), self._owners, "")
                    self._store = store
        return self._store

    def output(self) -> OutputFolder:
        """The output of all tasks."""
        if self._output is None:
            self._output = OutputFolder(self.folder() / "output")
        return self._output

    def folder(self) -> Path:
        """Where everything is."""
        if self._folder is None:
            import platformdirs  # with what it imports 10 ms, wanted once a task is

            self._folder = platformdirs.user_state_path("toolexec", appauthor=False)
        return self._folder

    @property
    def host(self) -> str:
        """Whose results the tasks of this process are."""
        return self._host

    @property
    def _owners(self) -> Path:
        return self.folder() / "owners"

    def _own(self) -> OwnerLock:
        """This process as an owner of tasks."""
        store = self.store()
        with self._lock:
            if self._owner is None:
                from executor.tasks._owners import OwnerLock
                from executor.tasks._processes import birth

                owner = OwnerLock(self._owners)
                try:
                    store.add_owner(owner.id, birth(os.getpid()))
                except ExecutorUnavailableError:
                    owner.release()
                    raise
                self._owner = owner
            return self._owner

    def close(self) -> None:
        """Tasks that still live are interrupted, and everything is freed. In a forked child nothing happens."""
        if self._pid != os.getpid() or self._store is None:
            return
        try:
            self._save()
            if self._owner is not None and self._live:
                from executor.tasks._recovery import gone

                sizes = [(task_id, self.output().size(task_id)) for task_id in list(self._live)]
                self._store.interrupt(sizes, self._owner.id, gone(self._pid))
        except ExecutorUnavailableError as error:
            warn(f"Tasks are left for the next process to call interrupted: {error}")
        if self._owner is not None:
            self._owner.release()
        self._store.close()
        self._store = self._owner = None
        self._live.clear()
        with self._lock:
            self._unsaved.clear()  # else the watch would go on, and open the store again
        self._watch.hurry()

    def after_fork(self) -> None:
        """This process is a child: it owns nothing, and must not touch its parent's connection."""
        if self._store is not None:
            _inherited.append(self._store)
        if self._owner is not None:
            self._owner.after_fork()
        self._begin()

    # Tasks of this process ---------------------------------------------------------------------------------------

    def new_spool(self, cap: int) -> FileSpool:
        """Where a call's output is kept."""
        return FileSpool(self.output, cap, self.set_groups)

    def add(self, info: TaskInfo, cap: int, spool: Spool) -> None:
        """
        A task is about to be handed out. When this returns it is on the disk.

        Raises:
            ExecutorUnavailableError: It cannot be kept.
        """
        owner, groups = self._own().id, spool.groups
        self.store().add(
            info.id,
            tool=info.tool_name,
            plugin=info.plugin_name,
            call=info.call_id,
            owner=owner,
            host=self._host,
            created=info.created,
            started=info.started,
            output_cap=cap,
            groups=groups,
            conversation=info.conversation,
        )
        self._live.add(info.id)
        self._watch.wake()
        _at_exit_first()
        if spool.groups != groups:  # another one came meanwhile, when there was no row yet
            self.set_groups(info.id, spool.groups)

    def remove(self, task_id: str) -> None:
        """Its id never was handed out. Never raises."""
        self._live.discard(task_id)
        self._try(lambda store: store.remove([task_id]))

    def start(self, task_id: str, started: float) -> None:
        """It runs. Never raises."""
        self._try(lambda store: store.start(task_id, started))

    def finish(
        self, info: TaskInfo, outcome: Outcome, result: ToolResult | None
    ) -> tuple[TaskInfo, Outcome, ToolResult | None]:
        """
        A task has ended. Never raises: what cannot be stored now is tried again.

        Returns:
            The end that stands: another one, if another process had reason to take this one for dead.
        """
        self._live.discard(info.id)
        try:
            return self._finish(info, outcome, result)
        except ExecutorUnavailableError as error:
            self._warn_once(f"The end of a task cannot be stored yet: {error}")
            with self._lock:
                self._unsaved[info.id] = info, outcome, result
            self._watch.wake()
            return info, outcome, result

    def _finish(
        self, info: TaskInfo, outcome: Outcome, result: ToolResult | None
    ) -> tuple[TaskInfo, Outcome, ToolResult | None]:
        store = self.store()
        if not store.finish(info, outcome, result):
            row, stands = store.get(info.id), store.outcome(info.id)
            if row is not None and stands is not None:
                return row.info(info.output_bytes), stands.outcome, None
        return info, outcome, result

    def came_back(self, task_id: str) -> None:
        """Its thread has come back. Never raises."""
        self._try(lambda store: store.set(task_id, "abandoned", 0))

    def set_groups(self, task_id: str, groups: Groups) -> None:
        """These process groups work for it. Never raises."""
        _at_exit_first()
        self._try(lambda store: store.set(task_id, "groups", json.dumps(groups)))

    def claim(self, task_id: str) -> bool:
        """Whether its done-callback is the caller's to call. Never raises: in doubt it is."""
        claimed = self._try(lambda store: store.set(task_id, "told", 1))
        return claimed is not False

    def _try(self, do: Callable[[Store], bool | None]) -> bool | None:
        try:
            return do(self.store())
        except ExecutorUnavailableError as error:
            self._warn_once(f"A task could not be brought up to date: {error}")
            return None

    def _warn_once(self, message: str) -> None:
        if not self._warned:
            self._warned = True
            warn(f"{message} (said once)")

    def unsaved(self, task_id: str) -> bool:
        """Whether the end of this task is still to be stored."""
        return task_id in self._unsaved

    def _save(self) -> None:
        for task_id, end in list(self._unsaved.items()):
            self._finish(*end)
            with self._lock:
                self._unsaved.pop(task_id, None)
            self._warned = False

    def _look(self) -> bool:
        """One turn of the watch. Returns whether there is reason for another."""
        try:
            self._look_after()
        except ExecutorUnavailableError as error:
            self._warn_once(f"What other processes ask of tasks cannot be seen: {error}")
        return bool(self._live or self._unsaved)

    def _look_after(self) -> None:
        if self._owner is not None and self._live:
            for task_id, reason in self.store().requests(self._owner.id):
                self._stop(task_id, reason)
        if self._unsaved:
            self._save()
        if not self._cleaned and self._live:
            self._cleaned = True
            if self.store().claim_cleaning(CLEAN_EVERY):
                from executor.tasks._recovery import clean

                clean(self.store(), self.output(), self._owners)

    # Tasks of all processes --------------------------------------------------------------------------------------

    def get(self, task_id: str) -> TaskInfo:
        """A task. Raises TaskNotFoundError."""
        return self._info(self._row(task_id))

    def _row(self, task_id: str) -> Row:
        row = self.store().get(task_id)
        if row is not None and row.live and self._sweep([row.owner]):
            row = self.store().get(task_id)
        if row is None:
            raise TaskNotFoundError(task_id)
        return row

    def newest(self, status: TaskStatus | None, tool: str | None, limit: int | None) -> list[TaskInfo]:
        """All tasks, newest first."""
        rows = self.store().newest(status, tool, limit)
        if self._sweep({row.owner for row in rows if row.live}):
            rows = self.store().newest(status, tool, limit)
        return [self._info(row) for row in rows]

    def _info(self, row: Row) -> TaskInfo:
        size = self.output().size(row.id) if row.output_bytes is None else row.output_bytes
        return row.info(size, abandoned=bool(row.abandoned) and self._lives(row.owner))

    def _lives(self, owner: str) -> bool:
        from executor.tasks._recovery import lives

        return (self._owner is not None and owner == self._owner.id) or lives(self.store(), self._owners, owner)

    def _sweep(self, owners: Iterable[str]) -> bool:
        """Interrupt the tasks of those among *owners* that are dead. Returns whether there were any."""
        from executor.tasks._recovery import sweep

        own = self._owner.id if self._owner is not None else ""
        dead = [owner for owner in owners if not self._lives(owner)]
        return bool(dead) and sweep(self.store(), self.output(), self._owners, own, dead) > 0

    def read(self, task_id: str, offset: int, limit: int | None) -> tuple[str, int, int]:
        """Output of a task; see `TaskManager.output`."""
        row = self._row(task_id)
        return self.output().read(task_id, offset, limit, row.output_cap, total=row.output_bytes, complete=not row.live)

    def outcome(self, task_id: str) -> Stored | None:
        """What a task came to; None while it lives."""
        return self.store().outcome(task_id)

    def cancel(self, task_id: str, reason: str) -> bool:
        """Ask another process to stop its task, and wait a little. Returns whether that ended it."""
        if not self._row(task_id).live or not self.store().request_cancel(task_id, reason):
            return False
        deadline = time.monotonic() + CANCEL_WAIT
        rest = threading.Event()
        while (row := self._row(task_id)).live and time.monotonic() < deadline:
            rest.wait(POLL)
        return row.status == TaskStatus.CANCELLED

    def undelivered(self, conversation: str | None) -> list[TaskInfo]:
        """Ended tasks of this host that nobody has acknowledged: of this process, and of those that are gone."""
        stored = [self._info(row) for row in self._ours(self.store().undelivered(self._host, conversation))]
        with self._lock:
            unsaved = [info for info, _, _ in self._unsaved.values()]
        return [*stored, *(info for info in unsaved if conversation in (None, info.conversation))]

    def unreported(self, limit: int) -> list[TaskInfo]:
        """The same of those of whose end nobody was told; each is claimed by being returned."""
        rows = self._ours(self.store().unreported(self._host, limit))
        return [self._info(row) for row in rows if self.store().set(row.id, "told", 1)]

    def _ours(self, rows: list[Row]) -> list[Row]:
        """Those of this process, and of processes that nobody but this host's next one can stand in for."""
        own = self._owner.id if self._owner is not None else ""
        alive = {owner for owner in {row.owner for row in rows} - {own} if self._lives(owner)}
        return [row for row in rows if row.owner not in alive]

    def acknowledge(self, task_id: str) -> None:
        """It is delivered. Raises TaskNotFoundError."""
        if not self.store().set(task_id, "acknowledged", 1):
            self._row(task_id)

    def prune(self, before: float) -> list[str]:
        """Forget tasks that ended at or before that time. Returns which."""
        from executor.tasks._recovery import forget

        old = self.store().ended_before(before)
        forget(self.store(), self.output(), old)
        return old


def _at_exit_first() -> None:
    # Last registered is first called: tasks are interrupted, and only then what works for them is ended, by those who
    # started it. The other way round a command would seem to have ended by itself.
    atexit.unregister(_close_all)
    atexit.register(_close_all)


def _close_all() -> None:
    for durable in list(_open):
        durable.close()


def _usual_host() -> str:
    """The program and its working folder: started anew there, it is the same assistant for the same project."""
    try:
        where = str(Path.cwd())
    except OSError:  # it has been deleted
        where = ""
    return f"{Path(sys.argv[0] if sys.argv else '').name}@{where}"
