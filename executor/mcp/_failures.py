"""What the SDK raises, in this library's errors and in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mcp.types as t
from mcp import MCPError
from pydantic import ValidationError

from executor.errors import BackendUnavailableError, ToolError, ToolFailedError

if TYPE_CHECKING:
    from executor.mcp._tail import Tail
    from executor.mcp._values import ServerConfig

SESSION_LOST = ("Session not found", "Session terminated")
STAND_IN = "Server returned an error response"  # what the SDK says of an HTTP error that brings no MCP error
MOST_WORDS = 500  # characters of an error: some quote a whole schema and answer
Refusal = tuple[int, bool] | None


def innermost(error: BaseException) -> BaseException:
    """The error inside groups of one; of a group of several the first that is no cancellation."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def is_dead(error: BaseException) -> bool:
    """Whether *error* says that the connection is gone."""
    return (
        isinstance(error, MCPError)
        and error.code == t.CONNECTION_CLOSED
        and "byte limit" not in error.message  # one answer was too long; the connection is as it was
    )


def is_session_lost(error: BaseException, refusal: Refusal) -> bool:
    """
    Whether the server was restarted and refused the request unread: it may be sent again to the new one.

    Args:
        refusal: The last HTTP error status, and whether its request named a session.
    """
    if not isinstance(error, MCPError):
        return False
    if error.code == t.INVALID_REQUEST and error.message.startswith(SESSION_LOST):
        return True
    # Servers that never heard of the session say so in many ways, but with one of these.
    return refusal in ((400, True), (404, True)) and (error.message == STAND_IN or "ession" in error.message)


def of_call(what: str, error: BaseException, tail: Tail, refusal: Refusal) -> ToolError:
    """Why a request failed."""
    error = innermost(error)
    if isinstance(error, ToolError):
        return error
    if isinstance(error, ValidationError):
        return ToolFailedError(f"{what}: the answer of the server is no valid MCP: {_first(error)}")
    if isinstance(error, MCPError):
        if is_dead(error) or is_session_lost(error, refusal):
            return BackendUnavailableError(
                f"{what}: the connection to the server is gone ({error.message}). Whether the call was carried out is "
                f"not known. The next call starts it again{_stderr(tail)}"
            )
        if error.message == STAND_IN:
            return BackendUnavailableError(f"{what}: {_http(refusal)}")
        return ToolFailedError(f"{what}: {error.message or 'the server refused the call'} (MCP error {error.code})")
    if isinstance(error, OSError) or type(error).__module__.startswith(("httpx2", "httpcore")):
        return BackendUnavailableError(f"{what}: the server cannot be reached: {_words(error)}{_stderr(tail)}")
    return ToolFailedError(f"{what}: {_words(error)}")


def of_start(config: ServerConfig, error: BaseException, tail: Tail, refusal: Refusal) -> BackendUnavailableError:
    """Why a server could not be started."""
    error = innermost(error)
    if isinstance(error, FileNotFoundError):
        reason = f"there is no program {config.command!r}, or its cwd does not exist: install it, or give its full path"
    elif isinstance(error, PermissionError):
        reason = f"{config.command!r} may not be run: {error.strerror}"
    elif isinstance(error, TimeoutError):
        reason = f"it did not answer within {config.start_timeout:g} s"
    elif isinstance(error, ValidationError):
        reason = f"its answer is no valid MCP: {_first(error)}"
    elif is_dead(error):
        reason = "it ended, or closed the connection, before it had answered"
    elif isinstance(error, MCPError) and refusal is not None:
        reason = _http(refusal)
    else:
        reason = _words(error)
    return BackendUnavailableError(
        f"The MCP server {config.name!r} could not be started: {reason}{_stderr(tail)}", started=False
    )


def _http(refusal: Refusal) -> str:
    if refusal is None:
        return "the server answered with an HTTP error"
    hint = {401: ": does it get the right Authorization header?", 403: ": may you use it?", 404: ": is its URL right?"}
    return f"the server answered with HTTP {refusal[0]}{hint.get(refusal[0], '')}"


def _first(error: ValidationError) -> str:
    found = error.errors(include_url=False, include_context=False, include_input=False)[0]
    return f"{'.'.join(str(part) for part in found['loc'])}: {found['msg']}"


def _words(error: BaseException) -> str:
    words = str(error) or type(error).__name__
    return words if len(words) <= MOST_WORDS else f"{words[:MOST_WORDS]} …"


def _stderr(tail: Tail) -> str:
    last = tail.last_lines()
    return f". It last wrote:\n{last}" if last else ""
