"""The first process in a box under bubblewrap: it lays the mounts, starts the command, and ends after all others."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import select
import signal
import socket
from typing import TYPE_CHECKING, NamedTuple

from executor.confine import _kernel
from executor.confine._mounted import at_points, home_of, mounts, parse
from executor.confine._mounts import Kind

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator, Sequence

    from executor.confine._mounts import Laid

_LONGEST_SECONDS = 20.0  # that laying the mounts may take: no limit of the command holds by then
_MOST_SECONDS = 2.0  # that the end of what is killed may take
_MOST_TOLD = 4096  # bytes of what bubblewrap says of it
_CHILD = re.compile(rb'"child-pid": (\d+)')  # the first piece of a JSON object, written at once; others follow
_PARENT = re.compile(rb"^PPid:\s*(\d+)", re.MULTILINE)
_LINES = b"\n" * 512
_UNTAKEN = b"\n"
_ROOT = "/newroot"  # what bubblewrap calls the box's root while it lays the mounts


class Stop(NamedTuple):
    """
    bubblewrap writes into a file who the first process is, and reads another one from a socket, last of all.

    Into a file, because from a pipe that nobody reads any more it would end before it has its child go on, which waits
    for that, and would for ever.

    There is no more room in the socket until it is read from: so the other end, which is held here, is told that it
    came so far. It goes on when that end is shut; and if that is closed before what is in it was taken out, because
    this process was ended or has met with something else, its reading fails (ECONNRESET), and it ends.
    """

    told: int
    read: socket.socket
    held: socket.socket


class First:
    """
    It is stopped once the mounts are laid: bubblewrap goes by paths, and a command in another box of the same project
    may exchange a folder for a link at any moment. So they are looked at, and only then does it go on.
    """

    def __init__(self) -> None:
        self._watched: int | None = None

    @contextlib.contextmanager
    def told(self) -> Iterator[Stop]:
        """What to start bubblewrap with. Behind it, what was not let go on has ended, or is about to."""
        with contextlib.ExitStack() as stack:
            told = os.memfd_create("toolexec-first")
            stack.callback(os.close, told)
            read, held = (stack.enter_context(end) for end in socket.socketpair())
            read.send(_UNTAKEN)
            held.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
            held.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                while True:
                    held.send(_LINES)
            yield Stop(told, read, held)

    def check(self, process: subprocess.Popen[bytes], stop: Stop, laid: Sequence[Laid]) -> bool:
        """
        Wait until the mounts are laid, and let the command be started if each is where it should be.

        Args:
            process: bubblewrap.
            stop: What it was started with.
            laid: What the mounts should be.

        Returns:
            False if bubblewrap has ended instead.

        Raises:
            OSError: One is elsewhere, or they cannot be looked at; then the command is not started.
        """
        stop.read.close()
        expected = _expected(laid)  # while bubblewrap is at it
        if not _came(process, stop):
            return False
        pid = int(_CHILD.findall(os.pread(stop.told, _MOST_TOLD, 0))[0])
        watched = _kernel.watched(pid)
        if _parent_of(pid) != process.pid:  # looked at behind `watched`: it is the one that is watched
            if watched is not None:
                os.close(watched)
            raise OSError(
                errno.ESRCH, "its first process has another number there: use no process namespace of your own"
            )
        self._watched = watched
        with open(f"/proc/{pid}/mountinfo", "rb", buffering=0) as table:
            _compare(expected, table.read())
        stop.held.recv(len(_UNTAKEN))
        stop.held.shutdown(socket.SHUT_RDWR)
        return True

    def kill(self) -> None:
        """End all that is in the box, which ends with its first process. Not while another thread is in `end`."""
        if self._watched is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._watched, signal.SIGKILL)

    def end(self) -> None:
        """The command is over: end what it left running, and wait for that."""
        self.kill()
        watched, self._watched = self._watched, None
        if watched is None:
            return
        try:
            ended = select.poll()
            ended.register(watched, select.POLLIN)
            ended.poll(_MOST_SECONDS * 1000)
        finally:
            os.close(watched)


def _parent_of(pid: int) -> int | None:
    try:
        with open(f"/proc/{pid}/status", "rb", buffering=0) as status:
            found = _PARENT.search(status.read(_MOST_TOLD))
    except OSError:
        return None
    return int(found[1]) if found is not None else None


def _came(process: subprocess.Popen[bytes], stop: Stop) -> bool:
    """Whether bubblewrap stops there, rather than that it has ended. Raises TimeoutError when it does neither."""
    coming, end = select.poll(), _kernel.watched(process.pid)
    coming.register(stop.held, select.POLLOUT)
    if end is not None:
        coming.register(end, select.POLLIN)
    try:
        events = dict(coming.poll(_LONGEST_SECONDS * 1000))
    finally:
        if end is not None:
            os.close(end)
    if not events:
        raise TimeoutError(errno.ETIMEDOUT, "its mounts are not laid")
    event = events.get(stop.held.fileno(), 0)
    return bool(event & select.POLLOUT) and not event & select.POLLHUP


class _Expected(NamedTuple):
    """
    A mount as the box should have it.

    Attributes:
        home: What should be seen there: its device, and its path on that; None if that is not known.
        writable: Whether it may be written.
        hidden: Whether an empty folder may be there instead.
    """

    home: tuple[str, str] | None
    writable: bool
    hidden: bool


def _expected(laid: Sequence[Laid]) -> dict[str, _Expected]:
    """Each of the mounts, by where it is while they are laid."""
    own = at_points(mounts())
    nothing = home_of("/dev/null", own)
    return {
        _ROOT + path: _Expected(nothing, writable=False, hidden=True)
        if kind is Kind.HIDDEN
        else _Expected(home_of(path, own), writable=kind is Kind.FREE, hidden=False)
        for kind, path in laid
    }


def _compare(expected: dict[str, _Expected], table: bytes) -> None:
    """
    Each mount is in *table*, with what should be there: none of them can be anywhere else then.

    Raises:
        OSError: One is not.
    """
    found = parse(table, expected)
    seen = {(mount.point, (mount.device, mount.root), mount.writable) for mount in found}
    covers = {mount.point for mount in found if mount.kind == "tmpfs" and mount.root == "/"}
    for point, mount in expected.items():
        if (point, mount.home, mount.writable) not in seen and not (mount.hidden and point in covers):
            raise OSError(errno.EBUSY, "it was moved while the box was made", point.removeprefix(_ROOT))
