"""Laying out a box under bubblewrap, and the command that starts in it."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import socket
import stat
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from executor.confine import _bubblewrap, _folders, _mounts
from executor.confine._claims import Claims
from executor.confine._closed import MOST_REPOSITORIES, begun, unwritable
from executor.confine._disk import Disk
from executor.confine._environment import clean
from executor.confine._files import check_program, closed_to_root, only_as_root
from executor.confine._filter import filter_for
from executor.confine._first import First
from executor.confine._folders import UnusableError
from executor.confine._kept_repositories import kept
from executor.confine._mounted import mounts
from executor.confine._placeholders import Placeholders, kept_there
from executor.confine._places import Places, credentials_shown, secrets
from executor.confine._real import Real, check_project
from executor.confine._repositories import Repositories, below
from executor.confine._values import making
from executor.confine._written import is_regular
from executor.errors import ConfinementError

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterator, Mapping

    from executor.confine._values import Box
    from executor.values._profile import Profile

Begin: TypeAlias = "Callable[[list[str], tuple[int, ...]], subprocess.Popen[bytes]]"


_MOST_WORDS = 9000  # of options and of the command; more of them end bubblewrap
_LONGEST_SECONDS = 20.0  # that bubblewrap may take to read what it is told


class UnlaidError(ConfinementError):
    """What mounts were to be laid on was moved, or a link came in its place: another time it may go well."""


class PlaceError(UnlaidError):
    """bubblewrap was refused one place that something was to be laid over: it says nothing of other boxes."""


@dataclass(frozen=True, slots=True)
class Wrapped:
    """
    A box, and what it needs.

    Attributes:
        program: bubblewrap.
        profile: What the box is for.
        places: The user's own folders.
        boxes: The folder of the project's boxes.
        cache: The folder for what programs cache in it.
        environment: What of the environment goes into it.
        temporary: Its TMPDIR, which the box itself holds until the last process in it has ended.
        first: The first process in it.
        until_over: What is undone when it is over.
    """

    program: str
    profile: Profile
    places: Places
    boxes: str
    cache: str
    environment: dict[str, str]
    temporary: _folders.Temporary
    first: First
    until_over: contextlib.ExitStack

    def start(self, command: list[str], folder: str, box: Box, begin: Begin) -> tuple[subprocess.Popen[bytes], Box]:
        """
        Start *command* in the box, in *folder*.

        bubblewrap is started first, and waits for what it is told: its own start takes as long as finding out what to
        lay over what. Whatever becomes of this process meanwhile, the command does not begin: see `Stop`, which stands
        behind what bubblewrap is told, however much of that has come.

        Args:
            box: As it was chosen.
            begin: Starts what it is given, with these descriptors, as the leader of a process group.

        Returns:
            The process, and the box with what of it cannot be closed.

        Raises:
            UnlaidError: Its mounts could not be laid where they belong; PlaceError, one of them.
            ConfinementError: Laying them takes too long; or the project is behind a link.
            OSError: There is no such program, or it may not be run.
            ValueError: An argument or a variable holds a NUL.
        """
        check_program(command[0], folder, self.environment)
        with contextlib.ExitStack() as stack:
            stop = stack.enter_context(self.first.told())
            telling, told = (stack.enter_context(end) for end in socket.socketpair())
            descriptors = {
                "--seccomp": stack.enter_context(_memory(filter_for(box))),
                "--sync-fd": self.temporary.descriptor,
                "--info-fd": stop.told,
            }
            options = _bubblewrap.last_options(descriptors, stop.read.fileno())
            inherited = (told.fileno(), stop.read.fileno(), *descriptors.values())
            words = [self.program, "--args", str(told.fileno()), *options, "--", *command]
            process = begin(words, inherited)
            try:
                told.close()
                with making(box):
                    plan = self.plan()
                self._tell(telling, plan, folder, len(words))
                if self.first.check(process, stop, plan.mounts):
                    left = (f"{path}, which is a link and can be replaced" for path in plan.loose)
                    return process, replace(box, open=(*box.open, *left))
            except OSError as error:
                _give_up(process)
                late = isinstance(error, TimeoutError)  # it would be again, and has been waited for long enough
                raise _unlaid(self.profile, error, ConfinementError if late else UnlaidError) from error
            except BaseException:
                _give_up(process)
                raise
            said = _give_up(process) or "bubblewrap ended"
            self._check_reached()
            places = [place for _, place in plan.mounts if f"{place}:" in said or f"{place} on " in said]
            raise _unlaid(self.profile, said, PlaceError if places else UnlaidError)

    def _check_reached(self) -> None:
        """Raise UnusableError if root is in somebody's folders that let nobody else in."""
        for path in (self.profile.project, self.temporary.path, self.places.home):
            if (closed := closed_to_root(path)) is not None:
                why = f"root has in it no rights over what is not root's own, and {closed} lets only its owner in"
                raise _unlaid(self.profile, f"{why}. Run toolexec as that user", UnusableError)

    def plan(self) -> _mounts.Plan:
        """What is to be laid over what now; what is missing for it is made. Raises OSError, UnlaidError."""
        own, project, nested, mounted, real = [self.temporary.path], [], Repositories(), mounts(), Real()
        if self.profile.name != "read":
            own.append(self.cache)
            project = [*filter(os.path.isdir, (self.profile.project,))]
            nested = below(self.profile.project, mounted)
        check_project(self.profile, real)
        # TMPDIR and caches are in what is hidden; the project is not shown because it may be written.
        free, shown = [*map(real, own)], [*map(real, project), *filter(_is_plain, self.profile.writable)]
        with _folders.held(self.boxes):
            claims = Claims(self.boxes)
            nested = claims.others(nested)
            going_on = begun(self.profile.project, nested, real) if self.profile.name != "read" else ()
            others = claims.others_begun(going_on)
            closed = unwritable(self.profile, nested, others, real, {*going_on}.difference(others))
            disk, profile = Disk(mounted), self.profile
            if profile.credentials and claims.may_have_made(profile.project):
                profile = replace(profile, credentials=())  # git there may have been told to run anything
            if profile.name != "read":
                claims.expect(profile.project)
            elsewhere = _folders.own_elsewhere(self.boxes, self.places, mounted)
            hidden = (*secrets(profile, self.places, disk, mounted), *elsewhere)
            before = _bubblewrap.laid_before()
            plan = _mounts.plan(free, closed, hidden, disk, shown, real, credentials_shown(profile), before)
            try:
                Placeholders(self.boxes).make(plan.missing, plan.empty)
            except OSError as error:
                raise _unlaid(self.profile, error) from error
        if self.profile.name != "read":
            trees, bare = nested.trees[:MOST_REPOSITORIES], nested.bare[:MOST_REPOSITORIES]
            kept((self.profile.project, *trees), bare, self.until_over)
        kept_there((path for kind, path in plan.mounts if kind is _mounts.Kind.FIXED), self.until_over)
        return plan

    def _tell(self, telling: socket.socket, plan: _mounts.Plan, folder: str, words: int) -> None:
        options = _bubblewrap.options(
            plan.mounts, network=self.profile.name == "network", environment=self.environment, folder=folder
        )
        if (words := words + len(options)) > _MOST_WORDS:
            raise ConfinementError(
                f"bubblewrap takes {_MOST_WORDS} words, and these are {words}: three for each of "
                f"{len(self.environment)} variables and of {len(plan.mounts)} mounts, and the command's own. Give the "
                "command fewer arguments at a time (xargs), or a shorter environment"
            )
        telling.settimeout(_LONGEST_SECONDS)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it has ended, and `check` tells so
            telling.sendall(_bubblewrap.packed(options), socket.MSG_NOSIGNAL)
            telling.shutdown(socket.SHUT_WR)  # which closing is not, where a copy of it was forked meanwhile


