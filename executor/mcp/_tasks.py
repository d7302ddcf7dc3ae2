"""
Servers that answer a call with a task (the extension ``io.modelcontextprotocol/tasks``, SEP-2663).

The task is followed here until it ends, so that to its caller it is a call like any other: it goes to the background
at its threshold, under an id of ours, and cancelling it cancels the server's task.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

import anyio
import mcp.types as t
from mcp import MCPError
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim
from mcp.client.session import ClientRequestContext
from pydantic import TypeAdapter

from executor.errors import ToolCancelledError
from executor.mcp._current import current

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp.client.session import ClientSession

POLL_SECONDS = 1.0  # where the server does not say how often it wants to be asked
SHORTEST_POLL, LONGEST_POLL = 0.1, 30.0
CANCEL_SECONDS = 2.0  # how long the server may take to hear that its task is not wanted any more

_requests: TypeAdapter[dict[str, t.InputRequest]] = TypeAdapter(dict[str, t.InputRequest])


class TaskHandle(t.Result):
    """The answer to a call that goes on as a task."""

    result_type: Literal["task"]
    task_id: str
    poll_interval_ms: float | None = None


class TaskState(t.Result):
    """The answer to ``tasks/get``."""

    status: str
    status_message: str | None = None
    poll_interval_ms: float | None = None
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None
    input_requests: dict[str, Any] | None = None


class _TaskParams(t.RequestParams):
    task_id: str


class _UpdateParams(_TaskParams):
    input_responses: dict[str, Any]


class _GetTask(t.Request[_TaskParams, Literal["tasks/get"]]):
    name_param: ClassVar[str | None] = "taskId"
    method: Literal["tasks/get"] = "tasks/get"


class _CancelTask(t.Request[_TaskParams, Literal["tasks/cancel"]]):
    name_param: ClassVar[str | None] = "taskId"
    method: Literal["tasks/cancel"] = "tasks/cancel"


class _UpdateTask(t.Request[_UpdateParams, Literal["tasks/update"]]):
    name_param: ClassVar[str | None] = "taskId"
    method: Literal["tasks/update"] = "tasks/update"


class TasksExtension(ClientExtension):
    """Tells servers that they may answer with a task, and follows it."""

    identifier = "io.modelcontextprotocol/tasks"

    def claims(self) -> Sequence[ResultClaim[Any]]:
        """The one further shape that the answer to a call may have."""
        return [ResultClaim(result_type="task", model=TaskHandle, resolve=_follow)]


async def _follow(handle: TaskHandle, context: ClaimContext) -> t.CallToolResult:
    session, task_id = context.session, handle.task_id
    answered: set[str] = set()
    state, interval = TaskState(status="working"), handle.poll_interval_ms
    polls = 0
    try:
        while state.status in ("working", "input_required"):
            interval = state.poll_interval_ms or interval
            await anyio.sleep(_pause(interval))
            state = await session.send_request(_GetTask(params=_TaskParams(task_id=task_id)), TaskState)
            polls += 1
            call = current()
            if call is not None and state.status_message:
                call.progressed(polls, None, state.status_message)
            if state.status == "input_required":
                await _answer(session, task_id, state.input_requests or {}, answered)
    except anyio.get_cancelled_exc_class():
        with anyio.move_on_after(CANCEL_SECONDS, shield=True):
            await session.send_request(_CancelTask(params=_TaskParams(task_id=task_id)), t.EmptyResult)
        raise
    if state.status == "completed":
        return t.CallToolResult.model_validate(state.result or {"content": []}, by_name=False)
    if state.status == "cancelled":
        raise ToolCancelledError(f"The server cancelled its task {task_id}")
    told = state.error or {}
    raise MCPError(
        int(told.get("code", t.INTERNAL_ERROR)), str(told.get("message") or state.status_message or "the task failed")
    )


def _pause(milliseconds: float | None) -> float:
    seconds = POLL_SECONDS if milliseconds is None else milliseconds / 1000
    return min(max(seconds, SHORTEST_POLL), LONGEST_POLL)


async def _answer(session: ClientSession, task_id: str, asked: dict[str, Any], answered: set[str]) -> None:
    """Put the questions of a task that were not put yet."""
    new = {key: value for key, value in asked.items() if key not in answered}
    responses: dict[str, Any] = {}
    for key, request in _requests.validate_python(new).items():
        context = ClientRequestContext(session=session, request_id=key)
        response = await session.dispatch_input_request(context, request)
        if isinstance(response, t.ErrorData):
            raise MCPError.from_error_data(response)
        responses[key] = response.model_dump(by_alias=True, mode="json", exclude_none=True)
    if responses:
        answered.update(responses)
        params = _UpdateParams(task_id=task_id, input_responses=responses)
        await session.send_request(_UpdateTask(params=params), t.EmptyResult)
