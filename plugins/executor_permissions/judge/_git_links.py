"""Repositories within a repository: entries of git's index that are commits (gitlinks), see gitformat-index(5)."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import TYPE_CHECKING

from executor.paths import regular_only
from executor_permissions.judge._paths import under

if TYPE_CHECKING:
    from executor_permissions.judge._links import Links, Stamp

# ruff: noqa: PTH118, PTH120 -- text, as in _paths

_LARGEST = 32 << 20  # bytes of an index that is read
_MODE, _FLAGS = 24, 60  # where they are in an entry with SHA-1
_GITLINK = 0o160000
_EXTENDED = 0x40  # of the flags' first byte
_PACKED = 4  # the version in which names are told by what they share with the one before


def holds_repositories(top: str, links: Links) -> bool:
    """
    Whether the work tree *top* may hold another repository that git looks into, with settings of its own.

    Those that git itself has put there have their settings in the project's ``.git``, where no tool writes.
    """
    names = _gitlinks_of(top, links)
    return names is None or any(_has_settings(f"{top}/{name}/.git", top, links) for name in names)


def _has_settings(git: str, top: str, links: Links) -> bool:
    if not links.is_file(git):
        return links.exists(f"{git}/HEAD")
    links.looked_beyond = True
    found = _named_in(git)
    own = _named_in(f"{top}/.git") or f"{top}/.git"
    return found is None or not under(os.path.realpath(found), os.path.realpath(own))


def repositories_in(top: str, links: Links) -> tuple[str, ...] | None:
    """The work trees of the other repositories that are there in the work tree *top*; None if that cannot be told."""
    names = _gitlinks_of(top, links)
    return None if names is None else tuple(f"{top}/{name}" for name in names if links.exists(f"{top}/{name}/.git"))


def _gitlinks_of(top: str, links: Links) -> tuple[str, ...] | None:
    """The names of the gitlinks in the index of *top*; None if that cannot be told."""
    index = f"{top}/.git/index"
    stamp = links.stamp(index)
    if stamp is None and links.is_file(f"{top}/.git"):  # a linked work tree: its index is elsewhere
        links.looked_beyond = True
        found = _elsewhere(top)
        if found is None:
            return None
        index, stamp = found, links.stamp(found)
    return () if stamp is None else _gitlinks(index, stamp)  # nothing is tracked yet


def _elsewhere(top: str) -> str | None:
    folder = _named_in(f"{top}/.git")
    return None if folder is None else f"{folder}/index"


def _named_in(git: str) -> str | None:
    """The folder of the repository that the file *git* names; None where that cannot be told, or it is no file."""
    try:
        with open(git, encoding="utf-8", opener=regular_only) as file:
            folder = file.read(4096).removeprefix("gitdir:").strip()
    except (OSError, ValueError):
        return None
    return os.path.join(os.path.dirname(git), folder)


@lru_cache(maxsize=8)
def _gitlinks(path: str, stamp: Stamp) -> tuple[str, ...] | None:
    """The names of the gitlinks in the index that is *path* at that time; None if that cannot be told."""
    if stamp[1] > _LARGEST:
        return None
    try:
        with open(path, "rb", opener=regular_only) as file:
            return gitlinks_in(file.read(_LARGEST))
    except (OSError, IndexError):
        return None


def gitlinks_in(data: bytes) -> tuple[str, ...] | None:
    """The same of its content: versions 2 to 4, with SHA-1, and all entries in this file."""
    version = int.from_bytes(data[4:8], "big")
    if data[:4] != b"DIRC" or version not in (2, 3, _PACKED):
        return None
    names, at, name, packed = [], 12, b"", version == _PACKED
    for _ in range(int.from_bytes(data[8:12], "big")):
        start = at + _FLAGS + (4 if data[at + _FLAGS] & _EXTENDED else 2)
        if packed:  # the end of the name before is cut off, and this one's added
            cut, start = _number(data, start)
            name = name[: len(name) - cut]
        end = data.index(b"\0", start) if b"\0" in data[start : start + 8192] else -1
        if end < 0:
            return None
        name = name + data[start:end] if packed else data[start:end]
        if int.from_bytes(data[at + _MODE : at + _MODE + 4], "big") == _GITLINK:
            names.append(name.decode("utf-8", "surrogateescape"))
        at = end + 1 if packed else at + (end - at + 8) // 8 * 8
    return None if data[at : at + 4] == b"link" else tuple(names)  # a split index: further names are in another file


def _number(data: bytes, at: int) -> tuple[int, int]:
    """A number as git packs it, and where it ends."""
    value = data[at] & 0x7F
    while data[at] & 0x80:
        at += 1
        value = (value + 1) << 7 | (data[at] & 0x7F)
    return value, at + 1
