"""Starting a command under Landlock and the filter: from a thread that puts itself under them first."""

from __future__ import annotations

import os
import threading
from concurrent.futures import Future
from queue import SimpleQueue
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from executor.confine import _kernel
from executor.confine._disk import Disk
from executor.confine._filter import filter_for
from executor.confine._folders import Temporary, boxes_of, cache_of
from executor.confine._mounted import mounts
from executor.confine._places import secrets
from executor.confine._rulesets import Allowance, Ruleset
from executor.confine._values import making

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

    from executor.confine._mounted import Mount
    from executor.confine._places import Places
    from executor.confine._values import Box
    from executor.values._profile import Profile


Process: TypeAlias = "subprocess.Popen[bytes]"
Start: TypeAlias = "Callable[[], Process]"

_MOST_KEPT = (
    4  # for commands that run at the same time; each is a thread, a descriptor, an empty folder and kernel memory
)


def confine_this_thread(ruleset: Ruleset, program: bytes) -> None:
    """
    Put this thread, and what it starts, into the box, for good.

    Raises:
        OSError: The kernel refuses; the thread may be half in it, and must start nothing.
    """
    _give_up_rights(program)
    _kernel.restrict_this_thread(ruleset.descriptor)


def _give_up_rights(program: bytes) -> None:
    """What a box takes away whatever its ruleset is."""
    _kernel.forbid_new_privileges()
    _kernel.drop_capabilities()
    _kernel.filter_this_thread(program)


class Starter:
    """
    A thread that is in a box, and starts what is to be in it.

    It lives until it is ended: what asks to be ended with its parent (PR_SET_PDEATHSIG) is ended with the thread that
    started it. It is kept for the next command, because to enter a box costs more than all else about it.

    Args:
        confine: Puts the thread into the box, whose ruleset is to come. Returns whether the thread can signal nobody
            outside of it: then it ends what a command left running, wherever that has gone.
    """

    def __init__(self, confine: Callable[[Future[Ruleset]], bool]) -> None:
        self._ruleset: Future[Ruleset] = Future()
        self._asked: SimpleQueue[tuple[Start, Future[Process]] | Literal["over"] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, args=(confine,), name="executor-box", daemon=True)
        self._thread.start()

    def hold(self, ruleset: Ruleset) -> None:
        """This is the box's ruleset."""
        self._ruleset.set_result(ruleset)

    def process(self, start: Start) -> Process:
        """What *start* started in the box. Raises what it raised, or what kept the thread out of the box."""
        started: Future[Process] = Future()
        self._asked.put((start, started))
        try:
            return started.result()
        except BaseException:
            if not started.cancel():  # an interrupt: nobody will know of the process
                started.add_done_callback(_end_unknown)
            raise

    def over(self) -> None:
        """The command has ended: so does, before another one is started, all that it left running."""
        self._asked.put("over")

    def end(self) -> None:
        """Nothing that it started is left: so it ends, soon."""
        self._ruleset.cancel()  # if it waits for that
        self._asked.put(None)

    def join(self) -> None:
        """Wait for the end of the thread."""
        self._thread.join()

    def _run(self, confine: Callable[[Future[Ruleset]], bool]) -> None:
        problem, alone = None, False
        try:
            alone = confine(self._ruleset)  # must have come to its end before anything is started
        except BaseException as error:  # noqa: BLE001 -- raised again where a process is asked for
            problem = error
        while (asked := self._asked.get()) is not None:
            if asked == "over":
                if alone:  # at one stroke: nothing can be started meanwhile
                    _kernel.end_all()
                continue
            start, started = asked
            if not started.set_running_or_notify_cancel():
                continue
            if problem is not None:
                started.set_exception(problem)
                continue
            try:
                started.set_result(start())
            except BaseException as error:  # noqa: BLE001 -- likewise
                started.set_exception(error)


def _end_unknown(started: Future[Process]) -> None:
    if started.exception() is None:
        process = started.result()
        process.kill()
        process.communicate()


class Want(NamedTuple):
    """What a box under Landlock is made from."""

    profile: Profile
    places: Places


def _starter(box: Box) -> Starter:
    """
    What starts commands in *box* once it has its ruleset: a thread that gives up its rights while that is made.
    """

    def confine(ruleset: Future[Ruleset]) -> bool:
        with making(box):
            _give_up_rights(filter_for(box))
            made = ruleset.result()
            _kernel.restrict_this_thread(made.descriptor)
        return made.scoped and _kernel.signals_are_refused()

    return Starter(confine)


