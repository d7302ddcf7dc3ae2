"""
One start of a server, until its end. Everything here runs on the loop.

`Lifetime.run` is the task that owns the SDK's client: it alone enters and leaves it. A death of the server therefore
cancels the owner and nobody else, and a client is always left in the task that entered it.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

import anyio
import mcp.types as t
from mcp import Client, MCPError
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from mcp.shared.subscriptions import PromptsListChanged, ResourcesListChanged, ToolsListChanged
from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from executor.mcp import _failures
from executor.mcp._client import connect, implementation, list_all
from executor.mcp._tail import Tail
from executor.mcp._tasks import TasksExtension

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.client.session import ClientRequestContext, IncomingMessage

    from executor.errors import BackendUnavailableError
    from executor.mcp._values import Listing, News, ServerConfig

REFRESH_SECONDS = 0.1  # changes of the list that come together are fetched once
SLOWEST_REFRESH = 10.0  # each change that comes soon after another is waited for twice as long, up to this
LISTEN_AGAIN_SECONDS = 1.0  # after a stream of changes was lost, as HTTP streams are now and then
PING_SECONDS = 3.0  # for a word from a server that let a call wait too long; one that is only busy has said one
_MODES: dict[str, str] = dict.fromkeys(HANDSHAKE_PROTOCOL_VERSIONS, "legacy")
_CHANGES: dict[type[Any], News] = {
    t.ToolListChangedNotification: "tools",
    t.PromptListChangedNotification: "prompts",
    t.ResourceListChangedNotification: "resources",
    ToolsListChanged: "tools",
    PromptsListChanged: "prompts",
    ResourcesListChanged: "resources",
}


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
        tail: The end of its stderr.
        answered: How many requests it has answered.
        refusal: What went wrong last over HTTP with a request that belongs to no call.
        suspect: Whether a call was given up since it last said anything.
        wanted: Whether its end, if it has come, was asked for.
        problem: Why it ended, or None.
    """

    def __init__(self, config: ServerConfig, listener: Listener) -> None:
        self._config = config
        self._listener = listener
        self._over = asyncio.Event()
        self._limit: anyio.CancelScope | None = None
        self._left_out: dict[str, str] = {}
        self._refreshing: asyncio.Task[None] | None = None
        self._changed: set[News] = set()
        self._refresh_after = REFRESH_SECONDS
        self._refreshed = -math.inf
        self.pid: Callable[[], int | None] = lambda: None
        self.ready: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self.ready.add_done_callback(lambda future: future.cancelled() or future.exception())
        self.client: Client | None = None
        self.tail = Tail()
        self.answered = 0
        self.refusal: _failures.Refusal | None = None
        self.suspect = False
        self._pinging: asyncio.Task[bool] | None = None
        self.wanted = False
        self.problem: str | None = None

    def end(self, *, wanted: bool) -> None:
        """Let it end; the task that runs `run` is done when it has."""
        self.wanted = self.wanted or wanted
        self.client = None
        self._over.set()
        if self._limit is not None and not self.ready.done():
            self._limit.cancel()

    async def run(self, previous: asyncio.Task[None] | None) -> None:
        """Serve until the end. Never raises."""
        if previous is not None:
            await asyncio.wait({previous})  # never two processes of one server
        found: BaseException | None = None
        try:
            if not self._over.is_set():
                await self._serve(self._config)
        except BaseException as error:  # noqa: BLE001 -- a dying client cancels its owner, which is this task: its end
            found = await self._serve_older(error)
        self.client = None
        self.pid = lambda: None
        if not self.ready.done():
            failure = self._start_failure(found)
            self.problem = failure.message
            self.ready.set_exception(failure)
        elif not self.wanted:
            self.problem = "it ended, or the connection broke" + (f": {_failures.innermost(found)!r}" if found else "")

    def _start_failure(self, error: BaseException | None) -> BackendUnavailableError:
        config = self._config
        if error is None and self.wanted:
            error = RuntimeError("it was stopped while it started")
        elif error is None:
            error = MCPError(t.CONNECTION_CLOSED, "Connection closed")
        return _failures.of_start(config, error, self.tail, self.refusal)

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
        self._over.clear()
        try:
            await self._serve(replace(self._config, transport="sse"))
        except BaseException as another:  # noqa: BLE001 -- as in run
            if self.ready.done():
                return another
            self.refusal = refusal
        return error

    async def _serve(self, config: ServerConfig) -> None:
        transport, self.pid = connect(config, self.tail, self, self._refused)
        with anyio.fail_after(config.start_timeout) as self._limit:
            async with Client(
                transport,
                cache=None,
                mode=_MODES.get(config.protocol, config.protocol),
                client_info=implementation(),
                elicitation_callback=self._listener.asks,
                logging_callback=self._listener.logs,
                message_handler=self._heard,
                extensions=[TasksExtension()],
            ) as client:
                # Comparing answers with schemas is ours to do, and what does not fit is not lost for it.
                client.session.validate_tool_result = _believed  # type: ignore[method-assign]  # it has no switch
                await self._fetch(client)
                if self._over.is_set():
                    raise MCPError(t.CONNECTION_CLOSED, "Connection closed")
                self._limit.deadline = math.inf
                self.client = client
                self.ready.set_result(client)
                async with anyio.create_task_group() as group:
                    group.start_soon(self._listen, client)
                    await self._over.wait()
                    group.cancel_scope.cancel()

    def _refused(self, refusal: _failures.Refusal | None) -> None:
        self.refusal = refusal

    # What is seen on the way -------------------------------------------------------------------------------------

    def left_out(self, name: str, reason: str) -> None:
        """A tool, or a part of it, is no valid MCP."""
        self._left_out[name] = reason

    def heard(self) -> None:
        """It said something."""
        self.suspect = False

    def lost(self) -> None:
        """Nothing comes from it any more."""
        self.end(wanted=False)

    async def responds(self) -> bool:
        """Whether it says anything when it is asked for no more than that; asked once for all who want to know."""
        if self._pinging is None:
            self._pinging = asyncio.get_running_loop().create_task(self._ping(), context=contextvars.Context())
            self._pinging.add_done_callback(self._pinged)
        return await asyncio.shield(self._pinging)

    def _pinged(self, _: asyncio.Task[bool]) -> None:
        self._pinging = None

    async def _ping(self) -> bool:
        client = self.client
        if client is None:
            return False
        with anyio.move_on_after(PING_SECONDS):
            try:
                if client.protocol_version in MODERN_PROTOCOL_VERSIONS:
                    await client.session.send_discover(client.protocol_version)
                else:
                    await client.session.send_ping()
            except MCPError:
                pass  # that it does not know the request is an answer too
        return not self.suspect

    # What it offers ----------------------------------------------------------------------------------------------

    async def _fetch(self, client: Client) -> None:
        try:
            listing = await list_all(client, self._left_out)
        except (ValidationError, RuntimeError) as error:
            self._listener.offers(None, f"its list of tools is no valid MCP: {error}"[:500])
        except MCPError as error:
            if self._over.is_set():
                raise
            self._listener.offers(None, f"it does not list its tools: {error.message}")
        else:
            self._listener.offers(listing, None)

    async def _heard(self, message: IncomingMessage) -> None:
        what = _CHANGES.get(type(message))
        if what is not None:
            self.refresh(what)

    async def _listen(self, client: Client) -> None:
        """Servers since 2026-07-28 tell of changes on a stream that has to be asked for."""
        can = client.server_capabilities
        tools, prompts, resources = (
            capability is not None and capability.list_changed is True
            for capability in (can.tools, can.prompts, can.resources)
        )
        if client.protocol_version not in MODERN_PROTOCOL_VERSIONS or not (tools or prompts or resources):
            return
        while True:
            try:
                async with client.listen(
                    tools_list_changed=tools, prompts_list_changed=prompts, resources_list_changed=resources
                ) as subscription:
                    async for event in subscription:
                        self.refresh(_CHANGES.get(type(event), "tools"))
                return  # the server has closed it, and will not tell any more
            except SubscriptionLost:
                await anyio.sleep(LISTEN_AGAIN_SECONDS)
            except (ListenNotSupportedError, MCPError, TimeoutError):
                return

    def refresh(self, what: News) -> None:
        """It says that it has changed this: it is asked again soon, once for all that it says until then."""
        self._changed.add(what)
        if self._refreshing is None:
            self._refreshing = asyncio.get_running_loop().create_task(self._fetch_again())

    async def _fetch_again(self) -> None:
        clock = asyncio.get_running_loop().time
        soon = clock() - self._refreshed < 2 * self._refresh_after
        self._refresh_after = min(2 * self._refresh_after, SLOWEST_REFRESH) if soon else REFRESH_SECONDS
        await asyncio.sleep(self._refresh_after)
        self._refreshing, self._refreshed = None, clock()  # a change that is told from now on needs another look
        what, self._changed = frozenset(self._changed), set()
        client = self.client
        if client is not None:
            self._left_out.clear()
            # A server that dies meanwhile is seen by its next request.
            with contextlib.suppress(MCPError), anyio.move_on_after(self._config.start_timeout):
                await self._fetch(client)
            self._listener.changed(what)


async def _believed(name: str, result: t.CallToolResult) -> None:
    """In place of the SDK's comparison of answers with output schemas."""
