"""Where else a place can be reached: bind mounts, and file systems that are mounted more than once."""

from __future__ import annotations

import os
import re
import select
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from executor.confine._values import PASSING

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator

_TABLE = "/proc/thread-self/mountinfo"  # proc_pid_mountinfo(5)
_ESCAPED = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True, slots=True)
class Mount:
    """
    A folder, or file, of a file system (`device`, `root`: its path there), and where it is seen (`point`).

    Attributes:
        kind: That of the file system.
        writable: Whether it may be written here.
    """

    device: str
    root: str
    point: str
    kind: str = ""
    writable: bool = True


def mounts(table: str = _TABLE) -> tuple[Mount, ...]:
    """
    Every mount there is; none where the system does not tell.

    Raises:
        OSError: It cannot tell now, and may soon.
    """
    try:
        with open(table, "rb", buffering=0) as told:
            return _kept(told.read())
    except OSError as error:
        if error.errno in PASSING:
            raise
        return ()


class Watch:
    """
    Tells whether anything was mounted, or unmounted, where this thread is: a tenth of the price of reading the table.

    Raises:
        OSError: The system does not tell.
    """

    def __init__(self) -> None:
        self._table = os.open(_TABLE, os.O_RDONLY | os.O_CLOEXEC)
        self._poll = select.poll()
        self._poll.register(self._table, select.POLLPRI)  # see proc_pid_mounts(5)

    def changed(self) -> bool:
        """Whether it has since this was made, or was asked last."""
        return bool(self._poll.poll(0))

    def close(self) -> None:
        """Watch no more."""
        os.close(self._table)


def parse(table: bytes, points: Container[str] | None = None) -> tuple[Mount, ...]:
    """The mounts in a table, as proc_pid_mountinfo(5) describes it; only those at *points*, if these are given."""
    # Every other character that ends lines elsewhere is a part of a path.
    lines = table.decode("utf-8", "surrogateescape").split("\n")
    return tuple(_mount(line) for line in lines if line and (points is None or _plain(line.split(" ", 5)[4]) in points))


_kept = lru_cache(maxsize=1)(parse)  # this process's own hardly ever changes, and is looked at before every command


def _mount(line: str) -> Mount:
    _, _, device, root, point, options, *more = line.split(" ")
    return Mount(device, _plain(root), _plain(point), more[more.index("-") + 1], options.startswith("rw"))


def _plain(path: str) -> str:
    if "\\" not in path:
        return path
    return _ESCAPED.sub(lambda found: chr(int(found[1], 8)), path)


def other_names(paths: Iterable[str], mounted: tuple[Mount, ...]) -> Iterator[str]:
    """
    The further paths under which the same files are to be found as under *paths*.

    Args:
        paths: Absolute and without links; they need not be there.
        mounted: All mounts; of several at one point the last is the one that is seen.
    """
    seen = at_points(mounted)
    by_device: dict[str, list[Mount]] = {}
    for mount in seen.values():
        by_device.setdefault(mount.device, []).append(mount)
    shared = {device: held for device, held in by_device.items() if len(held) > 1}
    if not shared:
        return
    for path in paths:
        home = _mount_of(path, seen)
        if home is None or home.device not in shared:
            continue
        place = _moved(path, home.point, home.root)
        for mount in shared[home.device]:
            if mount is home:
                continue
            if is_in(place, mount.root):
                yield _moved(place, mount.root, mount.point)
            elif is_in(mount.root, place):
                yield mount.point


def at_points(mounted: Iterable[Mount]) -> dict[str, Mount]:
    """What is seen at each point: of several the last."""
    return {mount.point: mount for mount in mounted}


def home_of(path: str, seen: dict[str, Mount]) -> tuple[str, str] | None:
    """The device that *path*, which is absolute and without links, is on, and its path there."""
    home = _mount_of(path, seen)
    return None if home is None else (home.device, _moved(path, home.point, home.root))


def _mount_of(path: str, seen: dict[str, Mount]) -> Mount | None:
    while path not in seen and path not in ("/", ""):
        path = path.rpartition("/")[0] or "/"
    return seen.get(path)


def is_in(path: str, folder: str) -> bool:
    """Whether *path* is *folder*, or below it; both are absolute."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _moved(path: str, folder: str, other: str) -> str:
    """*path*, which is in *folder*, as it is called in *other*."""
    rest = path[len(folder.rstrip("/")) :]
    return (other.rstrip("/") + rest) or "/"
