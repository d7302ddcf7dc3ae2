"""Background tasks: calls that outlived their threshold, or were started in the background on purpose."""

from executor.tasks._conversation import ConversationTasks
from executor.tasks._input import Attached
from executor.tasks._manager import TaskManager
from executor.tasks._named import ids_beginning
from executor.tasks._unstored import has_unstored, wait_until_stored
from executor.values import TaskInfo, TaskStatus

__all__ = [
    "Attached",
    "ConversationTasks",
    "TaskInfo",
    "TaskManager",
    "TaskStatus",
    "has_unstored",
    "ids_beginning",
    "wait_until_stored",
]
