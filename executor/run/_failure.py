"""The typed error for whatever comes out of a backend."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from executor.calls._outcome import describe, trace
from executor.errors import (
    BackendUnavailableError,
    ExecutionError,
    ExecutorUnavailableError,
    ToolCancelledError,
    ToolError,
    ToolFailedError,
    ToolTimeoutError,
)
from executor.values import BackendKind

if TYPE_CHECKING:
    from executor.run._backends import Prepared

# What a local tool may raise as itself. Everything else it raises is its own failure, with the original as the cause.
_OWN = (ExecutionError, ToolTimeoutError, ToolCancelledError)
_LEAST = 4  # characters of a secret that is left out: without shorter ones nothing could be read


def fail(error: BaseException, prepared: Prepared) -> NoReturn:
    """
    Raise *error* as itself where it is a typed one already, with tool and backend; else from a typed one.

    Raises:
        ToolFailedError: A local tool raised.
        BackendUnavailableError: A backend elsewhere raised an `OSError`: it, or the way to it, is down.
        ExecutionError: A backend elsewhere raised anything else.
        ToolError: What a backend elsewhere, or a tool that carries another call, raised on purpose.
    """
    entry, backend = prepared.entry, prepared.backend
    if prepared.call.secrets:
        error = _without(prepared.call.secrets, error)
    local = backend.kind is BackendKind.LOCAL
    if isinstance(error, _OWN) or (isinstance(error, ToolError) and (entry.carrier or not local)):
        error.tool_id = error.tool_id or entry.name
        error.backend = error.backend or backend
        raise error
    if local or not isinstance(error, Exception):
        raise ToolFailedError(describe(error), tool_id=entry.name, backend=backend) from error
    down = isinstance(error, OSError | ExecutorUnavailableError)
    kind = BackendUnavailableError if down else ExecutionError
    raise kind(describe(error), tool_id=entry.name, backend=backend) from error


def _without(secrets: tuple[str, ...], error: BaseException) -> BaseException:
    """
    *error*, or what stands for it where its text or its traceback has a secret in it.

    A library that is given a password may well say it: with the address that it could not connect to, for one.
    """
    hidden = {form for text in secrets if len(text) >= _LEAST for form in (text, repr(text)[1:-1])}
    said = trace(error)
    if not any(text in said for text in hidden):
        return error
    text = describe(error)
    for each in sorted(hidden, key=len, reverse=True):
        text = text.replace(each, "***")
    standing = ToolFailedError(text).with_traceback(error.__traceback__)
    standing.__suppress_context__ = True  # which is the one that says it
    return standing
