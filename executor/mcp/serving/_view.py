"""What one client sees of the documents and prompts of MCP servers: asked for side by side, and each under one name."""

from __future__ import annotations

import asyncio
import contextvars
import json
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from executor._log import warn
from executor.mcp._client import size_of
from executor.mcp._clients import work_for
from executor.mcp.serving._host import elsewhere
from executor.mcp.serving._names import Names, Titles, Uris, matches, spelled_out
from executor.permission._visible import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping

    from executor.mcp._bridge import MCPBridge
    from executor.mcp.serving._values import Servers
    from executor.threads._workers import Workers

WAIT_SECONDS = 8.0  # for servers that are asked what they have; what comes later is told as a change
ANSWER_SECONDS = 60.0  # after which one that was asked has failed; it may have to be started first
AGAIN_SECONDS = 15.0  # before one that has failed is asked again
FRESH_SECONDS = 1.0  # for so long what a server has listed is not asked for again
MOST_LISTED = 2000  # of one kind and server
MOST_CHARACTERS = 1024 * 1024  # of these, all together
MOST_TEXT = 4000  # characters of a title or description
MOST_EXTRA = 4096  # characters of what else is said of an item, as JSON

Kind: TypeAlias = Literal["resources", "templates", "prompts"]
Item: TypeAlias = "dict[str, Any]"
_KEY: dict[Kind, str] = {"resources": "uri", "templates": "uriTemplate", "prompts": "name"}
_ASK: dict[Kind, Callable[[MCPBridge, str], list[Item]]] = {
    "resources": lambda bridge, server: bridge.list_resources(server, timeout=ANSWER_SECONDS),
    "templates": lambda bridge, server: bridge.list_resource_templates(server, timeout=ANSWER_SECONDS),
    "prompts": lambda bridge, server: bridge.list_prompts(server, timeout=ANSWER_SECONDS),
}
_EXTRA = ("mimeType", "size", "annotations", "icons", "arguments", "_meta")


