"""
Streams: a tool's events, read by an iterator that always ends in exactly one terminal event.

A producer on a worker reads the tool and puts events into a bounded buffer; the reader takes them out. Whoever comes
first with an end (the tool, its deadline, a cancellation, the reader who closes) sets it; everything after is dropped.
"""

from __future__ import annotations

import contextvars
import time
from functools import partial
from types import AsyncGeneratorType
from typing import TYPE_CHECKING, Any, Self

from executor.calls._clock import give_up
from executor.calls._scope import block
from executor.calls._work import Work, waited
from executor.errors import ExecutorUnavailableError, StreamNotSupportedError, ToolCancelledError
from executor.run._backends import not_streaming
from executor.run._beyond import open_call
from executor.run._channel import Channel
from executor.run._failure import fail
from executor.run._normalise import failure_of
from executor.run._options import Options
from executor.run._pump import close, pump, pump_async
from executor.run._values import StreamEvent, StreamEventKind
from executor.threads import _fork
from executor.tools._signature import makes_generator
from executor.values import BackendKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from executor.calls._state import CallState
    from executor.calls._token import CancelToken
    from executor.run._backends import Prepared, RunResult
    from executor.run._way import Way


class Stream:
    """
    The events of one call: ``progress`` and ``chunk``, then exactly one ``done`` or ``error``.

    Closing it before its end stops the call, from whatever thread. So does leaving its ``with`` block, and so does
    dropping it.
    """

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    @property
    def result(self) -> RunResult | None:
        """The result, once ``done`` was read; None before, and after an error."""
        return self._channel.result

    def __iter__(self) -> Iterator[StreamEvent]:
        return self

    def __next__(self) -> StreamEvent:
        try:
            return self._channel.take()
        except KeyboardInterrupt:
            self.close()
            raise

    def close(self) -> None:
        """Stop the call. A reader that still waits gets an ``error`` event, then the end."""
        self._channel.call.source.cancel("The reader closed the stream")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        channel = getattr(self, "_channel", None)  # none when it was never made
        if channel is not None:
            channel.call.source.drop("The reader dropped the stream")


def open_source(prepared: Prepared) -> Any:
    """
    The generator, async generator or iterator of events that the tool gives; nothing has been read from it.

    Raises:
        StreamNotSupportedError: The tool gives its result in one piece only.
        ExecutionError: Its backend is not configured.
    """
    backends = prepared.setup.backends
    if (exposure := prepared.entry.exposure) is not None:
        exposure.check()
    if prepared.backend.kind is BackendKind.LOCAL:
        handler = backends.handler(prepared)
        entry = prepared.entry
        if not (entry.streams if entry.handler is not None else makes_generator(handler)):
            raise not_streaming(prepared)
        return handler(prepared.arguments)
    source = backends.elsewhere(prepared, "call_tool_stream")
    if source is None:
        raise not_streaming(prepared)
    return source if isinstance(source, AsyncGeneratorType) else iter(source)


def open_stream(way: Way, call: CallState, timeout: float | None, cancel: CancelToken | None, *, adapt: bool) -> Stream:
    """
    Prepare *call*, open its source and start its producer.

    Raises:
        ToolError: It could not be started.
    """

    def start(
        prepared: Prepared, ended: Callable[[RunResult | BaseException], object], back: Callable[[], object]
    ) -> Stream:
        return _started(way, prepared, timeout, cancel, ended, back, adapt=adapt)

    return open_call(way, call, start, cancel)


