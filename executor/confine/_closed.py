"""What git and toolexec run, or are led by, without being told to: no box writes it, whatever the policy says."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from executor._regular import regular_only
from executor.confine._disk import Kind, listed
from executor.confine._repositories import below

if TYPE_CHECKING:
    from collections.abc import Iterator

    from executor.confine._repositories import Repositories
    from executor.values._profile import Profile

COMMON = "commondir"  # of a repository: the folder that its configuration and hooks are taken from instead
OWN_CONFIG = "config.worktree"  # of one working tree, where the configuration says that each has one
_LARGEST = 1 << 20  # characters of a file of configuration that are read
_MOST_FILES = 100  # that include one another
_MOST_FOLDERS = 1_000  # in which submodules are looked for
_SECTION = re.compile(r"\s*\[\s*([^\s\]]*)")
_SETTING = re.compile(r"\s*(\w+)\s*=\s*(.*?)\s*$")


def unwritable(profile: Profile, nested: Repositories | None = None) -> tuple[str, ...]:
    """
    What *profile* may not write of its project, whether it is there or not.

    Args:
        nested: The repositories below it, if they have been looked for.
    """
    nested = nested or below(profile.project)
    return tuple(dict.fromkeys((*profile.unwritable, *_always(profile.project, nested))))


def _always(project: str, nested: Repositories) -> Iterator[str]:
    yield os.path.join(project, ".toolexec")
    for tree in (project, *nested.trees):
        git = os.path.join(tree, ".git")
        if os.path.islink(git) or os.path.isfile(git):
            yield git  # it says where the repository is
        repository = _repository(git)
        if repository is not None:
            yield from _of_repository(tree, repository)
    for repository in nested.bare:
        yield from _of_repository(repository, repository)


def _repository(git: str) -> str | None:
    """The folder of the repository that *git* is, or names (gitrepository-layout(5))."""
    if os.path.isdir(git):
        return git
    named = _text(git).partition("gitdir:")[2].strip()
    return os.path.join(os.path.dirname(git), named) if named else None


def _of_repository(project: str, repository: str) -> Iterator[str]:
    common = os.path.join(repository, _text(os.path.join(repository, COMMON)).strip())
    yield from _own(project, repository, common)
    modules = os.path.join(common, "modules")
    found = _modules(modules)
    if found is None:
        yield modules
    for module in found or ():
        tree = os.path.join(module, _work_tree(os.path.join(module, "config")))
        yield os.path.join(tree, ".git")
        yield from _own(tree, module, module)
    home = os.path.expanduser("~")
    for path in (
        f"{home}/.gitconfig",
        os.path.join(os.environ.get("XDG_CONFIG_HOME") or f"{home}/.config", "git/config"),
    ):
        yield from _named_by(path, project, repository)


def _own(project: str, repository: str, common: str) -> Iterator[str]:
    yield os.path.join(repository, COMMON)
    for name in ("hooks", "config"):
        yield os.path.join(common, name)
    trees = [repository]
    worktrees = os.path.join(common, "worktrees")
    if os.path.isdir(worktrees):
        linked = [os.path.join(worktrees, name) for name in os.listdir(worktrees)]
        yield from (os.path.join(tree, COMMON) for tree in linked)
        trees += linked
    for tree in trees:
        yield from _named_by(os.path.join(common, "config"), project, tree)


def _modules(folder: str) -> list[str] | None:
    """
    The repositories of submodules in *folder*, those of their own included: git looks into them by itself.

    Returns:
        None if there are too many folders to look for them: a command may have made those.
    """
    found, waiting = [], [os.path.realpath(folder)]
    for path in waiting:  # grows
        if len(waiting) > _MOST_FOLDERS:
            return None
        entries = listed(path)[1]
        is_one = "HEAD" in entries and "config" in entries
        if is_one:
            found.append(path)
        names = (name for name, kind in entries.items() if kind is Kind.FOLDER)
        waiting += [f"{path}/{name}" for name in names if not is_one or name == "modules"]
    return found


def _work_tree(config: str) -> str:
    """Where the working tree of a submodule is, as its *config* says it; the repository itself if it does not."""
    found = ""
    for section, name, value in _settings(config):
        if (section, name) == ("core", "worktree"):
            found = value
    return found


def _settings(config: str) -> Iterator[tuple[str, str, str]]:
    """Section, name and value of each setting in *config*; sections without their own names, all but values small."""
    section = ""
    for line in _text(config).splitlines():
        head = _SECTION.match(line)
        if head is not None:
            section = head[1].lower()
        setting = _SETTING.match(line if head is None else line[line.find("]") + 1 :])
        if setting is not None and "\0" not in line:
            yield section, setting[1].lower(), os.path.expanduser(setting[2].strip('"'))


def _named_by(config: str, project: str, repository: str) -> Iterator[str]:
    """The folders of hooks, and the further files of configuration, that *config* names (git-config(1))."""
    files = [config]
    for file in files:  # grows, each once
        for section, name, value in _settings(file):
            if (section, name) == ("core", "hookspath"):
                yield os.path.join(project, value)
            elif (section, name) == ("extensions", "worktreeconfig"):
                yield os.path.join(repository, OWN_CONFIG)
            elif section in ("include", "includeif") and name == "path":
                included = os.path.join(os.path.dirname(file), value)
                if included not in files and len(files) < _MOST_FILES:
                    files.append(included)
                    yield included


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape", opener=regular_only) as file:
            return file.read(_LARGEST)
    except (OSError, ValueError):
        return ""