class View:
    """
    Lives on the loop.

    Args:
        client: What tells the client from others; "" where there is one.
        workers: Where servers are asked; one that does not answer holds a thread there.
        late: Called when something has come after whoever asked for it had to be answered.
    """

    def __init__(self, client: str, servers: Servers, workers: Workers, late: Callable[[], object]) -> None:
        self.client = client
        self._servers = servers
        self._workers = workers
        self._late = late
        self._items: dict[tuple[Kind, str], list[Item]] = {}  # what each server has listed last
        self._names: dict[Kind, Names] = {
            "resources": Names(Uris()),
            "templates": Names(Uris()),
            "prompts": Names(Titles()),
        }
        self._asking: dict[tuple[Kind, str], asyncio.Task[None]] = {}
        self._failed: dict[tuple[Kind, str], float] = {}
        self._fresh: dict[tuple[Kind, str], float] = {}

    # Lists -------------------------------------------------------------------------------------------------------

    async def documents(self, servers: Iterable[str], taken: Container[str] = ()) -> tuple[list[Item], list[Item]]:
        """The documents of these servers, and the templates of their names; *taken* are names of others."""
        servers = list(servers)
        await self._ask([("resources", server) for server in servers] + [("templates", server) for server in servers])
        templates = self._assigned("templates", servers, taken)
        order = {server: at for at, server in enumerate(servers)}
        made = self._names["templates"].owners

        def claimed(server: str, uri: str) -> bool:
            return any(
                order.get(owner, len(order)) < order[server] and matches(template, uri)
                for template, (owner, _) in made.items()
            )

        return self._assigned("resources", servers, taken, claimed), templates

    async def prompts(self, servers: Iterable[str]) -> list[Item]:
        """The prompts of these servers."""
        servers = list(servers)
        await self._ask([("prompts", server) for server in servers])
        return self._assigned("prompts", servers)

    def _assigned(
        self,
        kind: Kind,
        servers: list[str],
        taken: Container[str] = (),
        claimed: Callable[[str, str], bool] = lambda _server, _name: False,
    ) -> list[Item]:
        names, key = self._names[kind], _KEY[kind]
        listed = [(server, item) for server in servers for item in self._items.get((kind, server), ())]
        names.assign([(server, item[key]) for server, item in listed], taken, claimed)
        told: dict[str, Item] = {}
        for server, item in listed:
            name = names.of(server, item[key])
            if name is not None:
                told.setdefault(name, {**item, key: name})
        return list(told.values())

    # Names -------------------------------------------------------------------------------------------------------

    async def document(self, uri: str, servers: Iterable[str], taken: Container[str] = ()) -> tuple[str, str] | None:
        """The server that has a document, and its own name for it; None: none has."""
        servers = list(servers)
        found = self._document(uri, servers)
        if found is None:
            await self.documents(servers, taken)
            found = self._document(uri, servers)
        return found

    def _document(self, uri: str, servers: list[str]) -> tuple[str, str] | None:
        found = self._names["resources"].owner(uri)
        if found is None:
            made = self._names["templates"].owners.items()
            fitting = [owner for template, (owner, own) in made if template == own and matches(template, uri)]
            found = (fitting[0], uri) if fitting else spelled_out(uri)
        return found if found is not None and found[0] in servers else None

    async def named(self, kind: Kind, name: str, servers: Iterable[str]) -> tuple[str, str] | None:
        """The server that has a prompt, or a template, of this name, and its own name for it."""
        servers = list(servers)
        found = self._names[kind].owner(name)
        if found is None:
            await (self.prompts(servers) if kind == "prompts" else self.documents(servers))
            found = self._names[kind].owner(name)
        return found if found is not None and found[0] in servers else None

    def told(self, server: str, uri: str) -> str:
        """What this client is to call a document of *server*."""
        known = self._names["resources"].of(server, uri)
        if known is not None:
            return known
        return uri if self._document(uri, [server]) == (server, uri) else Uris().other(server, uri)

    # Asking ------------------------------------------------------------------------------------------------------

    async def _ask(self, wanted: list[tuple[Kind, str]]) -> None:
        """Have these fetched, and return when all are there, or nobody waits any longer."""
        now = asyncio.get_running_loop().time()
        tasks = [
            self._fetch(each) for each in wanted if self._failed.get(each, 0.0) <= now >= self._fresh.get(each, 0.0)
        ]
        if tasks:
            await asyncio.wait(tasks, timeout=WAIT_SECONDS)

    def _fetch(self, wanted: tuple[Kind, str]) -> asyncio.Task[None]:
        """Asked once for all who want to know."""
        task = self._asking.get(wanted)
        if task is None:
            task = self._asking[wanted] = asyncio.ensure_future(self._fetched(*wanted))
            task.add_done_callback(lambda _: self._asking.pop(wanted, None))
        return task

    async def _fetched(self, kind: Kind, server: str) -> None:
        clock = asyncio.get_running_loop().time
        began = clock()
        inside = contextvars.copy_context()
        inside.run(work_for, self.client)
        try:
            items = await elsewhere(
                self._workers, lambda: inside.run(lambda: _listed(_ASK[kind](self._servers.bridge(), server), kind))
            )
        except Exception as error:  # noqa: BLE001 -- it costs the server what it has, and nobody else anything
            self._failed[kind, server] = clock() + AGAIN_SECONDS
            warn(f"The MCP server {server!r} does not list its {kind}: {visible(str(error), 500)}", error=error)
            return
        self._failed.pop((kind, server), None)
        self._items[kind, server] = items
        self._fresh[kind, server] = clock() + FRESH_SECONDS
        if clock() - began > WAIT_SECONDS:
            self._late()

    def renew(self) -> None:
        """What servers have may be something else now."""
        self._fresh.clear()

    def close(self) -> None:
        """Wait for nothing any more."""
        for task in self._asking.values():
            task.cancel()


def _listed(items: list[Item], kind: Kind) -> list[Item]:
    """What clients are told of it: nothing hidden, nothing endless."""
    key, size = _KEY[kind], 0
    shown: list[Item] = []
    for item in items[:MOST_LISTED]:
        if isinstance(item.get(key), str) and item[key]:
            shown.append(_shown(item, key))
            size += size_of(shown[-1])
            if size > MOST_CHARACTERS:
                break
    return shown


def _shown(item: Mapping[str, Any], key: str) -> Item:
    shown: Item = {key: item[key]}
    name = item.get("name")
    if key != "name":
        shown["name"] = _text(name) if isinstance(name, str) and name else _text(item[key])
    for field in ("title", "description"):
        if isinstance(item.get(field), str):
            shown[field] = _text(item[field])
    for field in _EXTRA:
        if item.get(field) is not None and len(json.dumps(item[field], default=str)) <= MOST_EXTRA:
            shown[field] = item[field]
    return shown


def _text(text: str) -> str:
    """Lines stay lines; whatever else a terminal would act on, or hide, is seen."""
    return "\n".join(visible(line, MOST_TEXT) for line in text[:MOST_TEXT].split("\n"))
