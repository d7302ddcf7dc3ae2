"""The environment of what runs in a box: no secrets, no way to the user's agents, a TMPDIR and caches of its own."""

from __future__ import annotations

import os
import stat
from functools import lru_cache
from typing import TYPE_CHECKING

from executor._mask import mask

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

# Where programs that act for the user listen.
_AGENTS = frozenset({"SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO", "DBUS_SESSION_BUS_ADDRESS", "DOCKER_HOST"})
_CACHES = {"XDG_CACHE_HOME": "", "npm_config_cache": "/npm", "PIP_CACHE_DIR": "/pip", "GOCACHE": "/go-build"}


def clean(environment: Mapping[str, str], kept: Collection[str], temporary: str, cache: str) -> dict[str, str]:
    """
    What of *environment* goes into the box.

    Args:
        environment: All of it.
        kept: Names that stay, whatever they are.
        temporary: The box's TMPDIR.
        cache: The folder for what programs cache.
    """
    cleaned = {name: value for name, value in environment.items() if name in kept or not withheld(name, value)}
    cleaned["TMPDIR"] = temporary
    for name, folder in _CACHES.items():
        cleaned[name] = cache + folder
    return cleaned


@lru_cache(maxsize=1024)
def withheld(name: str, value: str) -> bool:
    """Whether a variable is not for a box: its name or value is a secret, or it leads to an agent."""
    return name in _AGENTS or mask({name: value}) != {name: value}


def of_loader(environment: Mapping[str, str]) -> dict[str, str]:
    """
    What a Python needs to start that finds its own libraries by ``LD_LIBRARY_PATH`` (ld.so(8)).

    Only folders of root's, for others than root: what else is in there a command in a box may have made.
    """
    if os.geteuid() == 0:
        return {}
    named = environment.get("LD_LIBRARY_PATH", "").replace(";", ":").split(":")
    folders = [real for path in named if path.startswith("/") and only_roots(real := os.path.realpath(path))]
    return {"LD_LIBRARY_PATH": ":".join(folders)} if folders else {}


def only_roots(path: str) -> bool:
    """Whether nobody but root can put anything into a folder, whose path is without links, or another in its place."""
    try:
        found = os.stat(path)
    except OSError:
        return False
    if found.st_uid != 0 or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return False
    return path == "/" or only_roots(os.path.dirname(path))
