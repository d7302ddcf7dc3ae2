"""How the command ends: its exit codes, and its errors as people and as programs read them."""

from __future__ import annotations

import errno
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import click

from executor import errors

if TYPE_CHECKING:
    from collections.abc import Mapping


class ExitCode(IntEnum):
    """What the exit code of the command means."""

    OK = 0
    UNEXPECTED = 1
    USAGE = 2
    DENIED = 3
    UNAVAILABLE = 4
    FAILED = 5
    TIMED_OUT = 6
    BACKGROUND = 7
    INTERRUPTED = 130  # 128 + SIGINT, as shells have it; also for SIGTERM and SIGHUP


class CliError(click.ClickException):
    """
    Ends the command with *code*.

    Args:
        message: What happened, to what, and what to do.
        details: What more a program may want to know; shown with ``--json`` only.
    """

    def __init__(self, message: str, code: ExitCode = ExitCode.USAGE, details: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.exit_code = int(code)  # type: ignore[misc]  # of the class in click; here each error has its own
        self.details = dict(details or {})


_CODES: tuple[tuple[type[errors.ToolExecutorError], ExitCode], ...] = (
    (errors.PermissionDeniedError, ExitCode.DENIED),
    (errors.BackendUnavailableError, ExitCode.UNAVAILABLE),
    (errors.ExecutorUnavailableError, ExitCode.UNAVAILABLE),
    (errors.ToolTimeoutError, ExitCode.TIMED_OUT),
    (errors.ToolCancelledError, ExitCode.INTERRUPTED),
    (errors.InvalidArgumentsError, ExitCode.USAGE),
    (errors.InvalidToolIdError, ExitCode.USAGE),
    (errors.ToolNotFoundError, ExitCode.USAGE),
    (errors.PermissionConfigError, ExitCode.USAGE),
    (errors.PluginError, ExitCode.USAGE),  # raised with TOOLEXEC_STRICT only
    (errors.ToolError, ExitCode.FAILED),
)


def of_library(error: errors.ToolExecutorError) -> CliError:
    """One of the library's errors as one of the command's."""
    code = next((code for kind, code in _CODES if isinstance(error, kind)), ExitCode.UNEXPECTED)
    details: dict[str, Any] = {}
    if isinstance(error, errors.InvalidArgumentsError):
        details = {"errors": error.errors}
    elif isinstance(error, errors.PermissionConfigError):
        details = {"path": error.path, "problems": list(error.problems)}
    message = error.message or type(error).__name__
    if isinstance(error, errors.PluginLoadError):  # whose message leaves the name to whoever tells it
        message = f"the plugin {error.plugin!r} {message}"
    return CliError(message, code, details)


def of_system(error: OSError) -> CliError:
    """What the system refused to do with a file, such as to write it to a full disk, as an error of the command's."""
    why = error.strerror or repr(error)
    told = (
        f"what is to be written has no place: {why}"
        if error.filename is None
        else f"{error.filename} cannot be used: {why}"
    )
    return CliError(f"{told}; 'toolexec doctor' says more", ExitCode.UNEXPECTED)


_USED_UP = {
    errno.EMFILE: "this process has too many files open (ulimit -n)",
    errno.ENFILE: "the system has too many files open",
    errno.ENOMEM: "no memory is left",
    errno.EAGAIN: "no process, or thread, can be started any more (ulimit -u)",
}
_NO_THREAD = "can't start new thread"  # what Python says of EAGAIN and ENOMEM then, in a bare RuntimeError


def of_want(error: Exception) -> CliError | None:
    """What a system that has nothing left for now refused, as an error of the command's; None for other errors."""
    if isinstance(error, RuntimeError) and str(error) == _NO_THREAD:
        number: int | None = errno.EAGAIN
    else:
        number = error.errno if isinstance(error, OSError) and error.filename is None else None
    if number not in _USED_UP:
        return None
    return CliError(f"{_USED_UP[number]}: end what needs so many, and try again", ExitCode.UNEXPECTED)


def of_failure(value: object, usage: str) -> CliError:
    """The second part of an ``(False, value)`` outcome as an error; *usage* is added where the arguments are wrong."""
    told = value if isinstance(value, dict) else {"error": str(value)}
    message = str(told.get("error") or "the tool failed without saying why")
    details = {key: item for key, item in told.items() if key != "error"}
    code = _failure_code(told, message)
    return CliError(f"{message}\n{usage}" if code is ExitCode.USAGE else message, code, details)


def _failure_code(told: Mapping[str, Any], message: str) -> ExitCode:
    permission = told.get("_permission")
    if isinstance(permission, dict) and permission.get("decision") == "denied":
        return ExitCode.DENIED
    if told.get("cancelled") or told.get("interrupted"):
        return ExitCode.INTERRUPTED
    if told.get("timed_out"):
        return ExitCode.TIMED_OUT
    if told.get("unavailable"):
        return ExitCode.UNAVAILABLE
    if "errors" in told and message.startswith("Invalid arguments"):
        return ExitCode.USAGE
    return ExitCode.FAILED


def as_json(error: click.ClickException) -> dict[str, Any]:
    """The object that ``--json`` writes to stderr."""
    told: dict[str, Any] = {
        "exit_code": error.exit_code,
        "kind": ExitCode(error.exit_code).name.lower() if error.exit_code in list(ExitCode) else "unexpected",
        "message": error.format_message(),
    }
    details = getattr(error, "details", None)
    return {"error": {**told, "details": details} if details else told}
