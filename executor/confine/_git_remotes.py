"""Where git finds the repositories that it is told of as remotes, as far as they are on this machine."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING
from urllib.parse import unquote

from executor.confine._closed import OWN_CONFIG, around, common_of, repository_of
from executor.confine._git_files import Effort, UnclearError, named_by, named_by_user
from executor.confine._places import Places

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_BY_ADDRESS = "file://"


def remote_paths(words: Iterable[str], project: str) -> tuple[str, ...]:
    """
    The paths that *words* of a command may be to git in *project*, and those that its configuration names as remotes.

    Relative ones begin where git runs; what is no path is among them.

    Raises:
        OSError: It cannot be told.
    """
    effort = Effort.of_project()
    try:
        own = named_by(_configurations(project), project, effort)
        user = named_by_user(project, Places.now(), effort)
    except UnclearError as error:
        raise OSError(errno.EIO, str(error)) from error
    told = {*words, *own.remotes, *user.remotes}
    for begins, stands in (*own.instead, *user.instead):
        told |= {stands + word[len(begins) :] for word in told if word.startswith(begins)}
    return tuple(map(_path, told))


def _configurations(project: str) -> Iterator[str]:
    for tree in (project, *around(project)):
        repository = repository_of(os.path.join(tree, ".git"))
        if repository is not None:
            yield os.path.join(common_of(repository), "config")
            yield os.path.join(repository, OWN_CONFIG)


def _path(word: str) -> str:
    if word[: len(_BY_ADDRESS)].lower() == _BY_ADDRESS:
        return "/" + unquote(word[len(_BY_ADDRESS) :].partition("/")[2])
    return os.path.expanduser(word)
