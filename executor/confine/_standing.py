"""How new processes stand that this one makes: what they have from it, or from the thread that makes them."""

from __future__ import annotations

import os
import sys

if sys.platform != "win32":  # where there are no boxes, and only that is to be told
    import resource

# Of a process's status, from where to where: its umask; signals; capabilities, filters, processors.
_INHERITED = (
    (b"\nUmask:", b"\nState:"),
    (b"\nSigBlk:", b"\nSigCgt:"),
    (b"\nCapInh:", b"\nvoluntary_ctxt_switches:"),
)
_NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid_for_children", "user", "uts")
_STATUS = 4096  # bytes, in which it is whole but for whoever is in hundreds of groups
_LIMITS = range(16)  # that Linux has, see getrlimit(2)


def inherited() -> tuple[object, ...]:
    """What a new process has from this one, and thread: who it is, what it may do, how much, and which signals."""
    with open("/proc/thread-self/status", "rb", buffering=0) as status:
        told = status.read(_STATUS)
        if len(told) == _STATUS:
            told += status.readall()
    parts = [told[told.index(start) : told.index(end)] for start, end in _INHERITED]
    who = os.getresuid(), os.getresgid(), tuple(os.getgroups()), os.getsid(0)
    limits = tuple(map(resource.getrlimit, _LIMITS))
    folder = os.open("/proc/thread-self/ns", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        spaces = [os.readlink(name, dir_fd=folder) for name in _NAMESPACES]
    finally:
        os.close(folder)
    root = os.stat("/")
    scheduled = os.nice(0), os.sched_getscheduler(0)
    return who, *parts, limits, *spaces, scheduled, root.st_dev, root.st_ino
