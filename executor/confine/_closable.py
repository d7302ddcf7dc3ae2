"""What can be closed of what is to be: a mount needs something to be laid on, and there can only be so many."""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from executor.confine._real import Real

_MOST = 500  # mounts: each takes longer than the one before, these half a second
# What bubblewrap looks at for them: for each mount every folder on the way to it, and to each of these by all above.
_MOST_LOOKS = 2_000_000  # as many take as long: a row of 180 folders in one another, or 500 mounts 60 folders down
_LONGEST = 2_000  # bytes of a path; it is longer where it is mounted


def closable(paths: Iterable[str], project: str, real: Real) -> tuple[str, ...]:
    """
    *paths*, or what they are in where they themselves cannot be closed.

    Args:
        project: In which alone something is open. If there is too much to be closed, its folders are as a whole, the
            inmost first.
        real: Of the folders, in which there may be thousands.
    """
    found = dict.fromkeys(place for path in paths if (place := _place(_named(path), real)) is not None)
    return _few(found, project.rstrip("/"), real)


def _named(path: str) -> str:
    """*path* by a name in a folder: ``x/.`` has none."""
    return path if "\0" in path or path.rpartition("/")[2] not in ("", ".", "..") else os.path.realpath(path)


def _place(path: str, real: Real) -> str | None:
    """
    Where *path* can be closed: there, or as a whole what keeps it from being seen or made.

    Returns:
        None if neither git nor a box can come to it.
    """
    if "\0" in path:
        return None
    try:
        os.lstat(path)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            return None
        return _place_of_missing(path, real)
    return path


def _place_of_missing(path: str, real: Real) -> str | None:
    entry = real.entry(path)
    while not os.path.lexists(entry):
        folder = os.path.dirname(entry)
        try:
            found = os.stat(folder)
        except OSError:  # it is not there either, or in one that cannot be passed
            if folder == entry:
                return None
            entry = folder
            continue
        if not stat.S_ISDIR(found.st_mode):
            return folder
        if os.access(folder, os.W_OK | os.X_OK):
            return path
        return folder if found.st_uid == os.geteuid() else None  # of others: no box can make it there
    return entry


def _few(paths: Iterable[str], project: str, real: Real) -> tuple[str, ...]:
    """As many mounts as there may be, those for the folders on the way to what is closed included."""
    ways = {path: [*_ways(_real(path, real), project)] for path in paths}
    levels: list[set[str]] = []
    for way in ways.values():
        for level, place in enumerate(way):
            if level == len(levels):
                levels.append(set())
            levels[level].add(place)
    depth = mounts = looks = 0
    for down, places in enumerate(levels, project.count("/")):
        mounts += len(places)
        looks += len(places) * down**2
        if mounts > _MOST or looks > _MOST_LOOKS:
            break
        depth += 1
    return tuple(dict.fromkeys(_cut(path, ways[path], depth, project) for path in ways))


def _cut(path: str, ways: list[str], depth: int, project: str) -> str:
    if len(ways) > depth:
        return ways[depth - 1] if depth else project or "/"
    return ways[-1] if ways and len(os.fsencode(path)) > _LONGEST else path


def _ways(path: str, project: str) -> Iterator[str]:
    """The folders on the way from *project* to *path*, the outermost first, and itself; nothing if it is elsewhere."""
    end = len(project) if path.startswith(project + "/") else -1
    while end >= 0:
        end = path.find("/", end + 1)
        yield path if end < 0 else path[:end]


def _real(path: str, real: Real) -> str:
    """*path* without links on the way to it, or the folder above it whose name is not too long."""
    path = real.entry(path)
    while len(os.fsencode(path)) > _LONGEST:
        path = os.path.dirname(path)
    return path
