"""What a tool says about its calls running at the same time: resources, the highest number of calls, the rate."""

from __future__ import annotations

import re
from collections.abc import Iterable

from executor.values._frozen import dataclass

_SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0, "day": 86400.0}
_UNITS = {seconds: unit for unit, seconds in _SECONDS.items()}
_RATE = re.compile(r"\s*(?P<count>[0-9]{1,9})\s*/\s*(?P<unit>s|min|h|day)\s*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Shared:
    """
    A resource that a call only reads: it runs beside other calls that share it, never beside one that wants it alone.

    Attributes:
        name: The resource, as a plain string would name it for one call alone.
    """

    name: str

    def __post_init__(self) -> None:
        _check_name(self.name)


@dataclass(frozen=True, slots=True)
class Rate:
    """
    At most *count* calls of a tool begin in any stretch of *seconds*; all of them may begin at once.

    Attributes:
        count: From 1 on.
        seconds: The length of the stretch: 1, 60, 3600 or 86400.
    """

    count: int
    seconds: float

    def __str__(self) -> str:
        return f"{self.count}/{_UNITS.get(self.seconds, f'{self.seconds:g} s')}"


def parse_rate(text: str) -> Rate:
    """
    The rate that *text* says: a whole number from 1 on, a stroke, and ``s``, ``min``, ``h`` or ``day``.

    Raises:
        ValueError: It is not such a text.
    """
    found = _RATE.fullmatch(text) if isinstance(text, str) else None
    if found is None or int(found["count"]) < 1:
        raise ValueError(
            f"rate is {text!r}: write how many calls may begin, from 1 on, a stroke, and s, min, h or day, "
            'as in "5/s", "20/min", "100/h" or "1000/day"'
        )
    return Rate(int(found["count"]), _SECONDS[found["unit"]])


def check_max_concurrent(value: object) -> int:
    """
    *value*, when it can be the highest number of calls of a tool at the same time.

    Raises:
        ValueError: It is not a whole number from 1 on.
    """
    if type(value) is not int or value < 1:
        raise ValueError(f"max_concurrent is {value!r}: give a whole number from 1 on, or leave it out for no limit")
    return value


def check_resources(found: object) -> dict[str, bool]:
    """
    What a tool's ``resources`` function returned, as names with whether each is shared.

    A name that is there both ways is not shared.

    Raises:
        TypeError: It is not a list of names and `Shared`.
        ValueError: A name is empty.
    """
    if isinstance(found, str | Shared | bytes) or not isinstance(found, Iterable):
        raise TypeError(
            f"resources returned {found!r}: return a list of names, "
            "each a string or Shared(name); empty if it needs none"
        )
    names: dict[str, bool] = {}
    for each in found:
        if isinstance(each, Shared):
            names.setdefault(_plain(each.name), True)
        else:
            names[_plain(_check_name(each))] = False
    return names


def _plain(name: str) -> str:
    """*name* itself: a text of a class of its own is compared by that, which may take for ever, for all other calls."""
    return name if type(name) is str else str.__str__(name)


def _check_name(name: object) -> str:
    if not isinstance(name, str):
        raise TypeError(f"a resource is {name!r}: name it by a string, or by Shared(name) if calls may share it")
    if not name:
        raise ValueError('a resource has an empty name: name what the call must have, as in "file:/tmp/a"')
    return name
