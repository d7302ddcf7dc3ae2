"""Reading what comes in pieces: generators, async generators and the event streams of backends, to their one result."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from executor._log import warn
from executor.errors import ExecutionError
from executor.run._values import ProgressEvent, StreamEvent, StreamEventKind
from executor.threads import _fork

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator

    from executor.calls._state import CallState

CHUNK, PROGRESS = StreamEventKind.CHUNK, StreamEventKind.PROGRESS


class Pieces:
    """
    What has come so far, and what it means.

    Attributes:
        ended: Whether the source has said that it is done; what it sends afterwards is not read.
    """

    def __init__(self, call: CallState) -> None:
        self._call = call
        self._chunks: list[Any] = []
        self._result: Any = None
        self.ended = False

    def event(self, item: Any) -> StreamEvent | None:
        """
        The event that *item* is, for the reader; None for progress (the call is told) and the end (it is kept).

        Raises:
            Exception: The source sent an error.
            ExecutionError: The source sent an event of an unknown kind.
        """
        if isinstance(item, ProgressEvent):
            self._progress(item)
            return None
        if not isinstance(item, StreamEvent):
            self._chunks.append(item)
            return StreamEvent(CHUNK, self._call.name, item)
        try:
            kind = StreamEventKind(item.kind)
        except ValueError as error:
            raise ExecutionError(
                f"The stream of {self._call.name} sent an event of the unknown kind {item.kind!r}"
            ) from error
        if kind is StreamEventKind.ERROR:
            if item.error is not None:
                raise item.error
            raise ExecutionError(str(item.data) if item.data is not None else "The stream ended in an error")
        if kind is StreamEventKind.DONE:
            self.ended, self._result = True, item.data
            return None
        if kind is PROGRESS and isinstance(item.data, ProgressEvent):
            self._progress(item.data)
            return None
        if kind is CHUNK:
            self._chunks.append(item.data)
        return replace(item, kind=kind, tool_id=item.tool_id or self._call.name)

    def _progress(self, event: ProgressEvent) -> None:
        self._call.progress(event.progress, event.total, event.message)

    def result(self, returned: Any = None) -> Any:
        """The one result: what was *returned*, or sent with the end, else the list of the chunks."""
        for value in (returned, self._result):
            if value is not None:
                return value
        return self._chunks


def _keep(_: StreamEvent) -> bool:
    return True


def pump(source: Iterator[Any], call: CallState, take: Callable[[StreamEvent], bool] = _keep) -> Any:
    """
    Read *source* to its end, in this thread; who opened it closes it.

    Args:
        take: Given each event for a reader; False when nobody reads any more.

    Returns:
        Its result.

    Raises:
        ToolError: The call was stopped.
        Exception: What the source raised or sent.
    """
    pieces, forks, fate = Pieces(call), _fork.forks, call.source.fate
    while not (pieces.ended or fate):
        try:
            item = next(source)
        except StopIteration as end:
            return pieces.result(end.value)
        finally:
            if forks != _fork.forks:
                _fork.leave_child(forks)
        event = pieces.event(item)
        if event is not None and not take(event):
            break
    if call.source.error is not None:
        raise call.source.error
    return pieces.result()


def close(source: Any, call: CallState) -> None:
    """Close what was opened, read or not; an async generator is closed by `pump_async`, in its loop."""
    closer = getattr(source, "close", None)
    if closer is None:
        return
    try:
        closer()
    except BaseException as error:  # noqa: BLE001 -- the stream has its end; how its source is tidied up is no part of it
        warn(f"The stream of {call.name} could not be closed: {error!r}", error=error)


async def _keep_async(_: StreamEvent) -> bool:
    return True


async def pump_async(
    source: AsyncGenerator[Any, None], call: CallState, take: Callable[[StreamEvent], Awaitable[bool]] = _keep_async
) -> Any:
    """`pump` for an async generator, in its loop; closes it."""
    pieces = Pieces(call)
    try:
        async for item in source:
            event = pieces.event(item)
            if (event is not None and not await take(event)) or pieces.ended:
                break
        return pieces.result()
    finally:
        await source.aclose()
