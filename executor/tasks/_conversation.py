"""The tasks of one conversation, for whoever must not see those of others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from executor.errors import TaskNotFoundError
from executor.tasks._manager import TaskManager
from executor.tasks._table import TaskTable

if TYPE_CHECKING:
    from executor.calls._token import CancelToken
    from executor.tasks._delivery import Tasks
    from executor.values import Outcome, TaskInfo, TaskStatus, ToolResult


class ConversationTasks(TaskManager):
    """
    As from `TaskManager.open`, but for the tasks of one conversation only: all others are unknown here.

    Args:
        conversation: That of the executor which uses it.
    """

    def __init__(self, conversation: str) -> None:
        from executor.tasks._durable import Durable  # for those only who look at the tasks of one conversation

        super().__init__(TaskTable(durable=Durable(None, None)))
        self._conversation = conversation

    def get(self, task_id: str) -> TaskInfo:
        """See `TaskManager.get`."""
        info = super().get(task_id)
        if info.conversation != self._conversation:
            raise TaskNotFoundError(task_id)
        return info

    def list(
        self, state: TaskStatus | str | None = None, tool: str | None = None, limit: int | None = None
    ) -> list[TaskInfo]:
        """See `TaskManager.list`."""
        return [info for info in super().list(state, tool) if info.conversation == self._conversation][:limit]

    def output(self, task_id: str, offset: int = 0, limit: int | None = None) -> tuple[str, int, int]:
        """See `TaskManager.output`."""
        self.get(task_id)
        return super().output(task_id, offset, limit)

    def read_result(
        self, result_id: str, offset: int = 0, limit: int | None = None, *, conversation: str | None = None
    ) -> tuple[str, int, int]:
        """See `TaskManager.read_result`; always of this conversation."""
        own = self._conversation if conversation is None else conversation
        return super().read_result(result_id, offset, limit, conversation=own)

    def result(self, task_id: str) -> Outcome:
        """See `TaskManager.result`."""
        self.get(task_id)
        return super().result(task_id)

    def tool_result(self, task_id: str, max_content: int | None = None) -> ToolResult:
        """See `TaskManager.tool_result`."""
        self.get(task_id)
        return super().tool_result(task_id, max_content)

    def wait(self, task_id: str, timeout: float | None = None, *, cancel: CancelToken | None = None) -> TaskInfo:
        """See `TaskManager.wait`."""
        self.get(task_id)
        return super().wait(task_id, timeout, cancel=cancel)

    def cancel(self, task_id: str, reason: str | None = None) -> bool:
        """See `TaskManager.cancel`."""
        self.get(task_id)
        return super().cancel(task_id, reason)

    def ack(self, task_id: str) -> None:
        """See `TaskManager.ack`."""
        self.get(task_id)
        super().ack(task_id)

    def undelivered(self, conversation: str | None = None) -> Tasks:
        """See `TaskManager.undelivered`; always of this conversation."""
        return super().undelivered(self._conversation if conversation is None else conversation)

    def next_undelivered(
        self, timeout: float | None = None, *, conversation: str | None = None, cancel: CancelToken | None = None
    ) -> TaskInfo | None:
        """See `TaskManager.next_undelivered`; always of this conversation."""
        own = self._conversation if conversation is None else conversation
        return super().next_undelivered(timeout, conversation=own, cancel=cancel)

    def _delivering(self, conversation: str) -> TaskManager:  # noqa: ARG002 -- it is the one that it has
        return self
