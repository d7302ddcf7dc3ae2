"""``tools/list`` and ``tools/call``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mcp.types as t
from mcp import MCPError
from mcp.types import INVALID_PARAMS, MISSING_REQUIRED_CLIENT_CAPABILITY

from executor.mcp.serving import _peers
from executor.mcp.serving._following import COMPLETE, begin, come_back, follow
from executor.mcp.serving._results import told_result
from executor.mcp.serving._tasks import created_task

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from executor.mcp.serving._call import ServedCall
    from executor.mcp.serving._connections import Connections
    from executor.mcp.serving._host import Host
    from executor.mcp.serving._listing import Offered
    from executor.mcp.serving._proxy import Proxy

PAGE = 100  # tools in one answer


class Tools:
    """
    The handlers.

    Args:
        host_of: What is served to whoever sent a request.
        connections: Those of the older era.
        proxy: What MCP servers have beside tools, if that is passed on.
    """

    def __init__(
        self, host_of: Callable[[Any], Awaitable[Host]], connections: Connections, proxy: Proxy | None
    ) -> None:
        self._host_of = host_of
        self._proxy = proxy
        self._connections = connections

    async def list(self, context: Any, params: Any) -> Any:
        """One page of the tools."""
        listing = await (await self._host_of(context)).listing()
        return paged("tools", listing.told, params)

    async def call(self, context: Any, params: t.CallToolRequestParams) -> Any:
        """Make a call, or go on with one to which the client has come back with answers."""
        host = await self._host_of(context)
        call = come_back(host, params) if params.request_state is not None else await self._begin(host, context, params)
        asked = await follow(host, call, context, logs=self._connections.takes_logs(context))
        if asked is not None:
            return asked
        told = _answer(host, call, context)
        server = self._proxy.servers.server_of(call.offered.id) if self._proxy is not None else None
        if self._proxy is None or server is None or "content" not in told:
            return told
        return {**told, "content": self._proxy.shown(told["content"], self._proxy.view(context), server)}

    async def _begin(self, host: Host, context: Any, params: t.CallToolRequestParams) -> ServedCall:
        offered = (await host.listing()).tools.get(params.name)
        if offered is None:
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {params.name[:100]}")
        _refuse_without(host.options.requires.get(offered.id, {}), offered, context)
        background = False if host.options.wait else None
        return begin(host, context, offered, params.arguments or {}, background=background)


def _answer(host: Host, call: ServedCall, context: Any) -> Any:
    """The result; where the client follows tasks, the task that the call became."""
    assert call.result is not None, "the turns are over"
    if call.task_id is not None:
        if _peers.follows_tasks(context):
            if call in host.calls:
                host.tasks[call.task_id] = call
            return created_task(host, call.task_id)
        call.unreach()
    told = told_result(call.result, context.protocol_version, has_schema=call.offered.has_schema)
    return {**told, **COMPLETE}


def _refuse_without(needed: Mapping[str, Any], offered: Offered, context: Any) -> None:
    """Raises MCPError where the client has not declared what is *needed* for a tool."""
    if needed and not _peers.declares(context, needed):
        raise MCPError(
            MISSING_REQUIRED_CLIENT_CAPABILITY,
            f"{offered.id} cannot be called by a client that does not declare {', '.join(_peers.named(needed))}",
            {"requiredCapabilities": needed},
        )


def paged(name: str, items: Any, params: Any) -> dict[str, Any]:
    """
    One page of *items* as a result has it: under *name*, with ``nextCursor`` where there are more.

    Raises:
        MCPError: The cursor is none that was given out.
    """
    cursor = params.cursor if params is not None else None
    if cursor is not None and not (cursor.isascii() and cursor.isdigit() and len(cursor) < 10):
        raise MCPError(INVALID_PARAMS, f"{cursor[:100]!r} is no cursor: begin again without one")
    begin = int(cursor or 0)
    # Nothing is kept by the client: whoever wants to know of changes is told of them.
    page: dict[str, Any] = {name: items[begin : begin + PAGE], **COMPLETE, "ttlMs": 0, "cacheScope": "private"}
    if begin + PAGE < len(items):
        page["nextCursor"] = str(begin + PAGE)
    return page