class Slot:
    """
    A TMPDIR, the ruleset that lets it be written, and what starts commands there: for one command at a time.

    Args:
        want: What it is made from.
        box: What commands are started in; None if none is: the ruleset is for this process.

    Raises:
        OSError: It cannot be made.
    """

    def __init__(self, want: Want, box: Box | None) -> None:
        self.want = want
        self._box = box
        boxes = boxes_of(want.profile.project, want.places)
        self.temporary = Temporary(os.path.join(boxes, "kept"))
        self.cache = self.temporary.path
        self._starter: Starter | None = None
        folders = [self.temporary.path]
        try:
            if want.profile.name != "read":
                self.cache = cache_of(boxes)
                folders += [self.cache, want.profile.project]
            self._folders = folders
            self._mounted = mounts()
            self.ruleset = self._made()
        except BaseException:
            self.temporary.close()
            raise

    def _made(self) -> Ruleset:
        """A new ruleset, and what starts commands under it."""
        starter = None if self._box is None else _starter(self._box)
        try:
            disk = Disk()
            allowance = _allowance(self.want, self._folders, disk, self._mounted)
            made = Ruleset(allowance, min(_kernel.landlock_abi(), _kernel.NEWEST_ABI), disk)
        except BaseException:
            if starter is not None:
                starter.end()
            raise
        if starter is not None:
            starter.hold(made)
        self._starter = starter
        return made

    def process(self, start: Callable[[Callable[[], None]], Process]) -> Process:
        """
        What *start* started in the box; it is given what the new process does before it becomes the command.

        That puts itself under the ruleset once more: who is under the same as the starting thread may look at it, stop
        it and change its memory, which is this process's; who is under one more may not.
        """
        if self._starter is None:
            raise RuntimeError("nothing is started from here")
        return self._starter.process(lambda: start(self._nest))

    def _nest(self) -> None:
        """In the child of a process with other threads: nothing else may be done here."""
        _kernel.restrict_this_thread(self.ruleset.descriptor)

    def over(self, process: Process | None) -> None:
        """The command has ended: end what it left running. It was *process*, if that much is known of it."""
        # Most commands start nothing, which costs less to see.
        if self._starter is not None and (process is None or _kernel.newest_process() != process.pid):
            self._starter.over()

    def refresh(self) -> None:
        """Make it anew if a folder that it lists, or what is mounted, changed. Raises OSError; then it is closed."""
        before, self._mounted = self._mounted, mounts()
        if self.ruleset.fresh() and self._mounted == before:
            return
        self._end_starter()  # and the next command does not wait for that
        try:
            made = self._made()
        except BaseException:
            self.close()
            raise
        self.ruleset.close()
        self.ruleset = made

    def close(self) -> None:
        """The command, if there was one, has ended."""
        starter = self._end_starter()
        if starter is not None:
            starter.join()
        self.ruleset.close()
        self.temporary.close()

    def _end_starter(self) -> Starter | None:
        starter, self._starter = self._starter, None
        if starter is not None:
            starter.end()
        return starter


def _allowance(want: Want, folders: list[str], disk: Disk, mounted: tuple[Mount, ...]) -> Allowance:
    profile = want.profile
    hidden = tuple(secrets(profile, want.places, disk, mounted))
    if profile.name != "read":
        # What is hidden below the project would keep all that a command makes beside it from being read.
        root = profile.project.rstrip("/") + "/"
        hidden = tuple(path for path in hidden if not path.startswith(root))
    return Allowance(hidden, tuple(folders), profile.writable, profile.name == "network", profile.project)


class Slots:
    """Slots that are kept for the next command: to make a ruleset costs ten times what it costs to use one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._kept: list[Slot] = []

    def take(self, want: Want, box: Box) -> Slot:
        """A slot of *box* for nobody else, until it is given back. Raises OSError."""
        slot = self._pop(want)
        if slot is None:
            return Slot(want, box)
        slot.refresh()
        return slot

    def _pop(self, want: Want) -> Slot | None:
        with self._lock:
            if self._process != os.getpid():  # after a fork they are the parent's
                self._process, self._kept = os.getpid(), []
            found = next((slot for slot in self._kept if slot.want == want), None)
            if found is not None:
                self._kept.remove(found)
            return found

    def give_back(self, slot: Slot, process: Process | None) -> None:
        """The command, which was *process*, is over."""
        slot.over(process)
        if self._process != os.getpid() or not slot.temporary.emptied():
            slot.close()
            return
        with self._lock:
            self._kept.append(slot)
            surplus = self._kept.pop(0) if len(self._kept) > _MOST_KEPT else None
        if surplus is not None:
            surplus.close()

    def close(self) -> None:
        """Give up all that are kept."""
        with self._lock:
            kept, self._kept = self._kept, []
        for slot in kept:
            slot.close()
