"""The repositories of git below a project that are not its own: what git runs in them is closed as well."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from executor.confine._disk import Kind, Stamp, listed
from executor.confine._mounted import mounts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from executor.confine._mounted import Mount

# The folders nearest to the project's are looked at; whether they changed is asked before each command, 2 µs each.
_MOST_FOLDERS = 1_000
_MOST = 50  # repositories: each is about five mounts
# Packages are put here file by file, and bytecode.
_PASSED = frozenset({"node_modules", "site-packages", "__pycache__", ".toolexec"})
_BARE = frozenset({"HEAD", "objects", "refs"})


class Repositories(NamedTuple):
    """
    Attributes:
        trees: The folders in which there is a ``.git``.
        bare: Those that are a repository themselves.
        beyond: Whether there may be more, further down.
    """

    trees: tuple[str, ...] = ()
    bare: tuple[str, ...] = ()
    beyond: bool = False


class _Folder(NamedTuple):
    """A folder when it was listed, and what is in it."""

    stamp: Stamp
    below: tuple[str, ...]
    tree: bool
    bare: bool


def below(project: str) -> Repositories:
    """The repositories below *project*, its own left out: those in the folders that are nearest to it."""
    kept, looked_at = _kept(project, mounts()), dict[str, _Folder]()
    trees: list[str] = []
    bare: list[str] = []
    waiting = [project]
    for folder in waiting:  # grows: the nearest come first
        if len(looked_at) == _MOST_FOLDERS or len(trees) + len(bare) == _MOST:
            break
        found = _look(folder, kept.get(folder))
        if found is None:
            continue
        looked_at[folder] = found
        if folder != project:
            if found.tree:
                trees.append(folder)
            if found.bare:
                bare.append(folder)
                continue  # its own folders hold no other
        waiting += [f"{folder}/{name}" for name in found.below]
    beyond = len(looked_at) < len(waiting) and (len(looked_at) == _MOST_FOLDERS or len(trees) + len(bare) == _MOST)
    kept.clear()
    kept.update(looked_at)
    return Repositories(tuple(trees), tuple(bare), beyond)


@lru_cache(maxsize=8)
def _kept(project: str, mounted: tuple[Mount, ...]) -> dict[str, _Folder]:  # noqa: ARG001 -- the key
    """What was seen of a project the last time."""
    return {}


def _look(folder: str, before: _Folder | None) -> _Folder | None:
    """None if it cannot be listed, or is gone."""
    if before is not None and before.stamp.holds():
        return before
    stamp, entries = listed(folder)
    if stamp is None or not entries:
        return None if stamp is None else _Folder(stamp, (), tree=False, bare=False)
    bare = entries.keys() >= _BARE
    names = () if bare else tuple(_folders(entries))
    return _Folder(stamp, names, ".git" in entries, bare)


def _folders(entries: Mapping[str, Kind]) -> Iterator[str]:
    for name, kind in entries.items():
        if kind is Kind.FOLDER and name != ".git" and name not in _PASSED:
            yield name
