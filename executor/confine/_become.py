"""Being a command in a box, for what starts a process itself and can only be told another command to start."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, NoReturn

from executor.confine import _restrict
from executor.confine._environment import clean
from executor.confine._files import check_program, check_streams, fill_streams
from executor.confine._filter import filter_for
from executor.confine._foreground import wait_in_front
from executor.confine._landlock import Slot, Want
from executor.confine._places import Places
from executor.confine._start import box_of, let_go
from executor.confine._values import making
from executor.confine._wrap import wrapping
from executor.confine._written import writing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from executor.confine._values import Box
    from executor.values._profile import Profile

_STREAMS = 3
_FORWARDED = ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")


def become(profile: Profile, command: list[str], told: Callable[[Box], object], env: Mapping[str, str]) -> int:
    """
    Run *command* in the box of *profile* in place of this process, which must have no other thread.

    Nothing but its three streams is inherited. Under bubblewrap this process stays, to remove what was made for the
    box; it passes signals on, and the command ends when it does. Otherwise it becomes the command.

    Args:
        profile: What it may do.
        command: The program, looked up in the PATH of *env*, and its arguments.
        told: Called with the box before it is entered.
        env: All of its environment, of which it gets what is no secret.

    Returns:
        The command's exit code, 128 and more for a signal.

    Raises:
        ConfinementError: There is no box, and one is required; or it could not be made.
        OSError: The command cannot be run.
    """
    box = box_of(profile)
    let_go()  # what it was tried with would be children of the command
    told(box)
    if box.mechanism == "bubblewrap":
        return _accompany(box, profile, command, env)
    if box.mechanism == "landlock":
        return _enter(box, profile, command, env)
    _hand_down(())
    return os.execvpe(command[0], command, env)  # noqa: S606 -- this is what it is for


def _accompany(box: Box, profile: Profile, command: list[str], env: Mapping[str, str]) -> int:
    check_streams([None] * _STREAMS)
    with ExitStack() as stack:
        with making(box):
            fill_streams()
            profile = stack.enter_context(writing(profile))
            wrapped = stack.enter_context(wrapping(profile, env))
        process, _ = wrapped.start(command, os.getcwd(), box, _begin)
        for name in _FORWARDED:
            signal.signal(getattr(signal, name), lambda number, _: process.send_signal(number))
        code = wait_in_front(process)
    return code if code >= 0 else 128 - code


def _begin(argv: list[str], descriptors: tuple[int, ...]) -> subprocess.Popen[bytes]:
    program, *words = argv
    told = [program, "--die-with-parent", *words]
    return subprocess.Popen(told, cwd="/", env={}, pass_fds=descriptors, process_group=0)


def _enter(box: Box, profile: Profile, command: list[str], env: Mapping[str, str]) -> NoReturn:
    with ExitStack() as undo:  # left only by what is raised
        with making(box):
            profile = undo.enter_context(writing(profile))
            slot = Slot(Want(profile, Places.now()))
        undo.callback(slot.close)
        environment = clean(env, profile, slot.temporary.path, slot.cache)
        check_program(command[0], os.getcwd(), environment)
        _hand_down((slot.temporary.descriptor,))
        _kept = undo.pop_all()  # undoing is what the box would refuse
        with making(box):
            _restrict.give_up_rights(filter_for(box))
            _restrict.restrict_this_thread(slot.ruleset.descriptor)
        os.execvpe(command[0], command, environment)  # noqa: S606 -- likewise


def _hand_down(kept: Iterable[int]) -> None:
    """Let the command inherit its streams and *kept*, and nothing else that this process has or was given."""
    wanted = set(kept)
    for name in os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else ():
        descriptor = int(name)
        if descriptor >= _STREAMS:
            with suppress(OSError):  # that of the listing itself
                os.set_inheritable(descriptor, descriptor in wanted)
