"""
What a command has left in a repository that leads git elsewhere is taken out again.

git follows links in its own folder, and makes none there: the user's next commit would write to what they lead to, and
`git gc`, which git starts by itself, would empty it. What its index names it writes and reads wherever that is, and of
what `MERGE_RR` names it keeps a copy, which the next command could read. A mount cannot see to that: git replaces these
files.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import stat
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from executor._log import warn
from executor._regular import read_regular
from executor.confine._disk import Kind, Stamp, listed
from executor.confine._files import folder_of, give_back
from executor.confine._git_config import settings
from executor.confine._git_files import UnclearError, read
from executor.confine._git_index import way_out_of_index, way_out_of_resolutions
from executor.confine._values import PASSING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from executor.confine._disk import Listing

_MOST_FOLDERS = 20_000
_MOST_TOLD = 3
_RESOLUTIONS = "MERGE_RR"
_LISTS_PATHS = re.compile(rf"index|sharedindex\..*|{_RESOLUTIONS}")
_OF_OBJECTS = re.compile("[0-9a-f]{2}")  # folders of ``objects`` that hold nothing else: git makes no file there anew
# Of a repository that has no folder of its own (``.git``) these; beside them there may be working trees.
_OWN = frozenset({"info", "logs", "modules", "objects", "refs", "reftable", "rr-cache", "worktrees"})
_BRANCHES = frozenset({"refs", "logs"})  # in which names are somebody's own
_LARGEST = 1 << 28  # bytes of an index: of some two million files
_SHA1, _SHA256 = 20, 32  # bytes
_OF_GIT = re.compile(r"refs/(?!.*\.\.)", re.DOTALL)  # a branch, as a link: as HEAD was long ago


class _Seen(NamedTuple):
    """
    Attributes:
        links: Where each link in a repository's folder leads.
        lists: Each file there that lists paths, and what tells it from another one.
        whole: Whether all of the folder was looked through.
    """

    links: dict[str, str]
    lists: dict[str, tuple[int, ...]]
    whole: bool


class _Folder(NamedTuple):
    """A folder when it was listed, and the paths in it that matter: of folders, links, and files that list others."""

    stamp: Stamp | None
    below: tuple[str, ...]
    links: tuple[str, ...]
    lists: tuple[str, ...]


def watch(git: str, until_over: contextlib.ExitStack) -> None:
    """
    Once *until_over* is closed, nothing in *git*, the folder of a repository, leads elsewhere that does not do so now.

    Raises:
        OSError: It cannot be looked at now, and may be soon.
    """
    until_over.callback(_put_right, git, _seen(git, listed))


def _seen(git: str, look: Callable[[str], Listing]) -> _Seen:
    links, lists = dict[str, str](), dict[str, tuple[int, ...]]()
    before, now = _kept(git), dict[str, _Folder]()
    waiting = [git]
    for folder in waiting:  # grows
        if len(now) == _MOST_FOLDERS:
            break
        known = before.get(folder)
        if known is None or known.stamp is None or not known.stamp.holds():
            known = _folder(folder, git, look(folder))
        now[folder] = known
        waiting += known.below
        for path in known.links:
            with contextlib.suppress(OSError):  # gone meanwhile
                links[path] = os.readlink(path)
        for path in known.lists:
            with contextlib.suppress(OSError):
                lists[path] = _identity(path)
    before.clear()
    before.update(now)
    return _Seen(links, lists, len(now) == len(waiting))


@lru_cache(maxsize=64)
def _kept(git: str) -> dict[str, _Folder]:  # noqa: ARG001 -- the key
    """How its folders were the last time."""
    return {}


def _folder(folder: str, git: str, found: Listing) -> _Folder:
    named: dict[Kind, list[str]] = {kind: [] for kind in Kind}
    for name, kind in found.entries.items():
        named[kind].append(name)
    files, below = filter(_LISTS_PATHS.fullmatch, named[Kind.FILE]), named[Kind.FOLDER]
    if not _BRANCHES.isdisjoint(folder[len(git) :].split("/")):
        files = filter(None, ())
    elif folder == git and os.path.basename(git) != ".git":
        below = [name for name in below if name in _OWN]
    elif os.path.basename(folder) == "objects":
        below = [name for name in below if not _OF_OBJECTS.fullmatch(name)]
    paths = (tuple(f"{folder}/{name}" for name in names) for names in (below, named[Kind.LINK], files))
    return _Folder(found.stamp, *paths)


def _identity(path: str) -> tuple[int, ...]:
    found = os.lstat(path)
    return found.st_ino, found.st_size, found.st_ctime_ns


def _put_right(git: str, before: _Seen) -> None:
    try:
        now = _seen(git, _looked_at_nevertheless)
        out = [*_links_out(before, now), *_lists_out(git, before, now)]
    except OSError as error:
        warn(f"What a command has left in {git} cannot be looked at ({error}): do so before git is used there")
        return
    if out:
        more = f" and {len(out) - _MOST_TOLD} more" if len(out) > _MOST_TOLD else ""
        warn(f"A command has left in {git} what leads git elsewhere: {', '.join(out[:_MOST_TOLD])}{more}")
    if before.whole and not now.whole:
        warn(f"A command has left too many folders in {git} to look through: do so before git is used there")


def _looked_at_nevertheless(folder: str) -> Listing:
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):  # a command may have taken away the rights to it
        with contextlib.suppress(OSError):
            give_back(folder)
    return listed(folder)


def _links_out(before: _Seen, now: _Seen) -> Iterator[str]:
    """Remove links that were not there, or led elsewhere, and tell which."""
    for path, target in now.links.items():
        led = before.links.get(path)
        if led == target or _OF_GIT.match(target):
            continue
        try:
            with folder_of(path) as (folder, name):
                if stat.S_ISLNK(os.lstat(name, dir_fd=folder).st_mode):
                    os.unlink(name, dir_fd=folder)
                if led is not None:
                    os.symlink(led, name, dir_fd=folder)
            became = "removed"
        except OSError as error:
            became = f"left there ({error.strerror})"
        yield f"{path!r}, a link to {target!r}, which was {became}"


def _lists_out(git: str, before: _Seen, now: _Seen) -> Iterator[str]:
    """
    Put files aside that name others elsewhere, and tell which.

    Raises:
        OSError: They cannot be told now.
    """
    for path, identity in now.lists.items():
        if before.lists.get(path) == identity or (named := _way_out(path, git)) is None:
            continue
        aside = f"{os.path.basename(path)}.{secrets.token_hex(4)}"
        try:
            with folder_of(path) as (folder, name):
                os.rename(name, aside, src_dir_fd=folder, dst_dir_fd=folder)
            became = f"is {aside!r} now" + ("" if path.endswith(_RESOLUTIONS) else " (`git reset` makes a new one)")
        except OSError as error:
            became = f"was left there ({error.strerror})"
        yield f"{path!r}, which names {named} and {became}"


def _way_out(path: str, git: str) -> str | None:
    """What *path* names elsewhere, in words. Raises OSError: it cannot be told now."""
    try:
        told = read_regular(path, _LARGEST)
    except FileNotFoundError:  # gone meanwhile
        return None
    except OSError as error:
        if error.errno in PASSING:
            raise
        return f"nobody knows what ({error.strerror})"
    if os.path.basename(path) == _RESOLUTIONS:
        found = way_out_of_resolutions(told)
    else:
        found = way_out_of_index(told, _hash_of(path, git))
    return None if found is None else repr(found)


def _hash_of(path: str, git: str) -> int:
    """How many bytes a hash has, as the configuration says, which no box writes."""
    repository = git + os.path.dirname(path[len(git) :]).partition("/worktrees/")[0]
    try:
        told = {(each.section, each.name): each.value for each in settings(read(f"{repository}/config"))}
    except UnclearError:
        return _SHA1
    return _SHA256 if told.get(("extensions", "objectformat")) == "sha256" else _SHA1
