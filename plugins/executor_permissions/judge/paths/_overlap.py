"""Whether two patterns for paths may mean the same file. In time linear in each, with no expression that backtracks."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_PLAIN_BRACKET = re.compile(r"\[[!^]?[^\[\]\\!^]+\]")
_WILD = frozenset(("*", "?", "[", ""))  # what may stand for another character
_LONGEST = 2000  # characters of a pattern that is compared; a longer one may be anything


def may_meet(pattern: str, other: str, *, dots: bool = False) -> bool:
    """
    Whether the shell glob *pattern* may become *other*, or something below it.

    Args:
        pattern: Absolute; ``*``, ``?`` and ``[…]`` are wildcards.
        other: A path, or the pattern of a rule: ``*`` within a name, ``**`` for any number of folders.
        dots: Whether a wildcard in front of a name takes a dot.
    """
    if len(pattern) > _LONGEST:
        return True
    given, wanted = _parts(pattern), _parts(other)
    if "**" not in other:
        return len(given) >= len(wanted) and all(
            name_may_meet(one, two, dots=dots) for one, two in zip(given, wanted, strict=False)
        )
    reached = {0}  # how many of the wanted parts may be done with
    for one in given:
        further: set[int] = set()
        for at in _skipped(reached, wanted, "**"):
            if at == len(wanted):
                return True  # below what is wanted
            if "**" in wanted[at]:
                further.add(at)
                further.add(at + 1)
            elif name_may_meet(one, wanted[at], dots=dots):
                further.add(at + 1)
        reached = further
        if not reached:
            return False
    return len(wanted) in _skipped(reached, wanted, "**")


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part]


def _skipped(reached: set[int], wanted: Sequence[str], star: str) -> set[int]:
    """With each *star* left out, which may stand for nothing: for no folder, or for no character."""
    found = set(reached)
    for at in sorted(reached):
        here = at
        while here < len(wanted) and wanted[here] == star:
            here += 1
            found.add(here)
    return found


def name_may_meet(glob: str, name: str, *, dots: bool = False) -> bool:
    """`may_meet` of one name; a ``[…]`` counts as any character, or as any text."""
    if name[:1] == "." and glob[:1] in ("*", "?") and not dots:
        return False
    if "*" not in glob and "?" not in glob and "[" not in glob and "*" not in name:
        return glob == name
    if glob[:1] != name[:1] and _WILD.isdisjoint((glob[:1], name[:1])):
        return False  # as nearly every name
    if len(glob) > _LONGEST:
        return True
    return _fit_both(_simplified(glob), name)


def _fit_both(one: Sequence[str], two: str) -> bool:
    """Whether a text may fit both the characters *one* of a glob, and *two*, in which ``*`` alone is a wildcard."""
    reached = {0}
    for character in one:
        reached = _skipped(reached, two, "*")
        if character == "*":
            reached = set(range(min(reached), len(two) + 1)) if reached else reached
            continue
        further = set()
        for at in reached:
            if at < len(two):
                if two[at] == "*":
                    further.add(at)
                elif character in ("?", two[at]):
                    further.add(at + 1)
        reached = further
        if not reached:
            return False
    return len(two) in _skipped(reached, two, "*")


@lru_cache(maxsize=256)
def _simplified(glob: str) -> Sequence[str]:
    """
    The characters of a glob, with ``?`` for each ``[…]``; a ``[`` that nothing closes may be either.

    Where a bracket ends is only plain if there is nothing in it but characters, and no other ``]`` behind it, which may
    have been quoted: of ``[[:alpha:]]``, ``[!]x]`` and ``[a"]"b]`` all up to the last ``]`` may be anything.
    """
    found: list[str] = []
    i = 0
    while i < len(glob):
        character, end = glob[i], i + 1
        if character == "[":
            close = glob.rfind("]", i)
            character = "?" if close < 0 or _PLAIN_BRACKET.fullmatch(glob, i, close + 1) else "*"
            end = max(close + 1, end)
        if character != "*" or found[-1:] != ["*"]:
            found.append(character)
        i = end
    return found
