"""What an open surface does on its loop: listens, hears the questions of those that connect, and sends answers."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import threading
import time
from typing import TYPE_CHECKING, Any

from executor._log import warn
from executor.permission._meeting import BELL, SURFACE, Line, Meeting, StrangerError, accept_all
from executor.permission._wire import question_of

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Coroutine

    from executor.values._approval import Approval

FIRST_LOOK = 1.0  # seconds for the processes that have open questions to tell them: one that is stopped does not
REPLY = 30.0  # seconds for a process to take an answer: what comes later it refuses, since nobody counts on it then
ON_ITS_WAY = 2.0  # seconds for its word on that


class Showing:
    """
    The questions that a surface shows, and the processes they come from. `_lock` guards the questions.

    Args:
        kind: See `Surface`.
        name: Its name among those that meet.
        meeting: Where that is.
        tell: Told of each question, ``("asked", approval)`` and ``("closed", approval)``; on the loop.
        stays: See `Surface`.
    """

    def __init__(
        self, kind: str, name: str, meeting: Meeting, tell: Callable[[tuple[str, Approval]], object], *, stays: bool
    ) -> None:
        self._kind = kind
        self._name = name
        self._meeting = meeting
        self._tell = tell
        self._stays = stays
        self._lock = threading.Lock()
        self._questions: dict[str, tuple[Approval, Line]] = {}
        # From here on: used on the loop.
        self._first_look = asyncio.Event()
        self._expected: set[str] = set()
        self._replies: dict[int, tuple[Line, asyncio.Future[bool]]] = {}
        self._numbers = itertools.count(1)
        self._tasks: set[asyncio.Task[None]] = set()
        self._new: set[socket.socket] = set()  # accepted, and to be served by tasks that have not begun

    def pending(self) -> list[Approval]:
        """The open questions, from any thread."""
        with self._lock:
            return [approval for approval, _ in self._questions.values()]

    async def open(self) -> None:
        """Listen, and wait until those that have a question have told it. Raises OSError."""
        key = self._meeting.key()
        listener = self._meeting.listen(self._name)
        self._begin(self._accept(listener, key))
        bells = [name for name in self._meeting.names(BELL) if not name.startswith(f"{self._name}-")]
        self._expected = {name for name in bells if self._meeting.ring(name)}
        if self._expected:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._first_look.wait(), FIRST_LOOK)

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _accept(self, listener: socket.socket, key: bytes) -> None:
        def take(connection: socket.socket) -> None:
            self._new.add(connection)
            self._begin(self._serve(connection, key))

        try:
            await accept_all(listener, take)
        finally:
            self._meeting.remove(f"{self._name}{SURFACE}")
            for connection in self._new:  # nobody serves them any more
                connection.close()

    async def _serve(self, connection: socket.socket, key: bytes) -> None:
        """A process that asks, from its first word to its last."""
        self._new.discard(connection)
        name, line = "", None
        try:
            line = await Line.of(connection, "surface", key)
            line.send({"kind": self._kind, "stays": self._stays})
            name = str((await line.receive()).get("name"))
            while True:
                self._hear(name, line, await line.receive())
        except (OSError, EOFError):
            pass  # it has no question any more, or has died
        except (StrangerError, KeyError, TypeError) as error:
            warn(f"A question was not understood: {error!r}")
        finally:
            self._looked_at(name)
            if line is not None:
                line.close()
                self._drop(line)
            connection.close()

    def _hear(self, name: str, line: Line, message: dict[str, Any]) -> None:
        if "asked" in message:
            approval = question_of(message["asked"])
            with self._lock:
                self._questions[approval.id] = approval, line
            self._tell(("asked", approval))
        elif "closed" in message:
            self._forget(str(message["closed"]))
        elif "all" in message:
            self._looked_at(name)
        elif "answered" in message:
            self._replied(message["answered"], won=message.get("won") is True)

    def _looked_at(self, name: str) -> None:
        self._expected.discard(name)
        if not self._expected:
            self._first_look.set()

    def _forget(self, approval_id: str) -> None:
        with self._lock:
            found = self._questions.pop(approval_id, None)
        if found is not None:
            self._tell(("closed", found[0]))

    def _drop(self, line: Line) -> None:
        """Whoever was on this line is gone, with its questions."""
        with self._lock:
            gone = [approval_id for approval_id, (_, of) in self._questions.items() if of is line]
        for approval_id in gone:
            self._forget(approval_id)
        for number in [number for number, (on, _) in self._replies.items() if on is line]:
            self._replied(number, won=False)

    def _replied(self, number: int, *, won: bool) -> None:
        found = self._replies.get(number)
        if found is not None and not found[1].done():
            found[1].set_result(won)

    async def answer(self, approval_id: str, said: list[Any], digest: str | None) -> bool:
        """Send an answer. Returns whether it is what decided the question."""
        with self._lock:
            found = self._questions.get(approval_id)
        if found is None:
            return False
        approval, line = found
        number = next(self._numbers)
        reply: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._replies[number] = line, reply
        told = {"answer": approval_id, "digest": digest or approval.digest, "said": said, "number": number}
        try:
            line.send({**told, "until": time.monotonic() + REPLY})
            return await asyncio.wait_for(reply, REPLY + ON_ITS_WAY)
        except TimeoutError:
            return False
        finally:
            del self._replies[number]
