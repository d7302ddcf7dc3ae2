"""
One start of a server, until its end. Everything here runs on the loop.

`Lifetime.run` is the task that owns the process and the SDK's client: it alone enters and leaves them. A death of the
server therefore cancels the owner and nobody else, and a client is always left in the task that entered it.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol

from executor.errors import BackendUnavailableError
from executor.mcp._tail import Tail

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    import anyio
    import mcp.types as t
    from mcp import Client
    from mcp.client.session import ClientRequestContext

    from executor.mcp._call import Call
    from executor.mcp._child import Program
    from executor.mcp._failures import Refusal
    from executor.mcp._session import Session
    from executor.mcp._values import Listing, News, ServerConfig


class Listener(Protocol):
    """Who hears what the server says of itself."""

    def offers(self, listing: Listing | None, problem: str | None) -> None:
        """It offers this; with *problem* it could not be found out (None: nothing is known)."""
        ...

    def changed(self, what: frozenset[News]) -> None:
        """It says that it has changed this; if it is the tools, `offers` was told before."""
        ...

    async def asks(self, context: ClientRequestContext, params: t.ElicitRequestParams) -> t.ElicitResult:
        """It wants to know something from a person."""
        ...

    async def logs(self, params: t.LoggingMessageNotificationParams) -> None:
        """It says something."""
        ...


class Lifetime:
    """
    Attributes:
        ready: Has the client once the server has answered, or why it did not.
        client: The client while the server can be asked.
        pid: Of the process, where there is one.
        tail: The end of its stderr.
        answered: How many requests it has answered.
        refusal: What went wrong last over HTTP with a request that belongs to no call.
        asked: What it was asked last, while it starts; "" once it has answered.
        suspect: Whether a call was given up since it last said anything.
        waited_for: The calls that it may have been busy with when it was first asked whether it still is there.
        over: Set once it is to end.
        limit: What ends its start.
        wanted: Whether its end, if it has come, was asked for.
        problem: Why it ended, or None.
    """

    def __init__(self, config: ServerConfig, listener: Listener) -> None:
        self._config = config
        self._listener = listener
        self._session: Session | None = None
        self.over = asyncio.Event()
        self.limit: anyio.CancelScope | None = None
        self.pid: int | None = None
        self.ready: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self.ready.add_done_callback(lambda future: future.cancelled() or future.exception())
        self.client: Client | None = None
        self.tail = Tail()
        self.answered = 0
        self.refusal: Refusal | None = None
        self.asked = ""
        self.suspect = False
        self.waited_for: set[Call[Any]] | None = None
        self.wanted = False
        self.problem: str | None = None

    def end(self, *, wanted: bool) -> None:
        """Let it end; the task that runs `run` is done when it has."""
        self.wanted = self.wanted or wanted
        self.client = None
        self.over.set()
        if self.limit is not None and not self.ready.done():
            self.limit.cancel()

    def heard(self) -> None:
        """It said something."""
        self.suspect, self.waited_for = False, None

    def ask(self) -> None:
        """Ask it to say anything; nobody waits for that yet."""
        if self._session is not None:
            self._session.ask()

    async def responds(self) -> bool:
        """Whether it says anything when it is asked for no more than that."""
        return self._session is not None and await self._session.responds()

    async def run(self, previous: asyncio.Task[None] | None) -> None:
        """Serve until the end. Never raises."""
        if previous is not None:
            await asyncio.wait({previous})  # never two processes of one server
        found: BaseException | None = None
        try:
            if not self.over.is_set():
                await self._serve(self._config)
        except BaseException as error:  # noqa: BLE001 -- a dying client cancels its owner, which is this task: its end
            found = await self._serve_older(error)
        self.client = None
        self.pid = None
        if not self.ready.done():
            failure = self._start_failure(found)
            self.problem = failure.message
            self.ready.set_exception(failure)
        elif not self.wanted:
            from executor.mcp._failures import innermost

            self.problem = "it ended, or the connection broke" + (f": {innermost(found)!r}" if found else "")

    def _start_failure(self, error: BaseException | None) -> BackendUnavailableError:
        try:
            from executor.mcp import _failures
        except BaseException as missing:  # noqa: BLE001 -- the SDK, which has the words for all that it raises
            return _no_sdk(missing)
        told = _failures.of_start(self._config, error, self.tail, self.refusal, wanted=self.wanted, asked=self.asked)
        return _failures.without_secrets(told, self._config)

    async def _serve_older(self, error: BaseException) -> BaseException:
        """
        Serve a server that knows HTTP in the form before streamable HTTP only, which it says by one of these statuses.

        Returns:
            Why it ended: *error* where that did not help.
        """
        refusal = self.refusal
        if self._config.transport != "http" or self.ready.done() or self.wanted:
            return error
        if refusal is None or refusal.status not in (400, 404, 405):
            return error
        self.over.clear()
        try:
            await self._serve(replace(self._config, transport="sse"))
        except BaseException as another:  # noqa: BLE001 -- as in run
            if self.ready.done():
                return another
            self.refusal = refusal
        return error

    async def _serve(self, config: ServerConfig) -> None:
        if sys.modules.get("mcp") is None and find_spec("mcp") is None:
            raise ModuleNotFoundError("No module named 'mcp'")
        async with self._program(config) as program:
            self.pid = program.pid if program is not None else None
            from executor.mcp._session import Session  # with the SDK most of a second, in which the program starts

            self._session = Session(self, config, self._listener)
            await self._session.serve(program)

    def _program(self, config: ServerConfig) -> AbstractAsyncContextManager[Program | None]:
        if config.transport != "stdio" or sys.platform == "win32":
            return contextlib.nullcontext()
        from executor.mcp._child import Program

        return Program(config, self.tail, lambda: self.end(wanted=False))


def _no_sdk(error: BaseException) -> BackendUnavailableError:
    return BackendUnavailableError(
        f"The package mcp cannot be imported ({error}): install it with pip install 'mcp>=2.3,<3'", started=False
    )
