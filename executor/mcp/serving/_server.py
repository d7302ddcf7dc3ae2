"""The SDK's server, with the handlers of ours."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import threading
from typing import TYPE_CHECKING, Any

import anyio
import mcp.types as t
from mcp import MCPError
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ToolsListChanged,
)
from mcp.types.version import MODERN_PROTOCOL_VERSIONS

from executor.mcp._quiet import quiet_sdk
from executor.mcp.serving import _peers
from executor.mcp.serving._connections import Connections
from executor.mcp.serving._host import Host, elsewhere
from executor.mcp.serving._prompts import PromptHandlers
from executor.mcp.serving._proxy import Proxy
from executor.mcp.serving._resources import ResourceHandlers
from executor.mcp.serving._tasks import TaskParams, Tasks, UpdateParams
from executor.mcp.serving._tools import Tools
from executor.threads._workers import Workers

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from executor.mcp.serving._values import Executor, ServeOptions

BOTH = frozenset({"prompts", "resources"})
ASKING = 64  # MCP servers that are asked at once what they have
JUDGING = 32  # calls that are judged, and answers that are acted upon, at once
CLOSE_SECONDS = 0.8  # calls that are stopped have so long to end


class _Server(Server[Any]):
    """The SDK's server; it tells of what is offered in each era."""

    def get_capabilities(
        self,
        notification_options: NotificationOptions | None = None,  # noqa: ARG002 -- its defaults say no to what is there
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
        *,
        protocol_version: str | None = None,
    ) -> t.ServerCapabilities:
        modern = protocol_version in MODERN_PROTOCOL_VERSIONS
        proxied = self.get_request_handler("prompts/list") is not None
        return super().get_capabilities(
            NotificationOptions(tools_changed=True, prompts_changed=proxied, resources_changed=proxied),
            experimental_capabilities,
            extensions if modern else {},
            protocol_version=protocol_version,
        )


