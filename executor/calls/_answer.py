"""A `ToolResult` from what a call came to; the same for a call in the foreground and for a task read years later."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from executor._json import as_text, snapshot
from executor.calls._content import json_of, without_permission
from executor.values import ResultKind, ToolResult

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from executor.values import Block, Outcome

_NO_BLOCKS = frozenset({dict, str, int, float, bool, type(None)})  # what most tools return, told apart at once


def answer(
    call_id: str,
    outcome: Outcome,
    kind: ResultKind,
    *,
    permission: Mapping[str, Any] | None = None,
    task_id: str | None = None,
    blocks: tuple[Block, ...] = (),
    bound: Callable[[str], str] | None = None,
) -> ToolResult:
    """
    The outcome as a `ToolResult`.

    Args:
        kind: What the call came to.
        permission: What the gate decided, or None.
        task_id: Under which the work goes on, or went on.
        blocks: Those of an MCP answer; those that a tool returned are found in the value.
        bound: Makes the content short enough.
    """
    succeeded, value = outcome
    error, structured = None, None
    if not succeeded:
        said = value if isinstance(value, dict) else {"error": value}
        error = content = str(said.get("error", ""))
        permission = permission or said.get("_permission")  # of a denial the call itself knows nothing
    elif blocks or type(value) not in _NO_BLOCKS:
        try:
            blocks, structured, content = _with_blocks(value, blocks)
        except Exception:  # noqa: BLE001 -- a class of the tool's own, which raises when it is read; the result is there
            structured = content = as_text(value)
    else:
        given = without_permission(value)
        structured, content = json_of(given)
        if structured is not given:
            blocks = _blocks_in(given, content)
    if permission is not None and "comment" in permission:
        content = f"[the user, who allowed this call, says: {permission['comment']}]\n{content}"
    return ToolResult(
        call_id=call_id,
        success=succeeded,
        value=value,
        content=content if bound is None else bound(content),
        error=error,
        is_error=not succeeded,
        backgrounded=kind is ResultKind.BACKGROUNDED,
        task_id=task_id,
        permission=dict(permission) if permission is not None else None,  # the caller's own
        blocks=blocks,
        structured=structured,
        kind=kind,
    )


def _with_blocks(value: Any, blocks: tuple[Block, ...]) -> tuple[tuple[Block, ...], Any, str]:
    """The blocks of a result, what is structured of it, and its text for a model."""
    from executor.values._blocks import dicts_of, returned_blocks, text_of_blocks  # for those who return blocks

    returned = returned_blocks(value)
    if returned is not None:
        return returned, None, text_of_blocks(returned)
    given = without_permission(value)
    structured, content = json_of(given)
    if not blocks:
        return () if structured is given else _blocks_in(given, content), structured, content
    return blocks, None if structured == dicts_of(blocks) else structured, text_of_blocks(blocks)


def _blocks_in(value: Any, content: str) -> tuple[Block, ...]:
    """The blocks of a value that JSON cannot hold as it is: its text, and the images and files somewhere in it."""
    from executor.values._blocks import Text, blocks_within

    found = blocks_within(value)
    return (Text(content), *found) if found else ()


def apart(result: ToolResult) -> ToolResult:
    """The same with copies of what it holds: who writes to them changes nothing for anybody else."""
    value = snapshot(result.value)
    structured = value if result.structured is result.value else snapshot(result.structured)
    return replace(result, value=value, structured=structured, permission=snapshot(result.permission))
