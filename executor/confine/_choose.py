"""Which box a profile gets on this machine: found out by trying each, once, when it is first needed."""

from __future__ import annotations

import contextlib
import errno
import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Literal

from executor.confine._folders import Temporary, UnusableError, boxes_of
from executor.confine._places import Places
from executor.confine._values import AGAIN, Box
from executor.confine._wrap import PlaceError
from executor.errors import ConfinementError
from executor.interpreter import WITHOUT, interpreter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from executor.values._profile import Profile


_LEAST_ABI = 3  # without it files can be emptied that may not be written
_SIGNALS = "signals to your other processes"
_WIDE = (
    "below the project: what the policy keeps from being written or read there (.git/hooks, .git/config, .env)",
    "outside it: modes, owners and times of your files",
)
# What a system says that does not let its users do this, or cannot: all else may be so only now, or be brought about by
# a command that runs (a full disk, as many processes as there may be), and is no reason for a wider box.
_REFUSALS = (
    errno.EPERM,
    errno.EACCES,
    errno.ENOSYS,
    errno.EINVAL,
    errno.EOPNOTSUPP,
    errno.ENOPROTOOPT,
    errno.E2BIG,  # too many rulesets, one in the other
)
_SAID = (*map(os.strerror, _REFUSALS), "Unknown option", "No permissions")  # by bubblewrap
_USED_UP = "namespaces exceeded"  # by other boxes too, unless there may be none
_MOST_NAMESPACES = "/proc/sys/user/max_{}_namespaces"  # see namespaces(7)
_NEEDED = ("/proc/self", os.devnull)  # for any box
_NAMESPACES = ("user", "mnt", "pid", "ipc", "uts", "net", "cgroup")  # of a box
# Run in the box: says that it runs, and tries to write where no box may.
_TRIAL = ["/bin/sh", "-c", 'echo runs; : > "$1"', "sh"]

Real = Literal["landlock", "bubblewrap"]


class Trials:
    """
    What this machine can do. Each mechanism is tried once in a process, or until that was possible.

    Args:
        run: Runs a command in a box of this mechanism, and gives what it printed; raises OSError or ConfinementError.
    """

    def __init__(self, run: Callable[[Real, list[str]], bytes]) -> None:
        self._run = run
        self._problems: dict[Real, str] = {}
        self.forked()

    def forked(self) -> None:
        """After a fork: a thread that was about to try one is the parent's, and lets nobody here go on."""
        self._locks: dict[Real, threading.Lock] = {"landlock": threading.Lock(), "bubblewrap": threading.Lock()}
        self._failed: dict[Real, ConfinementError] = {}  # why each could not be tried the last time

    def problem(self, mechanism: Real) -> str:
        """
        Why *mechanism* cannot be had here; empty if it can.

        Who comes while it is tried is told what that comes to: one that hangs is not waited for by each in turn.

        Raises:
            ConfinementError: It could not be tried; another time it may be possible.
        """
        failed_before = self._failed.get(mechanism)
        with self._locks[mechanism]:
            if mechanism not in self._problems:
                failed = self._failed.get(mechanism)
                if failed is not None and failed is not failed_before:
                    raise ConfinementError(failed.message)
                try:
                    self._problems[mechanism] = self._try(mechanism)
                except ConfinementError as error:
                    self._failed[mechanism] = ConfinementError(error.message)  # without who was told of it, and where
                    raise
            return self._problems[mechanism]

    def _try(self, mechanism: Real) -> str:
        missing = _missing(mechanism)
        if missing:
            return missing
        with _out_of_reach() as folder:
            try:
                said = self._run(mechanism, [*_TRIAL, os.path.join(folder, "written")])
            except (OSError, subprocess.SubprocessError, ConfinementError) as error:
                problem = f"{mechanism} does not work here: {error}"
                if _is_refusal(error):
                    return problem
                help_ = "" if isinstance(error, UnusableError) or problem.endswith(AGAIN) else _help()  # said once
                raise ConfinementError(f"A box could not be tried: {problem}{help_}") from error
            _check_untouched(mechanism, folder)
        return "" if said == b"runs\n" else f"{mechanism} does not work here: a command did not run in it"


