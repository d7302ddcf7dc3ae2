"""What git and toolexec run, or are led by, without being told to: no box writes it, whatever the policy says."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from executor.values._profile import Profile

COMMON = "commondir"  # of a repository: the folder that its configuration and hooks are taken from instead
_LARGEST = 1 << 20  # characters of a file of configuration that are read
_DEEPEST = 5  # of files that include one another
_SECTION = re.compile(r"\s*\[\s*([^\s\]]*)")
_SETTING = re.compile(r"\s*(\w+)\s*=\s*(.*?)\s*$")


def unwritable(profile: Profile) -> tuple[str, ...]:
    """What *profile* may not write of its project, whether it is there or not."""
    return tuple(dict.fromkeys((*profile.unwritable, *_always(profile.project))))


def _always(project: str) -> Iterator[str]:
    yield os.path.join(project, ".toolexec")
    git = os.path.join(project, ".git")
    if os.path.islink(git) or os.path.isfile(git):
        yield git  # it says where the repository is
    repository = _repository(git)
    if repository is not None:
        yield from _of_repository(project, repository)


def _repository(git: str) -> str | None:
    """The folder of the repository that *git* is, or names (gitrepository-layout(5))."""
    if os.path.isdir(git):
        return git
    named = _text(git).partition("gitdir:")[2].strip()
    return os.path.join(os.path.dirname(git), named) if named else None


def _of_repository(project: str, repository: str) -> Iterator[str]:
    shared = os.path.join(repository, COMMON)
    yield shared
    common = os.path.join(repository, _text(shared).strip())
    for name in ("hooks", "config"):
        yield os.path.join(common, name)
    worktrees = os.path.join(common, "worktrees")
    if os.path.isdir(worktrees):
        yield from (os.path.join(worktrees, name, COMMON) for name in os.listdir(worktrees))
    yield from _named_by(os.path.join(common, "config"), project, repository)
    home = os.path.expanduser("~")
    for path in (
        f"{home}/.gitconfig",
        os.path.join(os.environ.get("XDG_CONFIG_HOME") or f"{home}/.config", "git/config"),
    ):
        yield from _named_by(path, project, repository)


def _named_by(config: str, project: str, repository: str, depth: int = 0) -> Iterator[str]:
    """The folders of hooks, and the further files of configuration, that *config* names (git-config(1))."""
    section = ""
    for line in _text(config).splitlines():
        head = _SECTION.match(line)
        if head is not None:
            section = head[1].lower()
        setting = _SETTING.match(line if head is None else line[line.find("]") + 1 :])
        if setting is None or "\0" in line:
            continue
        name, value = setting[1].lower(), os.path.expanduser(setting[2].strip('"'))
        if (section, name) == ("core", "hookspath"):
            yield os.path.join(project, value)
        elif (section, name) == ("extensions", "worktreeconfig"):
            yield os.path.join(repository, "config.worktree")
        elif section in ("include", "includeif") and name == "path" and depth < _DEEPEST:
            included = os.path.join(os.path.dirname(config), value)
            yield included
            yield from _named_by(included, project, repository, depth + 1)


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read(_LARGEST)
    except (OSError, ValueError):
        return ""
