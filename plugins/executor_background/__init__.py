"""The tools by which a model polls, reads, starts, cancels and lists background tasks, and reads long results on."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from executor import TaskStatus, ToolCall, current_call, hookimpl
from executor.errors import TaskNotFoundError, ToolExecutorError, ToolFailedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from executor import TaskInfo
    from executor.hookspecs import RegisterTool

MARGIN = 512  # bytes of an answer beside the text that it brings
SHORT = 4096  # bytes of an error where several things are told
MOST_TASKS = 100  # in one list; those of all the user's processes may be many thousands
LONGEST_WAIT = 300.0  # seconds a model may let its own call wait

_TASK_ID = {"type": "string", "description": "The id that was given when the task went to the background."}
_RESULT_ID = {"type": "string", "description": "The id that stood where a long content was cut (res_…)."}
_READS = {"read_only": True}


def _schema(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _call() -> Any:
    call = current_call()
    if call is None or call.host is None:
        raise ToolExecutorError("background tasks are only known inside a ToolExecutor")
    return call


def _find(task_id: str) -> TaskInfo:
    tasks = _call().host.tasks
    try:
        info: TaskInfo = tasks.get(task_id)
    except TaskNotFoundError as error:
        running = [f"{info.id} ({info.tool_name}, {time.time() - info.created:.0f} s)" for info in tasks.live()]
        known = f"running: {', '.join(running)}" if running else "no task is running"
        raise ToolFailedError(f"{error.message}; {known}") from error
    return info


def _told(info: TaskInfo) -> dict[str, Any]:
    told: dict[str, Any] = {
        "task_id": info.id,
        "status": str(info.status),
        "tool_name": info.tool_name,
        "plugin_name": info.plugin_name,
        "elapsed_seconds": round(info.duration, 3),
        "output_bytes": info.output_bytes,
    }
    if info.progress is not None:
        told["progress"] = dict(zip(("done", "total", "message"), info.progress, strict=True))
    if info.waiting_for is not None:
        told["waiting_for"] = info.waiting_for
    if info.error is not None:
        told["error"] = (
            info.error if len(info.error) <= SHORT else _call().host.tasks.tool_result(info.id, SHORT).content
        )
    if info.abandoned:
        told["abandoned"] = True
    return told


def _delivered(info: TaskInfo) -> None:
    """
    The model has been told the end of a task: nobody has to deliver it any more.

    Not so of a task of another conversation, and where there are images or sound, which only a delivery can bring.
    """
    host = _call().host
    if not info.status.final or all(info.id != other.id for other in host.tasks.undelivered(host.conversation)):
        return
    if all(block.type not in ("image", "audio") for block in host.tasks.tool_result(info.id).blocks):
        host.tasks.ack(info.id)


def check_background_task(args: dict[str, Any]) -> dict[str, Any]:
    """Say whether a background task is still running, for how long, and how it ended."""
    info = _find(args["task_id"])
    told = _told(info)
    _delivered(info)
    return told


def get_background_output(args: dict[str, Any]) -> dict[str, Any]:
    """
    Read what a background task has written, from a byte offset on, and its result once it has ended.

    Call it again with the returned next_offset for what came since. With wait_seconds it first waits for the end.
    """
    call, task_id, offset = _call(), args["task_id"], args.get("offset", 0)
    tasks = call.host.tasks
    info = _find(task_id)
    if args.get("wait_seconds") and not info.status.final:
        info = tasks.wait(task_id, args["wait_seconds"], cancel=call.token)
    told = _told(info)
    if info.status.final and info.error is None:
        told["result"] = _result(task_id)
    room = call.host.max_content - _size(told) - MARGIN
    output, next_offset, dropped = _fitting(lambda most: tasks.output(task_id, offset, most), room)
    told |= {
        "output": output,
        "next_offset": next_offset,
        "has_more": not info.status.final or next_offset < info.output_bytes,
    }
    if dropped:
        told["dropped_bytes"] = dropped
    _delivered(info)
    return told


def _result(task_id: str) -> Any:
    """The value that a task came to; of one that would leave no room for output its beginning, and how to read on."""
    tasks, most = _call().host.tasks, max(_call().host.max_content // 4, 1024)
    result = tasks.tool_result(task_id)
    value = result.content if result.blocks else result.structured
    return value if _size(value) <= most else tasks.tool_result(task_id, most).content


def read_result(args: dict[str, Any]) -> dict[str, Any]:
    """
    Read on in a result that was too long to be shown whole, from a byte offset on.

    Call it again with the returned next_offset as long as has_more is true.
    """
    host, result_id, offset = _call().host, args["id"], args.get("offset", 0)
    room = host.max_content - MARGIN
    try:
        text, next_offset, size = _fitting(
            lambda most: host.tasks.read_result(result_id, offset, min(most, args.get("limit", most))), room
        )
    except ToolExecutorError as error:
        raise ToolFailedError(error.message) from error
    return {
        "id": result_id,
        "text": text,
        "next_offset": next_offset,
        "size_bytes": size,
        "has_more": next_offset < size,
    }


def _fitting(read: Callable[[int], tuple[str, int, int]], room: int) -> tuple[str, int, int]:
    """As much as ``read(bytes)`` gives of a text so that its JSON has at most *room* bytes, and always something."""
    most = max(room, 1)
    while (size := _size((piece := read(most))[0])) > room and most > 1:
        most = max(1, min(most - 1, most * room // size))
    return piece


def _size(value: Any) -> int:
    """How many bytes a value takes as JSON."""
    return len(json.dumps(value, ensure_ascii=False, default=str).encode("utf-8", "replace"))


def start_background_task(args: dict[str, Any]) -> Any:
    """Start a tool in the background and return its task id at once. The started call needs its own permission."""
    call = _call()
    inner = ToolCall(f"{call.id}.background", args["tool_name"], args.get("arguments") or {})
    return call.host.start(inner, args.get("timeout_seconds")).value


def cancel_background_task(args: dict[str, Any]) -> dict[str, Any]:
    """Stop a background task. A task that has ended keeps the state it has."""
    info = _find(args["task_id"])
    cancelled = _call().host.tasks.cancel(info.id)
    return {"task_id": info.id, "status": str(_find(info.id).status), "cancelled": cancelled}


def list_background_tasks(args: dict[str, Any]) -> dict[str, Any]:
    """List the newest background tasks, newest first."""
    tasks = [_told(info) for info in _call().host.tasks.list(args.get("status"), limit=MOST_TASKS)]
    return {"tasks": tasks, "count": len(tasks)}


def list_background_capable_tools(_: dict[str, Any]) -> dict[str, Any]:
    """List the tools that can run in the background, and after how many seconds they go there by themselves."""
    tools = [
        {"tool_name": tool, "plugin_name": plugin, "auto_background_threshold_seconds": threshold}
        for tool, plugin, threshold in _call().host.background_tools()
    ]
    return {"tools": tools, "count": len(tools)}


@hookimpl
def executor_register_tools(register: RegisterTool) -> None:
    """The seven tools."""
    register(
        "checkBackgroundTask", check_background_task, schema=_schema(["task_id"], task_id=_TASK_ID), annotations=_READS
    )
    register(
        "getBackgroundOutput",
        get_background_output,
        schema=_schema(
            ["task_id"],
            task_id=_TASK_ID,
            offset={"type": "integer", "minimum": 0, "description": "Where to read on: the last next_offset."},
            wait_seconds={
                "type": "number",
                "minimum": 0,
                "maximum": LONGEST_WAIT,
                "description": "Wait up to so many seconds for the task to end.",
            },
        ),
        annotations=_READS,
    )
    register(
        "startBackgroundTask",
        start_background_task,
        schema=_schema(
            ["tool_name"],
            tool_name={"type": "string", "description": "One of listBackgroundCapableTools."},
            arguments={"type": "object", "description": "Its arguments, as for a direct call."},
            timeout_seconds={"type": "number", "exclusiveMinimum": 0, "description": "Stop it after so many seconds."},
        ),
        carrier=True,
    )
    register(
        "cancelBackgroundTask",
        cancel_background_task,
        schema=_schema(["task_id"], task_id=_TASK_ID),
        annotations={"read_only": False, "destructive": True, "idempotent": True},
    )
    states = [str(status) for status in TaskStatus]
    register(
        "listBackgroundTasks",
        list_background_tasks,
        schema=_schema([], status={"enum": states, "description": "Only tasks in this state."}),
        annotations=_READS,
    )
    register("listBackgroundCapableTools", list_background_capable_tools, schema=_schema([]), annotations=_READS)
    register(
        "readResult",
        read_result,
        schema=_schema(
            ["id"],
            id=_RESULT_ID,
            offset={"type": "integer", "minimum": 0, "description": "Where to read on: the last next_offset."},
            limit={"type": "integer", "minimum": 1, "description": "At most so many bytes."},
        ),
        annotations=_READS,
    )
