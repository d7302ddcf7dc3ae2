"""
A repository that was there before a box is one afterwards: git takes the folder around it for one where it is none.

A mount cannot see to that. git replaces HEAD by another file at each change of branch, so a command may take it away;
with a HEAD, an ``objects`` and a ``refs`` beside ``.git`` the working tree would be a repository, with a configuration
of the command's own, and whoever's prompt runs `git status` there would run what that says.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
from typing import TYPE_CHECKING

from executor._log import warn
from executor._regular import regular_only
from executor.confine._files import give_back
from executor.confine._strays import watch

if TYPE_CHECKING:
    import contextlib
    from collections.abc import Iterable

_FOLDERS = ("objects", "refs")  # that git wants to pass
_NAMES_ONE = re.compile(rb"ref:\s*refs/|[0-9a-f]{40}")  # a HEAD, as git looks at it
_LONGEST = 4096


def kept(trees: Iterable[str], bare: Iterable[str], until_over: contextlib.ExitStack) -> None:
    """
    Once *until_over* is closed, the repositories of the working *trees* are what they are now, and neither these nor
    *bare* ones lead git elsewhere, see `_strays`.

    Raises:
        OSError: They cannot be looked at now, and may be soon.
    """
    repositories = [os.path.join(tree, ".git") for tree in trees]
    for git in repositories:
        head = _head(git) if _is_one(git) else None
        if head is not None:
            until_over.callback(_restore, git, _identity(git), head)
    for git in (*repositories, *bare):
        if _identity(git) is not None:
            watch(git, until_over)  # put right before the one around it is: a link may be in the place of its HEAD


def _restore(git: str, identity: tuple[int, int] | None, head: bytes) -> None:
    if identity is None or _identity(git) != identity or _is_one(git):
        return
    try:
        give_back(git)
        if _head(git) is None:
            with open(_free(os.path.join(git, "HEAD")), "xb") as made:
                made.write(head)
        for folder in (os.path.join(git, name) for name in _FOLDERS):
            if _identity(folder) is not None:
                give_back(folder)
            elif not (os.path.isdir(folder) and os.access(folder, os.X_OK)):
                os.mkdir(_free(folder))
    except OSError as error:
        warn(
            f"A command has left {git} as no repository, and it cannot be made one again ({error}): see to it before "
            "git is used there"
        )


def _free(path: str) -> str:
    """*path*, at which nothing is any more: what was is beside it."""
    if os.path.lexists(path):
        os.rename(path, f"{path}.{secrets.token_hex(4)}")
    return path


def _is_one(git: str) -> bool:
    return _head(git) is not None and all(os.access(os.path.join(git, name), os.X_OK) for name in _FOLDERS)


def _head(git: str) -> bytes | None:
    """What its HEAD says, if that is one."""
    path = os.path.join(git, "HEAD")
    try:
        if os.path.islink(path):  # as git made it long ago
            told = b"ref: " + os.fsencode(os.readlink(path))
        else:
            with open(path, "rb", opener=regular_only) as file:
                told = file.read(_LONGEST)
    except OSError:
        return None
    return told if _NAMES_ONE.match(told) else None


def _identity(git: str) -> tuple[int, int] | None:
    """Which folder it is; None for what is none, or a link to one."""
    try:
        found = os.lstat(git)
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISDIR(found.st_mode) else None
