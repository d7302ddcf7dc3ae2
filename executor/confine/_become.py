"""Becoming a command in a box, for what starts a process itself and can only be told another command to start."""

from __future__ import annotations

import os
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, NoReturn

from executor.confine._environment import clean
from executor.confine._files import check_program
from executor.confine._filter import filter_for
from executor.confine._landlock import Slot, Want, confine_this_thread
from executor.confine._places import Places
from executor.confine._start import box_of
from executor.confine._values import making
from executor.confine._wrap import wrapping

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from executor.confine._values import Box
    from executor.values._profile import Profile

_STREAMS = 3


def become(profile: Profile, command: list[str], told: Callable[[Box], object]) -> NoReturn:
    """
    Replace this process, which must have no other thread, by *command* in the box of *profile*.

    Nothing but its three streams is inherited. What is made for the box is removed by the project's next one, or by
    `tidy`; the command holds it until then.

    Args:
        profile: What it may do.
        command: The program, looked up in PATH, and its arguments.
        told: Called with the box before it is entered.

    Raises:
        ConfinementError: There is no box, and one is required; or it could not be made.
        OSError: The command cannot be run.
    """
    box = box_of(profile)
    told(box)
    folder = os.getcwd()
    with ExitStack() as undo:  # left only by what is raised
        if box.mechanism == "none":
            _hand_down(())
            os.execvp(command[0], command)  # noqa: S606 -- this is what it is for
        if box.mechanism == "bubblewrap":
            with making(box):
                wrapped = undo.enter_context(wrapping(profile, os.environ))
            argv, descriptors = undo.enter_context(wrapped.command(command, folder, filter_for(box)))
            _hand_down(descriptors)
            os.execve(argv[0], argv, {})  # noqa: S606 -- likewise
        with making(box):
            slot = Slot(Want(profile, Places.now()))
        undo.callback(slot.close)
        environment = clean(os.environ, profile.env, slot.temporary.path, slot.cache)
        check_program(command[0], folder, environment)
        _hand_down((slot.temporary.descriptor,))
        undo.pop_all()  # which the box would refuse
        with making(box):
            confine_this_thread(slot.ruleset, filter_for(box))
        os.execvpe(command[0], command, environment)  # noqa: S606 -- likewise


def _hand_down(kept: Iterable[int]) -> None:
    """Let the command inherit its streams and *kept*, and nothing else that this process has or was given."""
    wanted = set(kept)
    for name in os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else ():
        descriptor = int(name)
        if descriptor >= _STREAMS:
            with suppress(OSError):  # that of the listing itself
                os.set_inheritable(descriptor, descriptor in wanted)
