"""From what a server offers to tools of ours."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from executor import Tool, ToolAnnotations
from executor.errors import InvalidToolIdError, SchemaError
from executor.run import ToolBackend
from executor_mcp._reading import READING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from executor.hookspecs import RegisterTool
    from executor.mcp import Listing
    from executor_mcp import MCPPlugin
    from executor_mcp._settings import Options, Settings

LONGEST_ID = 128
_ODD = re.compile(r"[^A-Za-z0-9_.-]")


def tool_id(server: str, tool: str, servers: Iterable[str] = ()) -> str:
    """
    ``mcp__server__tool``; characters that no id may have became ``_``, and one that is too long ends in a hash.

    Args:
        servers: All that there are.
    """
    name = f"mcp__{_server_part(server, servers)}__{_ODD.sub('_', tool)}"
    return name if len(name) <= LONGEST_ID else _with_hash(name, name)


def _server_part(server: str, servers: Iterable[str]) -> str:
    """
    What stands for a server in ids, and for no other one. It ends where the first ``__`` begins: else ``mcp__git__*``
    would be about the tools of ``git_`` and ``git__hub`` too, and a tool ``hub__x`` of ``git`` would be taken for one
    of ``git__hub``. Of ``git x`` and ``git_x`` the one that is called so has ``git_x``.
    """
    part = _ODD.sub("_", server)
    is_anothers = part != server and any(other != server and _ODD.sub("_", other) == part for other in servers)
    if "__" not in part and not part.endswith("_") and not is_anothers:
        return part
    return f"{re.sub('__+', '_', part).rstrip('_')}-{_hash(server)}"


def _with_hash(name: str, of: str) -> str:
    return f"{name[: LONGEST_ID - 9]}_{_hash(of)}"


def _hash(of: str) -> str:
    return hashlib.sha256(of.encode()).hexdigest()[:8]


class Ids:
    """
    The ids that were given to tools so far, of all servers. Of two that would have the same the first keeps it; the
    other's ends in a hash of its server and name, so that it is the same each time.

    Args:
        servers: All that there are.
    """

    def __init__(self, servers: Collection[str]) -> None:
        self._servers = servers
        self._taken: dict[str, tuple[str, str]] = {}

    def give(self, server: str, tool: str) -> tuple[str, tuple[str, str] | None]:
        """The id of a tool; and whose it would have been, where that is another one's."""
        wanted = tool_id(server, tool, self._servers)
        owner = self._taken.setdefault(wanted, (server, tool))
        if owner == (server, tool):
            return wanted, None
        name = _with_hash(wanted, f"{server}\0{tool}")
        self._taken[name] = server, tool
        return name, owner

    def is_of(self, tool: str, server: str, name: str) -> bool:
        """Whether this id is that of the tool of a server."""
        return self._taken.get(tool) == (server, name)

    def server_of(self, tool: str) -> str | None:
        """The server that has the tool of this id, or None."""
        owner = self._taken.get(tool)
        return owner[0] if owner is not None else None


def register_server(
    register: RegisterTool, plugin: MCPPlugin, settings: Settings, server: str, listing: Listing, ids: Ids
) -> dict[str, str]:
    """
    Register all that a server offers. What cannot be registered is reported, and costs only itself.

    Returns:
        The ids of the tools by which its resources and prompts are read.
    """
    readers: dict[str, str] = {}
    options = settings.of_server(server)
    left_out = dict(listing.left_out)
    offered = (["prompts"] if listing.prompts else []) + (["resources"] if listing.resources else [])
    for told in listing.tools:
        name = str(told["name"])
        own = options.of_tool(name)
        if not own.enabled:
            continue
        number, owner = ids.give(server, name)
        if owner is not None:
            left_out[name] = f"its id is {number}: the other one is {owner[1]!r} of {owner[0]!r}"
        tool = replace(_tool(number, told, own), folder=settings.servers[server].cwd)
        problem = _register(register, tool, ToolBackend.mcp(server, name))
        if problem is not None:
            left_out[name] = problem
    for reading in READING:
        if reading.of in offered and options.of_tool(reading.name).enabled and settings.offers(server, reading.name):
            name, owner = ids.give(server, reading.name)
            if owner is not None and owner[0] == server:
                continue  # the server has a tool of this name, which reads what it is to read
            readers[reading.name] = name
            register(
                name,
                partial(reading.run, plugin, server),
                description=reading.description.format(server=server),
                schema=reading.schema,
                annotations={"read_only": True, "open_world": True},
                auto_background=options.threshold,
            )
    if left_out:
        told_of = "; ".join(f"{name} ({reason})" for name, reason in sorted(left_out.items()))
        plugin.warn(
            f"The MCP server {server!r}: {len(left_out)} of its tools are not as it lists them: {told_of}"[:2000]
        )
    return readers


def _register(register: RegisterTool, tool: Tool, backend: ToolBackend) -> str | None:
    """Register a tool; what is wrong with it, or was left out of it."""
    try:
        register(tool, backend=backend)
    except (SchemaError, InvalidToolIdError) as error:
        if tool.output_schema is None:
            return error.message
        # A tool whose answers cannot be compared with anything is a tool all the same.
        return _register(register, replace(tool, output_schema=None), backend) or error.message
    return None


def _tool(name: str, told: Mapping[str, Any], options: Options) -> Tool:
    hints = told.get("annotations") or {}
    return Tool(
        name,
        input_schema=told["inputSchema"],
        output_schema=told.get("outputSchema"),
        description=str(told.get("description") or ""),
        title=told.get("title") or hints.get("title"),
        annotations=_annotations(hints, trusted=options.trusted),
        auto_background=options.threshold,
    )


def is_told_of(tool: Tool, told: Mapping[str, Any], options: Options) -> bool:
    """Whether *tool* is what a model, and who judges its calls, would be told of what the server lists."""
    now = _tool(tool.name, told, options)
    said = [replace(one, output_schema=None).definition_hash for one in (now, tool)]  # that may have been mended
    return said[0] == said[1]


def _annotations(hints: Mapping[str, Any], *, trusted: bool) -> ToolAnnotations:
    """
    What the server says of a tool. It is the word of a stranger: a hint that would open doors (that a tool only reads,
    that it may be repeated) counts for a trusted server only; one that closes them always does.
    """
    read_only, idempotent = hints.get("readOnlyHint"), hints.get("idempotentHint")
    return ToolAnnotations(
        read_only=read_only if trusted or read_only is False else None,
        destructive=hints.get("destructiveHint") if trusted or hints.get("destructiveHint") else None,
        idempotent=idempotent if trusted or idempotent is False else None,
        open_world=hints.get("openWorldHint") if trusted or hints.get("openWorldHint") else None,
    )
