"""The repositories of git below a project that are not its own: what git runs in them is closed as well."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from executor.confine._disk import Kind, Stamp, listing
from executor.confine._git_files import LongError, UnclearError, read, says_it_is_one
from executor.confine._mounted import mounts
from executor.confine._values import PASSING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from executor.confine._mounted import Mount

# The folders nearest to the project's are looked at; whether they changed is asked before each command, 2 µs each.
_MOST_FOLDERS = 20_000
# Packages are put here file by file, and bytecode.
_PASSED = frozenset({"node_modules", "site-packages", "__pycache__", ".toolexec"})
_LONGEST_CONFIG = 1 << 15  # bytes of a file that may be a repository's: there may be one in each folder
_BARE = frozenset({"HEAD", "objects", "refs"})
_MODULE = frozenset({"HEAD", "config"})


class Repositories(NamedTuple):
    """
    Attributes:
        trees: The folders in which there is a ``.git``.
        bare: Those that are a repository themselves; the folder itself may be one.
        unseen: Folders in which there may be more: they cannot be listed, or there are too many.
    """

    trees: tuple[str, ...] = ()
    bare: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()


class _Folder(NamedTuple):
    """A folder when it was listed, and what is in it."""

    stamp: Stamp
    below: tuple[str, ...]
    tree: bool
    bare: bool


def below(project: str, mounted: tuple[Mount, ...] | None = None) -> Repositories:
    """
    The repositories below *project*, its own ``.git`` left out.

    Args:
        mounted: What is mounted, for somebody who has looked.

    Raises:
        OSError: It cannot be told now, and may be soon.
    """
    return _found(project, mounts() if mounted is None else mounted, modules=False)


def repositories_below(project: str) -> tuple[str, ...]:
    """
    The folders below *project* that have a ``.git`` of their own, and those that cannot be looked into.

    Those among packages too, which git looks into once they were added.

    Raises:
        OSError: As `below`.
    """
    found = _found(project, mounts(), modules=True)  # which passes nothing over
    return (*found.trees, *found.unseen)


def modules_in(folder: str) -> Repositories:
    """
    The repositories of submodules in *folder*, those of their own included: git looks into them by itself.

    Raises:
        OSError: As `below`.
    """
    return _found(folder, mounts(), modules=True)


def _found(top: str, mounted: tuple[Mount, ...], *, modules: bool) -> Repositories:
    kept, looked_at = _kept(top, modules, mounted), dict[str, _Folder]()
    trees: list[str] = []
    bare: list[str] = []
    unseen: list[str] = []
    waiting = [top]
    for number, folder in enumerate(waiting):  # grows: the nearest come first
        if number == _MOST_FOLDERS:
            unseen += waiting[number:]
            break
        try:
            found = _look(folder, kept.get(folder), modules=modules)
        except OSError as error:
            if error.errno in PASSING:
                raise
            unseen.append(folder)
            continue
        if found is None:
            continue
        looked_at[folder] = found
        if found.tree and folder != top:
            trees.append(folder)
        if found.bare:
            bare.append(folder)
        # Also below what is one by its looks: a command may have made that of a folder that holds another.
        waiting += [f"{folder}/{name}" for name in found.below]
    kept.clear()
    kept.update(looked_at)
    return Repositories(tuple(trees), tuple(bare), unseen=tuple(unseen))


@lru_cache(maxsize=16)
def _kept(top: str, modules: bool, mounted: tuple[Mount, ...]) -> dict[str, _Folder]:  # noqa: ARG001, FBT001 -- the key
    """What was seen of a project the last time."""
    return {}


def _look(folder: str, before: _Folder | None, *, modules: bool) -> _Folder | None:
    """None if it is gone. Raises OSError: it cannot be listed."""
    if before is not None and before.stamp.holds():
        return before
    stamp, entries, _ = listing(folder)
    if stamp is None:
        return None
    bare = _is_one(folder, entries, modules=modules)
    names = tuple(_folders(entries, frozenset() if modules else _PASSED))
    return _Folder(stamp, names, ".git" in entries, bare)


def _is_one(folder: str, entries: Mapping[str, Kind], *, modules: bool) -> bool:
    """
    Whether *folder* is a repository itself.

    Its parts may be moved away for a while, by a command in a box; its configuration, which is closed, may not.
    """
    if entries.keys() >= _BARE or (modules and entries.keys() >= _MODULE):
        return True
    if entries.get("config") not in (Kind.FILE, Kind.LINK):
        return False
    try:
        return says_it_is_one(read(f"{folder}/config", _LONGEST_CONFIG))
    except LongError:
        return True  # it may be
    except UnclearError:
        return modules


def _folders(entries: Mapping[str, Kind], passed: frozenset[str]) -> Iterator[str]:
    for name, kind in entries.items():
        if kind is Kind.FOLDER and name != ".git" and name not in passed:
            yield name
