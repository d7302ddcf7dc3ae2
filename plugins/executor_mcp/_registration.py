"""From what a server offers to tools of ours."""

from __future__ import annotations

import hashlib
import re
from functools import partial
from typing import TYPE_CHECKING, Any

from executor import Tool, ToolAnnotations
from executor.errors import InvalidToolIdError, SchemaError
from executor.run import ToolBackend
from executor_mcp._reading import READING
from executor_mcp._settings import warn

if TYPE_CHECKING:
    from collections.abc import Mapping

    from executor.hookspecs import RegisterTool
    from executor.mcp import Listing
    from executor_mcp import MCPPlugin
    from executor_mcp._settings import Options, Settings

LONGEST_ID = 128
_ODD = re.compile(r"[^A-Za-z0-9_.-]")


def tool_id(server: str, tool: str) -> str:
    """``mcp__server__tool``; characters that no id may have become ``_``, and one that is too long ends in a hash."""
    name = f"mcp__{_ODD.sub('_', server)}__{_ODD.sub('_', tool)}"
    if len(name) > LONGEST_ID:
        name = f"{name[: LONGEST_ID - 9]}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"
    return name


def register_server(
    register: RegisterTool, plugin: MCPPlugin, settings: Settings, server: str, listing: Listing
) -> None:
    """Register all that a server offers. What cannot be registered is reported, and costs only itself."""
    options = settings.of_server(server)
    taken: dict[str, str] = {}
    left_out = dict(listing.left_out)
    for told in listing.tools:
        name = str(told["name"])
        own = options.of_tool(name)
        if not own.enabled:
            continue
        tool = _tool(server, told, own)
        if tool.name in taken:
            left_out[name] = f"its id {tool.name} would be that of {taken[tool.name]!r}"
            continue
        try:
            register(tool, backend=ToolBackend.mcp(server, name))
        except (SchemaError, InvalidToolIdError) as error:
            left_out[name] = error.message
        else:
            taken[tool.name] = name
    offered = (["prompts"] if listing.prompts else []) + (["resources"] if listing.resources else [])
    for reading in READING:
        name = tool_id(server, reading.name)
        if reading.of in offered and name not in taken:
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
        warn(f"The MCP server {server!r}: {len(left_out)} of its tools are left out: {told_of}"[:2000])


def _tool(server: str, told: Mapping[str, Any], options: Options) -> Tool:
    hints = told.get("annotations") or {}
    return Tool(
        tool_id(server, str(told["name"])),
        input_schema=told["inputSchema"],
        output_schema=told.get("outputSchema"),
        description=str(told.get("description") or ""),
        title=told.get("title") or hints.get("title"),
        annotations=_annotations(hints, trusted=options.trusted),
        auto_background=options.threshold,
    )


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
