"""What bubblewrap lays over what: every place that a profile opens or closes, in the order in which it must be laid."""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from executor.confine._disk import Disk
from executor.confine._files import out_of_reach
from executor.confine._real import Real
from executor.confine._values import ConfigFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class Kind(Enum):
    """What is made of a place."""

    HIDDEN = "hidden"  # its contents may not be read
    FIXED = "fixed"  # may not be written
    FREE = "free"  # may be written
    SHOWN = "shown"  # may be read, though it is in what may not


Laid: TypeAlias = tuple[Kind, str]
NOTHING: Mapping[str, Kind] = MappingProxyType({})
# All else may be read, and not be written, as it is.
_NEEDED_IN = {Kind.FIXED: (Kind.FREE,), Kind.SHOWN: (Kind.HIDDEN,)}


@dataclass(frozen=True, slots=True)
class Plan:
    """
    The mounts, outer ones first, and what must be made for them.

    Attributes:
        mounts: (kind, path), each path without links.
        missing: What is to be fixed and does not exist; made, it gets a mount.
        empty: Of these, what is to be an empty file, because git would stop at a folder there.
        loose: What cannot be fixed because it is a link in a folder that is free.
    """

    mounts: tuple[Laid, ...]
    missing: tuple[str, ...]
    empty: tuple[str, ...]
    loose: tuple[str, ...]


def plan(
    free: Iterable[str],
    fixed: Iterable[str],
    hidden: Iterable[str],
    disk: Disk | None = None,
    shown: Iterable[str] = (),
    real: Real | None = None,
    kept: Iterable[str] = (),
    before: Mapping[str, Kind] = NOTHING,
) -> Plan:
    """
    Args:
        free: May be written; they exist, and are without links: one that has come since is not followed.
        fixed: May not be written although they are below something that may, whether they exist or not.
        hidden: May not be read.
        disk: What was found of the disk so far.
        shown: Likewise free, but for what is hidden: a mount that may be written may be read.
        real: For paths, for somebody who has asked about the same folders.
        kept: May be read, though it is in what is hidden; but not where a link leads, which a command may have made.
        before: What is laid in every box, before all of these.
    """
    fixed, real = tuple(fixed), real or Real()
    unseen = {path for path in (disk or Disk()).find(hidden).there if not out_of_reach(path)}
    shown = [path for path in shown if unseen.isdisjoint((path, *_above(path)))]
    # What is asked to be both is not free, however little of the box is left then.
    asked = {path: Kind.FREE for path in (*free, *shown) if path not in fixed}
    missing: dict[str, None] = {}
    empty: list[str] = []
    loose: list[str] = []
    for path in fixed:
        entry = real.entry(path)
        if _kind_above(entry, asked) is not Kind.FREE:
            continue
        if os.path.islink(entry):
            loose.append(entry)
        first = _first_missing(entry)
        if first is None:
            asked.setdefault(real(entry), Kind.FIXED)
        else:
            missing[first] = None
            if isinstance(path, ConfigFile) and first == entry:
                empty.append(entry)
    asked |= dict.fromkeys(missing, Kind.FIXED)
    asked = {path: Kind.SHOWN for path in kept if os.path.lexists(path) and real(path) == path} | asked
    asked |= dict.fromkeys(unseen, Kind.HIDDEN)
    return Plan(tuple(_laid(asked, before)), tuple(missing), tuple(empty), tuple(loose))


def _laid(asked: dict[str, Kind], before: Mapping[str, Kind]) -> Iterable[Laid]:
    laid = {**before}
    for path in sorted(asked, key=lambda path: path.split("/")):
        kind, around = asked[path], _kind_above(path, laid)
        if kind is around or around not in _NEEDED_IN.get(kind, (around,)):
            continue
        if kind is not Kind.FREE and around is Kind.FREE:
            # A folder that holds a mount can be renamed, and the mount with it out of the way; a mount cannot.
            for folder in _between(path, laid):
                laid[folder] = Kind.FREE
                yield Kind.FREE, folder
        laid[path] = kind
        yield kind, path


def _above(path: str) -> Iterable[str]:
    """The folders that *path* is in, from the inmost out."""
    while path not in ("/", ""):
        path = path.rpartition("/")[0] or "/"
        yield path


def _kind_above(path: str, laid: dict[str, Kind]) -> Kind | None:
    return next((laid[folder] for folder in _above(path) if folder in laid), None)


def _between(path: str, laid: dict[str, Kind]) -> list[str]:
    """The folders between *path* and the mount that it is in, the outermost first."""
    found = []
    for folder in _above(path):
        if folder in laid:
            break
        found.append(folder)
    return found[::-1]


def _first_missing(entry: str) -> str | None:
    """The outermost part of *entry* that does not exist; None if all of it does."""
    if os.path.lexists(entry):
        return None
    for folder in _above(entry):
        if os.path.lexists(folder):
            break
        entry = folder
    return entry
