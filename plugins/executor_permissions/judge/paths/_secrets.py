"""Files that are known to hold secrets: no rule with a wildcard is about them."""

from __future__ import annotations

import os
import re
from bisect import bisect_left
from functools import lru_cache

from executor.confine import HOMES, SECRET_PLACES, SYSTEM_PLACES, TICKETS, homes_below

_OF_PROJECTS_AS_WELL = frozenset({".yarnrc.yml", ".config/pip/pip.conf", ".pip/pip.conf"})  # secret at home only
_OF_THE_SYSTEM = (  # a "*" stands for any names
    *SYSTEM_PLACES,
    "/proc/*/environ",
    "/proc/*/task/*/environ",
    "/proc/*/mem",
    "/proc/*/task/*/mem",
    "/proc/kcore",
)
_WITH_PATTERNS = "/proc/"
_HOME = re.compile(r"/root(?![^/])|/(?:home|Users)/[^/]+")
_ROOTS = (*sorted({place[: place.index("/", 1) + 1] for place in _OF_THE_SYSTEM}), "/dev/", TICKETS, "//")
# A disk holds every file, the memory every secret, and others what a camera sees: whatever is not among these.
_DEVICES = re.compile(
    r"/+dev(?:/+(?:null|zero|full|u?random|tty|stdin|stdout|stderr|ptmx|(?:pts|fd|shm|mqueue|tcp|udp)(?:/.*)?))?/*\Z"
)
_ANYWHERE = "|".join(re.escape(name) for name in SECRET_PLACES if name not in _OF_PROJECTS_AS_WELL)
_HERE = "|".join(re.escape(place[1:]).replace(r"\*", ".+") for place in _OF_THE_SYSTEM)
# Their copies lie beside them (``/etc/shadow-``), and the keys of a machine have names of their own.
_LIKE_THEM = rf"etc/(?:g?shadow|sudoers)\b|etc/ssh/ssh_host_\w+_key\Z|{TICKETS[1:]}"
_PATH = re.compile(rf"/(?:{_ANYWHERE})(?:/|\Z)|^/+(?:(?:{_HERE})(?:/|\Z)|{_LIKE_THEM})")


def may_be_secret(path: str) -> bool:
    """Whether *path*, absolute, has what every place of secrets has; nearly none does."""
    return "/." in path or path.startswith(_ROOTS)


def is_secret(path: str, home: str) -> bool:
    """Whether *path*, absolute, is a place of secrets or in one: of the user with the folder *home*, or of another."""
    if not may_be_secret(path):
        return False
    if path.startswith("/dev/") and not _DEVICES.match(path):
        return True
    return _PATH.search(path) is not None or path.removeprefix(f"{home}/") in _OF_PROJECTS_AS_WELL


@lru_cache(maxsize=8)
def secret_places(home: str) -> tuple[str, ...]:
    """The places of secrets; a ``*`` in one stands for any name."""
    tickets = f"{TICKETS}{os.getuid()}"  # others' are not to be read anyway
    return (*(f"{home}/{name}" for name in SECRET_PLACES), *_OF_THE_SYSTEM, tickets)


@lru_cache(maxsize=8)
def _sorted_places(home: str) -> list[str]:
    return sorted(secret_places(home))


def secret_places_below(folder: str, home: str) -> list[str]:
    """
    Those places that are below *folder*, in the homes of other users too.

    One below ``/proc/self`` is what ``/proc/*`` stands for there.
    """
    start = folder if folder.endswith("/") else folder + "/"
    if start.startswith(_WITH_PATTERNS):
        return [place for each in secret_places(home) if (place := _in(start, each)) is not None]
    places = _sorted_places(home)
    at = bisect_left(places, start)
    found: list[str] = []
    if at < len(places) and places[at].startswith(start):  # not so of nearly every folder
        found = [place for place in secret_places(home) if place.startswith(start)]
    for other in _other_homes(folder, home):
        found += [place for name in SECRET_PLACES if (place := f"{other}/{name}").startswith(start)]
    return found


def may_hold_secrets(folder: str, home: str) -> bool:
    """Whether one of those places could be in a folder below *folder*: of where homes are, one may come."""
    return folder in ("/", *HOMES) or bool(secret_places_below(folder, home))


def _other_homes(folder: str, home: str) -> list[str]:
    """The homes of others that *folder* is in, or that are in it."""
    match = _HOME.match(folder)
    return [other for other in ([match[0]] if match is not None else homes_below(folder)) if other != home]


def _in(start: str, place: str) -> str | None:
    """*place* with the folder *start*, which ends in a slash, for its beginning; None where it is not below that."""
    above, names = start.split("/")[:-1], place.split("/")
    below = len(names) > len(above) and all(
        known in ("*", name) for known, name in zip(names[: len(above)], above, strict=True)
    )
    return "/".join((*above, *names[len(above) :])) if below else None
