"""One server: the requests that go to it, and when it is started. Everything here but `status` runs on the loop."""

from __future__ import annotations

import asyncio
import contextvars
import json
from copy import copy
from typing import TYPE_CHECKING, Any, TypeVar

from executor.errors import BackendUnavailableError
from executor.mcp._current import current, enter
from executor.mcp._lifetime import Lifetime
from executor.mcp._tail import Tail
from executor.mcp._values import Listing, ServerConfig, ServerStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    import mcp.types as t
    from mcp import Client
    from mcp.client.session import ClientRequestContext

    from executor.calls._host import Approvals
    from executor.mcp._call import Call
    from executor.mcp._values import Elicitation, News, State

T = TypeVar("T")
PATIENCE = 3  # ends in a row without one answered request, after which it is not started again at once
LONGEST_WAIT = 60.0  # seconds between two starts of a process that keeps failing
LONGEST_REMOTE_WAIT = 1.0  # the same for a server that others start: asking it costs nothing, and it may be back
LAST_WORDS_SECONDS = 0.5  # how long an error waits for what the dead server wrote last


class Server:
    """
    Args:
        inbox: Gives where questions are put for a request (None: for one that is not known), or None.
        on_elicit: Answers questions instead.
        on_listing: Told of every list of tools that differs from the one before.
        on_news: Told of what the server says it has changed.
    """

    def __init__(
        self,
        config: ServerConfig,
        inbox: Callable[[Call[Any] | None], Approvals | None],
        on_elicit: Callable[[Elicitation], object] | None,
        on_listing: Callable[[ServerConfig, Listing], object],
        on_news: Callable[[frozenset[News]], object],
    ) -> None:
        self.config = config
        self.listing: Listing | None = None
        self._inbox = inbox
        self._on_elicit = on_elicit
        self._on_listing = on_listing
        self._on_news = on_news
        self._life: Lifetime | None = None  # None: not started, or of no use any more
        self._owner: asyncio.Task[None] | None = None  # of the last lifetime, over or not
        self._tail = Tail()  # of the last lifetime
        self._calls: set[Call[Any]] = set()
        self._working: set[asyncio.Task[Any]] = set()
        self._problem: str | None = None
        self._last_end: str | None = None  # why the last lifetime that ended by itself did
        self._starts = self._answered = 0
        self._fruitless = 0  # lifetimes in a row that ended by themselves without an answered request
        self._not_before = 0.0
        self._idle: asyncio.TimerHandle | None = None

    @property
    def busy(self) -> bool:
        """Whether it works on a call; may be looked at on any thread."""
        return bool(self._calls)

    # Requests ----------------------------------------------------------------------------------------------------

    async def request(self, call: Call[T], do: Callable[[Client], Coroutine[Any, Any, T]]) -> T:
        """
        What *do* gets from the client; the server is started first if it does not run.

        Raises:
            BackendUnavailableError: It cannot be reached, or died meanwhile. The next request starts it again.
            ToolFailedError: It answered with an error, or with something that is no MCP.
        """
        enter(call)
        self._calls.add(call)
        if self._idle is not None:
            self._idle.cancel()
        life = self._life
        try:
            if life is None or life.client is None:
                life = await self._alive()
            elif life.suspect and await self._hangs(life, call):
                self._drop(life)
                life = await self._alive()
            try:
                value = await self._worked(do(_client_of(life)))
            except Exception as error:
                from executor.mcp import _failures  # imports the SDK, which is there once something was answered

                if not _failures.is_session_lost(error, call.refusal):
                    raise
                # The server was restarted and refused the request unread: the new one has not seen it.
                self._drop(life)
                life = await self._alive()
                call.refusal = None
                value = await self._worked(do(_client_of(life)))
        except asyncio.CancelledError:
            if life is not None and self.config.transport == "stdio":
                life.suspect = True
            raise
        except Exception as error:
            raise await self._failed(call, life, error) from error
        else:
            self._count_answer(life)
            return value
        finally:
            self._calls.discard(call)
            self._watch_idleness()

    async def _hangs(self, life: Lifetime, call: Call[Any]) -> bool:
        """Whether it says nothing any more, though it was asked to, and is not busy with what somebody waits for."""
        if life.waited_for is None:
            life.waited_for = self._calls - {call}
        if life.waited_for & self._calls:
            life.ask()
            return False
        return not await life.responds()

    async def _worked(self, work: Coroutine[Any, Any, T]) -> T:
        """What *work* comes to. Who gives it up does not wait until the server, which may not read, was told."""
        task = asyncio.get_running_loop().create_task(work)
        self._working.add(task)  # or it could be lost half done
        task.add_done_callback(self._forget)
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            task.cancel()
            raise
        return task.result()

    def _forget(self, task: asyncio.Task[Any]) -> None:
        self._working.discard(task)
        if not task.cancelled():
            task.exception()  # nobody else may look at it

    async def listed(self, call: Call[Listing]) -> Listing:
        """What it offers, fetched when it was started, or since it said that something changed."""

        async def fetched(_: Client) -> Listing:
            if self.listing is None:
                raise BackendUnavailableError(f"The MCP server {self.config.name!r}: {self._problem}")
            return self.listing

        return await self.request(call, fetched)

    async def _failed(self, call: Call[Any], life: Lifetime | None, error: Exception) -> Exception:
        if isinstance(error, BackendUnavailableError) or life is None:
            return copy(error)  # several requests may have waited for one start; each error says whose it is
        from executor.mcp import _failures

        gone = life.client is None  # whatever else went wrong went wrong with this request alone
        if gone or _failures.is_session_lost(error, call.refusal):
            owner = self._owner
            self._drop(life)
            if owner is not None:
                await asyncio.wait({owner}, timeout=LAST_WORDS_SECONDS)
        elif _failures.is_answer(error) and (call.refusal is None or call.refusal.error is None):
            self._count_answer(life)
        told = _failures.of_call(call.what, error, life.tail, call.refusal, gone=gone, name=self.config.name)
        return _failures.without_secrets(told, self.config)

    def _count_answer(self, life: Lifetime) -> None:
        self._answered += 1
        life.answered += 1
        self._fruitless = 0

    # Starting and ending -----------------------------------------------------------------------------------------

    async def _alive(self) -> Lifetime:
        life = self._life
        if life is None or (life.ready.done() and life.client is None):
            life = self._start()
        await asyncio.shield(life.ready)
        return life

    def _start(self) -> Lifetime:
        loop = asyncio.get_running_loop()
        wait = self._not_before - loop.time()
        if wait > 0:
            raise BackendUnavailableError(
                f"The MCP server {self.config.name!r} failed {self._fruitless} times in a row and is not started again "
                f"for {wait:.1f} s. The last time: {self._last_end}",
                started=False,
                retry_after=wait,
            )
        self._life = life = Lifetime(self.config, self)
        self._tail = life.tail
        self._starts += 1
        # In a context of its own: the server belongs to no call, not even to the one that starts it.
        self._owner = loop.create_task(life.run(self._owner), context=contextvars.Context())
        self._owner.add_done_callback(lambda _: self._ended(life))
        return life

    def _ended(self, life: Lifetime) -> None:
        if self._life is life:
            self._life = None
        if life.wanted:
            return
        self._problem = self._last_end = life.problem
        if life.answered == 0:
            self._fruitless += 1
            if self._fruitless >= PATIENCE:
                longest = LONGEST_WAIT if self.config.transport == "stdio" else LONGEST_REMOTE_WAIT
                delay = min(longest, 2.0 ** min(self._fruitless - PATIENCE, 10))
                self._not_before = asyncio.get_running_loop().time() + delay

    def _drop(self, life: Lifetime) -> None:
        """It is of no use any more: the next request starts another one."""
        if self._life is life:
            self._life = None
        life.end(wanted=False)

    async def stop(self) -> None:
        """End it, and wait for that; the next request starts it again."""
        if self._life is not None:
            self._life.end(wanted=True)
            self._life = None
        if self._owner is not None:
            await asyncio.wait({self._owner})

    def _watch_idleness(self) -> None:
        seconds = self.config.idle_timeout
        if seconds is not None and not self._calls and self._life is not None:
            loop = asyncio.get_running_loop()
            self._idle = loop.call_later(seconds, lambda: self._stop_idle(loop))

    def _stop_idle(self, loop: asyncio.AbstractEventLoop) -> None:
        if not self._calls:
            loop.create_task(self.stop())

    # What the server says ----------------------------------------------------------------------------------------

    def offers(self, listing: Listing | None, problem: str | None) -> None:
        """It offers this, or it could not be found out."""
        self._problem = problem
        if listing is not None and listing != self.listing:
            self.listing = listing
            self._on_listing(self.config, listing)

    def changed(self, what: frozenset[News]) -> None:
        """It says that it has changed this."""
        self._on_news(what)

    async def logs(self, params: t.LoggingMessageNotificationParams) -> None:
        """It says something: shown as output of the call that it works on, or kept where no call can be told."""
        said = params.data if isinstance(params.data, str) else json.dumps(params.data, default=str)
        line = f"[{params.level}] {said}\n"
        call = current()  # known over HTTP, where what a call says comes with its answer
        if call is None and len(self._calls) == 1:
            call = next(iter(self._calls))
        if call is not None:
            call.said(line)
        else:
            self._tail.add(line.encode())

    async def asks(self, _: ClientRequestContext, params: t.ElicitRequestParams) -> t.ElicitResult:
        """It asks a person; the clocks of the calls that wait for the answer stand still meanwhile."""
        from executor.mcp._elicit import ask, question_of

        asking = current()  # known since 2026-07-28; before that a server did not say for which call it asks
        calls = [asking] if asking is not None else list(self._calls)
        for call in calls:
            call.pause()
        try:
            inbox = self._inbox(calls[0] if calls else None)
            return await ask(question_of(self.config.name, params), inbox, self._on_elicit)
        finally:
            for call in calls:
                call.resume()

    # For the bridge ----------------------------------------------------------------------------------------------

    def status(self) -> ServerStatus:
        """How it is; may be called on any thread."""
        life = self._life
        client = life.client if life is not None else None
        state: State = "running" if client is not None else "starting" if life is not None else "stopped"
        if state == "stopped" and self._fruitless >= PATIENCE:
            state = "waiting"
        info = client.server_info if client is not None else None
        return ServerStatus(
            name=self.config.name,
            state=state,
            problem=self._problem,
            pid=life.pid if life is not None else None,
            protocol=client.protocol_version if client is not None else None,
            server=f"{info.name} {info.version}".rstrip() if info is not None else None,
            tools=len(self.listing.tools) if self.listing is not None else None,
            calls=len(self._calls),
            answered=self._answered,
            starts=self._starts,
            stderr=self._tail.text,
        )


def _client_of(life: Lifetime) -> Client:
    """The client, or, when the server has died since it was started, the error that a request to it would have had."""
    if life.client is None:
        from executor.mcp import _failures

        raise _failures.closed()
    return life.client
