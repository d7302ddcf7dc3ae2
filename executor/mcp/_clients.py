"""For which client the running code works, where an executor serves several: each has MCP servers of its own."""

from __future__ import annotations

import contextvars

_client: contextvars.ContextVar[str] = contextvars.ContextVar("executor_mcp_client", default="")


def current_client() -> str:
    """What tells the client from others; "" where there is one, or none."""
    return _client.get()


def work_for(client: str) -> None:
    """The running context works for *client* from now on."""
    _client.set(client)
