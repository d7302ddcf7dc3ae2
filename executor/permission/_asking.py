"""The work of showing questions elsewhere, from the first open one to the last, on a loop of its own."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import os
import secrets
import socket
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from executor._log import warn
from executor.calls._above import is_stopped
from executor.errors import ExecutorUnavailableError
from executor.permission._meeting import BELL, SURFACE, Line, Meeting, StrangerError, peer, refuse_called
from executor.permission._wire import answer_of, question_to_json
from executor.threads._loop import LoopThread

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from executor.permission._elsewhere import Elsewhere, Offered
    from executor.values._approval import Approval

GREETING = 1.0  # seconds for a surface to prove who it is, or to take what it is told: one that is stopped does not
LATE = 10.0  # seconds for one to prove it that is not stopped, on a machine that is busy


class _Link:
    """The connection to one surface. Used on the loop."""

    def __init__(self, line: Line, hello: dict[str, Any]) -> None:
        self.line = line
        self.kind = str(hello.get("kind", ""))
        self.stays = hello.get("stays") is True
        self._shown: set[str] | None = None
        self._untold: set[str] = set()

    def show(self, offered: dict[str, Offered], origin: str) -> None:
        """Tell what is asked, and what is no more."""
        first, shown = self._shown is None, self._shown or set()
        for approval_id in shown - offered.keys():
            self.line.send({"closed": approval_id})
        for approval_id, each in offered.items():
            if approval_id not in shown and not self._tell(each.approval, origin):
                self._untold.add(approval_id)
            each.seen = each.seen or (self.stays and approval_id not in self._untold)
        self._shown = set(offered)
        if first:
            self.line.send({"all": True})

    def _tell(self, approval: Approval, origin: str) -> bool:
        """Whether the question could be sent: of one that cannot, no other one is lost."""
        try:
            return self.line.send({"asked": question_to_json(approval, origin)})
        except Exception as error:  # noqa: BLE001 -- whatever a program has put into it
            warn(f"A question of {approval.tool} cannot be shown to other processes: {error!r}", error=error)
            return False


class Asking:
    """
    Meets the surfaces there are, and those that open, until no question is left.

    Args:
        owner: Whose questions they are.
        meeting: Where surfaces are met.
    """

    def __init__(self, owner: Elsewhere, meeting: Meeting) -> None:
        self._owner = owner
        self._meeting = meeting
        self._name = f"{owner.id}-{secrets.token_hex(4)}"
        self._loop = LoopThread("executor-questions")
        self._links: dict[str, _Link] = {}
        self._meets: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()  # of links
        self._answering: set[asyncio.Task[None]] = set()
        self._sockets: list[socket.socket] = []
        program = Path(sys.argv[0] if sys.argv else "")
        name = program.parent.name if program.name == "__main__.py" else program.name
        self._origin = f"{name or 'python'} ({os.getpid()}) in {_folder()}"

    # From any thread ---------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Start: whoever opens a surface from here on finds what is asked. Raises OSError."""
        self._changed = asyncio.Event()
        bell = self._meeting.bell(self._name)
        self._sockets.append(bell)
        self._start(self._run(bell))

    def look_again(self) -> None:
        """There is a question more, or less."""
        self._start(self._ring())

    def abandon(self) -> None:
        """This process is a fork of the one that asks: what it has inherited must not keep the connections open."""
        for each in self._sockets:
            each.close()

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        # In an empty context: this goes on for questions of other calls.
        try:
            contextvars.Context().run(self._loop.start, work, self._ended)
        except ExecutorUnavailableError as error:
            warn(f"A question is shown in this process only: {error}")

    def _ended(self, _: None, error: BaseException | None) -> None:
        if error is not None:
            warn(f"Questions cannot be shown to other processes: {error}", error=error)
            if self._owner.rest(self, failed=True):
                for each in self._owner.open().values():
                    each.fresh = False
                    each.lost()

    # On the loop -------------------------------------------------------------------------------------------------

    async def _ring(self) -> None:
        self._meet_new()
        self._changed.set()

    async def _run(self, bell: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        loop.add_reader(bell, self._rung, bell)
        try:
            self._meet_new()
            while True:
                self._changed.clear()
                self._show()
                if not self._owner.open() and await self._has_told() and self._owner.rest(self):
                    return
                await self._changed.wait()
        finally:
            loop.remove_reader(bell)
            bell.close()
            self._meeting.remove(f"{self._name}{BELL}")
            for link in self._links.values():
                if link.line.unsent:
                    link.line.abort()  # nobody takes it
                else:
                    link.line.close()
            asyncio.get_running_loop().call_soon(self._loop.close, 0.0)

    def _rung(self, bell: socket.socket) -> None:
        with contextlib.suppress(BlockingIOError):
            while bell.recv(16):
                pass
        self._meet_new()

    def _show(self) -> None:
        offered = self._owner.open()
        for link in self._links.values():
            link.show(offered, self._origin)
        if self._meets:
            return
        for each in offered.values():
            if each.fresh:
                each.fresh = False
                if not each.seen:
                    each.lost()

    async def _has_told(self) -> bool:
        """Whether those who have answered were told that they have, before something changed: a question may be new."""
        telling, changed = asyncio.ensure_future(self._tell_all()), asyncio.ensure_future(self._changed.wait())
        await asyncio.wait((telling, changed), return_when=asyncio.FIRST_COMPLETED)
        told = telling.done()
        for each in (telling, changed):
            each.cancel()
        return told

    async def _tell_all(self) -> None:
        while self._answering:
            await asyncio.wait(self._answering)
        drains = [asyncio.ensure_future(link.line.drain()) for link in self._links.values()]
        try:
            if drains:
                await asyncio.wait(drains, timeout=GREETING)  # a surface that is stopped takes nothing
        finally:
            for each in drains:
                each.cancel()

    def _meet_new(self) -> None:
        for name in self._meeting.names(SURFACE):
            if name != self._owner.id and name not in self._links and name not in self._meets:
                self._meets.add(name)
                task = asyncio.get_running_loop().create_task(self._meet(name))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    async def _meet(self, name: str) -> None:
        """A surface, from the first word to the last."""
        try:
            link = await asyncio.wait_for(self._greet(name), LATE)
        except (OSError, EOFError, StrangerError, TimeoutError) as error:
            if isinstance(error, ConnectionRefusedError):
                self._meeting.remove(f"{name}{SURFACE}")  # it has died
            elif isinstance(error, StrangerError):
                warn(f"A question is not shown to {error}")
            link = None
        finally:
            self._meets.discard(name)
            self._changed.set()
        if link is None:
            return
        self._links[name] = link
        try:
            while True:
                message = await link.line.receive()
                if "answer" in message:
                    self._take(link, message)
        except (OSError, EOFError, StrangerError):
            return  # the surface is gone; the question waits for another one
        finally:
            del self._links[name]
            link.line.close()

    async def _greet(self, name: str) -> _Link:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.setblocking(False)
        self._sockets = [each for each in self._sockets if each.fileno() >= 0] + [connection]
        try:
            with self._meeting.address(f"{name}{SURFACE}") as address:
                await asyncio.get_running_loop().sock_connect(connection, address)
            refuse_called(connection)
            proving = asyncio.ensure_future(self._prove(connection))
        except BaseException:
            connection.close()
            raise
        try:
            while not (await asyncio.wait((proving,), timeout=GREETING))[0]:
                if _does_not_answer(connection):
                    raise TimeoutError
            return proving.result()
        finally:
            proving.cancel()

    async def _prove(self, connection: socket.socket) -> _Link:
        """Each side that it may speak with the other."""
        try:
            line = await Line.of(connection, "asker", self._meeting.key())
        except BaseException:
            connection.close()
            raise
        try:
            line.send({"name": self._name})
            return _Link(line, await line.receive())
        except BaseException:
            line.abort()
            raise

    def _take(self, link: _Link, message: dict[str, Any]) -> None:
        task = asyncio.get_running_loop().create_task(self._answer(link, message))
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)

    async def _answer(self, link: _Link, message: dict[str, Any]) -> None:
        offered = self._owner.open().get(str(message["answer"]))
        reply = {"answered": message.get("number"), "won": False}
        loop = asyncio.get_running_loop()

        def claimed() -> None:
            sent = threading.Event()
            reply["won"] = True
            loop.call_soon_threadsafe(link.line.send, reply)
            loop.call_soon_threadsafe(sent.set)
            sent.wait(GREETING)

        won = False
        if offered is not None and not _is_late(message.get("until")):
            # Aside: what the answer sets free may take its time.
            said, digest = answer_of(message.get("said")), str(message.get("digest"))
            won = await asyncio.to_thread(offered.decide, said, digest=digest, by=link.kind, claimed=claimed)
        if not won:
            link.line.send(reply)


def _does_not_answer(connection: socket.socket) -> bool:
    """Whether the process on the other side is stopped, as far as can be told: else it is late."""
    try:
        met = peer(connection)
    except OSError:  # it has just gone
        return True
    return met is None or is_stopped(met[0])


def _is_late(until: object) -> bool:
    """Whether whoever has answered was told meanwhile that nobody took it: this process was stopped."""
    return isinstance(until, float) and time.monotonic() > until  # one clock for all processes of a machine


def _folder() -> str:
    try:
        return os.getcwd()  # noqa: PTH109 -- text
    except OSError:
        return "a folder that is gone"
