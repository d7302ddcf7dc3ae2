"""Patterns of the form ``tool(name=value, …)``, taken apart."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from executor_permissions.judge.paths._globs import literal

_TOOL = re.compile(r"[A-Za-z0-9_.:*-]+")
_NAMED = re.compile(r"\s*([A-Za-z_][\w.-]*)\s*=")


class Call(NamedTuple):
    """The tool, the named arguments, and the glob for whichever argument, of a pattern with brackets."""

    tool: str
    arguments: dict[str, str]
    anything: str | None


def split_call(text: str) -> Call | None:
    """
    What a pattern with brackets is made of; None if it has none.

    A value goes on to the next ``, name=``; in quotes it may hold anything. The first may be a glob without a name.

    Raises:
        ValueError: It is not of the form ``tool(name=value, …)``.
    """
    text = text.strip()
    tool = _TOOL.match(text)
    if tool is None or not text.startswith("(", tool.end()) or not text.endswith(")"):
        return None
    rest = text[tool.end() + 1 : -1].strip()
    arguments: dict[str, str] = {}
    anything: str | None = None
    while rest:
        named = _NAMED.match(rest)
        if named is None:
            value, behind = _take_value(rest)
            if anything is not None or arguments or literal(value) is not None:
                raise ValueError(f"{rest!r} is not of the form name=value")
            anything, rest = value, behind
            continue
        value, rest = _take_value(rest[named.end() :].lstrip())
        if named[1] in arguments:
            raise ValueError(f"the argument {named[1]!r} stands twice")
        arguments[named[1]] = value
    return Call(tool[0], arguments, anything)


def _take_value(rest: str) -> tuple[str, str]:
    if rest[:1] in ("'", '"'):
        end = rest.find(rest[0], 1)
        if end < 0:
            raise ValueError(f"the quote {rest[0]} is not closed")
        following = rest[end + 1 :].lstrip()
        if following and not following.startswith(","):
            raise ValueError(f"{following!r} behind a quoted value")
        return rest[: end + 1], following[1:].lstrip()
    comma = rest.find(",")
    while comma >= 0:
        if _NAMED.match(rest, comma + 1):
            return rest[:comma].rstrip(), rest[comma + 1 :].lstrip()
        comma = rest.find(",", comma + 1)
    return rest.strip(), ""


def typed(text: str) -> Any:
    """The value a pattern's text stands for: ``true``, ``5`` and ``null`` are typed, what is quoted is text."""
    if text[:1] in ("'", '"'):
        return text[1:-1]
    words: dict[str, Any] = {"true": True, "false": False, "null": None}
    if text in words:
        return words[text]
    if re.fullmatch(r"-?(0|[1-9]\d*)", text) and len(text) < 19:
        return int(text)
    if re.fullmatch(r"-?\d+\.\d+", text):
        return float(text)
    return text
