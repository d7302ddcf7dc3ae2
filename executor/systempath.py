"""The folders of PATH to which no box can add a program: from them comes what toolexec runs by itself."""

from __future__ import annotations

import os
import stat
import sys
from functools import cache

from executor.interpreter import interpreter

__all__ = ["in_system", "only_roots", "open_in_browser", "outside", "system_path"]

# Where systems have their programs. What a command of root's makes anywhere else is root's as well.
_OF_SYSTEM = frozenset(
    ("/usr/bin", "/bin", "/usr/sbin", "/sbin", "/usr/local/bin", "/usr/local/sbin", "/run/current-system/sw/bin")
)
_OPEN = "import sys, webbrowser; webbrowser.open(sys.argv[1])"


def system_path() -> str:
    """PATH, without the folders in which a command in a box may have put a program: those of a project, mostly."""
    return os.pathsep.join(filter(in_system, os.environ.get("PATH", os.defpath).split(os.pathsep)))


@cache
def in_system(folder: str) -> bool:
    """Whether a folder of PATH has only what the system's owner has put there."""
    if folder.rstrip("/") in _OF_SYSTEM:
        return True
    if sys.platform == "win32" or os.geteuid() == 0:
        return False
    return os.path.isabs(folder) and only_roots(os.path.realpath(folder))


def only_roots(path: str) -> bool:
    """Whether nobody but root can put anything into a folder, whose path is without links, or another in its place."""
    try:
        found = os.stat(path)
    except OSError:
        return False
    if found.st_uid != 0 or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return False
    return path == "/" or only_roots(os.path.dirname(path))


def outside(paths: str, project: str) -> str:
    """Those of the folders, or files, in *paths* that are outside of *project* wherever one stands."""
    real = ((path, os.path.realpath(path) + "/") for path in paths.split(os.pathsep) if os.path.isabs(path))
    return os.pathsep.join(path for path, leads_to in real if not leads_to.startswith(project.rstrip("/") + "/"))


def open_in_browser(url: str) -> None:
    """
    Have the user's browser open *url*, if there is one; waits where that one is in the terminal.

    Browsers and their helpers (``xdg-open``) are found by PATH, which may name a folder of the project: a process of
    its own looks for them, in those of the system. What ``BROWSER`` names by its path is taken as it is.

    Raises:
        OSError: The process cannot be started.
    """
    if sys.platform == "win32":  # where the system itself opens it, and there are no boxes
        import webbrowser

        webbrowser.open(url)
    elif (python := interpreter()) is not None:
        import subprocess

        env = {**os.environ, "PATH": system_path() or os.defpath}  # an empty one means the working folder
        subprocess.run([python, "-I", "-S", "-c", _OPEN, url], env=env, check=False)
