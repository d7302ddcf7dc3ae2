"""The tasks of one conversation: all others are unknown, also by the executor that uses them."""

from __future__ import annotations

import pytest

from executor import ToolExecutor
from executor.errors import TaskNotFoundError, ToolExecutorError
from executor.tasks import ConversationTasks


def test_the_executor_of_one_conversation_knows_no_task_of_another():
    executors = [ToolExecutor(conversation=name, tasks=ConversationTasks(name)) for name in ("ada", "bob")]
    try:
        own, others = (executor.tasks for executor in executors)
        executors[0].register("work", lambda args: "x" * 200_000, auto_background=0)
        task = executors[0].execute("work", {})[1]["task_id"]
        assert own.wait(task, 20).status == "completed"
        assert [info.id for info in own.list()] == [task]
        assert others.list() == []
        for ask in ("get", "output", "result", "tool_result", "wait", "cancel", "ack", "send_input"):
            with pytest.raises(TaskNotFoundError):
                getattr(others, ask)(*((task, "x") if ask == "send_input" else (task,)))
        saved = own.tool_result(task, 2000).content.partition("res_")[2].partition('"')[0].split()[0]
        assert own.read_result(f"res_{saved}")[2] == 200_000
        with pytest.raises(ToolExecutorError, match="There is no result"):
            others.read_result(f"res_{saved}")
    finally:
        for executor in executors:
            executor.shutdown(cancel=True)
