"""The process of one isolated call: carries it out, and tells the process that called. See `_isolate`."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
import threading
from typing import TYPE_CHECKING, Any, BinaryIO

from executor._portable import portable
from executor.calls._outcome import describe, trace
from executor.calls._state import CallState, current
from executor.errors import ToolError, ToolFailedError
from executor.tools._frames import packed, read, send
from executor.tools._make import make_tool, prepare
from executor.values import Tool

if TYPE_CHECKING:
    from collections.abc import Callable

    from executor.calls._places import Places


class _Lines:
    """The way back to the process that called."""

    def __init__(self, *, boxed: bool) -> None:
        self.boxed = boxed
        self._lock = threading.Lock()
        self._stream = os.fdopen(os.dup(1), "wb")
        os.dup2(2, 1)  # what the tool prints must not be taken for a frame
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(line_buffering=True)  # it is seen when it is printed, as from a thread

    def send(self, *frame: Any) -> None:
        self.send_packed(packed(frame, boxed=self.boxed))

    def send_packed(self, data: bytes) -> None:
        with self._lock:
            send(self._stream, data)


def serve(*, boxed: bool) -> None:
    """Carry out the one call that stdin tells of; in a box maybe."""
    lines, source = _Lines(boxed=boxed), _taken_from_stdin()
    try:
        frame = ("returned", _carry_out(*read(source), lines=lines, source=source))
    except BaseException as error:  # noqa: BLE001 -- whatever it is, it is the call's result
        frame = ("raised", _sendable(error))
    try:
        data = packed(frame, boxed=boxed)
    except Exception as error:  # noqa: BLE001 -- what a tool returns may be anything
        told = ToolFailedError(f"What the tool returned cannot leave its process: {error}")
        data = packed(("raised", told), boxed=boxed)
    with contextlib.suppress(Exception):  # the tool may have closed it, or put anything in its place
        sys.stdout.flush()  # this process is killed once it has answered
    lines.send_packed(data)
    os._exit(0)  # an interpreter that ends waits for the thread that reads, and complains


def _taken_from_stdin() -> BinaryIO:
    """What was stdin. A tool, and what it starts, has nothing to read there: it would wait, or take what is for us."""
    source = os.fdopen(os.dup(0), "rb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return source


def _carry_out(
    fn: Callable[..., Any],
    arguments: dict[str, Any],
    folder: str | None,
    places: Places,
    *,
    lines: _Lines,
    source: BinaryIO,
) -> Any:
    threading.Thread(target=_end_with, args=(source,), daemon=True).start()
    handler = prepare(make_tool("isolated", fn)).handler
    assert handler is not None
    call = CallState(
        "isolated",
        "isolated",
        arguments,
        None,  # the executor is in another process
        lambda text: lines.send("emit", text),
        lambda *reached: lines.send("progress", *reached),
    )
    call.tool, call.places = Tool("isolated", folder=folder), places
    current.set(call)
    value = handler(arguments)
    if hasattr(value, "__await__"):
        import asyncio

        return asyncio.run(value)
    return value


def _end_with(source: BinaryIO) -> None:
    """The process that called is gone once its end of the pipe is: end, with everything that was started here."""
    source.read()
    if sys.platform != "win32":
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def _sendable(error: BaseException) -> BaseException:
    """*error*, as an exception that the other process knows and can be made there."""
    if isinstance(error, ToolError) and portable(error) is error:
        return error
    told = ToolFailedError(describe(error))
    told.__cause__ = ToolFailedError(trace(error))
    return told
