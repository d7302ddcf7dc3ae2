"""The states of a background task."""

from enum import StrEnum


class TaskStatus(StrEnum):
    """The states of a background task. The last five are final: a final state never changes."""

    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    TIMEOUT = "timeout"
    INTERRUPTED = "interrupted"

    @property
    def final(self) -> bool:
        return self not in (TaskStatus.PENDING, TaskStatus.RUNNING)
