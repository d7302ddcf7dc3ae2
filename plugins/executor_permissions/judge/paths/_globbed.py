"""What a pattern of the shell becomes, as the folder is now."""

from __future__ import annotations

import glob
import re

WILDCARD = re.compile(r"[*?\[]")
_UP = re.compile(r"(?:^|/)\.{1,2}[*?\[]")
_MOST_LEVELS = 2  # of folders that are looked through: each of many folders would have many
_ODD = frozenset("[\\'\"{}$`")  # what Python's patterns read otherwise, or not at all


def globbed(pattern: str, folder: str) -> list[str]:
    """The paths, from *folder*; for a *pattern* that is not plain the folder in front of it, for all that is there."""
    if _UP.search(pattern):  # older shells find the folder itself and the one above it so
        return [f"{WILDCARD.split(pattern)[0].rpartition('/')[0] or '.'}/.."]
    if _ODD.isdisjoint(pattern) and sum(map(bool, map(WILDCARD.search, pattern.split("/")))) <= _MOST_LEVELS:
        return glob.glob(pattern, root_dir=folder)  # noqa: PTH207 -- Path's has no names that begin with a dot left out
    return [WILDCARD.split(pattern)[0].rpartition("/")[0]]
