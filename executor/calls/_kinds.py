"""What an error makes of a call: the one table from errors to kinds of results, and from those to states of tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from executor import errors
from executor.values import ResultKind, TaskStatus

if TYPE_CHECKING:
    from collections.abc import Mapping

KINDS: Mapping[type[BaseException], ResultKind] = {
    BaseException: ResultKind.FAILED,
    KeyboardInterrupt: ResultKind.INTERRUPTED,
    errors.ToolExecutorError: ResultKind.FAILED,
    errors.PluginError: ResultKind.FAILED,
    errors.PluginLoadError: ResultKind.FAILED,
    errors.PluginConflictError: ResultKind.FAILED,
    errors.PermissionConfigError: ResultKind.FAILED,
    errors.TaskNotFoundError: ResultKind.NOT_FOUND,
    errors.ExecutorUnavailableError: ResultKind.UNAVAILABLE,
    errors.ToolError: ResultKind.FAILED,
    errors.InvalidToolIdError: ResultKind.NOT_FOUND,
    errors.ToolNotFoundError: ResultKind.NOT_FOUND,
    errors.NoBackendsError: ResultKind.UNAVAILABLE,
    errors.SchemaError: ResultKind.FAILED,
    errors.InvalidArgumentsError: ResultKind.INVALID_ARGUMENTS,
    errors.InvalidResultError: ResultKind.INVALID_RESULT,
    errors.PermissionDeniedError: ResultKind.DENIED,
    errors.CapacityError: ResultKind.CAPACITY,
    errors.ExecutionError: ResultKind.FAILED,
    errors.ConfinementError: ResultKind.UNAVAILABLE,
    errors.DeadlockError: ResultKind.FAILED,
    errors.ToolFailedError: ResultKind.FAILED,
    errors.ToolInterruptedError: ResultKind.INTERRUPTED,
    errors.BackendUnavailableError: ResultKind.UNAVAILABLE,
    errors.OutcomeUnknownError: ResultKind.UNKNOWN_OUTCOME,
    errors.ToolTimeoutError: ResultKind.TIMED_OUT,
    errors.ToolCancelledError: ResultKind.CANCELLED,
    errors.StreamNotSupportedError: ResultKind.FAILED,
    errors.RetriesExhaustedError: ResultKind.FAILED,
    errors.ChainError: ResultKind.FAILED,
}
_WRAPPERS = (errors.RetriesExhaustedError, errors.ChainError)  # their cause, if they have one, says what it was

# A tool that raised KeyboardInterrupt has not lost what ran it, which is what a task's `interrupted` means: that is
# said by the store, and by a `ToolInterruptedError` (`state_of`).
STATUSES: Mapping[ResultKind, TaskStatus] = {
    ResultKind.OK: TaskStatus.COMPLETED,
    ResultKind.TIMED_OUT: TaskStatus.TIMEOUT,
    ResultKind.CANCELLED: TaskStatus.CANCELLED,
    ResultKind.BACKGROUNDED: TaskStatus.RUNNING,
    ResultKind.INVALID_ARGUMENTS: TaskStatus.FAILED,
    ResultKind.NOT_FOUND: TaskStatus.FAILED,
    ResultKind.DENIED: TaskStatus.FAILED,
    ResultKind.FAILED: TaskStatus.FAILED,
    ResultKind.INVALID_RESULT: TaskStatus.FAILED,
    ResultKind.INTERRUPTED: TaskStatus.FAILED,
    ResultKind.UNAVAILABLE: TaskStatus.FAILED,
    ResultKind.CAPACITY: TaskStatus.FAILED,
    ResultKind.UNKNOWN_OUTCOME: TaskStatus.FAILED,
}

_OF_STATUS = {
    TaskStatus.COMPLETED: ResultKind.OK,
    TaskStatus.TIMEOUT: ResultKind.TIMED_OUT,
    TaskStatus.CANCELLED: ResultKind.CANCELLED,
    TaskStatus.INTERRUPTED: ResultKind.INTERRUPTED,
}
_OF_KEY = (
    ("unknown_outcome", ResultKind.UNKNOWN_OUTCOME),  # before what it is one of
    ("unavailable", ResultKind.UNAVAILABLE),
    ("timed_out", ResultKind.TIMED_OUT),
    ("cancelled", ResultKind.CANCELLED),
    ("interrupted", ResultKind.INTERRUPTED),
)


def kind_of(error: BaseException) -> ResultKind:
    """What a call came to that ended in *error*."""
    if isinstance(error, _WRAPPERS) and error.__cause__ is not None:
        return kind_of(error.__cause__)
    if isinstance(error, errors.ToolFailedError) and isinstance(error.__cause__, KeyboardInterrupt):
        return ResultKind.INTERRUPTED
    return next(KINDS[kind] for kind in type(error).__mro__ if kind in KINDS)


def state_of(error: BaseException) -> TaskStatus:
    """The final state of a task that ended in *error*."""
    if isinstance(error, _WRAPPERS) and error.__cause__ is not None:
        return state_of(error.__cause__)
    return TaskStatus.INTERRUPTED if isinstance(error, errors.ToolInterruptedError) else STATUSES[kind_of(error)]


def kind_of_task(status: TaskStatus, value: Any) -> ResultKind:
    """
    What a task came to of which nothing but its state and its value is known: a store of version 0.1 has no more.

    Args:
        status: Its final state.
        value: The second part of its outcome.
    """
    if status in _OF_STATUS:
        return _OF_STATUS[status]
    if not isinstance(value, dict):
        return ResultKind.FAILED
    permission = value.get("_permission")
    if isinstance(permission, dict) and permission.get("decision") == "denied":
        return ResultKind.DENIED
    if isinstance(value.get("errors"), list):
        return ResultKind.INVALID_RESULT if "result" in value else ResultKind.INVALID_ARGUMENTS
    return next((kind for key, kind in _OF_KEY if value.get(key) is True), ResultKind.FAILED)
