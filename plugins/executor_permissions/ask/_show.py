"""The question as a person reads it: nothing hidden, and nothing that a terminal or page would obey."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any, NamedTuple

from executor.approval import counted, in_order, named, to_text, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from executor_permissions.judge.rules._rules import Part

_VALUE_LIMIT = 2000
_PART_LIMIT = 300
_TARGET_LIMIT = 120
_HEAD_LINES, _TAIL_LINES = 16, 6  # of a value: more of them would push the rest of the question off the screen
_COVERED_PARTS = 20  # parts that rules allow, which a person need not read
_TARGETS = ("command", "argv", "cmd", "path", "file", "filename", "url", "uri", "query", "tool_name")
_MARKS = {"allow": "ok ", "ask": "ASK", "deny": "NO "}


class Shown(NamedTuple):
    """
    A question in words.

    Attributes:
        whole: Whether nothing of what would be remembered was left out.
    """

    text: str
    whole: bool


def question(
    tool: str,
    args: Mapping[str, Any],
    reason: str,
    parts: Sequence[Part],
    *,
    details: Mapping[str, str],
    kinds: Mapping[str, str] | None = None,
    declared: Sequence[str] = (),
) -> Shown:
    """
    The question, as plain text: what is to run first and last, and in between why it is asked, by its worst part first.

    Args:
        kinds: What the arguments mean, as far as the tool says.
        declared: Those that the tool has, in its order, where that is known: others say nothing of what is to run.
    """
    head = _head(tool, args, kinds or {}, declared)
    lines = [head, f"  why you are asked: {_one_line(reason)}"]
    whole = True
    for name, value in args.items():
        text = to_text(value)
        folded, cut = _folded(in_order(visible(text)))
        whole = whole and not cut and len(counted(text)) <= _VALUE_LIMIT and len(str(name)) <= _PART_LIMIT
        lines.append(f"  {named(str(name))}: {folded}")
    if len(parts) > 1:
        told = list(_part_lines(parts))
        whole = whole and all(len(counted(part.text)) <= _PART_LIMIT for part in parts if part.verdict != "allow")
        lines.extend(["  part by part:", *told])
    lines.extend(f"  {name}: {_indented(visible(value))}" for name, value in details.items() if value)
    return Shown("\n".join([*lines, head]), whole)


def _part_lines(parts: Sequence[Part]) -> Iterable[str]:
    """
    The parts that no rule allows, all of them and the worst first; then those that rules allow.

    What a loop runs is judged for each of its rounds, and read once.
    """
    parts = [*{(part.text, part.verdict, part.rule, part.reason): part for part in parts}.values()]
    covered = [part for part in parts if part.verdict == "allow"]
    for part in [*by_severity(parts), *covered[:_COVERED_PARTS]]:
        because = part.rule if part.verdict == "allow" and part.rule else part.reason
        yield f"    [{_MARKS[part.verdict]}] {_one_line(part.text)}   ({_one_line(because)})"
    if len(covered) > _COVERED_PARTS:
        yield f"    … and {len(covered) - _COVERED_PARTS} more, which rules allow"


def by_severity(parts: Iterable[Part]) -> list[Part]:
    """The parts that no rule allows, those that a deny rule may be about first."""
    return sorted((part for part in parts if part.verdict != "allow"), key=_severity)


def _severity(part: Part) -> int:
    if part.verdict == "deny" or part.maybe_denied:
        return 0
    if part.method != "default":
        return 1
    return 3 if part.reason == "no rule allows it" else 2


def _head(tool: str, args: Mapping[str, Any], kinds: Mapping[str, str], declared: Sequence[str]) -> str:
    """What is to run, in one line."""
    targets = [name for name in _TARGETS if not declared or name in declared]
    names = [*kinds, *targets, *declared, *args]
    target = next((to_text(args[name]) for name in names if args.get(name) not in (None, "", [], {})), "")
    return f"Run {_one_line(tool)}{': ' if target else ''}{_one_line(target, _TARGET_LIMIT)}?"


def _one_line(text: str, limit: int = _PART_LIMIT) -> str:
    return in_order(visible(text, limit)).replace("\n", " ")


def _folded(text: str) -> tuple[str, bool]:
    """A value, indented, the middle of its lines left out where there are too many; and whether they were."""
    lines = text.split("\n")
    left = len(lines) - _HEAD_LINES - _TAIL_LINES
    if left <= 1:
        return _indented(text), False
    kept = [*lines[:_HEAD_LINES], f"…[{left} lines more]…", *lines[-_TAIL_LINES:]]
    return _indented("\n".join(kept)), True


def _indented(text: str) -> str:
    return text.replace("\n", "\n      ")


def difference(before: str, after: str) -> str:
    """What has changed in what the model is told about a tool."""
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), "when you allowed it", "now", lineterm="", n=1
    )
    return "\n".join(lines)
