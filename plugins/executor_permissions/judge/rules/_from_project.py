"""
The paths of commands and of rules as they are written from the project's root: for denying.

Rules are compared with words, and one file has many: ``.env`` is ``../.env`` in ``src`` and ``/home/me/project/.env``
anywhere. Both sides are written in one way: what is in the project from its root, everything else absolute.
"""

# ruff: noqa: PTH118 -- texts, not files: nothing is looked at, so what is found holds as long as the text
from __future__ import annotations

import os.path
import re
from typing import TYPE_CHECKING

from executor_permissions.judge.bash._words import Glob, Unknown
from executor_permissions.judge.paths._globs import escaped
from executor_permissions.judge.paths._links import without_shortcuts

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

_VALUE = re.compile(r"(-{0,2}[A-Za-z_][\w-]*=)(.*)", re.DOTALL)  # "of=/dev/sda", "--file=../a"
_SHORTCUT = re.compile(r"/(?:proc|fd)/")
MOST_PLACES = 1000  # words, in each folder: more take too long
_PLAIN, _GLOB = str, Glob


def rule_from_project(tokens: Sequence[str], base: str, project: str) -> tuple[str, ...]:
    """
    The words of a rule with its paths written from *project*.

    Args:
        base: Where its relative paths begin: in a file of a folder above the project that is another one.
    """
    beginning = "" if base == project else _inside(base)
    return (*tokens[:1], *(_token(token, beginning, _inside(project)) for token in tokens[1:]))


def _inside(folder: str) -> str:
    return escaped(folder).rstrip("/") + "/"


def _token(token: str, beginning: str, inside: str) -> str:
    match = _VALUE.match(token)
    name, path = (match[1], match[2]) if match is not None else ("", token)
    if beginning and "/" in path[1:] and path[:1] not in ("/", "-", "*"):
        path = beginning + path
    if path + "/" == inside:
        return f"{name}."
    path = path.removeprefix(inside)
    return name + ((path.rstrip("/") if len(path) > 1 else path) or "/")


def from_project(words: list[str], folders: Collection[str], project: str) -> Iterator[tuple[list[str], bool]]:
    """
    A command with its paths written from *project*, each with whether it surely is the same.

    Which words of a command are paths only its program knows: all of them may be, those behind a sub-command, or
    those alone that look like paths.

    Args:
        folders: Those that it may run in; an empty one is not known.
    """
    elsewhere = [folder for folder in folders if folder and folder != project]
    if not elsewhere and not _may_lead_elsewhere(words):
        return
    known = [project, *elsewhere] if project in folders else elsewhere
    if len(words) * len(known) > MOST_PLACES:
        yield [words[0], Unknown("…")], False
        return
    told = [words]
    for folder in known:
        for is_path in _CHOICES if folder != project else _CHOICES[:1]:
            found = _written(words, folder, project, is_path)
            if found not in told:
                told.append(found)
                yield found, True


def _may_lead_elsewhere(words: list[str]) -> bool:
    line = " ".join(words)  # nearly none has any of it
    return ("/" in line or ".." in line) and any(word[:1] == "/" or ".." in word or "=/" in word for word in words[1:])


def _written(words: list[str], folder: str, project: str, is_path: Callable[[str, int], bool]) -> list[str]:
    """*words*, with those that are paths in *folder* written from *project*."""
    found, operands = words[:1], 0
    for word in words[1:]:
        kind = type(word)
        match = _VALUE.match(word)
        name, path = (match[1], match[2]) if match is not None else ("", word)
        is_option = word[:1] == "-"
        operands += not is_option
        if kind not in (_PLAIN, _GLOB) or not path or (is_option and not name) or not is_path(path, operands):
            found.append(word)
        else:
            found.append(kind(name + place(path, folder, project)))
    return found


def place(path: str, folder: str, project: str) -> str:
    """*path*, as it is in *folder*, written from *project*."""
    place = "/" + os.path.join(folder, path).lstrip("/")
    place = os.path.normpath(without_shortcuts(place, folder) if _SHORTCUT.search(place) else place)
    if place == project:
        return "."
    return place.removeprefix(project.rstrip("/") + "/")


def _looks_like_path(path: str, _: int) -> bool:
    return "/" in path or path in (".", "..")


# Which words are paths, by their text and by how many operands there are up to them.
_CHOICES: tuple[Callable[[str, int], bool], ...] = (
    _looks_like_path,
    lambda _, operands: operands > 0,
    lambda path, operands: operands > 1 or _looks_like_path(path, operands),
)
