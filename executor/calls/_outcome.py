"""From what a call came to, to what `execute` returns: the table of situations, in one place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from executor._json import to_text
from executor.errors import (
    BackendUnavailableError,
    ExecutorUnavailableError,
    InvalidArgumentsError,
    InvalidResultError,
    PermissionDeniedError,
    ToolCancelledError,
    ToolError,
    ToolExecutorError,
    ToolFailedError,
    ToolTimeoutError,
)
from executor.values import TaskStatus, ToolResult

if TYPE_CHECKING:
    from collections.abc import Mapping

    from executor.values import Outcome


def success(value: Any, metadata: Mapping[str, Any] | None, permission: Mapping[str, Any] | None) -> Outcome:
    """``(True, value)``; metadata and permission are added to a copy, and only to a dict."""
    if isinstance(value, dict) and (metadata is not None or permission is not None):
        value = dict(value)
        if metadata is not None:
            value.update(metadata)
        if permission is not None:
            value["_permission"] = dict(permission)
    return True, value


def failure(error: BaseException, permission: Mapping[str, Any] | None = None) -> Outcome:
    """``(False, {"error": …, …})`` for whatever ended the call."""
    told: dict[str, Any] = {"error": error.message if isinstance(error, ToolError) else describe(error)}
    if isinstance(error, InvalidArgumentsError | InvalidResultError):
        told["errors"] = error.errors
    if isinstance(error, ToolFailedError) or not isinstance(error, ToolExecutorError):
        told["traceback"] = trace(error.__cause__ or error)
    elif isinstance(error, PermissionDeniedError) and error.__cause__ is not None:
        told["traceback"] = trace(error.__cause__)
    for kind, flag in _FLAGS:
        if isinstance(error, kind):
            told[flag] = True
    if isinstance(error.__cause__ or error, KeyboardInterrupt):
        told["interrupted"] = True
    if isinstance(error, ToolError) and error.result is not None:
        told["result"] = error.result
    if isinstance(error, PermissionDeniedError) and error.info:
        permission = error.info
    if permission is not None:
        told["_permission"] = dict(permission)
    return False, told


_FLAGS: tuple[tuple[type[BaseException], str], ...] = (
    (BackendUnavailableError, "unavailable"),
    (ExecutorUnavailableError, "unavailable"),
    (ToolTimeoutError, "timed_out"),
    (ToolCancelledError, "cancelled"),
)


def describe(error: BaseException) -> str:
    """``str(error)``, with the class in front when that is empty or it is no `Exception`."""
    try:
        text = str(error)
    except Exception as broken:  # noqa: BLE001 -- a tool's error class may be as broken as the tool
        return f"{type(error).__name__} (its text could not be made: {type(broken).__name__})"
    if text and isinstance(error, Exception):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def trace(error: BaseException) -> str:
    """The traceback as text."""
    import traceback  # 9 ms, wanted by failures only

    try:
        return "".join(traceback.format_exception(error))
    except Exception as broken:  # noqa: BLE001 -- as in describe
        return f"{type(error).__name__} (its traceback could not be made: {type(broken).__name__})"


def result(
    call_id: str,
    outcome: Outcome,
    permission: Mapping[str, Any] | None,
    task_id: str | None = None,
    content: str | None = None,
) -> ToolResult:
    """
    The outcome as a `ToolResult`.

    Args:
        task_id: The task's, when the work goes on in the background.
        content: The value's text for a model, where the tool's answer brought one.
    """
    succeeded, value = outcome
    error = None if succeeded else str(value.get("error", "")) if isinstance(value, dict) else str(value)
    return ToolResult(
        call_id=call_id,
        success=succeeded,
        value=value,
        content=str(error) if not succeeded else content if content is not None else _content(value),
        error=error,
        is_error=not succeeded,
        backgrounded=task_id is not None,
        task_id=task_id,
        permission=permission,
    )


def _content(value: Any) -> str:
    # What the gate decided is the host's business; a model that reads it learns which words open doors.
    if isinstance(value, dict) and "_permission" in value:
        value = {key: item for key, item in value.items() if key != "_permission"}
    return to_text(value)


def status(error: BaseException | None) -> TaskStatus:
    """The final state of a task that failed with *error*, or did not."""
    if error is None:
        return TaskStatus.COMPLETED
    if isinstance(error, ToolTimeoutError):
        return TaskStatus.TIMEOUT
    return TaskStatus.CANCELLED if isinstance(error, ToolCancelledError) else TaskStatus.FAILED
