"""Starting a command under Landlock and the filter: from a thread that puts itself under them first."""

from __future__ import annotations

import contextlib
import os
import threading
from typing import TYPE_CHECKING, NamedTuple

from executor.confine import _kernel
from executor.confine._folders import Temporary, boxes_of, cache_of
from executor.confine._places import secrets
from executor.confine._rulesets import Allowance, Ruleset

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterator

    from executor.confine._places import Places
    from executor.values._profile import Profile


_MOST_KEPT = 4  # for commands that run at the same time; each is a descriptor, an empty folder and some kernel memory


def confine_this_thread(ruleset: Ruleset, program: bytes) -> None:
    """
    Put this thread, and what it starts, into the box, for good.

    Raises:
        OSError: The kernel refuses; the thread may be half in it, and must start nothing.
    """
    _kernel.forbid_new_privileges()
    _kernel.restrict_this_thread(ruleset.descriptor)
    _kernel.drop_capabilities()
    _kernel.filter_this_thread(program)


class Starter(threading.Thread):
    """
    A thread that confines itself, starts one process, and lives as long as it.

    It must: what asks to be ended with its parent (PR_SET_PDEATHSIG) is ended with the thread that started it.

    Args:
        confine: Puts the thread into the box.
        start: Starts the process.
    """

    def __init__(self, confine: Callable[[], None], start: Callable[[], subprocess.Popen[bytes]]) -> None:
        super().__init__(name="executor-box", daemon=True)
        self._confine = confine
        self._start = start
        self._lock = threading.Lock()
        self._ready = threading.Event()
        self._unwanted = False
        self._process: subprocess.Popen[bytes] | None = None
        self._error: BaseException | None = None

    def process(self) -> subprocess.Popen[bytes]:
        """Start the thread, and the process. Raises what starting raised."""
        try:
            self.start()
            self._ready.wait()
        except BaseException:
            self._give_up()  # an interrupt: nobody will know of the process
            raise
        if self._error is not None:
            raise self._error
        assert self._process is not None
        return self._process

    def _give_up(self) -> None:
        with self._lock:
            self._unwanted = True
            if self._process is not None:
                self._process.kill()

    def run(self) -> None:
        try:
            self._confine()  # must have come to its end before anything is started
            process = self._start()
        except BaseException as error:  # noqa: BLE001 -- raised again where the process is waited for
            self._error = error
            self._ready.set()
            return
        with _exit_of(process) as wait:
            with self._lock:
                self._process = process
                if self._unwanted:
                    process.kill()
            self._ready.set()
            wait()
        if self._unwanted:
            process.wait()


@contextlib.contextmanager
def _exit_of(process: subprocess.Popen[bytes]) -> Iterator[Callable[[], None]]:
    """Gives what waits until *process* has exited; whoever started it still has its exit code to collect."""
    try:
        watched: int | None = os.pidfd_open(process.pid)
    except (OSError, AttributeError):  # no descriptor left, or Python lacks it
        watched = None
    which = (os.P_PID, process.pid) if watched is None else (os.P_PIDFD, watched)

    def wait() -> None:
        with contextlib.suppress(ChildProcessError):  # collected already
            os.waitid(*which, os.WEXITED | os.WNOWAIT)

    try:
        yield wait
    finally:
        if watched is not None:
            os.close(watched)


class Want(NamedTuple):
    """What a box under Landlock is made from."""

    profile: Profile
    places: Places


class Slot:
    """A TMPDIR, and the ruleset that lets it be written: for one command at a time. Raises OSError."""

    def __init__(self, want: Want) -> None:
        self.want = want
        boxes = boxes_of(want.profile.project, want.places)
        self.temporary = Temporary(os.path.join(boxes, "kept"))
        self.cache = self.temporary.path
        try:
            if want.profile.name != "read":
                self.cache = cache_of(boxes)
            self.ruleset = self._made()
        except BaseException:
            self.temporary.close()
            raise

    def _made(self) -> Ruleset:
        folders = [self.temporary.path]
        if self.want.profile.name != "read":
            folders += [self.cache, self.want.profile.project]
        return Ruleset(_allowance(self.want, folders), min(_kernel.landlock_abi(), _kernel.NEWEST_ABI))

    def refresh(self) -> None:
        """Make the ruleset anew if a folder that it lists has changed. Raises OSError; then it is closed."""
        if self.ruleset.fresh():
            return
        try:
            made = self._made()
        except BaseException:
            self.close()
            raise
        self.ruleset.close()
        self.ruleset = made

    def close(self) -> None:
        self.ruleset.close()
        self.temporary.close()


def _allowance(want: Want, folders: list[str]) -> Allowance:
    profile = want.profile
    hidden = tuple(secrets(profile, want.places))
    if profile.name != "read":
        # What is hidden below the project would keep all that a command makes beside it from being read.
        root = profile.project.rstrip("/") + "/"
        hidden = tuple(path for path in hidden if not path.startswith(root))
    return Allowance(hidden, tuple(folders), profile.writable, tcp=profile.name == "network")


class Slots:
    """Slots that are kept for the next command: to make a ruleset costs ten times what it costs to use one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._kept: list[Slot] = []

    def take(self, want: Want) -> Slot:
        """A slot for nobody else, until it is given back. Raises OSError."""
        slot = self._pop(want)
        if slot is None:
            return Slot(want)
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

    def give_back(self, slot: Slot) -> None:
        """The command is over."""
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
