"""The stage that runs the tool."""

from __future__ import annotations

from types import CoroutineType
from typing import TYPE_CHECKING, Any

from executor._outcome import describe
from executor._types import BackendKind
from executor.errors import ExecutionError, ToolCancelledError, ToolError, ToolFailedError, ToolTimeoutError

if TYPE_CHECKING:
    from executor._workers import LoopThread
    from executor.run._backends import LocalRegistry, Prepared

# What a tool may raise as itself. Everything else it raises is its own failure, with the original as the cause.
_OWN = (ExecutionError, ToolTimeoutError, ToolCancelledError)


def dispatch(prepared: Prepared, local: LocalRegistry | None, loop: LoopThread) -> Any:
    """
    What the tool returns, raw. It is called once.

    Raises:
        ToolFailedError: It raised; whatever it raised is the cause.
        ExecutionError: Its backend is not configured.
    """
    entry, backend = prepared.entry, prepared.backend
    if backend.kind is not BackendKind.LOCAL:
        raise ExecutionError(
            f"No {backend.kind} backend is configured: the tool {entry.name} cannot be reached",
            tool_id=entry.name,
            backend=backend,
        )
    handler = entry.handler
    if handler is None:
        handler = local.get(backend.name or entry.name) if local is not None else None
        if handler is None:
            raise ExecutionError(
                f"No local function is registered as {backend.name!r}", tool_id=entry.name, backend=backend
            )
    try:
        value = handler(prepared.arguments)
        if type(value) is CoroutineType:
            value = loop.run(value, prepared.call.token.on_cancel)
    except BaseException as error:  # SystemExit and KeyboardInterrupt too: a tool ends its call, nothing else
        if isinstance(error, _OWN) or (entry.carrier and isinstance(error, ToolError)):
            error.tool_id = error.tool_id or entry.name
            error.backend = error.backend or backend
            raise
        raise ToolFailedError(describe(error), tool_id=entry.name, backend=backend) from error
    return value
