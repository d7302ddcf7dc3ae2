"""The stage that runs the tool: one attempt, on one backend."""

from __future__ import annotations

from types import AsyncGeneratorType, CoroutineType, GeneratorType
from typing import TYPE_CHECKING, Any, NoReturn

from executor.errors import ToolCancelledError
from executor.run._failure import fail
from executor.values._tool import LOCAL

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from executor.run._backends import Prepared


_UNFINISHED = frozenset({CoroutineType, GeneratorType, AsyncGeneratorType})


def dispatch(prepared: Prepared) -> Any:
    """
    What the backend answers, raw. It is called once; what comes in pieces is read to its end.

    Raises:
        ToolError: It failed, or is not configured; see `fail`.
    """
    try:
        if (exposure := prepared.entry.exposure) is not None:
            exposure.check()
        if prepared.backend.kind is not LOCAL:
            return prepared.setup.backends.elsewhere(prepared, "call_tool")
        bound, prepared.bound = prepared.bound, None  # once: another attempt is to see nothing of this one
        if bound is not None and bound[0] is prepared.arguments:
            value = bound[1]()
        else:
            value = (prepared.entry.handler or prepared.setup.backends.handler(prepared))(prepared.arguments)
        if type(value) in _UNFINISHED:
            return _finished(value, prepared)
    except BaseException as error:  # noqa: BLE001 -- SystemExit too: a tool ends its call, nothing else
        fail(error, prepared)
    return value


def _finished(value: Any, prepared: Prepared) -> Any:
    from executor.run._pump import close, pump, pump_async  # for tools that answer in pieces only

    call = prepared.call
    if type(value) is GeneratorType:
        try:
            return pump(value, call)
        finally:
            close(value, call)
    if type(value) is AsyncGeneratorType:
        value = pump_async(value, call)
    return prepared.setup.loop.run(value, call.source.on_cancel)


def dispatch_async(prepared: Prepared) -> Awaitable[Any]:
    """What is to be awaited of an async tool, in the event loop. Raises what its function does."""
    if (exposure := prepared.entry.exposure) is not None:
        exposure.check()
    handler = prepared.entry.handler or prepared.setup.backends.handler(prepared)
    value = handler(prepared.arguments)
    if type(value) is AsyncGeneratorType:
        from executor.run._pump import pump_async

        return pump_async(value, prepared.call)
    return value  # type: ignore[no-any-return]  # a coroutine: the tool's own


def fail_async(error: BaseException, prepared: Prepared) -> NoReturn:
    """As `fail`, for what was raised in awaiting that."""
    if type(error).__name__ == "CancelledError" and not isinstance(error, Exception):
        raise ToolCancelledError(f"{prepared.entry.name} was cancelled") from error
    fail(error, prepared)
