"""Background tasks: calls that outlived their threshold, or were started in the background on purpose."""

from executor._types import TaskInfo, TaskStatus
from executor.tasks._manager import TaskManager

__all__ = ["TaskInfo", "TaskManager", "TaskStatus"]
