"""Which file a program's name is, and whether a box may have put it there."""

from __future__ import annotations

import os

from executor.confine._mounted import is_in


def found(name: str) -> str | None:
    """The file that the shell finds for *name*; None if there is none, or if that depends on the working folder."""
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        if not os.path.isabs(folder):
            return None
        path = os.path.join(folder, name)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return None


def is_elsewhere(name: str, project: str) -> bool:
    """Whether the shell finds *name* in a folder outside of the project, and no shim."""
    path = found(name)
    if path is None:
        return False
    real = os.path.realpath(path)
    places = (real, os.path.realpath(os.path.dirname(path)))
    return not (_is_shim(name, real) or any(is_in(place, project) for place in places))


def _is_shim(name: str, real: str) -> bool:
    """
    Whether the file that *name* leads to stands for another one, which a file of the project may name.

    Those of asdf, mise and pyenv are in a folder of that name; others are links to one program for all names.
    """
    *_, folder, file = real.split("/")
    return name not in file or folder == "shims"
