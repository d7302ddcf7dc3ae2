"""Laying out a box under bubblewrap, and the command that starts in it."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import select
from dataclasses import dataclass
from typing import TYPE_CHECKING

from executor.confine import _bubblewrap, _folders, _mounts
from executor.confine._closed import unwritable
from executor.confine._environment import clean
from executor.confine._files import check_program
from executor.confine._places import Places, secrets

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from executor.values._profile import Profile

_MOMENT = 200  # milliseconds


@dataclass(frozen=True, slots=True)
class Wrapped:
    """
    A box that is laid out.

    Attributes:
        program: bubblewrap.
        profile: What the box is for.
        mounts: What is laid over what.
        loose: Links that it cannot keep from being replaced.
        environment: What of the environment goes into it.
        temporary: Its TMPDIR, which the box itself holds until the last process in it has ended.
        first: The first process in it, which ends after all others.
    """

    program: str
    profile: Profile
    mounts: tuple[tuple[_mounts.Kind, str], ...]
    loose: tuple[str, ...]
    environment: dict[str, str]
    temporary: _folders.Temporary
    first: _First

    @contextlib.contextmanager
    def command(self, command: list[str], folder: str, filtering: bytes) -> Iterator[tuple[list[str], tuple[int, ...]]]:
        """
        What starts *command* in the box, in *folder*, and the descriptors that it must inherit.

        Raises:
            OSError: There is no such program, or it may not be run.
            ValueError: An argument or a variable holds a NUL.
        """
        check_program(command[0], folder, self.environment)
        with contextlib.ExitStack() as stack:
            descriptors = {
                "--seccomp": stack.enter_context(_memory(filtering)),
                "--sync-fd": self.temporary.descriptor,
                "--info-fd": stack.enter_context(self.first.told()),
            }
            options = _bubblewrap.options(
                self.mounts,
                network=self.profile.name == "network",
                environment=self.environment,
                folder=folder,
                descriptors=descriptors,
            )
            told = stack.enter_context(_memory(_bubblewrap.packed(options)))
            yield [self.program, "--args", str(told), "--", *command], (told, *descriptors.values())


class _First:
    """
    The first process in a box, whose number bubblewrap tells once it is there.

    The command's end is known a moment before its own: until then the box is held.
    """

    def __init__(self) -> None:
        self._source: int | None = None

    @contextlib.contextmanager
    def told(self) -> Iterator[int]:
        """The descriptor to tell it on."""
        self._source, target = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            yield target
        finally:
            os.close(target)

    def wait(self) -> None:
        """Wait until it has ended, for a moment: where something was left running in the box it goes on."""
        if self._source is None:
            return
        source, self._source = self._source, None
        # Ended already, never started, or Python has no such descriptors: then it is not waited for.
        with contextlib.suppress(OSError, ValueError, KeyError, AttributeError), os.fdopen(source, "rb") as told:
            watched = os.pidfd_open(json.loads(told.read() or b"{}")["child-pid"])
            try:
                ended = select.poll()
                ended.register(watched, select.POLLIN)
                ended.poll(_MOMENT)
            finally:
                os.close(watched)


@contextlib.contextmanager
def wrapping(profile: Profile, env: Mapping[str, str]) -> Iterator[Wrapped]:
    """Lay out a box for *profile*; what was made for it is removed at the end. Raises OSError."""
    program = _bubblewrap.find()
    if program is None:
        raise FileNotFoundError(errno.ENOENT, "bubblewrap is gone", "bwrap")
    places = Places.now()
    boxes = _folders.boxes_of(profile.project, places)
    temporary, first = _folders.Temporary(os.path.join(boxes, "runs")), _First()
    try:
        cache = temporary.path
        free = [temporary.path, *filter(_is_plain, profile.writable)]
        if profile.name != "read":
            cache = _folders.cache_of(boxes)
            free += [cache, profile.project]
        with _folders.held(boxes):
            plan = _mounts.plan(free, unwritable(profile), secrets(profile, places))
            _folders.Placeholders(boxes).make(plan.missing)
        environment = clean(env, profile.env, temporary.path, cache)
        yield Wrapped(program, profile, plan.mounts, plan.loose, environment, temporary, first)
    finally:
        first.wait()
        temporary.close()
        _tidy(boxes)


def _is_plain(path: str) -> bool:
    """Whether *path* is there, and no link has been put on the way to it since it was judged."""
    return os.path.exists(path) and os.path.realpath(path) == path


def _tidy(boxes: str) -> None:
    with _folders.held(boxes), contextlib.suppress(FileNotFoundError):
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
