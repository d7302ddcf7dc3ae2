"""What the SDK raises, in this library's errors and in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import mcp.types as t
from mcp import MCPError
from pydantic import ValidationError

from executor._mask import without_hidden
from executor._secret_shapes import mask_text
from executor.errors import BackendUnavailableError, OutcomeUnknownError, ToolError, ToolFailedError
from executor.httpstatus import LATER, never_begun
from executor.pasted import within

if TYPE_CHECKING:
    from executor.mcp._tail import Tail
    from executor.mcp._values import ServerConfig

E = TypeVar("E", bound=ToolError)
SESSION_LOST = ("Session not found", "Session terminated")
CLOSED = "Connection closed"  # what it says of a transport that is over
STAND_IN = "Server returned an error response"  # what the SDK says of an HTTP error that brings no MCP error
NO_ANSWER = ("SSE stream ended", "SSE stream failed")  # the SDK's words for a request that has none
NO_MCP = "Failed to parse"  # and of an answer that it cannot read
NO_WAY_BACK = "server-initiated requests"  # what the SDK and fastmcp say a client of 2026-07-28 cannot be sent
MOST_WORDS = 500  # characters of an error: some quote a whole schema and answer
MOST_SAID = 64 * 1024  # characters of what a server says of one: secrets are looked for in it, on the loop
# Statuses of requests that were turned away before anybody read what they want.
_AT_THE_DOOR = (401, 403, 404, 405, 406, 407, 411, 413, 414, 415, 421, 426, 431)


@dataclass(frozen=True, slots=True)
class Refusal:
    """
    What went wrong with one HTTP request.

    Attributes:
        status: The status; 0 where there was no response.
        in_session: Whether the request named a session.
        answered: Whether the body is an MCP error that names this very request.
        retry_after: Seconds that the server asks to be left alone for.
        error: Why there was no response, or not the whole of it.
        started: Whether the request may have arrived.
        of_session: Whether the body speaks of sessions.
    """

    status: int
    in_session: bool = False
    answered: bool = False
    retry_after: float | None = None
    error: Exception | None = None
    started: bool = True
    of_session: bool = False


def without_secrets(error: E, config: ServerConfig) -> E:
    """*error*, where it is not told what *config* keeps to itself."""
    error.args = (said_without_secrets(error.message, config), *error.args[1:])
    return error


def said_without_secrets(said: str, config: ServerConfig, arguments: object = None) -> str:
    """
    What a server has said, which may quote what it was sent; no more than `MOST_SAID` of it.

    Args:
        arguments: Of the request; what has a name there that means a secret is not told either.
    """
    own = [value for name, value in config.headers.items() if name.lower().endswith("authorization")]
    own += config.hidden
    known = {"headers": config.headers, "env": config.env, "secret": [*own, *(value.split(" ")[-1] for value in own)]}
    told = said if len(said) <= MOST_SAID else f"{said[:MOST_SAID]} …"
    return without_hidden(told, {**known, "arguments": arguments})


def innermost(error: BaseException) -> BaseException:
    """The error inside groups of one; of a group of several the first that is no cancellation."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def closed() -> MCPError:
    """What a request has that meets a server which is gone."""
    return MCPError(t.CONNECTION_CLOSED, CLOSED)


def is_answer(error: BaseException) -> bool:
    """Whether the server has said something, if only that it will not."""
    return isinstance(error, MCPError | ValidationError)


def is_session_lost(error: BaseException, refusal: Refusal | None) -> bool:
    """
    Whether the server was restarted and refused the request unread: it may be sent again to the new one.

    A server that says anything about the request itself has read it, and is not asked again.
    """
    if not isinstance(error, MCPError):
        return False
    if error.code == t.INVALID_REQUEST and error.message.startswith(SESSION_LOST):
        return True
    if refusal is None or not refusal.in_session or refusal.answered:
        return False
    return refusal.status == 404 or (refusal.status == 400 and refusal.of_session)


def of_call(
    what: str, error: BaseException, tail: Tail, refusal: Refusal | None, *, gone: bool, name: str
) -> ToolError:
    """
    Why a request failed.

    Args:
        gone: The connection to the server is.
        name: The server's.
    """
    error = innermost(error)
    if isinstance(error, ToolError):
        return error
    if isinstance(error, ValidationError):
        return ToolFailedError(f"{what}: the answer of the server is no valid MCP: {_first(error)}")
    if isinstance(error, MCPError):
        if refusal is not None and (refusal.status or not is_session_lost(error, refusal)):
            return _refused(what, error, refusal, name)
        if error.message.startswith(NO_MCP):
            return OutcomeUnknownError(
                f"{what}: the server answered with something that is no MCP ({_words(error)}). Whether the call was "
                "carried out is not known"
            )
        if gone or error.message.startswith(NO_ANSWER) or is_session_lost(error, refusal):
            return OutcomeUnknownError(
                f"{what}: the connection to the server is gone ({error.message}). Whether the call was carried out is "
                f"not known. The next call starts it again{_stderr(tail)}"
            )
        said = f"{error.message or 'the server refused the call'} (MCP error {error.code})"
        return ToolFailedError(f"{what}: {said}{_urls(error.data)}{older(error.message)}")
    if isinstance(error, OSError) or type(error).__module__.startswith(("httpx2", "httpcore")):
        return BackendUnavailableError(f"{what}: the server cannot be reached: {_words(error)}{_stderr(tail)}")
    return ToolFailedError(f"{what}: {_words(error)}")


