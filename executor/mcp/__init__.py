"""
MCP servers, called synchronously from any thread; and an executor, served as one (`serve`, `http_app`).

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
    from executor.mcp._binding import bound
    from executor.mcp._bridge import MCPBridge
    from executor.mcp._catalogue import Catalogue, variables_of
    from executor.mcp._circle import enter_circle
    from executor.mcp._config import parse_entry
    from executor.mcp._files import Found, load_file, parse_text
    from executor.mcp._hosts import HOSTS, catalogue_path, files_of
    from executor.mcp._login import login
    from executor.mcp._oauth import logout
    from executor.mcp._remote import RemoteExecutorProvider
    from executor.mcp._secrets import masked, without_secrets
    from executor.mcp._sources import Configured, configured
    from executor.mcp._values import Elicitation, Listing, ServerConfig, ServerStatus
    from executor.mcp.serving._connect import connect
    from executor.mcp.serving._http import http_app, serve_http
    from executor.mcp.serving._run import serve
    from executor.mcp.serving._tokens import Tokens, token_of
    from executor.mcp.serving._values import Resources, ServeOptions, Servers

__all__ = [
    "HOSTS",
    "Catalogue",
    "Configured",
    "Elicitation",
    "Found",
    "Listing",
    "MCPBridge",
    "RemoteExecutorProvider",
    "Resources",
    "ServeOptions",
    "ServerConfig",
    "ServerStatus",
    "Servers",
    "Tokens",
    "bound",
    "catalogue_path",
    "configured",
    "connect",
    "enter_circle",
    "files_of",
    "http_app",
    "load_file",
    "login",
    "logout",
    "masked",
    "parse_entry",
    "parse_text",
    "serve",
    "serve_http",
    "token_of",
    "variables_of",
    "without_secrets",
]

_LATER = {
    "HOSTS": "_hosts",
    "Catalogue": "_catalogue",
    "Configured": "_sources",
    "Elicitation": "_values",
    "Found": "_files",
    "Listing": "_values",
    "MCPBridge": "_bridge",
    "RemoteExecutorProvider": "_remote",
    "Resources": "serving._values",
    "ServeOptions": "serving._values",
    "ServerConfig": "_values",
    "ServerStatus": "_values",
    "Servers": "serving._values",
    "Tokens": "serving._tokens",
    "token_of": "serving._tokens",
    "connect": "serving._connect",
    "http_app": "serving._http",
    "serve": "serving._run",
    "serve_http": "serving._http",
    "bound": "_binding",
    "catalogue_path": "_hosts",
    "configured": "_sources",
    "files_of": "_hosts",
    "load_file": "_files",
    "login": "_login",
    "logout": "_oauth",
    "enter_circle": "_circle",
    "masked": "_secrets",
    "parse_entry": "_config",
    "parse_text": "_files",
    "variables_of": "_catalogue",
    "without_secrets": "_secrets",
}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        value = getattr(importlib.import_module(f"executor.mcp.{_LATER[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
