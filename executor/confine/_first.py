"""The first process in a box under bubblewrap: it lays the mounts, starts the command, and ends after all others."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import select
import signal
from typing import IO, TYPE_CHECKING, NamedTuple

from executor.confine._mounted import Mount, at_points, home_of, mounts, parse
from executor.confine._mounts import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from executor.confine._mounts import Laid

_MOST_SECONDS = 2.0  # that the end of what is killed may take
_MOST_TOLD = 4096  # bytes of what bubblewrap says of it
_ROOT = "/newroot"  # what bubblewrap calls the box's root while it lays the mounts


class Stop(NamedTuple):
    """
    Two pipes. bubblewrap tells on one who the first process is, and has it read a file from the other, last of all.

    That one is a page, and full, until it is read from: so this end is told that it came so far, and where it stops.
    """

    told: IO[bytes]
    telling: IO[bytes]
    read: IO[bytes]
    held: IO[bytes]


class First:
    """
    It is stopped once the mounts are laid: bubblewrap goes by paths, and a command in another box of the same project
    may exchange a folder for a link at any moment. So they are looked at, and only then does it go on.
    """

    def __init__(self) -> None:
        self._watched: int | None = None

    @contextlib.contextmanager
    def told(self) -> Iterator[Stop]:
        """What to start bubblewrap with."""
        with contextlib.ExitStack() as stack:
            stop = Stop(*(stack.enter_context(end) for _ in range(2) for end in _pipe()))
            fcntl.fcntl(stop.held.fileno(), fcntl.F_SETPIPE_SZ, 1)
            stop.held.write(b"\n")
            yield stop

    def check(self, stop: Stop, laid: Iterable[Laid]) -> bool:
        """
        Wait until the mounts are laid, and let the command be started if each is where it should be.

        Args:
            stop: bubblewrap was started with.
            laid: What the mounts should be.

        Returns:
            False if bubblewrap has ended instead.

        Raises:
            OSError: One is elsewhere, or they cannot be looked at; then the command is not started.
        """
        stop.telling.close()
        stop.read.close()
        coming = select.poll()
        coming.register(stop.held, select.POLLOUT)
        [(_, event)] = coming.poll()
        if event & select.POLLERR:
            return False
        pid = int(json.loads(stop.told.read(_MOST_TOLD))["child-pid"])
        try:
            with contextlib.suppress(
                AttributeError, OSError
            ):  # this Python, or Linux before 5.3, has no such descriptors
                self._watched = os.pidfd_open(pid)
            with open(f"/proc/{pid}/mountinfo", "rb", buffering=0) as table:
                _compare(laid, parse(table.read()))
        except BaseException:
            os.kill(pid, signal.SIGKILL)  # before it reads the end of the file, and goes on
            raise
        return True

    def end(self) -> None:
        """The command is over: end what it left running, and wait for that."""
        watched, self._watched = self._watched, None
        if watched is None:
            return
        try:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(watched, signal.SIGKILL)
            ended = select.poll()
            ended.register(watched, select.POLLIN)
            ended.poll(_MOST_SECONDS * 1000)
        finally:
            os.close(watched)


def _pipe() -> tuple[IO[bytes], IO[bytes]]:
    source, target = os.pipe2(os.O_CLOEXEC)
    return open(source, "rb", buffering=0), open(target, "wb", buffering=0)


def _compare(laid: Iterable[Laid], found: tuple[Mount, ...]) -> None:
    """
    Each mount is one of *found*, with what should be there: none of them can be anywhere else then.

    Raises:
        OSError: One is not.
    """
    own = at_points(mounts())
    seen = {(mount.point, (mount.device, mount.root), mount.writable) for mount in found}
    covers = {mount.point for mount in found if mount.kind == "tmpfs" and mount.root == "/"}
    for kind, path in laid:
        point, hidden = _ROOT + path, kind is Kind.HIDDEN
        mount = (point, home_of("/dev/null" if hidden else path, own), kind is Kind.FREE)
        if mount not in seen and not (hidden and point in covers):
            raise OSError(errno.EBUSY, "it was moved while the box was made", path)
