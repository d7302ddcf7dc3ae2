"""
A server that has itself among its MCP servers would list its own tools as another one's, those again, and so on.

So a process that serves has a mark, which goes to the MCP servers that it starts and calls: it knows its own again.
"""

from __future__ import annotations

import os
import secrets

VARIABLE = "TOOLEXEC_SERVING"  # in the environment of MCP servers that are started by one
HEADER = "Toolexec-Serving"  # of requests to those that others run


_OWN = secrets.token_hex(16)


def enter_circle() -> bool:
    """From now on this process serves. Returns False where one that serves has started it, as an MCP server."""
    if marked() not in (None, _OWN):
        return False
    os.environ[VARIABLE] = _OWN
    return True


def marked() -> str | None:
    """The mark of this process, or of the one that has started it; None where nobody serves."""
    return os.environ.get(VARIABLE) or None


def environment() -> dict[str, str]:
    """What MCP servers that are started here are told."""
    own = marked()
    return {VARIABLE: own} if own is not None else {}


def headers() -> dict[str, str]:
    """What MCP servers that others run are told."""
    own = marked()
    return {HEADER: own} if own is not None else {}
