"""The extension ``io.modelcontextprotocol/tasks`` (SEP-2663): a call past its threshold goes on under its task's id."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import mcp.types as t
from mcp import MCPError
from mcp.types import HEADER_MISMATCH, INVALID_PARAMS
from pydantic import Field

from executor.errors import TaskNotFoundError
from executor.mcp.serving import _peers
from executor.mcp.serving._results import error_text, told_result
from executor.values import ResultKind, TaskStatus
from executor.values._blocks import Link

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from executor.mcp.serving._host import Host
    from executor.values import TaskInfo, ToolResult

POLL_MS = 500  # how often a client is to ask
OUTPUT_END = 4096  # bytes of the output of a task that was interrupted which its result brings
# Whatever failed, it was not the tool.
_NOT_BY_TOOL = (ResultKind.UNAVAILABLE, ResultKind.UNKNOWN_OUTCOME, ResultKind.CAPACITY)
_STATES = {TaskStatus.CANCELLED: "cancelled"}  # of those that have ended; all others are `completed`


class TaskParams(t.RequestParams):
    """Which task is meant."""

    task_id: str


class UpdateParams(TaskParams):
    """What a task has asked for."""

    input_responses: dict[str, Any] = Field(default_factory=dict)


def created_task(host: Host, task_id: str) -> dict[str, Any]:
    """The answer to a call that has become a task."""
    info = host.executor.tasks.get(task_id)
    return {"resultType": "task", **_told(info, "working")}


def _told(info: TaskInfo, status: str) -> dict[str, Any]:
    changed = max(info.created, info.started or 0, info.ended or 0)  # a call may have run before it became a task
    return {
        "taskId": info.id,
        "status": status,
        "createdAt": _time(info.created),
        "lastUpdatedAt": _time(changed),
        "ttlMs": None,  # it is kept until somebody removes it
        "pollIntervalMs": POLL_MS,
    }


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Tasks:
    """
    The handlers.

    Args:
        host_of: What is served to whoever sent a request.
    """

    def __init__(self, host_of: Callable[[Any], Awaitable[Host]]) -> None:
        self._host_of = host_of

    async def get(self, context: Any, params: TaskParams) -> dict[str, Any]:
        """What has become of a task: its questions while it waits for answers, its result once it has ended."""
        host = await self._checked(context, params)
        info = await host.elsewhere(lambda: own_task(host, params.task_id))
        if not info.status.final:
            return _running(host, info)
        result = await host.elsewhere(lambda: host.executor.tasks.tool_result(info.id))
        return await host.elsewhere(lambda: _ended(host, info, result, context.protocol_version))

    async def update(self, context: Any, params: UpdateParams) -> dict[str, Any]:
        """Take answers to questions of a task."""
        host = await self._checked(context, params)
        await host.elsewhere(lambda: own_task(host, params.task_id))
        call = host.tasks.get(params.task_id)
        if call is not None:
            call.take(params.input_responses)
        return {}

    async def cancel(self, context: Any, params: TaskParams) -> dict[str, Any]:
        """Stop a task."""
        host = await self._checked(context, params)
        await host.elsewhere(lambda: own_task(host, params.task_id))
        await host.elsewhere(lambda: host.executor.tasks.cancel(params.task_id, "The client cancelled the task"))
        return {}

    async def _checked(self, context: Any, params: TaskParams) -> Host:
        """What is served there. Raises MCPError where that is refused."""
        if not _peers.follows_tasks(context):
            raise MCPError(
                t.MISSING_REQUIRED_CLIENT_CAPABILITY,
                f"The client does not declare {_peers.TASKS}",
                {"requiredCapabilities": _peers.FOLLOWING},
            )
        if context.request is not None and context.request.headers.get("mcp-name") != params.task_id:
            raise MCPError(HEADER_MISMATCH, "The header Mcp-Name has to be the taskId")
        return await self._host_of(context)


def own_task(host: Host, task_id: str) -> TaskInfo:
    """The task, if it is one of this principal. Raises MCPError, the same for those of others as for none."""
    try:
        info = host.executor.tasks.get(task_id)
    except TaskNotFoundError:
        info = None
    if info is None or info.conversation != host.executor.conversation:
        raise MCPError(INVALID_PARAMS, f"Unknown task: {task_id[:100]}")
    return info


def _running(host: Host, info: TaskInfo) -> dict[str, Any]:
    call = host.tasks.get(info.id)
    if call is not None and call.questions:
        requests = {
            each.id: each.request.model_dump(by_alias=True, mode="json", exclude_none=True)
            for each in call.questions.values()
        }
        return {**_told(info, "input_required"), "inputRequests": requests}
    told = _told(info, "working")
    if info.progress is not None and info.progress[2]:
        told["statusMessage"] = info.progress[2]
    return told


def _ended(host: Host, info: TaskInfo, result: ToolResult, version: str) -> dict[str, Any]:
    """A task that has ended. One whose process ended in the middle brings the end of its output."""
    told = _told(info, _STATES.get(info.status, "completed"))
    if info.status is not TaskStatus.COMPLETED:
        told["statusMessage"] = f"{info.status}: {info.error or ''}"[:1000]
    if told["status"] == "cancelled":
        return told
    if result.kind in _NOT_BY_TOOL:
        error = {"code": t.INTERNAL_ERROR, "message": error_text(result)}
        return {**told, "status": "failed", "error": error}
    answer = told_result(result, version, has_schema=False)
    if result.kind is ResultKind.INTERRUPTED:
        begin = max(0, info.output_bytes - OUTPUT_END)
        output, _, _ = host.executor.tasks.output(info.id, begin)
        if output:
            answer["content"].append({"type": "text", "text": f"The end of its output:\n{output}"})
        answer["content"].append(Link(output_uri(info.id), f"output of {info.id}").to_dict())
    return {**told, "result": answer}


def output_uri(task_id: str) -> str:
    """The name of a task's output as a document."""
    return f"task://{task_id}/output"
