"""Processes of this machine, told apart by when they began, and the ending of groups whose owner is gone."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from executor.calls._state import MARK

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from executor.tasks._spool import Group

_MARKED = f"{MARK}=".encode()
LOOK_AGAIN = 0.1  # seconds in which a process that was forked has its own environment
GRACE = 0.2  # seconds between TERM and KILL, for all groups together: nobody waits for these any more


def birth(pid: int) -> str | None:
    """
    What tells process *pid* from every other one that has had, or will have, its number. None: gone, or unknown.

    On Linux the boot and the tick it started in; elsewhere from psutil, where it is installed.
    """
    if sys.platform == "linux":
        fields = _stat(pid)
        return _birth(fields) if fields is not None else None
    return _birth_by_psutil(pid)


def birth_of_child(pid: int) -> str | None:
    """`birth` of a child of this process that nobody has waited for: it may have ended."""
    if sys.platform == "linux":
        fields = _any_stat(pid)
        return _birth(fields) if fields is not None else None
    return _birth_by_psutil(pid)


def _birth(fields: list[bytes]) -> str:
    return f"{_boot()}:{fields[19].decode()}"


def _birth_by_psutil(pid: int) -> str | None:
    try:
        import psutil
    except ImportError:
        return None
    try:
        return f"{psutil.Process(pid).create_time():.2f}"
    except psutil.Error:
        return None


def boot_of(born: str | None) -> str:
    """The boot of the system that a `birth` belongs to; None: that of now."""
    return (born or "").partition(":")[0] if born is not None and sys.platform == "linux" else _boot()


def _stat(pid: int | str) -> list[bytes] | None:
    """The fields of a process from its state on; None when it is gone. Zombies are."""
    fields = _any_stat(pid)
    return fields if fields is not None and fields[0] not in b"ZX" else None


def _any_stat(pid: int | str) -> list[bytes] | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    return text.rpartition(b")")[2].split()  # the name before it may hold spaces and brackets


def _boot() -> str:
    with contextlib.suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    return ""


def end_groups(groups: Iterable[Group]) -> int:
    """
    End process groups whose owner is gone: TERM, a short grace, KILL. Returns how many there were.

    Args:
        groups: The number of each is also its session's. One that was expected and not known by then is looked for.
    """
    if sys.platform == "win32" or not hasattr(os, "killpg"):
        return 0
    found = [(group.number, group.born) for group in groups if group.number]
    known = {group.mark for group in groups if group.number}
    found += _marked({group.mark for group in groups if not group.number} - known)
    ours = [(group, born) for group, born in found if _is_the_one(group, born)]
    for group, _ in ours:
        _send(group, signal.SIGTERM)
    deadline = time.monotonic() + GRACE
    for group, _ in ours:
        _wait(group, deadline)
    left = [(group, born) for group, born in ours if _is_the_one(group, born)]
    for group, _ in left:
        _send(group, signal.SIGKILL)
    deadline = time.monotonic() + GRACE
    for group, _ in left:
        _wait(group, deadline)  # gone when this returns, unless one is stuck in the system
    return len(ours)


def _marked(marks: Collection[str]) -> list[tuple[int, str]]:
    """The groups of the processes that were started with these marks, each with the `birth` of its first one."""
    found = _carriers(marks)
    if len(found) < len(marks):  # one that was just forked still has the environment of its parent
        time.sleep(LOOK_AGAIN)
        found |= _carriers(marks)
    return list(found.values())


def _carriers(marks: Collection[str]) -> dict[str, tuple[int, str]]:
    """The group and the `birth` of the oldest process with each mark; what was started by it has the mark, too."""
    oldest: dict[str, list[bytes]] = {}
    for pid in _pids() if marks and sys.platform == "linux" else ():
        mark = _mark_of(pid)
        fields = _stat(pid) if mark in marks else None
        if mark is not None and fields is not None and int(fields[19]) < int(oldest.get(mark, fields)[19]) + 1:
            oldest[mark] = fields
    return {mark: (int(fields[3]), _birth(fields)) for mark, fields in oldest.items()}


def _mark_of(pid: str) -> str | None:
    try:
        environment = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:  # gone, or another user's
        return None
    return next(
        (each.removeprefix(_MARKED).decode() for each in environment.split(b"\0") if each.startswith(_MARKED)), None
    )


def _is_the_one(group: int, born: str) -> bool:
    """Whether the group that has this number now is the one that was meant."""
    if group in (0, 1, os.getpgrp()):
        return False
    now = birth(group)
    if now is not None:
        return now == born
    # The leader is gone. Its number stays taken while a member lives; on Linux the members can be asked.
    if sys.platform != "linux" or born.partition(":")[0] != _boot():
        return False
    tick = int(born.partition(":")[2])
    members = _members(group).values()
    return bool(members) and all(int(fields[3]) == group and int(fields[19]) >= tick for fields in members)


def _members(group: int) -> dict[int, list[bytes]]:
    """The processes of a group, with their fields; on Linux only."""
    found = {int(pid): _stat(pid) for pid in _pids()}
    return {pid: fields for pid, fields in found.items() if fields is not None and int(fields[2]) == group}


def _pids() -> list[str]:
    try:
        return [name for name in os.listdir("/proc") if name.isdecimal()]  # noqa: PTH208 -- names are wanted, not paths
    except OSError:
        return []


def _send(group: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _wait(group: int, deadline: float) -> None:
    """Until the leader of *group* has ended, or, where it is gone, the members have; or *deadline* has come."""
    if birth(group) is not None:
        _wait_for(group, deadline)
    elif sys.platform == "linux":
        for pid in _members(group):
            _wait_for(pid, deadline)


def _wait_for(pid: int, deadline: float) -> None:
    left = deadline - time.monotonic()
    if left <= 0:
        return
    try:
        descriptor = os.pidfd_open(pid)  # Linux
    except (OSError, AttributeError):
        if birth(pid) is not None:
            time.sleep(left)
        return
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        poll.poll(left * 1000)
    finally:
        os.close(descriptor)
