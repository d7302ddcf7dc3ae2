"""What the page is told of the tasks of all processes."""

from __future__ import annotations

from executor import TaskStatus
from executor.tasks import TaskManager
from executor.tasks._manager import engine_of
from executor_console._watch import MOST_TASKS, Watch


def test_a_task_that_runs_is_shown_however_many_were_started_since():
    tasks = TaskManager.in_memory()
    table = engine_of(tasks)

    def enter(started=1.0):
        asked = {"cancel": lambda reason: True, "reached": lambda: None, "started": started}
        return table.add("tool", "local", "call", table.new_spool(), **asked)

    running, pending = enter(), enter(None)
    later = [enter() for _ in range(MOST_TASKS + 1)]
    for task_id in later:
        table.finish(task_id, TaskStatus.COMPLETED, (True, {}))
    shown = [info.id for info in Watch(tasks, {}).tasks_now()]
    assert shown == [*reversed(later[1:]), pending, running]
