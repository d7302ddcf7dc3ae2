"""The synchronous face of any number of MCP servers."""

from __future__ import annotations

import threading
import weakref
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from executor._log import warn
from executor.calls._current import current_call, get_current_tool_output_callback
from executor.calls._state import current as current_state
from executor.errors import BackendUnavailableError, ToolFailedError
from executor.mcp._asking import Round
from executor.mcp._cache import ListingCache, default_folder
from executor.mcp._call import Call
from executor.mcp._clients import current_client
from executor.mcp._config import parse_entry
from executor.mcp._fleet import Fleet
from executor.mcp._reader import Reader
from executor.mcp._values import Listing, ServerConfig, ServerStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Mapping

    from mcp import Client
    from mcp.types import CallToolResult

    from executor.calls._current import CurrentCall
    from executor.calls._host import Approvals
    from executor.calls._token import CancelToken
    from executor.mcp._server import Server
    from executor.mcp._values import Elicitation, News
    from executor.values import ProgressCallback

T = TypeVar("T")
CLIENT_IDLE_SECONDS = 3600.0  # a client may be gone without a word, and its servers go in the end


class MCPBridge(Reader):
    """
    Calls tools of MCP servers from any thread.

    Servers are started by the first request that needs them, and again by the next request after they died. Nothing a
    server does reaches the caller but an answer or one of this library's errors.

    Args:
        servers: By name: an entry of an ``mcpServers`` file (``{"command": …, "args": …}`` or ``{"url": …}``), a
            `ServerConfig`, or a server object of the SDK, which then runs in this process.
        approvals: Where servers' questions are put to a person; by default the inbox of the executor that runs the
            call. Without any they are declined.
        on_elicit: Answers servers' questions instead: a mapping (the form, filled in), True, or None to decline.
        cache: The folder for lists of tools; None keeps them in memory only. By default in the user's cache folder.
    """

    def __init__(
        self,
        servers: Mapping[str, object],
        *,
        approvals: Approvals | None = None,
        on_elicit: Callable[[Elicitation], object] | None = None,
        cache: Path | str | None = "",
    ) -> None:
        self._configs = {name: _config(name, server) for name, server in servers.items()}
        self._approvals = approvals
        self._on_elicit = on_elicit
        self._cache = ListingCache(default_folder() if cache == "" else Path(cache) if cache is not None else None)
        self._said: dict[str, Listing] = {}  # by server, what any of its processes here has said last
        self._fleet = Fleet()
        self._listeners: list[Callable[[str, Listing], object]] = []
        self._news_listeners: list[Callable[[str, str, frozenset[News]], object]] = []
        self._close = weakref.finalize(self, self._fleet.close)

    # Tools -------------------------------------------------------------------------------------------------------

    def call_tool(
        self,
        server_name: str,
        tool_name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        on_progress: ProgressCallback | None = None,
        cancel: CancelToken | None = None,
        meant: Callable[[Mapping[str, Any]], bool] | None = None,
    ) -> CallToolResult:
        """
        Call a tool and wait for its answer.

        Args:
            timeout: Seconds, without those in which a person answers the server's questions; None: the server's own
                limit.
            on_progress: ``on_progress(done, total, message)``, called in this thread.
            cancel: Ends the call; the server is told.
            meant: Whether the tool as the running server lists it is the one that is meant; else it is not called. It
                must not block.

        Returns:
            The answer as the server gave it; with ``is_error`` where the tool says that it failed. What was wrong with
            it, and did not keep it from being understood, is in its ``warnings``.

        Raises:
            BackendUnavailableError: The server cannot be reached, or died.
            ToolTimeoutError, ToolCancelledError: It took too long, or was cancelled; the server was told to stop.
            ToolFailedError: The server refused the call, or its answer is no valid MCP, or it is not the tool that is
                *meant*.
        """
        told = dict(arguments or {})
        config = self._configs.get(server_name)
        if config is not None and not config.offers(tool_name):
            raise ToolFailedError(f"{server_name}: {tool_name} may not be used: where the server is configured says so")

        async def work(client: Client, call: Call[CallToolResult | None]) -> CallToolResult | None:
            listing = server.listing
            listed = listing.tool(tool_name) if listing and meant else None
            if listing and meant and listed is not None and not meant(listed):
                self._listed(server.config, listing)  # another client's has said something else since
                return None

            async def progressed(progress: float, total: float | None, message: str | None) -> None:
                call.progressed(progress, total, message)

            from executor.mcp._answer import answer_of, meta_of

            callback = progressed if on_progress is not None else None
            meta = meta_of(client.protocol_version, call)
            return answer_of(await client.call_tool(tool_name, told, progress_callback=callback, meta=meta), call)

        server = self._server(server_name)
        call: Call[CallToolResult | None] = Call(
            f"{server_name}: {tool_name}",
            server.config.timeout if timeout is None else timeout,
            on_progress,
            get_current_tool_output_callback(),
        )
        answer = self._request(server, call, work, cancel)
        if answer is None:
            raise ToolFailedError(
                f"{server_name}: {tool_name} was not called: the server says by now that it is another tool; look at "
                f"what it says, and call it again"
            )
        return answer

    def list_tools(self, server: str) -> list[Mapping[str, Any]]:
        """The tools of a server, each as MCP writes it; raises as `listing` does."""
        return list(self.listing(server).tools)

    def listing(self, server: str, *, fresh: bool = False) -> Listing:
        """
        What a server offers.

        Args:
            fresh: Believe the running server only, which is started if need be, not what is on disk.

        Raises:
            BackendUnavailableError: It had to be asked, and cannot be reached.
        """
        known = None if fresh else self.known_listing(server)
        if known is not None:
            return known
        found = self._server(server)
        call: Call[Listing] = Call(f"{server}: what it offers", found.config.start_timeout + 5)
        return _offered(found.config, self._wait(call, found.listed, None))

    def known_listing(self, server: str) -> Listing | None:
        """What a server offers, as far as that is known without asking it."""
        config = self._configs.get(server)
        if config is None:
            raise self._unknown(server)
        found = self._said.get(server) or self._cache.read(config)
        return _offered(config, found) if found is not None else None

    def listings(self, servers: Iterable[str], timeout: float) -> dict[str, Listing | Exception]:
        """
        What several servers offer, asked side by side; those that do not answer in time, or cannot, have an error.

        Programs are started a few at a time; those that were not begun with in time are asked behind. A server that
        could not be asked in the last seconds (by any process) is not asked again: `forget` it first.
        """
        found: dict[str, Listing | Exception] = {}
        wanted: list[ServerConfig] = []
        for config in (self._configs[name] for name in servers):
            failure = self._cache.failure(config) if self.known_listing(config.name) is None else None
            if failure is not None:
                found[config.name] = BackendUnavailableError(
                    f"{failure} (not tried again for some seconds)", started=False
                )
            else:
                wanted.append(config)
        # Whoever failed the last time must not keep the others waiting each time.
        wanted.sort(key=self._cache.has_failed)
        return found | self._asked(wanted, timeout)

    def _asked(self, servers: list[ServerConfig], timeout: float) -> dict[str, Listing | Exception]:
        here = [config.name for config in servers if config.transport == "stdio"]
        asking = Round(self.listing)
        asking.start(here, [config.name for config in servers if config.name not in here])
        answers, begun = asking.wait(len(servers), timeout)
        found: dict[str, Listing | Exception] = {}
        for config in servers:
            answer = answers.get(config.name)
            if answer is None:
                why = f"not answered within {timeout:g} s" if config.name in begun else "not been asked yet"
                answer = BackendUnavailableError(f"The MCP server {config.name!r} has {why}", started=False)
            if isinstance(answer, Exception) and config.name in begun and self._close.alive:
                self._cache.write_failure(config, str(answer))
            found[config.name] = answer
        return found

    def _simple(
        self, name: str, what: str, do: Callable[[Client], Coroutine[Any, Any, T]], wait: Mapping[str, Any]
    ) -> T:
        server = self._server(name)
        timeout = wait.get("timeout")
        call: Call[T] = Call(f"{name}: {what}", server.config.timeout if timeout is None else timeout)
        return self._request(server, call, lambda client, _: do(client), wait.get("cancel"))

    # Servers -------------------------------------------------------------------------------------------------------

    @property
    def servers(self) -> Mapping[str, ServerConfig]:
        """The servers by name."""
        return self._configs

    def status(self) -> dict[str, ServerStatus]:
        """How each server is; starts none."""
        return {name: self._status(config) for name, config in self._configs.items()}

    def _status(self, config: ServerConfig) -> ServerStatus:
        running = self._running(config)
        if running is not None:
            return running.status()
        known = self._cache.read(config)
        return ServerStatus(
            config.name,
            "stopped" if config.problem is None else "unusable",
            config.problem,
            tools=len(known.tools) if known is not None else None,
        )

    def on_change(self, fn: Callable[[str, Listing], object]) -> None:
        """Call ``fn(server, listing)`` when a server has said what it offers, known or not, on a thread of its own."""
        self._listeners.append(fn)

    def on_news(self, fn: Callable[[str, str, frozenset[News]], object]) -> None:
        """
        Call ``fn(server, client, what)`` whenever a server says that what it offers has changed, on the loop: *fn* must
        not block. *client* is whose server it is, "" for one that all share.
        """
        self._news_listeners.append(fn)

    def end_client(self, client: str) -> None:
        """End the servers that a client of an executor that is served had for itself; nobody waits for that."""
        self._fleet.end_client(client)

    def forget(self, server: str) -> None:
        """Drop what is known of a server's tools on disk."""
        self._cache.forget(self._configs[server])

    def stop(self, server: str) -> None:
        """End a server; the next request starts it again."""
        running = self._running(self._configs[server])
        if running is not None:
            call: Call[None] = Call(f"{server}: its end", 10.0)
            self._wait(call, lambda _: running.stop(), None)

    def close(self) -> None:
        """End all servers, side by side, within 6 seconds. No call can be made any more."""
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # The way of a request ----------------------------------------------------------------------------------------

    def _request(
        self,
        server: Server,
        call: Call[T],
        work: Callable[[Client, Call[T]], Coroutine[Any, Any, T]],
        cancel: CancelToken | None,
    ) -> T:
        return self._wait(call, lambda _: server.request(call, lambda client: work(client, call)), cancel)

    def _wait(
        self,
        call: Call[T],
        work: Callable[[Call[T]], Coroutine[Any, Any, T]],
        cancel: CancelToken | None,
    ) -> T:
        if cancel is not None and cancel.error is not None:
            raise cancel.error
        current = current_call()
        if current is not None:
            call.inbox, call.made_in = lambda: _approvals_of(current), current_state.get()
        return call.wait(self._fleet.loop.start(work(call), call.ended), cancel)

    def _server(self, name: str) -> Server:
        config = self._configs.get(name)
        if config is None:
            raise self._unknown(name)
        if config.problem is not None:
            raise BackendUnavailableError(f"The MCP server {name!r} cannot be used: {config.problem}", started=False)
        inbox, client = _inbox_of(self._approvals), _client_of(config)
        if client:
            config = replace(config, idle_timeout=config.idle_timeout or CLIENT_IDLE_SECONDS)
        news = _weak(self._news)

        def make() -> Server:
            from executor.mcp._server import Server  # with asyncio, for those who ask a server

            return Server(config, inbox, self._on_elicit, _weak(self._listed), lambda what: news(name, client, what))

        return self._fleet.server(name, client, make)

    def _running(self, config: ServerConfig) -> Server | None:
        """The server that the calling code would use, if it was made; else the one that all share."""
        servers = self._fleet.servers
        return servers.get((config.name, _client_of(config))) or servers.get((config.name, ""))

    def _news(self, server: str, client: str, what: frozenset[News]) -> None:
        for fn in list(self._news_listeners):
            fn(server, client, what)

    def _unknown(self, name: str) -> BackendUnavailableError:
        there = ", ".join(sorted(self._configs)) or "none"
        return BackendUnavailableError(f"There is no MCP server {name!r}; configured: {there}", started=False)

    def _listed(self, config: ServerConfig, listing: Listing) -> None:
        self._said[config.name] = listing
        if self._cache.read(config) != listing:
            self._cache.write(config, listing)
        if self._listeners:  # also of what is on disk: another program may have put it there, and told nobody here
            threading.Thread(
                target=_notify,
                args=(list(self._listeners), config.name, _offered(config, listing)),
                name="executor-mcp-news",
                daemon=True,
            ).start()


