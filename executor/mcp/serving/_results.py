"""A result, as MCP writes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from executor.models._results import answer_of
from executor.values._blocks import Audio, Link, Text, text_of_blocks

if TYPE_CHECKING:
    from executor.values import Block, ToolResult

AUDIO_SINCE, LINKS_SINCE = "2025-03-26", "2025-06-18"  # before, clients know no such blocks


def told_result(result: ToolResult, version: str, *, has_schema: bool) -> dict[str, Any]:
    """
    What the client is answered.

    Args:
        version: The protocol's, which says what blocks there are.
        has_schema: Whether the tool has told a schema of its results: then what is structured is never left out.
    """
    told: dict[str, Any] = {"content": _content(result, version), "isError": result.is_error}
    structured = None if result.is_error else result.structured if has_schema else answer_of(result).structured
    if isinstance(structured, dict):
        told["structuredContent"] = structured
    return told


def error_text(result: ToolResult) -> str:
    """What went wrong, never blank."""
    return result.content.strip() or result.error or "the tool failed without a reason"


def _content(result: ToolResult, version: str) -> list[dict[str, Any]]:
    if result.is_error:
        return [Text(error_text(result)).to_dict(), *_shown(_media(result.blocks), version)]
    if not result.blocks:
        return [Text(result.content).to_dict()]
    if text_of_blocks(result.blocks) == result.content:
        return _shown(result.blocks, version)
    # The text was cut, or says more than the blocks: it stands for all that is text.
    return [Text(result.content).to_dict(), *_shown(_media(result.blocks), version)]


def _media(blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    return tuple(block for block in blocks if not isinstance(block, Text))


def _shown(blocks: tuple[Block, ...], version: str) -> list[dict[str, Any]]:
    return [_known(block, version).to_dict() for block in blocks]


def _known(block: Block, version: str) -> Block:
    later = (isinstance(block, Audio) and version < AUDIO_SINCE) or (isinstance(block, Link) and version < LINKS_SINCE)
    return Text(str(block)) if later else block
