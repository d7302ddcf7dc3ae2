"""Files that are known to hold secrets: no rule with a wildcard is about them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from executor.confine import SECRET_PLACES

if TYPE_CHECKING:
    from collections.abc import Iterator

_OF_PROJECTS_AS_WELL = frozenset({".yarnrc.yml", ".config/pip/pip.conf", ".pip/pip.conf"})  # secret at home only
_OF_THE_SYSTEM = (
    "/etc/shadow",
    "/etc/gshadow",
    "/etc/sudoers",
    "/etc/ssl/private",
    "/run/secrets",
    "/var/run/secrets",
    "/proc/*/environ",
    "/proc/*/task/*/environ",
    "/proc/*/mem",
    "/proc/kcore",
)
_ROOTS = ("/etc/", "/proc/", "/run/", "/var/", "/dev/", "//")
# A disk holds every file, the memory every secret, and others what a camera sees: whatever is not among these.
_DEVICES = re.compile(
    r"/+dev(?:/+(?:null|zero|full|u?random|tty|stdin|stdout|stderr|ptmx|(?:pts|fd|shm|mqueue|tcp|udp)(?:/.*)?))?/*\Z"
)
_ANYWHERE = "|".join(re.escape(name) for name in SECRET_PLACES if name not in _OF_PROJECTS_AS_WELL)
_PATH = re.compile(
    rf"/(?:{_ANYWHERE})(?:/|\Z)|^/+etc/(?:g?shadow|sudoers)\b|^/+etc/ssl/private(?:/|\Z)|^/+etc/ssh/ssh_host_\w+_key\Z"
    r"|^/+(?:var/)?run/secrets(?:/|\Z)|^/+proc/(?:[^/]+/)+(?:environ|mem)\Z"
    r"|^/+proc/kcore\Z"
)


def is_secret(path: str, home: str) -> bool:
    """Whether *path*, absolute, is a place of secrets or in one: of the user with the folder *home*, or of another."""
    if "/." not in path and not path.startswith(_ROOTS):
        return False  # as nearly every path is
    if path.startswith("/dev/") and not _DEVICES.match(path):
        return True
    return _PATH.search(path) is not None or path.removeprefix(f"{home}/") in _OF_PROJECTS_AS_WELL


def secret_places(home: str) -> Iterator[str]:
    """The places of secrets; a ``*`` in one stands for any name."""
    for name in SECRET_PLACES:
        yield f"{home}/{name}"
    yield from _OF_THE_SYSTEM
