"""What became of tasks and is not stored yet, in a process from which nobody but the store is given it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from executor.errors import ExecutorUnavailableError
from executor.tasks._manager import engine_of

if TYPE_CHECKING:
    from executor.tasks._manager import TaskManager

STAY = 3600.0  # seconds: a full disk is seen to by then, and a process that tries in vain is not to stay for ever


def has_unstored(manager: TaskManager) -> bool:
    """Whether there is a task of this process that has not ended, or whose end is not stored."""
    durable = engine_of(manager).durable
    try:
        return durable is not None and durable.own.waiting
    except ExecutorUnavailableError:  # it was forked in the middle of something: nothing of it can be stored
        return False


def wait_until_stored(manager: TaskManager, seconds: float = STAY) -> None:
    """Wait until the ends of all tasks of this process are stored, though the store be away; for an hour at most."""
    durable = engine_of(manager).durable
    if durable is not None and has_unstored(manager):
        durable.place.thread.until(lambda: not durable.own.waiting, seconds)
