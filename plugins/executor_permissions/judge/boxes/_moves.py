"""Where a plain ``cd`` leads the rest of a line."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from executor_permissions.judge.bash._moves import names_of
from executor_permissions.judge.bash._words import KNOWN

if TYPE_CHECKING:
    from collections.abc import Iterable

    from executor_permissions.judge.rules._rules import Part

# ruff: noqa: PTH118 -- text, as in _paths


def start_of(folder: str) -> frozenset[str]:
    """What a shell that is started in *folder* may call it."""
    return names_of(os.path.realpath(folder)) | {os.path.normpath(folder)}


def is_move(part: Part) -> bool:
    """Whether *part* is the builtin ``cd``."""
    return part.words[:1] == ("cd",) and part.text.startswith("cd ")


def moved(part: Part, folders: Iterable[str]) -> frozenset[str] | None:
    """
    Where *part*, a ``cd``, may lead from *folders*; None where that cannot be told.

    Shells take ``..`` by names, and by links where nothing is there by names.
    """
    if len(part.words) != 2 or type(part.words[1]) not in KNOWN or "CDPATH" in os.environ:
        return None
    target = part.words[1]
    if target[:1] in ("-", "~", "+", ""):
        return None
    paths = [os.path.join(one, target) for one in folders]
    return frozenset(way(path) for path in paths for way in (os.path.normpath, os.path.realpath))
