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

from executor.calls._current import _current
from executor.errors import ExecutorUnavailableError, StreamNotSupportedError, ToolCancelledError
from executor.run._backends import not_streaming
from executor.run._channel import Channel
from executor.run._failure import fail
from executor.run._normalise import failure_of
from executor.run._pump import close, pump, pump_async
from executor.run._race import raced, timed_out
from executor.run._values import StreamEvent, StreamEventKind
from executor.tools._signature import makes_generator
from executor.values import BackendKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from executor.calls._current import CurrentCall
    from executor.calls._token import CancelToken
    from executor.run._backends import Backends, Prepared, RunResult
    from executor.run._pipeline import Pipeline


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
        self._channel.call.token.cancel("The reader closed the stream")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        channel = getattr(self, "_channel", None)  # none when it was never made
        if channel is not None:
            self.close()


def open_source(prepared: Prepared, backends: Backends) -> Any:
    """
    The generator, async generator or iterator of events that the tool gives; nothing has been read from it.

    Raises:
        StreamNotSupportedError: The tool gives its result in one piece only.
        ExecutionError: Its backend is not configured.
    """
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


def open_stream(
    runner: Pipeline,
    call: CurrentCall,
    prepare: Callable[[CurrentCall], Prepared],
    ended: Callable[[RunResult | BaseException], object],
    timeout: float | None,
    cancel: CancelToken | None,
    *,
    adapt: bool,
) -> Stream:
    """
    Prepare *call*, open its source and start its producer.

    Raises:
        ToolError: It could not be started; *ended* is not told.
    """
    parent = _current.get()
    undo: list[Callable[[], object]] = [call.close]
    undo += [token.pass_on(call.token) for token in (cancel, parent.token if parent is not None else None) if token]
    reset = _current.set(call)
    try:
        if call.token.error is not None:
            raise call.token.error  # noqa: TRY301 -- cleaned up below
        prepared = prepare(call)
        limit = runner.limit(prepared, timeout)
        if limit is not None:
            call.deadline = time.monotonic() + limit
            stop = partial(call.token.stop, timed_out(call, limit))
            undo.append(runner.deadlines.at(call.deadline, stop))
        source = _opened(runner, prepared, limit, cancel, adapt=adapt)
        context = contextvars.copy_context()
    except BaseException:
        _all(undo)
        raise
    finally:
        _current.reset(reset)

    def over(how: RunResult | BaseException) -> None:
        _all(undo)
        ended(how)

    channel = Channel(call, over)
    call.follow(channel.progress)
    call.token.on_cancel(lambda: channel.finish(call.token.error or ToolCancelledError("The call was cancelled")))
    if not runner.workers.submit(lambda: context.run(_produce, runner, prepared, source, channel)):
        close(source, call)
        channel.finish(ExecutorUnavailableError("The executor has been shut down"))
    return Stream(channel)


def _all(undo: list[Callable[[], object]]) -> None:
    for fn in undo:
        fn()


def _opened(
    runner: Pipeline, prepared: Prepared, limit: float | None, cancel: CancelToken | None, *, adapt: bool
) -> Any:
    """The opened source; None for a tool that gives its result in one piece, when that will do."""

    def opened() -> Any:
        try:
            source = open_source(prepared, runner.backends)
            stopped = prepared.call.token.error
            if stopped is not None:  # nobody waits for it any more
                close(source, prepared.call)
                raise stopped  # noqa: TRY301 -- one more way in which opening fails
            return source
        except StreamNotSupportedError:
            if adapt:
                return None
            raise
        except BaseException as error:  # noqa: BLE001 -- as in dispatch
            fail(error, prepared)

    if prepared.backend.kind is BackendKind.LOCAL or (limit is None and cancel is None):
        return opened()
    return raced(runner.workers, prepared.call, limit, opened)  # what is elsewhere may let us wait


def _produce(runner: Pipeline, prepared: Prepared, source: Any, channel: Channel) -> None:
    """Read the source to its end, on a worker, set the end, and close the source."""
    try:
        channel.finish(_result(runner, prepared, source, channel))
    except BaseException as error:  # noqa: BLE001 -- whatever it is, it is this stream's end
        channel.finish(error)
    finally:
        close(source, channel.call)


def _result(runner: Pipeline, prepared: Prepared, source: Any, channel: Channel) -> RunResult:
    if source is None:
        result = runner.finish(prepared)
    else:
        result = runner.finish(prepared, lambda prepared: _read(source, channel, runner, prepared))
    if result.is_error:
        raise failure_of(result)
    if source is None:
        channel.offer(StreamEvent(StreamEventKind.CHUNK, channel.call.name, result.structured))
    return result


def _read(source: Any, channel: Channel, runner: Pipeline, prepared: Prepared) -> Any:
    """The raw result of *source*, its events put into *channel*."""
    try:
        if isinstance(source, AsyncGeneratorType):
            return runner.loop.run(pump_async(source, channel.call, channel.put_async), channel.call.token.on_cancel)
        return pump(source, channel.call, channel.put)
    except BaseException as error:  # noqa: BLE001 -- as in dispatch
        fail(error, prepared)
