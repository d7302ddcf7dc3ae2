"""
The files with a rule that a command would make, change or rename by unpacking an archive or applying a patch.

``tar xf a.tar`` is one with ``.env`` in the archive.
"""

from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING

from executor_permissions.judge.bash._expand import ANYWHERE
from executor_permissions.judge.options._unpacks import UNPACKERS, Unpacked, patches_of_git, unpacked_by
from executor_permissions.judge.paths._paths import LONGEST_PATH, UnclearPathError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from executor_permissions.judge.bash._expand import Folders
    from executor_permissions.judge.bash._words import Command
    from executor_permissions.judge.paths._links import Links
    from executor_permissions.judge.rules._file_rules import FileRules

# ruff: noqa: PTH118, PTH120 -- texts, not files
_MOST_FOUND = 20  # one would do, but which is told first should not depend on chance
_MOST_FOLDERS = 20  # above the one that git runs in


def kept_in(command: Command, folders: Folders, rules: FileRules, links: Links, *, plain: bool) -> list[str] | None:
    """
    Those of the files that come out of what *command* unpacks in one of *folders* that *rules* are about.

    Args:
        command: The `innermost` one.
        plain: Whether no command before has made files, so that what is there now is what will be read.

    Returns:
        Their absolute paths; None if it is a patch for git that cannot be looked at. Of others `Destinations` says so.
    """
    of_git = command.program == "git"
    if not of_git and command.program not in UNPACKERS:
        return []
    if of_git:
        given = patches_of_git(command)
    else:
        one = unpacked_by(command)
        given = [one] if one is not None else []
    found: dict[str, None] = {}
    for unpacked in given:
        for folder in folders:
            names = _names(unpacked, command, folder, links) if plain and folder != ANYWHERE else None
            if names is None:
                if of_git:
                    return None
                continue
            top = os.path.normpath(os.path.join(folder, unpacked.folder))
            for place in _above(top) if of_git else (top,):
                found.update(dict.fromkeys(_kept(_written(names, unpacked), place, rules, links)))
    return list(found)[:_MOST_FOUND]


def _names(unpacked: Unpacked, command: Command, folder: str, links: Links) -> Iterable[str] | None:
    from executor_permissions.judge.files._archives import (  # their readers, which are slow to import
        names_at,
        names_in_patch,
    )

    if unpacked.archive is None:
        if unpacked.form != "patch" or command.body is None:
            return None
        return names_in_patch(io.BytesIO(command.body.encode("utf-8", "surrogateescape")))
    try:
        archive = links.real(os.path.join(folder, unpacked.archive), folder)
    except UnclearPathError:
        return None
    return names_at(archive, unpacked.form, links)


def _written(names: Iterable[str], unpacked: Unpacked) -> list[str]:
    """*names* as they are looked for; of a patch without any number of folders in front, as ``-p`` leaves them out."""
    if unpacked.form != "patch":
        return [os.path.normpath(name) for name in names if name and len(name) <= LONGEST_PATH]
    found: dict[str, None] = {}
    for name in names:
        parts = name.split("/") if len(name) <= LONGEST_PATH else ()
        found.update(dict.fromkeys("/".join(parts[i:]) for i in range(len(parts))))
    return [os.path.normpath(name) for name in found if name]


def _above(folder: str) -> Iterator[str]:
    """*folder* and those above it: which of them the repository is in, git finds out."""
    for _ in range(_MOST_FOLDERS):
        yield folder
        if folder == "/":
            return
        folder = os.path.dirname(folder)


def _kept(names: list[str], top: str, rules: FileRules, links: Links) -> Iterator[str]:
    inside = [name for name in names if name[:1] != "/" and name.partition("/")[0] != ".."]
    if len(inside) == len(names) and rules.is_plain("/".join(names)) and not links.has_links(top, names):
        return  # as of nearly everything
    for name in names:
        path = os.path.join(top, name)
        try:
            if rules.about(links.place(path), links):
                yield path
        except UnclearPathError:
            yield path
