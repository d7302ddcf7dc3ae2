"""
MCP servers, called synchronously from any thread.

::

    with MCPBridge({"time": {"command": "mcp-server-time"}}) as bridge:
        result = bridge.call_tool("time", "get_current_time", {"timezone": "Europe/Berlin"})

Nothing of the package ``mcp`` is imported before the first use of a server, and nothing of this one before its names
are used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from executor.mcp._bridge import MCPBridge
    from executor.mcp._catalogue import Catalogue, masked, without_secrets
    from executor.mcp._config import Found, load_file, parse_entry, parse_text
    from executor.mcp._hosts import HOSTS, catalogue_path, files_of
    from executor.mcp._remote import RemoteExecutorProvider
    from executor.mcp._sources import Configured, configured
    from executor.mcp._values import Elicitation, Listing, ServerConfig, ServerStatus

__all__ = [
    "HOSTS",
    "Catalogue",
    "Configured",
    "Elicitation",
    "Found",
    "Listing",
    "MCPBridge",
    "RemoteExecutorProvider",
    "ServerConfig",
    "ServerStatus",
    "catalogue_path",
    "configured",
    "files_of",
    "load_file",
    "masked",
    "parse_entry",
    "parse_text",
    "without_secrets",
]

_LATER = {
    "HOSTS": "_hosts",
    "Catalogue": "_catalogue",
    "Configured": "_sources",
    "Elicitation": "_values",
    "Found": "_config",
    "Listing": "_values",
    "MCPBridge": "_bridge",
    "RemoteExecutorProvider": "_remote",
    "ServerConfig": "_values",
    "ServerStatus": "_values",
    "catalogue_path": "_hosts",
    "configured": "_sources",
    "files_of": "_hosts",
    "load_file": "_config",
    "masked": "_catalogue",
    "parse_entry": "_config",
    "parse_text": "_config",
    "without_secrets": "_catalogue",
}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        value = getattr(importlib.import_module(f"executor.mcp.{_LATER[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
