"""Laying out a box under bubblewrap, and the command that starts in it."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from executor.confine import _bubblewrap, _folders, _mounts
from executor.confine._claims import Claims
from executor.confine._closed import unwritable
from executor.confine._environment import clean
from executor.confine._files import check_program
from executor.confine._first import First
from executor.confine._folders import UnusableError
from executor.confine._mounted import mounts
from executor.confine._places import Places, secrets
from executor.confine._repositories import Repositories, below
from executor.errors import ConfinementError

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterator, Mapping

    from executor.values._profile import Profile

Begin: TypeAlias = "Callable[[list[str], tuple[int, ...]], subprocess.Popen[bytes]]"


class UnlaidError(ConfinementError):
    """What mounts were to be laid on was moved, or a link came in its place: another time it may go well."""


@dataclass(frozen=True, slots=True)
class Wrapped:
    """
    A box that is laid out.

    Attributes:
        program: bubblewrap.
        profile: What the box is for.
        mounts: What is laid over what.
        open: What of it cannot be closed, in words.
        environment: What of the environment goes into it.
        temporary: Its TMPDIR, which the box itself holds until the last process in it has ended.
        first: The first process in it.
    """

    program: str
    profile: Profile
    mounts: tuple[_mounts.Laid, ...]
    open: tuple[str, ...]
    environment: dict[str, str]
    temporary: _folders.Temporary
    first: First

    def start(self, command: list[str], folder: str, filtering: bytes, begin: Begin) -> subprocess.Popen[bytes]:
        """
        Start *command* in the box, in *folder*.

        Args:
            filtering: The filter of system calls.
            begin: Starts what it is given, with these descriptors, as the leader of a process group.

        Raises:
            UnlaidError: Its mounts could not be laid where they belong.
            OSError: There is no such program, or it may not be run.
            ValueError: An argument or a variable holds a NUL.
        """
        check_program(command[0], folder, self.environment)
        with contextlib.ExitStack() as stack:
            stop = stack.enter_context(self.first.told())
            descriptors = {
                "--seccomp": stack.enter_context(_memory(filtering)),
                "--sync-fd": self.temporary.descriptor,
                "--info-fd": stop.told,
            }
            options = _bubblewrap.options(
                self.mounts,
                network=self.profile.name == "network",
                environment=self.environment,
                folder=folder,
                descriptors=descriptors,
                stop=stop.read.fileno(),
            )
            told = stack.enter_context(_memory(_bubblewrap.packed(options)))
            inherited = (told, stop.read.fileno(), *descriptors.values())
            process = begin([self.program, "--args", str(told), "--", *command], inherited)
            try:
                if self.first.check(process, stop, self.mounts):
                    return process
            except OSError as error:
                _give_up(process)
                raise _unlaid(self.profile, error) from error
            except BaseException:
                _give_up(process)
                raise
            raise _unlaid(self.profile, _give_up(process) or "bubblewrap ended")


def _unlaid(profile: Profile, why: object) -> UnlaidError:
    return UnlaidError(f"The box {profile.name!r} (bubblewrap) could not be made: {why}")


def _give_up(process: subprocess.Popen[bytes]) -> str:
    """
    End bubblewrap, which leads a process group, and whatever it has begun, which is in that.

    Returns what it complained of, where nobody else hears that.
    """
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    complaint = process.communicate()[1]
    return (complaint or b"").decode(errors="replace").strip()


@contextlib.contextmanager
def wrapping(profile: Profile, env: Mapping[str, str]) -> Iterator[Wrapped]:
    """Lay out a box for *profile*; what was made for it is removed at the end. Raises OSError."""
    program = _bubblewrap.find()
    if program is None:
        raise FileNotFoundError(errno.ENOENT, "bubblewrap is gone", "bwrap")
    places = Places.now()
    boxes = _folders.boxes_of(profile.project, places)
    with contextlib.ExitStack() as over:  # to the end, whatever is interrupted of it
        over.callback(_tidy, boxes)
        temporary, first = _folders.Temporary(os.path.join(boxes, "runs")), First()
        over.callback(temporary.release)
        if profile.name != "read":
            over.callback(_claim, boxes, profile.project, temporary.path)
        over.callback(first.end)
        yield _laid_out(program, profile, env, places, boxes, temporary, first)


def _laid_out(
    program: str,
    profile: Profile,
    env: Mapping[str, str],
    places: Places,
    boxes: str,
    temporary: _folders.Temporary,
    first: First,
) -> Wrapped:
    cache = temporary.path
    free = [temporary.path, *filter(_is_plain, profile.writable)]
    nested = Repositories()
    if profile.name != "read":
        cache = _folders.cache_of(boxes)
        free += [cache, profile.project]
        nested = below(profile.project)
    with _folders.held(boxes):
        closed = unwritable(profile, Claims(boxes).others(nested))
        mounted = mounts()
        hidden = (*secrets(profile, places, mounted=mounted), *_folders.own_elsewhere(boxes, places, mounted))
        plan = _mounts.plan(free, closed, hidden)
        try:
            _folders.Placeholders(boxes).make(plan.missing)
        except OSError as error:
            raise _unlaid(profile, error) from error
    environment = clean(env, profile.env, temporary.path, cache)
    left = [f"{path}, which is a link and can be replaced" for path in plan.loose]
    return Wrapped(program, profile, plan.mounts, tuple(left), environment, temporary, first)


def _claim(boxes: str, project: str, run: str) -> None:
    """A box of *project* is over, whose TMPDIR is *run*; what is not claimed for it is closed in the next one."""
    with contextlib.suppress(OSError, UnusableError):
        nested = below(project)
        if nested.trees or nested.bare:
            with _folders.held(boxes):
                Claims(boxes).add(nested, run)


def _is_plain(path: str) -> bool:
    """Whether *path* is there, and no link has been put on the way to it since it was judged."""
    return os.path.exists(path) and os.path.realpath(path) == path


def _tidy(boxes: str) -> None:
    with _folders.left_if_need_be(boxes), _folders.held(boxes):
        if _folders.remove_unheld(os.path.join(boxes, "runs")):
            _folders.Placeholders(boxes).remove()


@contextlib.contextmanager
def _memory(data: bytes) -> Iterator[int]:
    """A descriptor that reads *data*."""
    descriptor = os.memfd_create("toolexec-box")
    try:
        os.write(descriptor, data)
        os.lseek(descriptor, 0, os.SEEK_SET)
        yield descriptor
    finally:
        os.close(descriptor)
