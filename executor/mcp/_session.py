"""What is done with the SDK's client from its start to its end: it is asked what it offers, and heard."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import math
from typing import TYPE_CHECKING, Any

import anyio
import mcp.types as t
from mcp import Client, MCPError
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from mcp.shared.subscriptions import PromptsListChanged, ResourcesListChanged, ToolsListChanged
from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from executor.mcp import _failures
from executor.mcp._client import connect, implementation, list_all
from executor.mcp._quiet import quiet_sdk
from executor.mcp._tasks import TasksExtension

if TYPE_CHECKING:
    from mcp.client.session import IncomingMessage

    from executor.mcp._child import Program
    from executor.mcp._lifetime import Lifetime, Listener
    from executor.mcp._values import News, ServerConfig

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


class Session:
    """
    Args:
        life: Whose it is.
        listener: Who hears what the server says of itself.
    """

    def __init__(self, life: Lifetime, config: ServerConfig, listener: Listener) -> None:
        self._life = life
        self._config = config
        self._listener = listener
        self._left_out: dict[str, str] = {}
        self._refreshing: asyncio.Task[None] | None = None
        self._changed: set[News] = set()
        self._refresh_after = REFRESH_SECONDS
        self._refreshed = -math.inf
        self._pinging: asyncio.Task[bool] | None = None

    async def serve(self, program: Program | None) -> None:
        """Until the server is gone, or its lifetime is to be over; *program* is what was started for it."""
        life, config = self._life, self._config
        if life.over.is_set():  # while the SDK was imported
            return
        quiet_sdk()
        transport = connect(config, program, self, self._refused)
        with anyio.fail_after(config.start_timeout) as limit:
            life.limit = limit
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
                if life.over.is_set():
                    raise _failures.closed()
                limit.deadline = math.inf
                life.client = client
                life.ready.set_result(client)
                async with anyio.create_task_group() as group:
                    group.start_soon(self._listen, client)
                    await life.over.wait()
                    group.cancel_scope.cancel()

    def _refused(self, refusal: _failures.Refusal | None) -> None:
        self._life.refusal = refusal

    # What is seen on the way -------------------------------------------------------------------------------------

    def left_out(self, name: str, reason: str) -> None:
        """A tool, or a part of it, is no valid MCP."""
        self._left_out[name] = reason

    def asks(self, method: str) -> None:
        """It is asked this."""
        self._life.asked = method

    def heard(self) -> None:
        """It said something."""
        self._life.heard()
        if self._pinging is not None and self._pinging.done():
            self._pinging = None

    def lost(self) -> None:
        """Nothing comes from it any more."""
        self._life.end(wanted=False)

    async def responds(self) -> bool:
        """Whether it says anything when it is asked for no more than that."""
        return await asyncio.shield(self.ask())

    def ask(self) -> asyncio.Task[bool]:
        """Ask it for no more than that; once for all who want to know, until it says something."""
        if self._pinging is None or (self._pinging.done() and not self._life.suspect):
            self._pinging = asyncio.get_running_loop().create_task(self._ping(), context=contextvars.Context())
        return self._pinging

    async def _ping(self) -> bool:
        client = self._life.client
        if client is None:
            return False
        asked = asyncio.get_running_loop().create_task(_ask(client))
        await asyncio.wait({asked}, timeout=PING_SECONDS)
        asked.cancel()  # not waited for: the server may not read that either
        return not self._life.suspect

    # What it offers ----------------------------------------------------------------------------------------------

    async def _fetch(self, client: Client) -> None:
        try:
            listing = await list_all(client, self._left_out)
        except (ValidationError, RuntimeError) as error:
            self._listener.offers(None, f"its list of tools is no valid MCP: {error}"[:500])
        except MCPError as error:
            if self._life.over.is_set():
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
        client = self._life.client
        if client is not None:
            self._left_out.clear()
            # A server that dies meanwhile is seen by its next request.
            with contextlib.suppress(MCPError), anyio.move_on_after(self._config.start_timeout):
                await self._fetch(client)
            self._listener.changed(what)


async def _ask(client: Client) -> None:
    with contextlib.suppress(MCPError):  # that it does not know the request is an answer too
        if client.protocol_version in MODERN_PROTOCOL_VERSIONS:
            await client.session.send_discover(client.protocol_version)
        else:
            await client.session.send_ping()


async def _believed(name: str, result: t.CallToolResult) -> None:
    """In place of the SDK's comparison of answers with output schemas."""
