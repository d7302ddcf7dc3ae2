"""The answer to a call, with what was noticed on its way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mcp.types as t
from mcp.types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import Field

from executor.mcp._failures import older

if TYPE_CHECKING:
    from executor.mcp._call import Call

_LOG_LEVEL = "io.modelcontextprotocol/logLevel"


class Answer(t.CallToolResult):
    """
    Attributes:
        warnings: What was wrong with it, and did not keep it from being understood. No part of MCP.
    """

    warnings: tuple[str, ...] = Field(default=(), exclude=True)


def answer_of(result: t.CallToolResult, call: Call[Any]) -> t.CallToolResult:
    """*result*, with what was noticed while it came, and with what to do about a failure that can be helped."""
    said = [block.text for block in result.content if isinstance(block, t.TextContent)] if result.is_error else []
    if advice := older(" ".join(said)).removeprefix(". "):
        result = result.model_copy(update={"content": [*result.content, t.TextContent(text=advice)]})
    if not call.warnings:
        return result
    fields = {name: getattr(result, name) for name in result.model_fields_set}
    return Answer.model_construct(**fields, warnings=tuple(call.warnings))


def meta_of(protocol: str, call: Call[Any]) -> Any:
    """What a call says beside its arguments: since 2026-07-28 that it wants to hear what the server logs."""
    return {_LOG_LEVEL: "info"} if call.listens and protocol in MODERN_PROTOCOL_VERSIONS else None
