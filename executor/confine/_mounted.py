"""Where else a place can be reached: bind mounts, and file systems that are mounted more than once."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_TABLE = "/proc/self/mountinfo"  # proc_pid_mountinfo(5)
_ESCAPED = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True, slots=True)
class Mount:
    """A folder, or file, of a file system (`device`, `root`: its path there), and where it is seen (`point`)."""

    device: str
    root: str
    point: str


def mounts(table: str = _TABLE) -> tuple[Mount, ...]:
    """Every mount there is; none where the system does not tell."""
    try:
        with open(table, "rb", buffering=0) as told:
            return _parsed(told.read())
    except OSError:
        return ()


@lru_cache(maxsize=1)  # it hardly ever changes, and is looked at before every command
def _parsed(table: bytes) -> tuple[Mount, ...]:
    # Every other character that ends lines elsewhere is a part of a path.
    return tuple(_mount(line) for line in table.decode("utf-8", "surrogateescape").split("\n") if line)


def _mount(line: str) -> Mount:
    _, _, device, root, point, *_ = line.split(" ")
    return Mount(device, _plain(root), _plain(point))


def _plain(path: str) -> str:
    return _ESCAPED.sub(lambda found: chr(int(found[1], 8)), path)


def other_names(paths: Iterable[str], mounted: tuple[Mount, ...]) -> Iterator[str]:
    """
    The further paths under which the same files are to be found as under *paths*.

    Args:
        paths: Absolute and without links; they need not be there.
        mounted: All mounts; of several at one point the last is the one that is seen.
    """
    seen = {mount.point: mount for mount in mounted}
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
            if _is_in(place, mount.root):
                yield _moved(place, mount.root, mount.point)
            elif _is_in(mount.root, place):
                yield mount.point


def _mount_of(path: str, seen: dict[str, Mount]) -> Mount | None:
    while path not in seen and path not in ("/", ""):
        path = path.rpartition("/")[0] or "/"
    return seen.get(path)


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _moved(path: str, folder: str, other: str) -> str:
    """*path*, which is in *folder*, as it is called in *other*."""
    rest = path[len(folder.rstrip("/")) :]
    return (other.rstrip("/") + rest) or "/"
