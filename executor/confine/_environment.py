"""The environment of what runs in a box: no secrets, no way to the user's agents, a TMPDIR and caches of its own."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import TYPE_CHECKING

from executor._mask import mask
from executor.systempath import only_roots, outside

if TYPE_CHECKING:
    from collections.abc import Mapping

    from executor.values._profile import Profile

# Where programs that act for the user listen.
_AGENTS = frozenset({"SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO", "DBUS_SESSION_BUS_ADDRESS", "DOCKER_HOST"})
_CACHES = {"XDG_CACHE_HOME": "", "npm_config_cache": "/npm", "PIP_CACHE_DIR": "/pip", "GOCACHE": "/go-build"}

_LISTS = ("PATH", "LIB", "PRELOAD")  # ends of names: in what these list programs, and what they load, are looked for
_LOADED = (
    frozenset(  # what shells and programs run, or load, before anything else; where new repositories have hooks from
        (
            "BASH_ENV",
            "GIT_TEMPLATE_DIR",
            "OPENSSL_CONF",
            "OPENSSL_ENGINES",
            "OPENSSL_MODULES",
            "PYTHONHOME",
            "PYTHONUSERBASE",
        )
    )
)
_OPTIONS = frozenset(("JAVA_TOOL_OPTIONS", "NODE_OPTIONS", "PERL5OPT", "RUBYOPT"))
_ALONE = {"submodule.recurse": "false", "fetch.recurseSubmodules": "false", "push.recurseSubmodules": "no"}


def clean(environment: Mapping[str, str], profile: Profile, temporary: str, cache: str) -> dict[str, str]:
    """
    What of *environment* goes into the box.

    Args:
        environment: All of it.
        profile: The box's. Where it shows credentials, nothing leads to programs that a box may have made.
        temporary: The box's TMPDIR.
        cache: The folder for what programs cache.
    """
    kept = profile.env
    cleaned = {name: value for name, value in environment.items() if name in kept or not withheld(name, value)}
    # git refuses to run where one that it was told of is missing.
    cleaned |= {name: "" for name in environment.keys() - cleaned if name.startswith("GIT_CONFIG_VALUE_")}
    if profile.credentials:
        for name in [name for name in cleaned if name.endswith(_LISTS)]:
            listed = cleaned[name].replace(" ", os.pathsep) if name.endswith("PRELOAD") else cleaned[name]
            cleaned[name] = outside(listed, profile.project)
        for name in _LOADED & cleaned.keys():
            if outside(cleaned[name], profile.project) != cleaned[name]:
                del cleaned[name]
        for name in _OPTIONS & cleaned.keys():
            if "./" in cleaned[name] or profile.project in cleaned[name]:
                del cleaned[name]
        cleaned |= _git_alone(cleaned)
    cleaned["TMPDIR"] = temporary
    for name, folder in _CACHES.items():
        cleaned[name] = cache + folder
    return cleaned


def _git_alone(environment: Mapping[str, str]) -> dict[str, str]:
    """Variables by which git stays in its repository: in those of submodules a box may have set what git runs."""
    told = environment.get("GIT_CONFIG_COUNT", "")
    first = int(told) if told.isdecimal() else 0
    added = {"GIT_CONFIG_COUNT": str(first + len(_ALONE))}
    for number, (name, value) in enumerate(_ALONE.items(), first):
        added |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return added


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