class Serving:
    """
    What is served, by one loop, to all who connect.

    Args:
        executor_of: The executor of a principal. It is asked for when the principal first wants more than to connect,
            on a worker, for one principal at a time, and again only where it raised.
    """

    def __init__(self, executor_of: Callable[[str], Executor], options: ServeOptions) -> None:
        quiet_sdk()
        self._executor_of = executor_of
        self._options = options
        self._hosts: dict[str, Host] = {}
        self._making: dict[str, asyncio.Task[Host]] = {}
        self._turn = threading.Lock()  # held while an executor is made
        self._hears = False
        self._workers = Workers(warm=2, limit=JUDGING)
        self._connections = Connections()
        self._listeners: dict[str, tuple[InMemorySubscriptionBus, ListenHandler]] = {}
        self._asking: Workers | None = None
        self._proxy: Proxy | None = None
        if options.proxy and options.servers is not None:
            self._asking = Workers(warm=0, limit=ASKING)
            self._proxy = Proxy(
                options.servers, self._connections, self._asking, lambda client: self._news(client, BOTH)
            )
        self._telling: set[asyncio.Task[None]] = set()
        self.server = self._make_server()

    def _make_server(self) -> Server[Any]:
        options = self._options
        tools, tasks = Tools(self.host_of, self._connections, self._proxy), Tasks(self.host_of)
        resources = ResourceHandlers(self.host_of, self._proxy)
        prompts = PromptHandlers(self.host_of, self._proxy) if self._proxy is not None else None
        server = _Server(
            options.name,
            version=options.version or _own_version(),
            instructions=options.instructions,
            get_tool_input_schema=self._schema_of,
            on_list_tools=tools.list,
            on_call_tool=tools.call,
            on_list_resources=resources.list,
            on_list_resource_templates=resources.templates,
            on_read_resource=resources.read,
            on_subscribe_resource=self._subscribe,
            on_unsubscribe_resource=self._unsubscribe,
            on_subscriptions_listen=self._listen,
            on_list_prompts=prompts.list if prompts is not None else None,
            on_get_prompt=prompts.get if prompts is not None else None,
            on_completion=prompts.complete if prompts is not None else None,
        )
        server.extensions[_peers.TASKS] = {}
        server.add_request_handler("tasks/get", TaskParams, tasks.get)
        server.add_request_handler("tasks/update", UpdateParams, tasks.update)
        server.add_request_handler("tasks/cancel", TaskParams, tasks.cancel)
        server.add_request_handler("logging/setLevel", t.SetLevelRequestParams, self._set_level)
        server.add_notification_handler("notifications/initialized", t.NotificationParams, self._initialized)
        security = RequestStateSecurity(keys=[secrets.token_bytes(32)], bind_principal=_peers.principal_of)
        server.middleware.append(RequestStateBoundary(security, default_audience=options.name))
        return server

    async def host_of(self, context: Any) -> Host:
        """What is served to whoever sent this request. Raises MCPError where that cannot be made."""
        principal = _peers.principal_of(context)
        host = self._hosts.get(principal)
        if host is not None:
            return host
        making = self._making.get(principal)
        if making is None:
            making = self._making[principal] = asyncio.ensure_future(self._make(principal))
            making.add_done_callback(lambda done: self._made(principal, done))
        return await asyncio.shield(making)  # whoever asked first may not want it any more, and others do

    def _made(self, principal: str, done: asyncio.Task[Host]) -> None:
        self._making.pop(principal, None)
        if not done.cancelled():
            done.exception()  # told to whoever waits

    async def _make(self, principal: str) -> Host:
        def executor() -> Executor:
            with self._turn:
                return self._executor_of(principal)

        try:
            found = await elsewhere(self._workers, executor)
        except Exception as error:
            raise MCPError(t.INTERNAL_ERROR, f"Nothing can be served: {error}") from error
        if self._proxy is not None:
            loop = asyncio.get_running_loop()
            await elsewhere(self._workers, lambda: self._hear(loop))
        host = self._hosts[principal] = Host(principal, found, self._options, self._workers, self._tell)
        return host

    def _schema_of(self, name: str) -> Any:
        """The schema of a tool's arguments, as its caller was told it, for headers that repeat some of them."""
        host = self._hosts.get(_peers.current_principal())
        offered = host.known(name) if host is not None else None
        return offered.told["inputSchema"] if offered is not None else None

    def _tell(self, host: Host, uri: str | None) -> None:
        self._spawn(self._tell_all(host, uri))

    def _spawn(self, telling: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(telling)
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)

    async def _tell_all(self, host: Host, uri: str | None) -> None:
        """Tell the clients of changed tools, or of a document that has changed."""
        bus, _ = self._listener(host.principal)
        if uri is None:
            self._connections.tell(host.principal, "tools")
            await bus.publish(ToolsListChanged())
        else:
            self._connections.tell(host.principal, uri)
            await bus.publish(ResourceUpdated(uri))

    # What changes beside tools --------------------------------------------------------------------------------------

    def _listener(self, principal: str) -> tuple[InMemorySubscriptionBus, ListenHandler]:
        """Of each principal one: nobody hears of what is another's."""
        found = self._listeners.get(principal)
        if found is None:
            bus = InMemorySubscriptionBus()
            found = self._listeners[principal] = bus, ListenHandler(bus)
        return found

    async def _listen(self, context: Any, params: t.SubscriptionsListenRequestParams) -> Any:
        await self.host_of(context)  # from now on it hears of changes
        return await self._listener(_peers.principal_of(context))[1](context, params)

    def _hear(self, loop: asyncio.AbstractEventLoop) -> None:
        """Be told of what MCP servers change; once."""

        def heard(_server: str, client: str, what: frozenset[str]) -> None:
            if what & BOTH:
                with contextlib.suppress(RuntimeError):  # the server has ended
                    loop.call_soon_threadsafe(self._news, client, what & BOTH)

        with self._turn:
            servers = self._options.servers
            if servers is not None and not self._hears:
                self._hears = True
                servers.bridge().on_news(heard)

    def _news(self, client: str, what: frozenset[str]) -> None:
        """Documents or prompts have changed: of one client, or, for "", of all."""
        if self._proxy is not None:
            self._proxy.renew(client)
        for principal in list(self._hosts):
            if not client or client.startswith(f"{principal}/"):
                self._spawn(self._tell_lists(principal, client, what))

    async def _tell_lists(self, principal: str, client: str, what: frozenset[str]) -> None:
        bus, _ = self._listener(principal)
        for each in sorted(what):
            self._connections.tell(principal, each, client)
        if "prompts" in what:
            await bus.publish(PromptsListChanged())
        if "resources" in what:
            await bus.publish(ResourcesListChanged())

    async def _set_level(self, context: Any, params: t.SetLevelRequestParams) -> t.EmptyResult:
        self._connections.choose_level(context, params.level)
        return t.EmptyResult()

    async def _subscribe(self, context: Any, params: t.SubscribeRequestParams) -> t.EmptyResult:
        self._connections.subscribe(context, str(params.uri))
        return t.EmptyResult()

    async def _unsubscribe(self, context: Any, params: t.UnsubscribeRequestParams) -> t.EmptyResult:
        self._connections.unsubscribe(context, str(params.uri))
        return t.EmptyResult()

    async def _initialized(self, context: Any, _params: Any) -> None:
        self._connections.add(context)
        await self.host_of(context)  # from now on it hears of changes

    async def close(self) -> None:
        """Stop all calls, and give them a moment to end; tasks go on."""
        for task in (*self._telling, *self._making.values()):
            task.cancel()
        self._connections.close()
        with anyio.CancelScope(shield=True):
            with anyio.move_on_after(CLOSE_SECONDS):
                for host in self._hosts.values():
                    await host.close()
        if self._proxy is not None:
            self._proxy.close()
        for workers in (self._workers, self._asking):
            if workers is not None:
                workers.close(0)

    def end_client(self, client: str) -> None:
        """A client says that it is gone; the MCP servers that it had for itself are ended."""
        servers = self._options.servers
        self._connections.end(client)
        if self._proxy is not None:
            self._proxy.end_client(client)
        if servers is not None and _peers.principal_name(client) in self._hosts:
            self._workers.submit(lambda: servers.bridge().end_client(client))


def _own_version() -> str:
    from importlib.metadata import version

    return version("toolexec")
