"""``prompts/…`` and ``completion/complete``: offered only where those of MCP servers are passed on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mcp.types as t

from executor.mcp.serving._following import COMPLETE
from executor.mcp.serving._tools import paged

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from executor.mcp.serving._host import Host
    from executor.mcp.serving._proxy import Proxy

PAGE = 100


class PromptHandlers:
    """
    The handlers.

    Args:
        host_of: What is served to whoever sent a request.
    """

    def __init__(self, host_of: Callable[[Any], Awaitable[Host]], proxy: Proxy) -> None:
        self._host_of = host_of
        self._proxy = proxy

    async def list(self, context: Any, params: Any) -> Any:
        """One page of the prompts."""
        host = await self._host_of(context)
        readers = await self._proxy.readers(host, "getPrompt")
        return paged("prompts", await self._proxy.view(context).prompts(readers), params)

    async def get(self, context: Any, params: t.GetPromptRequestParams) -> Any:
        """A prompt, filled in."""
        answer = await self._proxy.prompt(await self._host_of(context), context, params)
        return answer if isinstance(answer, t.InputRequiredResult) else {**answer, **COMPLETE}

    async def complete(self, context: Any, params: t.CompleteRequestParams) -> Any:
        """Values for an argument."""
        return {"completion": await self._proxy.complete(await self._host_of(context), context, params), **COMPLETE}
