"""Background work on somebody else's pool: any `concurrent.futures.Executor`."""

from __future__ import annotations

import contextvars
import secrets
from concurrent.futures import BrokenExecutor, CancelledError, ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from executor.calls._current import current_call
from executor.errors import BackendUnavailableError, ToolInterruptedError
from executor.threads._gate import Gate
from executor.tools._by_name import sendable

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Executor, Future

    from executor.tools._make import Registered


def on_pool(entry: Registered, pool: Executor) -> Registered:
    """
    The same tool, its function run by *pool*; a tool that cannot be run there is left as it is.

    On a pool of threads the function has the call, with its output and its token. Every other pool is given the
    function, found by name, and the arguments: there is no output but the result, and a stop is what the pool makes of
    it. Neither `Future.running` nor `Future.cancel` is believed.
    """
    fn, handler = entry.tool.fn, entry.handler
    if fn is None or handler is None or entry.streams or entry.is_async or entry.tool.isolation == "process":
        return entry

    def run_there(arguments: dict[str, Any]) -> Any:
        try:
            if isinstance(pool, ThreadPoolExecutor):
                future = pool.submit(contextvars.copy_context().run, handler, arguments)
            else:
                # A pool that knows a call by its function and arguments would run equal starts once: each has a name.
                future = pool.submit(carry_out, sendable(fn), arguments, secrets.token_hex(16))
        except RuntimeError as error:  # shut down, or broken
            raise BackendUnavailableError(f"The pool takes no more work: {error}") from error
        return _result(future, same_process=isinstance(pool, ThreadPoolExecutor))

    return replace(entry, handler=run_there)


# What other pools raise of a worker that died; they are not imported for it.
_LOST = ("KilledWorker", "TerminatedWorkerError", "WorkerCrashedError")


def _result(future: Future[Any], *, same_process: bool) -> Any:
    done = Gate()
    future.add_done_callback(lambda _: done.set())

    def stop() -> None:
        future.cancel()
        done.set()

    call = current_call()
    forget = call.on_cancel(stop) if call is not None else None
    try:
        done.wait()
    finally:
        if forget is not None:
            forget()
    if call is not None and call.token.error is not None:
        raise call.token.error
    try:
        return future.result()
    except Exception as error:
        if not (future.cancelled() or (not same_process and _is_lost(error))):
            raise
        raise ToolInterruptedError(
            f"The pool lost the call ({type(error).__name__}). Whether it had begun is not known: it may have had "
            "effects"
        ) from error


def _is_lost(error: Exception) -> bool:
    """Whether it is the pool that says this, of a worker that died or of a call that it gave up, and not the tool."""
    if isinstance(error, CancelledError | BrokenExecutor):
        return True
    kind = type(error)
    return kind.__name__ in _LOST and kind.__module__.split(".")[0] in ("distributed", "loky", "ray")


def carry_out(fn: Callable[..., Any], arguments: dict[str, Any], _: str) -> Any:
    """
    In a worker of the pool: call *fn* as a tool is called.

    Args:
        _: What this start has and no other.
    """
    from executor.tools._make import make_tool, prepare

    handler = prepare(make_tool("pooled", fn)).handler
    assert handler is not None
    return handler(arguments)
