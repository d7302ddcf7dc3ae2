"""Values whose parts are shared so often that, written out, they would have no end."""

from __future__ import annotations

from typing import Any

MOST = 10_000_000  # values in a value, written out; the text of so many takes about a second and some 100 MB
TIMES = 10  # and so many times the distinct ones: what is merely large has had room in memory once already
SMALL = 50_000  # lists and objects; more are counted with care, each once
_HOLDERS = frozenset({dict, list, tuple})


def is_endless(value: Any) -> bool:
    """
    Whether *value* is no large value, but a small one that holds the same again and again, level upon level.

    Forty lists, each of them twice in the next, are 2^40 values as text; a few lines of YAML with aliases are enough.
    Whatever makes text of it holds up the whole process for as long as it takes.
    """
    if type(value) not in _HOLDERS:
        return False
    try:
        if _is_small(value):
            return False
        counts = _counted(value)
    except RuntimeError:  # another thread fills it just now
        return False
    return counts[id(value)] > max(MOST, TIMES * len(counts))


def _parts(holder: Any) -> Any:
    return holder.values() if type(holder) is dict else holder


def _is_small(value: Any) -> bool:
    """Whether there are at most `SMALL` holders in it, written out: which nearly all values are."""
    left, met = [value], 0
    while left and met <= SMALL:
        holder = left.pop()
        inner = [part for part in _parts(holder) if type(part) in _HOLDERS]
        met += len(inner)
        left += inner
    return not left


def _counted(value: Any) -> dict[int, int]:
    """By the identity of each holder in *value*: how many values it has, written out. What holds itself counts once."""
    counts: dict[int, int] = {}
    begun, left = set(), [value]
    while left:
        holder = left[-1]
        this = id(holder)
        if this in counts:
            left.pop()
        elif this not in begun:
            begun.add(this)
            left += [part for part in _parts(holder) if type(part) in _HOLDERS and id(part) not in begun]
        else:
            counts[this] = 1 + sum(counts.get(id(part), 1) for part in _parts(holder))
    return counts
