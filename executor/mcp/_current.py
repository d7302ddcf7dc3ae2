"""Which request the running task of the loop works on."""

from __future__ import annotations

import contextvars
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from executor.mcp._call import Call

_request: contextvars.ContextVar[Call[Any] | None] = contextvars.ContextVar("executor_mcp_request", default=None)


def current() -> Call[Any] | None:
    """The request, or None in a task that belongs to none."""
    return _request.get()


def enter(call: Call[Any]) -> None:
    """The running task works on *call* from now on."""
    _request.set(call)
