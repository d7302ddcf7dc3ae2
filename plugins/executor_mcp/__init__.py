"""
The tools of the configured MCP servers, as ``mcp__server__tool``.

Servers come from ``toolexec mcp add``, from this plugin's configuration and from the files of other assistants; see
`Settings`. Without any, nothing is read but one file, and nothing is started.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from executor import current_call, hookimpl
from executor.pasted import within
from executor.threads import fork_safe
from executor_mcp._settings import Settings, warn

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcp.types import CallToolResult

    from executor import CancelToken
    from executor.hookspecs import RegisterTool
    from executor.mcp import Listing, MCPBridge
    from executor_mcp._registration import Ids
    from executor_mcp._settings import Options

__all__ = ["MCPPlugin"]


class MCPPlugin:
    """
    Holds the bridge to the servers: made when it is first needed, and anew after a shutdown.

    `_lock` guards the bridge and what was registered; `_registering` is held while that becomes known, so that news of
    what is just being registered does not count.
    """

    def __init__(self) -> None:
        self._lock = fork_safe(self, "_lock", threading.Lock)
        self._registering = fork_safe(self, "_registering", threading.RLock)
        self._settings = Settings()
        self._bridge: MCPBridge | None = None
        self._registered: dict[str, Listing] = {}
        self._readers: dict[str, dict[str, str]] = {}
        self._ids: Ids | None = None
        self._register: RegisterTool | None = None
        self._puts_off = self._waiting = False
        self._told: set[str] = set()
        self._news = threading.local()  # `told` is set while this thread registers what a server said by itself

    @hookimpl
    def executor_configure(self, config: Mapping[str, Any]) -> None:
        """
        Take the configuration, and read the files that it names.

        Raises:
            ValueError: It does not fit; the plugin stays as it was.
        """
        settings = Settings.of(config)
        self.executor_shutdown()
        self._settings, self._register = settings, None
        self._waiting, self._told = False, set()

    @hookimpl
    def executor_register_tools(self, register: RegisterTool) -> None:
        """Register the tools of every server, as far as they are known or become known soon."""
        settings = self._settings
        if not settings.servers:
            return
        with self._registering:
            self._register = register
            self._register_all(register, settings)

    def _register_all(self, register: RegisterTool, settings: Settings) -> None:
        from executor_mcp._registration import Ids, register_server

        ids, readers = Ids(settings.servers), dict[str, dict[str, str]]()
        bridge = self.bridge()
        known = {name: bridge.known_listing(name) for name, server in settings.servers.items() if not server.problem}
        cold = [name for name, listing in known.items() if listing is None]
        asks = cold and not self._puts_off and not getattr(self._news, "told", False)
        asked = bridge.listings(cold, settings.list_timeout) if asks else {}
        for name, server in settings.servers.items():
            found = known.get(name) or asked.get(name)
            if server.problem and self._puts_off:
                self._waiting = True  # a command that has nothing to do with it says nothing of it
            elif server.problem:
                self.warn(f"The MCP server {name!r}: {server.problem}")
            elif isinstance(found, Exception):
                self.warn(f"{found}; {within('toolexec mcp test', name)} tries again")
            elif found is None:
                self._waiting = True
            else:
                self._registered[name] = found
                readers[name] = register_server(register, self, settings, name, found, ids)
        self._readers, self._ids = readers, ids

    @hookimpl
    def executor_register_backends(self, register: Callable[[str, object], None]) -> None:
        """Register the bridge, if there is anything that it could reach."""
        if self._settings.servers:
            register("mcp", self)

    @hookimpl
    def executor_shutdown(self) -> None:
        """End the servers."""
        with self._lock:
            bridge, self._bridge = self._bridge, None
        self._registered, self._readers = {}, {}
        if bridge is not None:
            bridge.close()

    def bridge(self) -> MCPBridge:
        """The bridge to the servers."""
        from executor.mcp import MCPBridge

        with self._lock:
            if self._bridge is None:
                self._bridge = MCPBridge(self._settings.servers)
                self._bridge.on_change(self._changed)
            return self._bridge

    def readers(self) -> Mapping[str, Mapping[str, str]]:
        """By server: the ids of the tools by which a model reads it, by what they are called there."""
        return self._readers

    def server_of(self, tool: str) -> str | None:
        """The server that has the tool of this id; None: it is no server's."""
        return self._ids.server_of(tool) if self._ids is not None else None

    def call_tool(
        self,
        server_name: str,
        tool_name: str,
        arguments: Mapping[str, Any],
        *,
        timeout: float | None = None,
        on_progress: Callable[[float, float | None, str | None], None] | None = None,
        cancel: CancelToken | None = None,
    ) -> CallToolResult:
        """
        As `MCPBridge.call_tool`: what the run layer calls.

        The configured limit is kept by the bridge. What is called is the tool that was judged: a server may have made
        another one of it since it was last asked.
        """
        options = self._settings.of_server(server_name).of_tool(tool_name)
        return self.bridge().call_tool(
            server_name,
            tool_name,
            arguments,
            timeout=options.timeout if timeout is None else timeout,
            on_progress=on_progress,
            cancel=cancel,
            meant=self._meant(server_name, tool_name, options),
        )

    def _meant(self, server: str, name: str, options: Options) -> Callable[[Mapping[str, Any]], bool] | None:
        """Whether what the server lists is the tool that is called just now; None: it is called as another one."""
        from executor_mcp._registration import is_told_of

        current, ids = current_call(), self._ids
        tool = current.tool if current is not None else None
        if tool is None or ids is None or not ids.is_of(tool.id, server, name):
            return None
        return lambda told: is_told_of(tool, told, options)

    def look_for(self, tool: str) -> bool:
        """
        Start the server that a tool of this id would be of, if nothing is known of it yet; it may take as long as a
        start may.

        Returns:
            Whether there is more known now.

        Raises:
            BackendUnavailableError: It cannot be used, or did not start.
        """
        from executor.errors import BackendUnavailableError
        from executor_mcp._registration import tool_id

        for name, server in self._settings.servers.items():
            if name in self._registered or not tool.startswith(tool_id(name, "", self._settings.servers)):
                continue
            if server.problem is not None:
                raise BackendUnavailableError(
                    f"The MCP server {name!r} cannot be used: {server.problem}", started=False
                )
            self.bridge().listing(name)
            if self._register is not None:
                self._register.again()
            return True
        return False

    def put_off(self) -> None:
        """Have servers of which nothing is known, or that cannot be used, left to `catch_up`."""
        self._puts_off = True

    def catch_up(self) -> None:
        """Ask the servers that were put off, and register their tools; it takes no longer than ``list_timeout``."""
        self._puts_off = False
        if self._waiting and self._register is not None:
            self._waiting = False
            self._register.again()

    def warn(self, message: str) -> None:
        """Say that something cannot be used; no more than once, although tools are registered again and again."""
        if message not in self._told:
            self._told.add(message)
            warn(message)

    def _changed(self, server: str, listing: Listing) -> None:
        with self._registering:
            before, register = self._registered.get(server), self._register
        if register is None or before == listing:
            return
        self._news.told = True  # of one server: it must not wait for the others
        try:
            register.again()
        finally:
            self._news.told = False


executor_plugin = MCPPlugin  # one for each registry
