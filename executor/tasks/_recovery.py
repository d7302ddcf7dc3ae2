"""What is done for owners that are gone, and the cleaning up of what nobody needs any more."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

from executor.tasks._files import disk_use, remove
from executor.tasks._owners import clean as clean_locks
from executor.tasks._owners import is_alive
from executor.tasks._processes import birth, end_groups

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from executor.tasks._files import OutputFolder
    from executor.tasks._store import Store

DAY = 24 * 3600.0
KEEP = 30 * DAY  # how long an acknowledged task stays …
KEEP_UNREAD = 90 * DAY  # … and one that nobody acknowledged
MOST_OUTPUT = 1024**3  # bytes of output of all tasks together; past it the oldest ended ones go


def gone(pid: int) -> str:
    """The error of a task whose process has ended."""
    return (
        f"Interrupted: the process {pid} that ran this task ended before it did. What it did until then may have had "
        "effects; its output so far is kept. Nothing is started again by itself"
    )


def lives(store: Store, owners: Path, owner: str) -> bool:
    """Whether an owner is there."""
    alive = is_alive(owners, owner)
    if alive is not None:
        return alive
    # Its file is gone: it has ended in order, or somebody has tidied up and it still runs.
    known = store.owner(owner)
    return known is not None and known[1] is not None and birth(known[0]) == known[1]


def sweep(store: Store, output: OutputFolder, owners: Path, own: str, among: Iterable[str] | None = None) -> int:
    """
    Interrupt the tasks of dead owners, and end the process groups that still work for them.

    Args:
        own: The owner that is this process.
        among: Look at these owners only.

    Returns:
        How many tasks were interrupted.

    Raises:
        ExecutorUnavailableError: The store cannot be used.
    """
    swept = 0
    groups: list[tuple[int, str]] = []
    wanted = None if among is None else set(among)
    for owner, tasks in store.live_of_others(own).items():
        if (wanted is not None and owner not in wanted) or lives(store, owners, owner):
            continue
        known = store.owner(owner)
        sizes = [(task_id, output.size(task_id)) for task_id, _ in tasks]
        swept += store.interrupt(sizes, owner, gone(known[0] if known is not None else 0))
        for _, recorded in tasks:
            groups += [(group, born) for group, born in json.loads(recorded)]
    if groups:
        end_groups(groups)
    return swept


def clean(store: Store, output: OutputFolder, owners: Path) -> int:
    """
    Forget old tasks, and then the oldest as long as there is too much output. Returns how many.

    Raises:
        ExecutorUnavailableError: The store cannot be used.
    """
    now = time.time()
    old = {*store.ended_before(now - KEEP, acknowledged_only=True), *store.ended_before(now - KEEP_UNREAD)}
    forget(store, output, sorted(old))
    clean_locks(owners)
    return len(old) + _shrink(store, output, now)


def forget(store: Store, output: OutputFolder, task_ids: list[str]) -> None:
    """Remove tasks and their output."""
    store.remove(task_ids)
    for task_id in task_ids:
        output.remove(task_id)


def _shrink(store: Store, output: OutputFolder, now: float) -> int:
    """Remove output that belongs to no task, and the oldest tasks while all output together is too much."""
    known = {output.log(task_id): task_id for task_id in store.ids()}
    sizes = {}
    for log in output.logs():
        if log in known:
            sizes[log] = disk_use(log)
        elif _modified(log) < now - DAY:  # younger ones may be of a call that is about to become a task
            remove(log)
    excess = sum(sizes.values()) - MOST_OUTPUT
    gone_now = []
    for task_id in store.oldest_ended() if excess > 0 else ():
        if excess <= 0:
            break
        size = sizes.get(output.log(task_id), 0)
        if size:
            gone_now.append(task_id)
            excess -= size
    forget(store, output, gone_now)
    return len(gone_now)


def _modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return time.time()
