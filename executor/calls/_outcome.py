"""From what a call came to, to what `execute` returns: the table of situations, in one place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from executor.errors import (
    BackendUnavailableError,
    ExecutorUnavailableError,
    InvalidArgumentsError,
    InvalidResultError,
    OutcomeUnknownError,
    PermissionDeniedError,
    ToolCancelledError,
    ToolError,
    ToolExecutorError,
    ToolFailedError,
    ToolInterruptedError,
    ToolTimeoutError,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from executor.values import Outcome


def success(value: Any, metadata: Mapping[str, Any] | None, permission: Mapping[str, Any] | None) -> Outcome:
    """``(True, value)``; metadata and permission are added to a copy of a dict, warnings to any value."""
    if metadata is not None and "warnings" in metadata and not isinstance(value, dict):
        value = {"result": value}
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
    (OutcomeUnknownError, "unknown_outcome"),
    (ExecutorUnavailableError, "unavailable"),
    (ToolTimeoutError, "timed_out"),
    (ToolCancelledError, "cancelled"),
    (ToolInterruptedError, "interrupted"),
)


def describe(error: BaseException) -> str:
    """``str(error)``, with the class in front when that is empty or a key alone, or it is no `Exception`."""
    try:
        text = str(error)
    except Exception as broken:  # noqa: BLE001 -- a tool's error class may be as broken as the tool
        return f"{type(error).__name__} (its text could not be made: {type(broken).__name__})"
    if text and isinstance(error, Exception) and type(error).__str__ is not KeyError.__str__:
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def trace(error: BaseException) -> str:
    """The traceback as text."""
    try:
        import traceback  # 9 ms, wanted by failures only; where no file can be opened, it cannot be had

        return "".join(traceback.format_exception(error))
    except Exception as broken:  # noqa: BLE001 -- as in describe
        return f"{type(error).__name__} (its traceback could not be made: {type(broken).__name__})"
