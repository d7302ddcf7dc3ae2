"""The terminal of one task, used from other processes of the same user; where they meet is in `permission._meeting`."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
from typing import TYPE_CHECKING, Any

from executor._log import warn
from executor.errors import ToolError
from executor.permission._meeting import TERMINAL, Line, Meeting, StrangerError, accept_all, refuse_called
from executor.threads._loop import LoopThread

if TYPE_CHECKING:
    import socket
    from collections.abc import Coroutine

    from executor.values._terminal import Terminal, Viewer

GREETING = 1.0  # seconds for a caller to prove who it is
LAST_WORDS = 2.0  # seconds for the loop to end; a quarter of them for those who look to be given the rest
MOST_UNSENT = 256 * 1024  # bytes that wait for somebody who looks; one for whom there are more is shown the screen anew


class Door:
    """
    Where the terminal of a task is met. It has a thread of its own until it is closed.

    Args:
        task_id: The task, by whose id it is found.
        terminal: Its terminal.
        meeting: Where processes meet.

    Raises:
        OSError: It cannot be made there.
        ExecutorUnavailableError: There is no thread to be had.
    """

    def __init__(self, task_id: str, terminal: Terminal, meeting: Meeting) -> None:
        self._name = task_id
        self._terminal = terminal
        self._meeting = meeting
        meeting.remove_dead(TERMINAL)
        self._key = meeting.key()
        self._sockets = [meeting.listen(task_id, TERMINAL)]
        self._visits: set[_Visit] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = LoopThread("executor-task-terminal")
        try:
            contextvars.Context().run(self._loop.start, self._accept(self._sockets[0]), lambda *_: None)
        except BaseException:
            self._leave()
            raise

    def close(self) -> None:
        """Nobody is let in any more; who is in is given the rest, if they take it."""
        self._leave()
        self._loop.close(LAST_WORDS, self._finish)
        if not self._loop.running:
            self.abandon()  # of somebody who came last nothing may have been heard

    def _leave(self) -> None:
        self._meeting.remove(f"{self._name}{TERMINAL}")
        if not self._loop.running:
            self.abandon()

    def abandon(self) -> None:
        """Close what nobody serves any more, or what a fork of this process has inherited."""
        for each in self._sockets:
            each.close()

    # On the loop -------------------------------------------------------------------------------------------------

    async def _accept(self, listener: socket.socket) -> None:
        def take(connection: socket.socket) -> None:
            self._sockets = [each for each in self._sockets if each.fileno() >= 0] + [connection]
            self._begin(self._serve(connection))

        await accept_all(listener, take)

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, connection: socket.socket) -> None:
        """Somebody, from the first word to the last. What they type is in no message of ours."""
        visit = None
        try:
            refuse_called(connection)
            line = await asyncio.wait_for(Line.of(connection, "terminal", self._key), GREETING)
            visit = _Visit(line, self._terminal)
            self._visits.add(visit)
            while True:
                visit.take(await line.receive())
        except (OSError, EOFError, TimeoutError):
            if visit is not None:
                self._visits.discard(visit)  # they have gone
        except StrangerError as error:
            warn(f"The terminal of the task {self._name} is not shown to {error}")
        except Exception as error:  # noqa: BLE001 -- no message, or a plugin's terminal raised: the others go on
            # Its words, and where it was raised, may have something of what was typed in them.
            warn(f"What was sent to the terminal of the task {self._name} was not taken: {type(error).__name__}")
        finally:
            if visit is not None:
                visit.close()
            else:
                connection.close()

    async def _finish(self) -> None:
        """All connections are closed; who takes what is left is waited for, for a moment."""
        for visit in self._visits:
            visit.close()
        closed = [asyncio.ensure_future(visit.line.closed()) for visit in self._visits]
        if closed:
            _, slow = await asyncio.wait(closed, timeout=LAST_WORDS / 4)
            for visit in self._visits:
                visit.line.abort()
            if slow:
                await asyncio.wait(slow)


class _Visit:
    """One connection. `take` and `close` are used on the loop, `_show` from any thread."""

    def __init__(self, line: Line, terminal: Terminal) -> None:
        self.line = line
        self._terminal = terminal
        self._viewer: Viewer | None = None
        self._behind = False
        self._catching_up: asyncio.Task[None] | None = None
        self._loop = asyncio.get_running_loop()

    def take(self, message: dict[str, Any]) -> None:
        """Do what they say."""
        if "attach" in message and self._viewer is None:
            self._viewer = self._terminal.watch(self._show, *_size(message["attach"]))
        elif "resize" in message and self._viewer is not None:
            self._viewer.resize(*_size(message["resize"]))
        elif "input" in message:
            self.line.send(self._type(message))

    def _type(self, message: dict[str, Any]) -> dict[str, Any]:
        by_call, unseen = message.get("by_call") is True, message.get("unseen") is True
        try:
            return {"mode": type_into(self._terminal, message["input"], by_call=by_call, unseen=unseen)}
        except ToolError as error:
            return {"refused": error.message}

    def _show(self, text: str | None) -> None:
        if text is None or not self._behind:
            with contextlib.suppress(RuntimeError):  # the loop has ended: nobody looks any more
                self._loop.call_soon_threadsafe(self._pass_on, text)

    def _pass_on(self, text: str | None) -> None:
        if text is None:
            self.line.send({"ended": True})
            self.line.close()
        elif not self._behind:
            self.line.send({"shown": text})
            if self.line.unsent > MOST_UNSENT:
                self._behind = True
                self._catching_up = self._loop.create_task(self._catch_up())

    async def _catch_up(self) -> None:
        await self.line.drain()
        self._behind = False
        if self._viewer is not None:
            self._viewer.picture()

    def close(self) -> None:
        """They have gone, or are to be. A second time does nothing."""
        viewer, self._viewer = self._viewer, None
        if viewer is not None:
            viewer.close()
        if self._catching_up is not None:
            self._catching_up.cancel()
        self.line.close()


def type_into(terminal: Terminal, text: str, *, by_call: bool, unseen: bool) -> str:
    """
    Type *text* into a terminal. Returns the mode in which it was.

    Args:
        by_call: It is not a person who types: what they would type unseen is theirs alone.
        unseen: It is a secret, not to be shown.

    Raises:
        ToolError: It cannot be.
    """
    mode = terminal.mode
    if by_call and mode != "shown":
        raise ToolError("What a terminal does not show is typed by a person only, with 'toolexec tasks attach'")
    if unseen and mode != "unseen":
        raise ToolError("The terminal would show what is typed now: wait until the command asks for a secret")
    keys = text.replace("\r\n", "\r").replace(
        "\n", "\r"
    )  # what the key Enter sends, which programs without lines look for
    terminal.send(keys.encode("utf-8", "surrogateescape"))
    return mode


def _size(given: Any) -> tuple[int, int]:
    """Columns and rows. Raises TypeError, ValueError: it is neither."""
    columns, rows = given
    return max(1, min(int(columns), 1000)), max(1, min(int(rows), 1000))
