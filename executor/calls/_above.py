"""
Whether this process was started by a call: what only a person may do refuses to be done there.

A process that makes calls is marked, before the first of them begins, by a file in memory that it holds open as long as
it lives: whatever a tool starts, and in whichever way, is below a mark. So is a server that was started to be called. A
child can neither take the mark away nor hide who its parents are; what leaves them (``setsid --fork``) is not seen.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys

_NAME = "toolexec-calls"
# The mark, or the lock of a process that has tasks.
_MARKS = re.compile(rf"(?:/memfd:{_NAME}(?: \(deleted\))?|.*/owners/[0-9a-f]{{16}}\.lock)\Z")


class Mark:
    """
    The mark of this process; made once. It has no lock: a child that is forked meanwhile would wait for it for ever.

    Attributes:
        missing: Whether it is still to be made, for those who look before each call.
    """

    def __init__(self) -> None:
        self._made: dict[str, int] = {}  # by name its descriptor: setting a default is one step, for any thread
        self.missing = sys.platform == "linux"

    def make(self) -> None:
        if self.missing:
            with contextlib.suppress(OSError):
                descriptor = os.memfd_create(_NAME, os.MFD_CLOEXEC)
                if self._made.setdefault(_NAME, descriptor) != descriptor:  # another thread was quicker
                    os.close(descriptor)
                self.missing = False

    def remove(self) -> None:
        descriptor = self._made.pop(_NAME, None)
        if descriptor is not None:
            os.close(descriptor)
            self.missing = True


caller_mark = Mark()
mark_caller = caller_mark.make
forget_caller = caller_mark.remove


def call_above(process: int | None = None) -> int | None:
    """
    The number of the nearest process above this one that makes calls, or has tasks; None if there is none.

    Args:
        process: The number of another process, to look above that one.

    On Linux only: elsewhere nothing is known of other processes' files. A process of another user is not looked into.
    """
    if sys.platform != "linux":
        return None
    pid = os.getppid() if process is None else _parent(process)
    seen: set[int] = set()
    while pid != 0:
        if pid in seen or _is_marked(pid):  # a circle, which a table that changes can show, does not say who it is
            return pid
        seen.add(pid)
        pid = _parent(pid)
    return None


def _is_marked(pid: int) -> bool:
    folder = f"/proc/{pid}/fd"
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):  # noqa: PTH208 -- names are wanted, not paths
            with contextlib.suppress(OSError):  # closed meanwhile
                if _MARKS.match(os.readlink(f"{folder}/{name}")):  # noqa: PTH115 -- no file has this name
                    return True
    return False


def start_of(pid: int) -> str | None:
    """When a process began, in ticks since the system did; None if it is gone. proc_pid_stat(5), field 22."""
    found = _stat(pid)
    return found[19] if len(found) > 19 and found[0] not in ("Z", "X") else None


def is_stopped(pid: int) -> bool:
    """Whether a process is stopped, as by Ctrl-Z, or gone; on Linux only: elsewhere it may be."""
    return sys.platform != "linux" or _stat(pid)[:1] in ([], ["T"], ["t"])


def _parent(pid: int) -> int:
    """The parent of a process; 0 if it is gone."""
    found = _stat(pid)
    return int(found[1]) if found else 0


def _stat(pid: int) -> list[str]:
    """The fields from the third on; none if it is gone. The name before them may hold spaces and brackets."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123 -- as above
        return file.read().rpartition(b")")[2].decode("ascii").split()
    return []