@contextlib.contextmanager
def _out_of_reach() -> Iterator[str]:
    """A folder that no box may write, of any project: what comes into one of these would speak for another box."""
    temporary = Temporary(os.path.join(boxes_of("/", Places.now()), "trials"))
    try:
        yield temporary.path
    finally:
        temporary.close()


def _check_untouched(mechanism: Real, folder: str) -> None:
    """Raises ConfinementError: a wider box, or none, is what somebody would want who can deceive this trial."""
    try:
        written = os.listdir(folder)
    except OSError as error:
        raise ConfinementError(f"A box could not be tried: {error}{AGAIN}") from error
    if written:
        raise ConfinementError(
            f"{mechanism} does not hold here: a command wrote where it may not. Nothing is started in such a box; what "
            'is to run without one belongs into "open" under "confine" in the policy'
        )


def _help() -> str:
    """What helps where a box could not be tried: no time will bring what a bare root (chroot) lacks."""
    for path in _NEEDED:
        if not os.path.exists(path):
            return f". There is no {path} here: have it mounted, for no box is made without it"
    return AGAIN


def _is_refusal(error: BaseException | None) -> bool:
    """Whether the system refuses to make such a box, so that it will again."""
    while error is not None:
        if isinstance(error, UnusableError | PlaceError):  # nobody was asked for a box; or it is about one place
            return False
        if isinstance(error, OSError) and error.errno is not None:
            return error.errno in _REFUSALS
        if error.__cause__ is None:
            break
        error = error.__cause__
    if _USED_UP in str(error):
        return any(map(_may_be_none, _NAMESPACES))
    return any(said in str(error) for said in _SAID)


def _may_be_none(namespace: str) -> bool:
    try:
        with open(_MOST_NAMESPACES.format(namespace), "rb") as told:
            return int(told.read()) == 0
    except (OSError, ValueError):
        return False


def _missing(mechanism: Real) -> str:
    """What this machine lacks for *mechanism*, without trying it."""
    if sys.platform != "linux":
        return f"there is no box on {sys.platform}"
    from executor.confine import _bubblewrap, _filter, _kernel

    if not _filter.supported():
        return f"there is no filter of system calls for {os.uname().machine}"
    if mechanism == "bubblewrap":
        return "" if _bubblewrap.find() else "the system has no bubblewrap (its package is called bubblewrap)"
    if interpreter() is None:
        return f"a process of Python is needed for Landlock, and {WITHOUT}"
    abi = _kernel.landlock_abi()
    if abi < _LEAST_ABI:
        return "this kernel has no Landlock" if not abi else f"this kernel's Landlock is too old (ABI {abi})"
    return ""


def choose(profile: Profile, trials: Trials) -> Box:
    """
    The box that *profile* gets.

    Raises:
        ConfinementError: It is required, and there is none that holds it; or it could not be tried.
    """
    if profile.name == "open":
        return Box("open", "none")
    wanted: tuple[Real, Real] = ("landlock", "bubblewrap")
    first, second = wanted if profile.name == "read" else wanted[::-1]
    try:
        problem = trials.problem(first)
    except ConfinementError as error:
        with contextlib.suppress(ConfinementError):
            if profile.name == "read" and not trials.problem(second):  # which is as narrow
                return Box(profile.name, second, reason=str(error))
        raise
    if not problem:
        return Box(profile.name, first, _losses() if first == "landlock" else ())
    if profile.name == "read" and not trials.problem(second):
        return Box(profile.name, second, reason=problem)
    if profile.required:
        raise ConfinementError(
            f"The policy requires a box for the profile {profile.name!r}, and there is none here: {problem}. "
            'Mend that, or set "require": false under "confine" in the policy'
        )
    if profile.name != "read" and not trials.problem("landlock"):
        network = ("connections to this machine's own services",) if profile.name == "network" else ()
        return Box(profile.name, "landlock", (*_WIDE, *network, *_losses()), problem)
    return Box(profile.name, "none", ("everything",), problem)


def _losses() -> tuple[str, ...]:
    from executor.confine import _kernel

    return () if _kernel.landlock_abi() >= _kernel.ABI_OF_SCOPES else (_SIGNALS,)
