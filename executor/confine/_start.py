"""Starting a command in the box of its profile."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import subprocess
import sys
import threading
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

from executor._log import warn
from executor.confine._choose import Trials, choose
from executor.confine._environment import clean
from executor.confine._files import check_streams, fill_streams
from executor.confine._landlock import Want
from executor.confine._places import Places
from executor.confine._slots import Slots
from executor.confine._values import Box, making
from executor.confine._wrap import UnlaidError, wrapping
from executor.confine._written import writing
from executor.errors import ConfinementError
from executor.values._profile import Profile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from executor.confine._choose import Real


NO_MARKS: Mapping[str, str] = {}
_TRIAL_SECONDS = 20.0
_MOST_ATTEMPTS = 4
_slots = Slots()
atexit.register(_slots.close)
if sys.platform != "win32":
    os.register_at_fork(after_in_child=_slots.forget)


class Boxed:
    """
    A process that runs in a box.

    Attributes:
        process: The process to talk to, wait for, and end; it leads the box's processes.
        box: What holds it.
    """

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        box: Box,
        forget: Callable[[], None],
        end: Callable[[], None],
    ) -> None:
        self.process = process
        self.box = box
        self._forget = forget
        self._end = end
        # Guards both. Reentrant, because a signal handler may end the box while the interrupted thread is in here.
        self._lock = threading.RLock()

    def end(self) -> None:
        """
        End all that is in the box, at one stroke: what starts others faster than they can be found, too.

        Any thread may. It does nothing where the box holds no signals, or is closed: then another command may be in it.
        """
        with self._lock:
            self._end()

    def close(self) -> None:
        """The process has ended, and its exit code is known: free what its box held. A second time does nothing."""
        with self._lock:
            forget, self._forget, self._end = self._forget, _nothing, _nothing
        forget()


def _nothing() -> None:
    pass


def start(
    profile: Profile,
    command: list[str],
    *,
    cwd: str | None = None,
    env: Mapping[str, str] | None = None,
    marks: Mapping[str, str] = NO_MARKS,
    front: Sequence[str] = (),
    inner: Sequence[str] = (),
    **popen: Any,
) -> Boxed:
    """
    Start *command* in the box of *profile*, as the leader of a process group.

    Args:
        profile: What it may do.
        command: The program, looked up in the PATH of *env*, and its arguments.
        cwd: Its working folder; by default this process's own.
        env: All of its environment, of which it gets what is no secret; by default this process's own.
        marks: Added to its environment, and to that of what stands before it: by them it is told from others.
        front: A program that becomes whatever stands after it, and what it is told; outside of the box where something
            stands before that.
        inner: The same, of what begins the command in such a box, and in no other. Which box it is to be is chosen here
            and now: what was chosen before may be another one.
        popen: More for ``subprocess.Popen``: its streams, its session.

    Returns:
        The process; close it once it has ended.

    Raises:
        FileNotFoundError: There is no such program.
        ConfinementError: The profile is required, and no box holds it here; or its box could not be made.
        OSError: As ``subprocess.Popen``.
    """
    box = announced(profile)
    command = [*inner, *command] if box.mechanism == "bubblewrap" else command
    return _start_in(box, profile, command, cwd, env, popen, marks, front)


def announced(profile: Profile) -> Box:
    """`box_of`, with a warning, once in a process, of what it does not hold."""
    box = box_of(profile)
    if box.reason and box.open:
        _warn_once(box)
    return box


@cache
def _warn_once(box: Box) -> None:
    warn(f"Commands in the box {box.profile!r} are not kept from {', '.join(box.open)}: {box.reason}")


def let_go() -> None:
    """
    Have no processes, and no thread, kept for the next command; it begins with new ones.

    For a process that gives up rights in a way that nobody can see (Landlock), or is about to become another program.
    """
    _slots.close()


def box_of(profile: Profile) -> Box:
    """The box that *profile* gets here. Raises ConfinementError when it is required and none holds it."""
    return choose(profile, trials)


def _start_in(
    box: Box,
    profile: Profile,
    command: list[str],
    cwd: str | None,
    env: Mapping[str, str] | None,
    popen: Mapping[str, Any],
    marks: Mapping[str, str] = NO_MARKS,
    front: Sequence[str] = (),
) -> Boxed:
    if not popen.get("start_new_session") and sys.platform != "win32":
        popen = {**popen, "process_group": 0}
    if box.mechanism == "none":
        environment = {**(os.environ if env is None else env), **marks}
        process = subprocess.Popen([*front, *command], cwd=cwd, env=environment, **popen)
        return Boxed(process, box, _nothing, _nothing)
    if signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:
        raise ConfinementError(
            "This process ignores SIGCHLD, so nobody learns how a command ends: "
            "call signal.signal(signal.SIGCHLD, signal.SIG_DFL) first"
        )
    for _ in range(_MOST_ATTEMPTS - 1):
        with contextlib.suppress(UnlaidError):  # what runs in the project goes on meanwhile
            return _start_once(box, profile, command, cwd, env, popen, marks, front)
    return _start_once(box, profile, command, cwd, env, popen, marks, front)


def _start_once(
    box: Box,
    profile: Profile,
    command: list[str],
    cwd: str | None,
    env: Mapping[str, str] | None,
    popen: Mapping[str, Any],
    marks: Mapping[str, str],
    front: Sequence[str],
) -> Boxed:
    with contextlib.ExitStack() as stack:
        made = _landlock if box.mechanism == "landlock" else _bubblewrap
        with making(box):
            inside, end = stack.enter_context(made(box, profile, env, marks, front))
        process, box = inside(command, cwd, popen)
        return Boxed(process, box, stack.pop_all().close, end)


Inside: TypeAlias = "Callable[[list[str], str | None, Mapping[str, Any]], tuple[subprocess.Popen[bytes], Box]]"
End: TypeAlias = "Callable[[], None]"


@contextlib.contextmanager
def _landlock(
    box: Box, profile: Profile, env: Mapping[str, str] | None, marks: Mapping[str, str], front: Sequence[str]
) -> Iterator[tuple[Inside, End]]:
    """Gives what starts a command in the box, and gives that as it is then, under Landlock; and what ends all in it."""
    own = os.environ.copy()
    with writing(profile) as held:
        kept = _slots.take(Want(held, Places.now(own)), box)

        def inside(
            command: list[str], cwd: str | None, popen: Mapping[str, Any]
        ) -> tuple[subprocess.Popen[bytes], Box]:
            return kept.start([*front, *command], environment, cwd=cwd, **popen), box

        try:
            slot = kept.slot
            environment = {**clean(own if env is None else env, profile, slot.temporary.path, slot.cache), **marks}
            yield inside, kept.over
        except BaseException:
            kept.close()
            raise
        _slots.give_back(kept)


@contextlib.contextmanager
def _bubblewrap(
    box: Box, profile: Profile, env: Mapping[str, str] | None, marks: Mapping[str, str], front: Sequence[str]
) -> Iterator[tuple[Inside, End]]:
    """The same under bubblewrap."""
    fill_streams()
    with writing(profile) as held, wrapping(held, env) as wrapped:

        def inside(
            command: list[str], cwd: str | None, popen: Mapping[str, Any]
        ) -> tuple[subprocess.Popen[bytes], Box]:
            check_streams(popen.get(name) for name in ("stdin", "stdout", "stderr"))

            def begin(argv: list[str], descriptors: tuple[int, ...]) -> subprocess.Popen[bytes]:
                return subprocess.Popen([*front, *argv], cwd="/", env=marks, pass_fds=descriptors, **popen)

            return wrapped.start(command, os.path.abspath(cwd or "."), box, begin)

        yield inside, wrapped.first.kill


def _try(mechanism: Real, command: list[str]) -> bytes:
    """Run *command* in a box of *mechanism*, for `Trials`."""
    profile = Profile("read", "/")
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    boxed = _start_in(Box("read", mechanism), profile, command, "/", {"PATH": os.defpath}, streams)
    try:
        said, complaint = boxed.process.communicate(timeout=_TRIAL_SECONDS)
    except BaseException:
        boxed.process.kill()
        boxed.process.communicate()
        raise
    finally:
        boxed.close()
    if not said:
        raise OSError(complaint.decode(errors="replace").strip() or "it ended without a word")
    return said


trials = Trials(_try)
if sys.platform != "win32":
    os.register_at_fork(after_in_child=trials.forked)
