"""Finding a task by the beginning of its id, as people at a terminal write it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from executor.tasks._manager import engine_of

if TYPE_CHECKING:
    from executor.tasks._manager import TaskManager


def ids_beginning(manager: TaskManager, text: str, limit: int) -> list[str]:
    """
    The ids of tasks that begin with *text*, at most so many: as quick among a million of tasks as among ten.

    Raises:
        ExecutorUnavailableError: The store cannot be used.
    """
    table = engine_of(manager)
    with table.lock:
        found = {task_id for task_id in table.tasks if task_id.startswith(text)}
    if table.durable is not None:
        found |= set(table.durable.all.beginning(text, limit)) - table.durable.withdrawn
    return sorted(found)[:limit]
