"""The question as a person reads it: nothing hidden, nothing that a terminal or page would obey."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, Any

from executor.approval import to_text, visible

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from executor_permissions.judge._rules import Part

_BLANKS = re.compile(r"[ \t]{9,}|\n{4,}")
# Marks without a width of their own, which `visible` takes for letters.
_UNSEEN = re.compile("[\u034f\u17b4\u17b5\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]")
_VALUE_LIMIT = 2000
_PART_LIMIT = 300
_MANY_PARTS = 40


def shown(text: str, limit: int = _VALUE_LIMIT) -> str:
    """*text* with every character visible, long runs of blanks counted, and the middle of a long text left out."""
    text = _BLANKS.sub(lambda match: f"[{len(match[0])} {'newlines' if match[0][0] == chr(10) else 'blanks'}]", text)
    text = visible(text, limit)
    return _UNSEEN.sub(lambda match: f"<U+{ord(match[0]):04X}>", text)


def question(
    tool: str,
    args: Mapping[str, Any],
    reason: str,
    parts: Sequence[Part],
    *,
    details: Mapping[str, str],
    offered: str | None,
) -> str:
    """The whole question, as plain text."""
    lines = [f"Run {shown(tool)}?", f"  why you are asked: {shown(reason)}"]
    for name, value in args.items():
        lines.append(f"  {shown(str(name), _PART_LIMIT)}: {_indented(shown(to_text(value)))}")
    if len(parts) > 1:
        lines.append("  part by part:")
        for part in parts[:_MANY_PARTS]:
            mark = {"allow": "ok ", "ask": "ASK", "deny": "NO "}[part.verdict]
            because = part.rule if part.verdict == "allow" and part.rule else part.reason
            lines.append(f"    [{mark}] {_one_line(part.text)}   ({_one_line(because)})")
        if len(parts) > _MANY_PARTS:
            lines.append(f"    … and {len(parts) - _MANY_PARTS} more")
    lines.extend(f"  {name}: {_indented(shown(value))}" for name, value in details.items() if value)
    if offered:
        lines.append(f"  always/never would remember: {_one_line(offered)}")
    return "\n".join(lines)


def _one_line(text: str) -> str:
    return shown(text, _PART_LIMIT).replace("\n", " ")


def _indented(text: str) -> str:
    return text.replace("\n", "\n      ")


def difference(before: str, after: str) -> str:
    """What has changed in what the model is told about a tool."""
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), "when you allowed it", "now", lineterm="", n=1
    )
    return "\n".join(lines)
