"""Texts that are JSON: some tools read them, and take what is in there for their arguments."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from executor_permissions.judge.paths._path_texts import may_be_one

if TYPE_CHECKING:
    from collections.abc import Iterator

LONGEST = 256 * 1024  # of all such texts of a call; they are read in 5 ms
MOST = 1500  # scalars in one of them
_FIRST = frozenset('[{"')
_MOST_NESTING = 4  # such a text within another


def may_be_json(text: str) -> bool:
    """Whether *text* begins as one that holds other texts does."""
    first = text[:1]
    return first in _FIRST or (first.isspace() and text.lstrip()[:1] in _FIRST)


def may_be_odd(text: str) -> bool:
    """Whether *text* may be of JSON, or one path that is spelled otherwise."""
    return may_be_json(text) or may_be_one(text)


def scalars_of(text: str, depth: int = 0) -> Iterator[Any]:
    """Every scalar in *text*, if it is JSON, and in the texts in there that are; keys included."""
    try:
        waiting = [json.loads(text)]
    except (ValueError, RecursionError):
        return
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += [*value, *value.values()]
        elif isinstance(value, list):
            waiting += value
        else:
            yield value
            if isinstance(value, str) and depth < _MOST_NESTING and may_be_json(value):
                yield from scalars_of(value, depth + 1)
