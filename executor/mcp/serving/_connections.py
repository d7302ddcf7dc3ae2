"""The connections of the older era: what each wants to hear of, and what it was not told yet."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from mcp.server.connection import allowed_log_levels

from executor.mcp.serving._peers import client_of, crowded, is_modern, principal_name

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

MOST_CONNECTIONS = 1024  # that are remembered, of all principals
MOST_SUBSCRIBED = 1024  # documents of which one connection hears
DEFAULT_LEVEL = "info"  # of log messages, for clients that have not chosen one
LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
_LISTS: dict[str, Callable[[Any], Awaitable[None]]] = {
    "tools": lambda session: session.send_tool_list_changed(),
    "prompts": lambda session: session.send_prompt_list_changed(),
    "resources": lambda session: session.send_resource_list_changed(),
}


class _Connection:
    """
    One of them. A client that does not read keeps nobody but itself from hearing, and what changes again before it was
    told is told once.

    Attributes:
        session: The SDK's; None until the client is ready.
    """

    def __init__(self) -> None:
        self.session: Any = None
        self.subscribed: set[str] = set()
        self.level = DEFAULT_LEVEL
        self._waiting: dict[str, None] = {}
        self._telling: asyncio.Task[None] | None = None

    def tell(self, what: str) -> None:
        """See `Connections.tell`."""
        if self.session is None or (what not in _LISTS and what not in self.subscribed):
            return
        self._waiting[what] = None
        if self._telling is None:
            self._telling = asyncio.ensure_future(self._tell())

    async def _tell(self) -> None:
        try:
            while self._waiting:
                what = next(iter(self._waiting))
                del self._waiting[what]
                await (_LISTS[what](self.session) if what in _LISTS else self.session.send_resource_updated(what))
        finally:
            self._telling = None

    def end(self) -> None:
        """Nobody is there any more."""
        if self._telling is not None:
            self._telling.cancel()


class Connections:
    """Lives on the loop. They are told of changes, and choose how much is logged."""

    def __init__(self) -> None:
        self._open: OrderedDict[str, _Connection] = OrderedDict()  # by client

    def _of(self, context: Any) -> _Connection:
        client = client_of(context)
        found = self._open.get(client)
        if found is None:
            found = self._open[client] = _Connection()
            if len(self._open) > MOST_CONNECTIONS:
                self.end(crowded(self._open))
        return found

    def add(self, context: Any) -> None:
        """A client has connected."""
        self._of(context).session = context.session

    def end(self, client: str) -> None:
        """A client is gone."""
        found = self._open.pop(client, None)
        if found is not None:
            found.end()

    def close(self) -> None:
        """Nobody is told anything any more."""
        for client in list(self._open):
            self.end(client)

    def tell(self, principal: str, what: str, client: str = "") -> None:
        """
        Have the connections of *principal* told of a change; whatever is sent to one that is not there is dropped.

        Args:
            what: The list that has changed (``tools``, ``prompts``, ``resources``); else the document, of which those
                are told that want to know.
            client: Only this one; "": all of them.
        """
        for key, connection in self._open.items():
            if principal_name(key) == principal and client in ("", key):
                connection.tell(what)

    def subscribe(self, context: Any, uri: str) -> None:
        """The client wants to know of changes of this document."""
        wanted = self._of(context).subscribed
        if len(wanted) < MOST_SUBSCRIBED:
            wanted.add(uri)

    def unsubscribe(self, context: Any, uri: str) -> None:
        """It does not any more."""
        self._of(context).subscribed.discard(uri)

    def choose_level(self, context: Any, level: str) -> None:
        """The client wants log messages from this level on."""
        self._of(context).level = level

    def takes_logs(self, context: Any) -> bool:
        """Whether output may be sent as log messages for this request."""
        if is_modern(context):  # each request asks for them
            return "info" in allowed_log_levels(context.protocol_version, context.meta)
        found = self._open.get(client_of(context))
        return LEVELS.index(found.level if found is not None else DEFAULT_LEVEL) <= LEVELS.index("info")
