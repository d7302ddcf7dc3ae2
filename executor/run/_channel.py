"""The bounded buffer between the producer and the reader of a stream, and the stream's one end."""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING

from executor.calls._outcome import describe
from executor.errors import ToolError
from executor.run._values import ProgressEvent, StreamEvent, StreamEventKind
from executor.threads._condition import Condition

if TYPE_CHECKING:
    from collections.abc import Callable

    from executor.calls._state import CallState
    from executor.run._backends import RunResult

BUFFER = 64  # events that a tool may be ahead of its reader; two switches of threads are shared by half of them

PROGRESS, DONE, ERROR = StreamEventKind.PROGRESS, StreamEventKind.DONE, StreamEventKind.ERROR


class Channel:
    """
    The buffer between producer and reader, and the one end.

    Args:
        ended: Called once, when the end is set, in the thread that sets it.
        size: How many events wait at most before the producer does.
    """

    def __init__(
        self, call: CallState, ended: Callable[[RunResult | BaseException], object], size: int = BUFFER
    ) -> None:
        self.call = call
        self._ended = ended
        self._size = size
        self._lock = threading.RLock()  # dropping a stream closes it, at any moment, also in here
        self._news = Condition(self._lock)  # for the reader
        self._room = Condition(self._lock)  # for the producer
        self._on_room: Callable[[], object] | None = None
        self._events: deque[StreamEvent] = deque()
        self._end: StreamEvent | None = None
        self._result: RunResult | None = None
        self._read = False

    @property
    def result(self) -> RunResult | None:
        """The result, once the reader has taken the end."""
        return self._result if self._read else None

    def offer(self, event: StreamEvent) -> bool:
        """Put an event in, whether there is room or not. Returns False after the end: nobody reads it."""
        with self._lock:
            if self._end is not None:
                return False
            self._events.append(event)
            self._news.notify()
            return True

    def put(self, event: StreamEvent) -> bool:
        """`offer`, and wait for room. Returns False when nobody reads any more."""
        if not self.offer(event):
            return False
        if len(self._events) >= self._size:
            with self._lock:
                while len(self._events) >= self._size and self._end is None:
                    self._room.wait()
        return self._end is None

    async def put_async(self, event: StreamEvent) -> bool:
        """`put` for a coroutine: other coroutines run while this one waits."""
        import asyncio

        if not self.offer(event):
            return False
        if len(self._events) >= self._size:
            loop, room = asyncio.get_running_loop(), asyncio.Event()
            with self._lock:
                full = len(self._events) >= self._size and self._end is None
                self._on_room = (lambda: loop.call_soon_threadsafe(room.set)) if full else None
            if full:
                await room.wait()
        return self._end is None

    def progress(self, done: float, total: float | None, message: str | None) -> None:
        """Put a progress event in; progress never waits for room, so that callbacks of backends do not block."""
        self.offer(StreamEvent(PROGRESS, self.call.name, ProgressEvent(done, total, message)))

    def finish(self, ended: RunResult | BaseException) -> bool:
        """
        Set the end. After an error that stopped the call, what was not read yet is dropped.

        Returns:
            False when there is one already.
        """
        if isinstance(ended, BaseException):
            text = ended.message if isinstance(ended, ToolError) else describe(ended)
            end = StreamEvent(ERROR, self.call.name, text, ended)
        else:
            end = StreamEvent(DONE, self.call.name, ended.structured)
        with self._lock:
            if self._end is not None:
                return False
            self._end = end
            if isinstance(ended, BaseException):
                if ended is self.call.source.error:
                    self._events.clear()
            else:
                self._result = ended
            self._news.notify_all()
            self._make_room()
        self._ended(ended)
        return True

    def _make_room(self) -> None:
        self._room.notify_all()
        on_room, self._on_room = self._on_room, None
        if on_room is not None:
            on_room()

    def take(self) -> StreamEvent:
        """The next event, as soon as there is one. Raises StopIteration after the end."""
        with self._lock:
            while not self._events:
                if self._read:
                    raise StopIteration
                if self._end is not None:
                    self._read = True
                    return self._end
                self._news.wait()
            event = self._events.popleft()
            if len(self._events) == self._size // 2:
                self._make_room()
            return event
