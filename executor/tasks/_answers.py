"""Results of tasks as the store keeps them: the outcome, and beside it what the outcome does not say."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from executor._json import as_data, as_text, to_text
from executor.calls._answer import answer
from executor.calls._kinds import kind_of_task
from executor.values import ResultKind, blocks_of
from executor.values._blocks import BLOCKS, dicts_of, returned_blocks

if TYPE_CHECKING:
    from executor.values import Outcome, TaskInfo, ToolResult


class Stored(NamedTuple):
    """
    What the store knows of the end of a task.

    Attributes:
        more: JSON of ``kind``, ``permission``, ``blocks`` and ``content``; None in a store of version 0.1, and where
            nobody was there any more to say it.
    """

    outcome: Outcome
    more: str | None

    @property
    def is_whole(self) -> bool:
        """Whether nobody has made its content short enough for a model."""
        return self.more is None or _read(self.more).get("whole") is True


def encode(value: Any) -> str:
    """A value as JSON, with the data that objects stand for, or their texts."""
    blocks = returned_blocks(value)
    try:
        return json.dumps(value, default=as_data if blocks is None else _in_json)
    except Exception:  # noqa: BLE001 -- keys that are no text, cycles, and what raises when it is read
        return json.dumps(to_text(value))


def _in_json(value: Any) -> Any:
    return value.to_dict() if isinstance(value, BLOCKS) else as_data(value)


def encode_more(result: ToolResult, value: str, *, whole: bool = False) -> str:
    """What `restore` needs beside the outcome, as `encode` has its *value*. *whole*: see `Stored.is_whole`."""
    more: dict[str, Any] = {"kind": str(result.kind)}
    if whole:
        more["whole"] = True
    if result.permission is not None:
        more["permission"] = dict(result.permission)
    if result.blocks:
        shapes = dicts_of(result.blocks)
        more["blocks"] = True if returned_blocks(result.value) is not None or result.value == shapes else shapes
    if result.content != whole_content(replace(result, value=json.loads(value))):  # which may be no more than a text
        more["content"] = result.content
    return json.dumps(more, default=as_text)


def restore(info: TaskInfo, stored: Stored) -> ToolResult:
    """
    The result of a task that has ended, as a foreground call would have given it.

    Its content is as it was, or whole, where nobody had made it shorter.
    """
    (succeeded, value), more = stored.outcome, _read(stored.more)
    kept = more.get("permission")
    if kept is None and isinstance(value, dict):
        kept = value.get("_permission")
    held = more.get("blocks")
    blocks = blocks_of(value) if held is True else blocks_of(held)
    told: Outcome = (succeeded, list(blocks) if held is True and succeeded else value)
    kind = ResultKind(more["kind"]) if more.get("kind") in set(ResultKind) else kind_of_task(info.status, value)
    made = answer(
        info.call_id,
        told,
        kind,
        permission=kept if isinstance(kept, dict) else None,
        task_id=info.id,
        blocks=blocks,
    )
    content = more.get("content")
    return replace(made, value=value, content=content if isinstance(content, str) else made.content)


def whole_content(result: ToolResult) -> str:
    """The content of a result, however short it was made."""
    held = result.structured is None and result.success and bool(result.blocks)
    value = list(result.blocks) if held else result.value  # read from the store, the value is the JSON of them
    return answer("", (result.success, value), result.kind, blocks=result.blocks).content


def _read(more: str | None) -> dict[str, Any]:
    found = json.loads(more) if more is not None else {}
    return found if isinstance(found, dict) else {}