def _unlaid(profile: Profile, why: object, kind: type[ConfinementError] = UnlaidError) -> ConfinementError:
    return kind(f"The box {profile.name!r} (bubblewrap) could not be made: {why}")


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
def wrapping(profile: Profile, env: Mapping[str, str] | None) -> Iterator[Wrapped]:
    """A box for *profile*; what is made for it is removed at the end. For *env* see `start`. Raises OSError."""
    program = _bubblewrap.find()
    if program is None:
        raise FileNotFoundError(errno.ENOENT, "bubblewrap is gone", "bwrap")
    if profile.name != "read" and os.path.realpath(profile.project) == "/":
        raise ConfinementError(
            f"The box {profile.name!r} may write all of the project, which is the whole file system (/): start in the "
            "project's own folder, or put the command into 'read' or 'open' under \"confine\""
        )
    own = os.environ.copy()
    places = Places.now(own)
    # Of thousands of homes nearly all are closed to root itself there, and need not be looked through.
    places = places._replace(homes=tuple(home for home in places.homes if not only_as_root(home, stat.S_IXOTH)))
    boxes = _folders.boxes_of(profile.project, places)
    with contextlib.ExitStack() as over:  # to the end, whatever is interrupted of it
        over.callback(_tidy, boxes)
        temporary, first = _folders.Temporary(os.path.join(boxes, "runs")), First()
        over.callback(temporary.release)
        if profile.name != "read":
            over.callback(_claim, boxes, profile.project, temporary.path)
        until_over = over.enter_context(contextlib.ExitStack())
        over.callback(first.end)  # before what is put right: a process that is left would undo it again
        cache = temporary.path if profile.name == "read" else _folders.cache_of(boxes)
        environment = clean(own if env is None else env, profile, temporary.path, cache)
        yield Wrapped(program, profile, places, boxes, cache, environment, temporary, first, until_over)


def _claim(boxes: str, project: str, run: str) -> None:
    """A box of *project* is over, whose TMPDIR is *run*; what is not claimed for it is closed in the next one."""
    with contextlib.suppress(OSError, UnusableError):
        nested = below(project)
        going_on = begun(project, nested, Real())
        if os.path.lexists(os.path.join(project, ".git")):
            nested = nested._replace(trees=(*nested.trees, project))
        claims = Claims(boxes)
        if nested.trees or nested.bare or going_on or claims.is_expected(project):
            with _folders.held(boxes):
                claims.add(nested, run, going_on, project)


def _is_plain(path: str) -> bool:
    """Whether *path* is one file, and no link has been put on the way to it since it was judged."""
    return is_regular(path) and os.path.realpath(path) == path


def _tidy(boxes: str) -> None:
    runs = os.path.join(boxes, "runs")
    with _folders.left_if_need_be(boxes):
        with _folders.held(boxes):
            if _folders.remove_unheld(runs):
                Placeholders(boxes).remove()
        _folders.clear(runs)


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
