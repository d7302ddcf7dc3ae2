"""Repositories within a repository: entries of git's index that are commits (gitlinks), see gitformat-index(5)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from executor_permissions.judge.git._head import own_folder
from executor_permissions.judge.git._index import index_at
from executor_permissions.judge.paths._paths import under

if TYPE_CHECKING:
    from executor.confine import GitIndex
    from executor_permissions.judge.paths._links import Links

_GITLINK = 0o160000  # the mode of such an entry


def holds_repositories(top: str, links: Links) -> bool:
    """
    Whether the work tree *top* may hold another repository that git looks into, with settings of its own.

    Those that git itself has put there have their settings in the project's ``.git``, where no tool writes.
    """
    names = _gitlinks_of(top, links)
    return names is None or any(_has_settings(f"{top}/{name}", top, links) for name in names)


def _has_settings(tree: str, top: str, links: Links) -> bool:
    if not links.is_file(f"{tree}/.git"):
        return links.exists(f"{tree}/.git/HEAD")
    links.looked_beyond = True
    try:
        return not under(os.path.realpath(own_folder(tree)), os.path.realpath(own_folder(top)))
    except (OSError, ValueError):  # it cannot be told
        return True


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
        try:
            index = f"{own_folder(top)}/index"
        except (OSError, ValueError):
            return None
        stamp = links.stamp(index)
    return () if stamp is None else gitlinks_of(index_at(index, stamp))  # nothing is tracked yet


def gitlinks_of(index: GitIndex | None) -> tuple[str, ...] | None:
    """The names of the gitlinks in *index*; None if further names are in another file."""
    if index is None or b"link" in index.extensions:
        return None
    return tuple(os.fsdecode(path) for mode, path in index.entries if mode == _GITLINK)