def _offered(config: ServerConfig, listing: Listing) -> Listing:
    """What of a list may be used."""
    if config.include is None and not config.exclude:
        return listing
    return replace(listing, tools=tuple(tool for tool in listing.tools if config.offers(str(tool["name"]))))


def _config(name: str, server: object) -> ServerConfig:
    if isinstance(server, ServerConfig):
        return server
    if isinstance(server, dict):
        return parse_entry(name, server)
    return ServerConfig(name, "memory", server=server)


def _client_of(config: ServerConfig) -> str:
    """For which client a server of its own is used; "": the one that all share."""
    return "" if config.shared else current_client()


def _weak(method: Callable[..., None]) -> Callable[..., None]:
    """*method*, as long as its object lives."""
    reference = weakref.WeakMethod(method)

    def call(*args: object) -> None:
        found = reference()
        if found is not None:
            found(*args)

    return call


def _approvals_of(call: CurrentCall) -> Approvals | None:
    try:
        return call.host.approvals
    except RuntimeError:  # a call of a bare Runner, where nobody can be asked
        return None


def _inbox_of(approvals: Approvals | None) -> Callable[[Call[Any] | None], Approvals | None]:
    def inbox(call: Call[Any] | None) -> Approvals | None:
        if approvals is not None:
            return approvals
        return call.inbox() if call is not None else None

    return inbox


def _notify(listeners: list[Callable[[str, Listing], object]], name: str, listing: Listing) -> None:
    for fn in listeners:
        try:
            fn(name, listing)
        except Exception as error:  # noqa: BLE001 -- one listener must not keep the others from being told
            warn(f"A listener for changes of the MCP server {name!r} raised: {error!r}", error=error)
