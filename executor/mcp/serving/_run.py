"""Serving on stdin and stdout."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from executor.mcp.serving._pipes import claimed
from executor.mcp.serving._server import Serving
from executor.mcp.serving._signals import on_signals
from executor.mcp.serving._stdio import streams
from executor.mcp.serving._values import ServeOptions

if TYPE_CHECKING:
    from collections.abc import Callable

    from executor.mcp.serving._values import Executor


def serve(executor: Executor | Callable[[str], Executor], options: ServeOptions | None = None) -> int | None:
    """
    Serve *executor* on this process's stdin and stdout, until stdin ends, or a signal (Ctrl-C, SIGTERM) comes.

    Then running calls are stopped, and tasks go on: they are the executor's, which stays yours to shut down. What is
    printed meanwhile goes to stderr. A client that is not there any more is the end of stdin.

    Args:
        executor: The executor, or a function that makes it, given "": the client is answered before it is made, and it
            is made on another thread, once the client wants more than to connect.

    Returns:
        The signal that came; None: stdin has ended.
    """
    executor_of: Callable[[str], Executor] = executor if callable(executor) else lambda _: executor
    with claimed() as (source, target):
        return asyncio.run(_serve(executor_of, options or ServeOptions(), source, target))


async def _serve(executor_of: Callable[[str], Executor], options: ServeOptions, source: int, target: int) -> int | None:
    serving = Serving(executor_of, options)
    task = asyncio.current_task()
    assert task is not None, "asyncio.run made one"
    with on_signals(task.cancel) as stopped:
        try:
            async with streams(source, target) as (read, write):
                await serving.server.run(read, write, serving.server.create_initialization_options())
        except asyncio.CancelledError:
            if not stopped:
                raise
        finally:
            await serving.close()
    return stopped[0] if stopped else None
