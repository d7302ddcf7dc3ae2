"""Where git keeps its own of a project whose ``.git`` is no folder: gitrepository-layout(5)."""

from __future__ import annotations

import os

from executor_permissions.judge.git._head import folders_of
from executor_permissions.judge.paths._paths import under

# ruff: noqa: PTH112, PTH114 -- text, as in _paths


def folders_elsewhere(project: str) -> tuple[str, ...]:
    """
    The folders in *project*, resolved, that its ``.git`` leads to by a link or names as a file does; none for a folder.

    So have those whose work trees lie beside a bare repository (``.bare``), and ``git init --separate-git-dir``.
    """
    own = f"{project}/.git"
    if os.path.isdir(own) and not os.path.islink(own):
        return ()
    try:
        found = {os.path.realpath(folder) for folder in folders_of(project)}
    except (OSError, ValueError):  # no repository, or one that git finds no more than this
        return ()
    return tuple(sorted(folder for folder in found if under(folder, project) and folder != own))
