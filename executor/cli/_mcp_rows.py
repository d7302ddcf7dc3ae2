"""A configured MCP server, as people and programs are shown it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from executor.mcp import MCPBridge, ServerConfig


def row_of(bridge: MCPBridge, server: ServerConfig) -> dict[str, Any]:
    """One server for people and programs: nothing secret, and nothing is started."""
    from executor.mcp import masked

    known = None if server.problem else bridge.known_listing(server.name)
    return {
        "name": server.name,
        "transport": server.transport,
        "entry": masked(server.entry),
        "source": server.source,
        "problem": server.problem,
        "lost": list(server.lost),
        "tools": [str(tool["name"]) for tool in known.tools] if known is not None else None,
        "left_out": dict(known.left_out) if known is not None else {},
    }


def where(entry: Mapping[str, Any]) -> str:
    """The URL or command, as long as a column is."""
    url = next((entry[key] for key in ("url", "httpUrl", "serverUrl") if entry.get(key)), None)
    told = str(url) if url else " ".join(str(part) for part in (entry.get("command", ""), *(entry.get("args") or ())))
    return told if len(told) <= 60 else told[:59] + "…"


def tools(row: Mapping[str, Any]) -> str:
    """How many tools it has, as far as that is known."""
    if row["problem"]:
        return "unusable"
    return str(len(row["tools"])) if row["tools"] is not None else "not asked yet"
