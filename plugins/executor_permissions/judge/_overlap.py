"""Whether two patterns for paths may mean the same file. In time linear in each, with no expression that backtracks."""

from __future__ import annotations

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
            _name_may_meet(one, two, dots=dots) for one, two in zip(given, wanted, strict=False)
        )
    reached = {0}  # how many of the wanted parts may be done with
    for one in given:
        further: set[int] = set()
        for at in _skipped(reached, wanted):
            if at == len(wanted):
                return True  # below what is wanted
            if "**" in wanted[at]:
                further.add(at)
                further.add(at + 1)
            elif _name_may_meet(one, wanted[at], dots=dots):
                further.add(at + 1)
        reached = further
        if not reached:
            return False
    return len(wanted) in _skipped(reached, wanted)


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part]


def _skipped(reached: set[int], wanted: list[str]) -> set[int]:
    """With the ``**`` left out that may stand for no folder."""
    found = set(reached)
    for at in sorted(reached):
        here = at
        while here < len(wanted) and wanted[here] == "**":
            here += 1
            found.add(here)
    return found


def _name_may_meet(glob: str, name: str, *, dots: bool) -> bool:
    """Whether a name may fit both; what stands in brackets counts as anything."""
    if name[:1] == "." and glob[:1] in ("*", "?") and not dots:
        return False
    if "*" not in glob and "?" not in glob and "[" not in glob and "*" not in name:
        return glob == name
    one, two = _simplified(glob), list(name)
    reached = {0}
    for character in one:
        reached = _closed(reached, two)
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
    return len(two) in _closed(reached, two)


def _closed(reached: set[int], two: list[str]) -> set[int]:
    found = set(reached)
    for at in sorted(reached):
        here = at
        while here < len(two) and two[here] == "*":
            here += 1
            found.add(here)
    return found


def _simplified(glob: str) -> list[str]:
    """
    The characters of a glob, with ``*`` for all from the first ``[`` to the last ``]``.

    Where a bracket ends is not looked for: ``[[:alpha:]]``, ``[[.a.]-z]`` and ``[!]x]`` end elsewhere than it seems.
    A ``[`` that nothing closes may be any character.
    """
    found: list[str] = []
    first, last = glob.find("["), glob.rfind("]")
    if 0 <= first < last:
        glob = f"{glob[:first]}*{glob[last + 1 :]}"
    for character in glob:
        if character != "*" or found[-1:] != ["*"]:
            found.append("?" if character == "[" else character)
    return found
