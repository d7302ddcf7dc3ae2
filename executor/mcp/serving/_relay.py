"""What a call says while it runs: from the tool's threads to the client, in order, and never more than it can take."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from typing import TYPE_CHECKING, Any, Protocol

import mcp.types as t

if TYPE_CHECKING:
    from executor.values import Progress

MOST_TEXT = 256 * 1024  # characters of output that wait for a client that reads slowly; older output is left out
MOST_MESSAGE = 4096  # characters of what a report of progress says
MOST_STEPS = 256  # reports of progress that wait
TICK = 1e-6  # progress has to grow with each message, also with one that only brings output


class Session(Protocol):
    """Where the client of the running request is reached."""

    async def progress(self, done: float, total: float | None, message: str | None) -> None: ...

    async def output(self, text: str) -> None: ...


class Relay:
    """
    Takes output and progress from any thread, and sends them on the loop.

    Args:
        loop: The loop on which *session* is used.

    Attributes:
        session: The client, while a request of it is open; None in between: then output waits.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._lock = threading.Lock()  # guards the three below
        self._waiting: deque[str | Progress] = deque()
        self._size = 0
        self._left_out = 0
        self._sending: asyncio.Task[None] | None = None  # on the loop only
        self._woken = False
        self.session: Session | None = None

    def emit(self, text: str) -> None:
        """A piece of output."""
        with self._lock:
            if self._waiting and isinstance(self._waiting[-1], str):
                self._waiting[-1] += text
            else:
                self._waiting.append(text)
            self._size += len(text)
            if self._size > MOST_TEXT:
                self._shorten()
        self._wake()

    def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """How far the work is."""
        message = message if message is None else message[:MOST_MESSAGE]
        with self._lock:
            self._waiting.append((done, total, message))
            if len(self._waiting) > MOST_STEPS:
                self._thin_out()
        self._wake()

    def _shorten(self) -> None:
        """Keep the end of what waits. The lock is held."""
        over = self._size - MOST_TEXT // 2
        for at, item in enumerate(self._waiting):
            if over > 0 and isinstance(item, str):
                self._waiting[at] = item[over:]
                gone = len(item) - len(item[over:])
                over, self._size, self._left_out = over - gone, self._size - gone, self._left_out + gone

    def _thin_out(self) -> None:
        """Keep the last report of progress, and all output. The lock is held."""
        text = "".join(item for item in self._waiting if isinstance(item, str))
        self._waiting = deque([*([text] if text else []), self._waiting[-1]])

    def _wake(self) -> None:
        if not self._woken:
            self._woken = True
            try:
                self._loop.call_soon_threadsafe(self._begin)
            except RuntimeError:
                return  # the server has ended

    def _begin(self) -> None:
        self._woken = False
        if self._sending is None and self.session is not None:
            self._sending = asyncio.ensure_future(self._send())

    def attach(self, session: Session | None) -> None:
        """The client can be reached there from now on; None: it cannot."""
        self.session = session
        if session is not None:
            self._begin()
        elif self._sending is not None:
            self._sending.cancel()

    async def flush(self) -> None:
        """Return when all that has been said so far is on its way."""
        self._begin()
        while self._sending is not None:
            await asyncio.wait({self._sending})

    async def _send(self) -> None:
        try:
            while (session := self.session) is not None:
                with self._lock:
                    waiting, self._waiting = self._waiting, deque()
                    left_out, self._size, self._left_out = self._left_out, 0, 0
                if not waiting:
                    return
                if left_out:
                    await session.output(f"[{left_out} characters of output are left out]\n")
                for item in waiting:
                    if isinstance(item, tuple):
                        await session.progress(*item)
                    elif item:
                        await session.output(item)
        finally:
            self._sending = None


class Line:
    """
    A request as a `Session`.

    Args:
        context: The SDK's context of the request.
        tool: The name that log messages bear.
        logs: Whether the client takes log messages for this request.
    """

    def __init__(self, context: Any, tool: str, *, logs: bool) -> None:
        self._context = context
        self._tool = tool
        self._logs = logs
        self._last: float | None = None
        self._total: float | None = None

    async def progress(self, done: float, total: float | None, message: str | None) -> None:
        """Tell the client how far the work is; it hears nothing where it has not asked for that."""
        if self._last is not None and done <= self._last:
            done = self._last + TICK
        self._last, self._total = done, total
        await self._context.session.report_progress(done, total, message)

    async def output(self, text: str) -> None:
        """Show a piece of output: as a log message, else as the message of a report of progress."""
        if not self._logs:
            await self.progress(self._last or 0.0, self._total, text)
            return
        params = t.LoggingMessageNotificationParams(level="info", logger=self._tool, data=text)
        notification = t.LoggingMessageNotification(params=params)
        await self._context.session.send_notification(notification, related_request_id=self._context.request_id)