def _started(
    way: Way,
    prepared: Prepared,
    timeout: float | None,
    cancel: CancelToken | None,
    ended: Callable[[RunResult | BaseException], object],
    back: Callable[[], object],
    *,
    adapt: bool,
) -> Stream:
    call, limit, threads = prepared.call, Options(timeout).limit(prepared, way.default_timeout), way.threads
    forget: list[Callable[[], None]] = []
    if limit is not None:
        call.deadline = time.monotonic() + limit
        forget.append(threads.deadlines.at(call.deadline, partial(give_up, call, limit, threads, forget.append)))

    def forget_deadline() -> None:
        for fn in forget:
            fn()

    def over(how: RunResult | BaseException) -> None:
        forget_deadline()
        ended(how)

    try:
        source = _opened(way, prepared, limit, cancel, adapt=adapt)
    except BaseException:
        forget_deadline()
        raise
    channel = Channel(call, over)
    call.on_progress = channel.progress
    call.source.on_cancel(lambda: channel.finish(call.source.error or ToolCancelledError("The call was cancelled")))
    produce = partial(contextvars.copy_context().run, _produce, way, prepared, source, channel, back)
    # Beyond the limit of workers: how long a stream is open is its reader's choice, and must keep no call waiting.
    if way.closed or not threads.workers.spawn(produce):
        close(source, call)
        back()
        channel.finish(ExecutorUnavailableError(threads.workers.refusal))
    return Stream(channel)


def _opened(way: Way, prepared: Prepared, limit: float | None, cancel: CancelToken | None, *, adapt: bool) -> Any:
    """The opened source; None for a tool that gives its result in one piece, when that will do."""

    def opened() -> tuple[Any, BaseException | None]:
        try:
            return _open_in_time(prepared), None
        except StreamNotSupportedError as error:
            return None, None if adapt else error
        except BaseException as error:  # noqa: BLE001 -- raised again in the thread that waits
            return None, error

    if prepared.backend.kind is BackendKind.LOCAL or (limit is None and cancel is None):
        source, error = opened()
    else:  # what is elsewhere may let us wait; the deadline, or a stop, ends that
        found = block(waited(Work(prepared.call, opened, None, way.threads), None, lambda _: None))
        source, error = found if isinstance(found, tuple) else (None, found)
    if error is not None:
        raise error
    return source


def _open_in_time(prepared: Prepared) -> Any:
    """The opened source, unless the call has been stopped meanwhile: then nobody waits for it any more."""
    try:
        source = open_source(prepared)
        stopped = prepared.call.source.error
        if stopped is not None:
            close(source, prepared.call)
            raise stopped  # noqa: TRY301 -- one more way in which opening fails
    except StreamNotSupportedError:
        raise
    except BaseException as error:  # noqa: BLE001 -- as in dispatch
        fail(error, prepared)
    return source


def _produce(way: Way, prepared: Prepared, source: Any, channel: Channel, back: Callable[[], object]) -> None:
    """Read the source to its end, on a worker, set the end, and close the source; then the thread is back."""
    forks = _fork.forks
    try:
        ended: RunResult | BaseException = _result(way, prepared, source, channel)
    except BaseException as error:  # noqa: BLE001 -- whatever it is, it is this stream's end
        ended = error
    _fork.leave_child(forks)
    try:
        channel.finish(ended)
    finally:
        close(source, channel.call)
        back()


def _result(way: Way, prepared: Prepared, source: Any, channel: Channel) -> RunResult:
    if source is None:
        result = way.pipeline.finish(prepared)
    else:
        result = way.pipeline.finish(prepared, lambda prepared: _read(source, channel, prepared))
    if result.is_error:
        raise failure_of(result)
    if source is None:
        channel.offer(StreamEvent(StreamEventKind.CHUNK, channel.call.name, result.structured))
    return result


def _read(source: Any, channel: Channel, prepared: Prepared) -> Any:
    """The raw result of *source*, its events put into *channel*."""
    call = prepared.call
    try:
        if isinstance(source, AsyncGeneratorType):
            return prepared.setup.loop.run(pump_async(source, call, channel.put_async), call.source.on_cancel)
        return pump(source, call, channel.put)
    except BaseException as error:  # noqa: BLE001 -- as in dispatch
        fail(error, prepared)
