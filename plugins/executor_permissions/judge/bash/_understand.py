"""
What a command is, if that is certain: two parsers that agree about it.

One parser is wrong somewhere. A command is understood where a strict parser of a small bash takes it, and the tree
of tree-sitter-bash has the same tokens in the same places, with the same quotes and the same nesting.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from executor_permissions.judge.bash import _parser, _tree
from executor_permissions.judge.bash._split import split
from executor_permissions.judge.bash._split_words import NotUnderstoodError
from executor_permissions.judge.paths import _lexical

if TYPE_CHECKING:
    from executor_permissions.judge.bash._marks import Mark
    from executor_permissions.judge.bash._syntax import Script

_OTHER = re.compile(r"[^\x00-\x7f]")


def understand(text: str) -> Script:
    """
    What *text* is to bash.

    Raises:
        NotUnderstoodError: It is not certain; its text says why, for a person.
        ImportError: tree-sitter, or its grammar, is not installed.
    """
    if len(text) > _lexical.MAX_BYTES:
        raise NotUnderstoodError("it is longer than 32 KiB")
    if _lexical.has_hidden_characters(text):
        raise NotUnderstoodError("it has control or invisible characters")
    try:
        script, marks = split(text)
    except RecursionError:
        raise NotUnderstoodError("it is nested too deep") from None
    # One byte for each character, so that both count alike; the grammar's scanner crashes beyond ASCII as well.
    data = (text if text.isascii() else _OTHER.sub("x", text)).encode()
    try:
        other = _tree.marks(_parser.parse(data), data)
    except TimeoutError:
        raise NotUnderstoodError("it takes too long to parse") from None
    except _tree.UnreadableTreeError as error:
        raise NotUnderstoodError(f"two readings of it differ: the second one has {error}") from None
    if marks != other:
        raise NotUnderstoodError(f"two readings of it differ{_where(text, marks, other)}")
    return script


def _where(text: str, one: list[Mark], other: list[Mark]) -> str:
    """The first place where the readings differ, for a person."""
    place = min(set(one) ^ set(other), default=None, key=lambda mark: mark[:2])
    return "" if place is None else f" at {text[place[0] : place[0] + 20]!r}"
