"""The tools by which a model polls, reads, starts, cancels and lists background tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from executor import TaskStatus, ToolCall, current_call, hookimpl
from executor.errors import TaskNotFoundError, ToolExecutorError, ToolFailedError

if TYPE_CHECKING:
    from executor import TaskInfo
    from executor.hookspecs import RegisterTool

MOST_OUTPUT = 64 * 1024  # bytes of output in one answer: what a model can take in; the rest is a further call away
MOST_TASKS = 100  # in one list; those of all the user's processes may be many thousands
LONGEST_WAIT = 300.0  # seconds a model may let its own call wait

_TASK_ID = {"type": "string", "description": "The id that was given when the task went to the background."}
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
        running = tasks.describe_running()
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
    if info.error is not None:
        told["error"] = info.error
    if info.abandoned:
        told["abandoned"] = True
    return told


def check_background_task(args: dict[str, Any]) -> dict[str, Any]:
    """Say whether a background task is still running, for how long, and how it ended."""
    return _told(_find(args["task_id"]))


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
    output, next_offset, dropped = tasks.output(task_id, offset, MOST_OUTPUT)
    told = {
        **_told(info),
        "output": output,
        "next_offset": next_offset,
        "has_more": not info.status.final or next_offset < info.output_bytes,
    }
    if dropped:
        told["dropped_bytes"] = dropped
    if info.status.final:
        succeeded, value = tasks.result(task_id)
        told["result" if succeeded else "error"] = value if succeeded else info.error
    return told


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
    """The six tools."""
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
