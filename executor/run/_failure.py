"""The typed error for whatever comes out of a backend."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from executor.calls._outcome import describe
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