def _refused(what: str, error: MCPError, refusal: Refusal, name: str) -> ToolError:
    """The error of a request that had another answer over HTTP than a success."""
    if refusal.error is not None and refusal.status != 401:
        words = _words(refusal.error)
        if refusal.started:
            told = f"the connection broke ({words}). Whether the call was carried out is not known"
            return OutcomeUnknownError(f"{what}: {told}")
        return BackendUnavailableError(f"{what}: the server cannot be reached: {words}", started=False)
    said = f"{error.message} (MCP error {error.code}, HTTP {refusal.status})"
    unread = refusal.status in _AT_THE_DOOR or is_session_lost(error, refusal)
    untouched = unread or never_begun(refusal.status, refusal.retry_after)
    if error.message == STAND_IN or not refusal.answered:
        unknown = "" if untouched else ". Whether the call was carried out is not known"
        said = f"{http_words(refusal, name)}{unknown}"
    if refusal.answered and refusal.status not in LATER and refusal.status < 500:
        return ToolFailedError(f"{what}: {said}{_urls(error.data)}")
    return BackendUnavailableError(f"{what}: {said}", started=not untouched, retry_after=refusal.retry_after)


def _urls(data: object) -> str:
    """What a person has to open before the call can succeed, as an error of `URL_ELICITATION_REQUIRED` says it."""
    wanted = data.get("elicitations") if isinstance(data, Mapping) else None
    told = [
        f"{item.get('message') or 'a person has to agree'}: open {item['url']}"
        for item in (wanted if isinstance(wanted, list) else ())
        if isinstance(item, Mapping) and isinstance(item.get("url"), str)
    ]
    return f". {'; '.join(told)} , and call again" if told else ""


def older(said: str) -> str:
    """What has a server heard that *said* it could not ask: it asks in the older era's way (``Context.elicit``)."""
    if NO_WAY_BACK not in said:
        return ""
    return '. It asks as servers did before 2026-07-28: write "protocol": "2025-11-25" in its entry'


def of_start(
    config: ServerConfig,
    error: BaseException | None,
    tail: Tail,
    refusal: Refusal | None,
    *,
    wanted: bool,
    asked: str = "",
) -> BackendUnavailableError:
    """
    Why a server could not be started.

    Args:
        error: What was raised; None: it has ended.
        wanted: Whether that was asked for.
        asked: The request that it had not answered yet.
    """
    if error is None:
        error = RuntimeError("it was stopped while it started") if wanted else closed()
    error = innermost(error)
    retry_after = None
    if isinstance(error, FileNotFoundError):
        reason = f"there is no program {config.command!r}, or its cwd does not exist: install it, or give its full path"
    elif isinstance(error, PermissionError):
        reason = f"{config.command!r} may not be run: {error.strerror}"
    elif isinstance(error, TimeoutError):
        reason = f"it did not answer{f' {asked!r}' if asked else ''} within {config.start_timeout:g} s"
    elif isinstance(error, ValidationError):
        reason = f"its answer is no valid MCP: {_first(error)}"
    elif refusal is not None:
        reason = http_words(refusal, config.name)
        retry_after = refusal.retry_after
    elif isinstance(error, MCPError) and error.message == CLOSED:
        reason = "it ended, or closed the connection, before it had answered"
    else:
        reason = _words(error)
    return BackendUnavailableError(
        f"The MCP server {config.name!r} could not be started: {reason}{_stderr(tail)}",
        started=False,
        retry_after=retry_after,
    )


_HINTS = {
    403: ": may you use it?",
    404: ": is its URL right?",
    405: ": is its URL right?",
    429: ": it has too much to do",
}
_ITS_FAULT = ": the fault is the server's; try again later, or tell whoever runs it"


def http_words(refusal: Refusal, name: str) -> str:
    """What became of a request over HTTP, and what to do about it."""
    if refusal.error is not None and refusal.status != 401:
        return f"it cannot be reached: {_words(refusal.error)}"
    hint = _HINTS.get(refusal.status, _ITS_FAULT if refusal.status >= 500 else "")
    if refusal.status == 404 and refusal.in_session:
        hint = ", in a new session too: was it moved, or is what was asked for gone?"
    if refusal.status == 401:
        why = f" ({_words(refusal.error)})" if refusal.error is not None else ""
        login = f"{within('toolexec mcp login', name)} logs in"
        hint = f": it wants to know who you are{why}; {login}, or give it the right Authorization header"
    return f"the server answered with HTTP {refusal.status}{hint}"


def _first(error: ValidationError) -> str:
    found = error.errors(include_url=False, include_context=False, include_input=False)[0]
    return f"{'.'.join(str(part) for part in found['loc'])}: {found['msg']}"


def _words(error: BaseException) -> str:
    words = str(error) or type(error).__name__
    return words if len(words) <= MOST_WORDS else f"{words[:MOST_WORDS]} …"


def _stderr(tail: Tail) -> str:
    last = tail.last_lines()
    return f". It last wrote:\n{mask_text(last)}" if last else ""
