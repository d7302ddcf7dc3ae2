"""
Tasks on the disk. What a process knows of its own tasks is true at once; the store follows, and nobody waits for it.

::

    _table      the tasks of this process, in memory: what callers and tools ask of them is answered from here
    _own        the same on their way to the store: each is written as it is by then, as often as it has changed
    _thread     writes to the store (executor-store), as much as there is in each transaction; tries again by itself
    _elsewhere  the tasks of all processes, read from the store; requests to other processes
    _watch      looks what other processes ask for (executor-tasks), while this one has tasks
    _place      the folder: store, thread, outputs, and the lock by which other processes know that this one lives

**A hand-over.** Some milliseconds before a call's threshold `OwnTasks.prepare` has a *speculative* row written, in a
table of its own, where nobody sees it. At the threshold the id is appended to the owner's file (it survives a kill),
and told; the row among the tasks is written right after. If the call ends before, the row is taken away. Whoever finds
the owner dead makes tasks of the speculative rows whose ids were told, and deletes the others.

**Waiting.** A caller waits at most `_thread.WAIT` for what has to be on the disk, and not at all while the store is
known to be away (`StoreThread.broken`). What is not stored by then is true in memory, and stored later; an id told
meanwhile comes with ``"durable": false``. Readers wait at most `_store.PATIENCE`, if they were not given more.

**Locks**, in the order in which they may be taken, nothing of a caller's under any: ``TaskTable.lock`` → a spool's → a
writer's of output → the list of open files'; ``Connection.lock`` (one for reading, one for writing; held while SQLite
is at work) → ``Place._lock``; ``Durable._lock`` → ``OwnTasks._lock`` → ``StoreThread._news``. ``executor-store`` has
the writing connection, whoever holds its lock the reading one. The watch holds no lock.

**Forks.** Both connections are held meanwhile: a child's SQLite would believe in the parent's locks. There all is new.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
import weakref
from typing import TYPE_CHECKING

from executor._log import warn
from executor.errors import ExecutorUnavailableError, TaskNotFoundError
from executor.ownfolders import own_folder
from executor.tasks._exit import FirstAtExit
from executor.tasks._files import FileSpool
from executor.tasks._owners import usual_host
from executor.tasks._watch import Watch

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from executor.tasks._answers import Stored
    from executor.tasks._elsewhere import AllTasks
    from executor.tasks._own import OwnTasks
    from executor.tasks._place import Place
    from executor.tasks._spool import Groups
    from executor.tasks._thread import Change
    from executor.values import Outcome, TaskInfo, ToolResult

FIRST_LEAD = 0.050  # seconds before a threshold at which the store is opened that was not used yet
LOOK_FOR_OLD = 3600.0  # seconds after which it is looked again whether nobody has cleaned for a day
FORK_WAIT = 1.0  # seconds that a fork waits for a transaction

_open: weakref.WeakSet[Durable] = weakref.WeakSet()
_held: list[Place] = []  # while this process forks
_inherited: list[Place] = []  # of the parents of a forked process: to be touched, or closed, by them only


class Durable:
    """
    The tasks of all processes of this user.

    Args:
        folder: Where they are; None for the user's state folder.
        host: See `TaskManager.open`.
        detached: Whether this process runs tasks that another one is to deliver.
        patience: See `TaskManager.open`.

    Attributes:
        stop: Stops a task of this process for another one: ``stop(task_id, reason)``.
        ended_elsewhere: Called with a task that was left to another process and has ended; with None, if it is gone.
        progress: Has the tasks whose progress has changed stored.
    """

    def __init__(
        self, folder: Path | None, host: str | None, *, detached: bool = False, patience: float | None = None
    ) -> None:
        self._folder = folder
        self._detached = detached
        self._patience = patience
        self._host = host if host is not None else usual_host()
        self.stop: Callable[[str, str], object] = _nothing
        self.ended_elsewhere: Callable[[TaskInfo | None], object] = _nothing
        self.progress: Callable[[], object] = _nothing
        self._begin()

    def _begin(self, broken: str | None = None) -> None:
        _open.add(self)
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._broken = broken
        self._parts: tuple[Place, OwnTasks, AllTasks] | None = None
        self._left: set[str] = set()  # tasks of this host that other processes run
        self._later: list[Callable[[], bool | None]] = []  # what is to be done once the store can be used
        self._expected_since = 0.0  # since when those that an earlier process of this host has left are; 0: not at all
        self._warned = False
        self._looked_for_old: float | None = None  # when it was looked for old tasks
        self._watch = Watch(self._look)

    # Opening and closing -----------------------------------------------------------------------------------------

    def _made(self) -> tuple[Place, OwnTasks, AllTasks]:
        if self._parts is None:
            if self._broken is not None:
                raise ExecutorUnavailableError(self._broken)
            with self._lock:
                if self._parts is None:
                    self._parts = self._make()
        return self._parts

    def _make(self) -> tuple[Place, OwnTasks, AllTasks]:
        try:
            from executor.tasks._elsewhere import AllTasks
            from executor.tasks._own import OwnTasks
            from executor.tasks._place import Place

            place = Place(self.folder(), self._patience)
        except OSError as error:  # the process may open no more files, not even those modules
            raise ExecutorUnavailableError(f"Tasks cannot be stored now: {error}") from error
        return place, OwnTasks(place, self._host, detached=self._detached), AllTasks(place, self._host)

    @property
    def place(self) -> Place:
        """The folder and what is open in it. Raises ExecutorUnavailableError."""
        return self._made()[0]

    @property
    def own(self) -> OwnTasks:
        """The tasks of this process. Raises ExecutorUnavailableError."""
        return self._made()[1]

    @property
    def all(self) -> AllTasks:
        """The tasks of all processes. Raises ExecutorUnavailableError."""
        return self._made()[2]

    def folder(self) -> Path:
        """Where everything is."""
        if self._folder is None:
            self._folder = own_folder("state")
        return self._folder

    @property
    def host(self) -> str:
        """Whose results the tasks of this process are."""
        return self._host

    def close(self) -> None:
        """Tasks that still live are interrupted, and everything is freed. In a forked child nothing happens."""
        with self._lock:  # whoever comes second, such as the exit of the process, waits for the first
            if self._pid != os.getpid() or self._parts is None:
                return
            self._later.clear()
            self._left.clear()  # nobody is to be told of them any more
            place, own, _ = self._parts
            own.interrupt(self._pid)
            own.leave()
            left = not place.close() and own.waiting  # else only that this process is none any more
            self._parts = None
            self._watch.hurry()
        if left:
            warn("What became of the last tasks is left to the next process: the store could not be written")

    def hold(self) -> None:
        """The process is about to fork."""
        if self._parts is not None and self._pid == os.getpid() and self._parts[0].hold(FORK_WAIT):
            _held.append(self._parts[0])

    def after_fork(self) -> None:
        """This process is a child: it owns nothing, and must not touch its parent's connections."""
        broken = None
        if self._parts is not None:
            place = self._parts[0]
            _inherited.append(place)
            place.leave()
            if place not in _held:
                broken = "This process was forked while the task store was in use: its tasks are in memory only"
        self._begin(broken)

    # Tasks of this process ---------------------------------------------------------------------------------------

    def new_spool(self, cap: int) -> FileSpool:
        """Where a call's output is kept."""
        return FileSpool(lambda: self.place.output, cap, self._set_groups)

    @property
    def lead(self) -> float:
        """How many seconds before its threshold a call should be prepared."""
        return self._parts[0].thread.lead if self._parts is not None else FIRST_LEAD

    def prepare(self, info: TaskInfo, cap: int, spool: FileSpool) -> Change[None] | None:
        """A call is about to become a task; None where it can be in memory only. Never raises, never waits."""
        try:
            early = self.own.prepare(info, cap, spool)
        except (ExecutorUnavailableError, OSError, RuntimeError) as error:
            self._warn_once(f"Tasks are in memory only: {error}")
            return None
        self._begins()
        return early

    def add(self, info: TaskInfo, cap: int, spool: FileSpool, engine: tuple[str, str] | None = None) -> None:
        """A task begins. Never raises; waits a little until it is on the disk."""
        try:
            self.own.add(info, cap, spool, engine)
        except (ExecutorUnavailableError, OSError, RuntimeError) as error:
            self._warn_once(f"Tasks are in memory only: {error}")
        else:
            self._begins()

    def _begins(self) -> None:
        self._watch.wake()
        _at_exit.renew()

    def tell(self, task_id: str) -> bool:
        """The id is about to be told. Returns whether the task is in the store."""
        stored = self._parts is not None and self._parts[1].tell(task_id)
        if not stored:
            self._warn_once(f"A task is in memory only, until it can be stored: {self.why}")
        return stored

    @property
    def why(self) -> str:
        """Why the store is away."""
        why = self._parts[0].thread.broken if self._parts is not None else self._broken
        return str(why or f"the task store in {self.folder()} is slow")

    def remove(self, task_id: str) -> None:
        """Its id never was handed out."""
        if self._parts is not None:
            self._parts[1].remove(task_id)

    @property
    def withdrawn(self) -> frozenset[str]:
        """Ids that never were handed out, of which there may be rows. To be looked at before the rows are."""
        return self._parts[1].withdrawn if self._parts is not None else frozenset()

    def update(self, info: TaskInfo) -> None:
        """It has changed."""
        if self._parts is not None:
            self._parts[1].update(info)

    def finish(self, info: TaskInfo, outcome: Outcome, result: ToolResult | None) -> tuple[TaskInfo, Stored] | None:
        """A task has ended. Returns the end that stands instead of this one, if there is one. Never raises."""
        try:
            return self._parts[1].finish(info, outcome, result) if self._parts is not None else None
        except BaseException as error:  # noqa: BLE001 -- Ctrl-C in a thread that has stopped it, and waits for the disk
            warn(f"The end of the task {info.id} may not be on the disk yet: {error!r}", error=error)
            return None

    def leave_to_engine(self, task_id: str) -> None:
        """An engine carries this task out, and whoever asks for it next looks after it; be told of its end."""
        if self._parts is not None:
            self._parts[1].leave_to_engine(task_id)
            self.leave_to_another(task_id)

    def _set_groups(self, task_id: str, groups: Groups) -> None:
        _at_exit.renew()
        if self._parts is not None:
            self._parts[1].set_groups(task_id, groups)

    def unsaved(self, task_id: str) -> bool:
        """Whether the end of this task is still to be stored."""
        return self._parts is not None and self._parts[1].unsaved(task_id)

    def told(self, task_id: str) -> None:
        """Its done-callback has been called."""
        try:
            self.own.told(task_id)
        except ExecutorUnavailableError as error:
            self._warn_once(f"That the end of a task was told cannot be stored: {error}")

    def acknowledge(self, task_id: str, *, here: bool) -> None:
        """
        It is delivered. Of a task of this process that is stored as soon as it can be.

        Raises:
            TaskNotFoundError, ExecutorUnavailableError: Of a task of another process.
        """
        if here and self._broken is None:
            self.place.thread.wait(self.own.acknowledge(task_id))
        elif not here:
            self.all.acknowledge(task_id)

    def _warn_once(self, message: str) -> None:
        if not self._warned:
            self._warned = True
            warn(f"{message} (said once)")

    # The watch ---------------------------------------------------------------------------------------------------

    def _look(self) -> bool:
        """One turn of the watch. Returns whether there is reason for another."""
        parts = self._parts
        if parts is None and (self._left or self._later):
            parts = self._made()
        if parts is None:
            return False
        place, own, everywhere = parts
        try:
            if not place.intact:
                own.put_all()
            if own.live:
                self._look_after_own(place)
            self._look_elsewhere(everywhere)
            for done in [do for do in self._later if do() is not False]:
                with contextlib.suppress(ValueError):  # closed meanwhile
                    self._later.remove(done)
        except ExecutorUnavailableError as error:
            self._warn_once(f"What other processes ask of tasks cannot be seen: {error}")
        finally:
            if self._parts is not parts:  # closed meanwhile: what this has opened again is freed by nobody else
                self._later.clear()
                place.store.close()
        return own.waiting or bool(self._left or self._later)

    def _look_after_own(self, place: Place) -> None:
        for task_id, reason in place.store.requests(place.own_id):
            if reason:  # else the file is damaged, and nobody has asked
                self.stop(task_id, reason)
        self.progress()
        if self._looked_for_old is None or not 0 <= time.time() - self._looked_for_old < LOOK_FOR_OLD:
            self._looked_for_old = time.time()
            from executor.tasks._recovery import clean_daily

            turns = clean_daily(place.store, place.write, place.output, place.owners)
            self._later.append(lambda: next(turns, None) is None)  # one at each look: others may want something

    def later(self, do: Callable[[], bool]) -> None:
        """Have the watch call a method, which is not kept alive by this, until it does not return False any more."""
        found = weakref.WeakMethod(do)
        self._later.append(lambda: (alive := found()) and alive())
        self._watch.wake()

    def leave_to_another(self, task_id: str) -> None:
        """A process of its own runs this task for this host: be told of its end."""
        self._left.add(task_id)
        self._watch.wake()

    def expect_detached(self) -> None:
        """Be told, too, of the ends of tasks that an earlier process of this host has left to others."""
        if not (self._expected_since or self._detached or self._broken):
            self._expected_since = time.time()
            self.later(self._find_detached)

    def _find_detached(self) -> bool:
        self._left |= self.all.detached(self._expected_since)
        return True

    def _look_elsewhere(self, everywhere: AllTasks) -> None:
        for task_id in self._left - everywhere.visit(self._left):
            info: TaskInfo | None = None
            with contextlib.suppress(TaskNotFoundError):
                info = everywhere.get(task_id)
            if info is None or info.status.final:
                self._left.discard(task_id)
                self.ended_elsewhere(info)


def _close_all() -> None:
    for durable in list(_open):
        durable.close()


def _before_fork() -> None:
    for durable in list(_open):
        durable.hold()


def _after_fork_in_parent() -> None:
    while _held:
        _held.pop().release()


def _after_fork_in_child() -> None:
    for durable in list(_open):
        durable.after_fork()
    _held.clear()


def _nothing(*_: object) -> None:
    pass


_at_exit = FirstAtExit(_close_all)  # before what works for them is ended, which would look as if it ended by itself
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
