"""What git and toolexec run, or are led by, without being told to: no box writes it, whatever the policy says."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, NamedTuple

from executor.confine._closable import closable
from executor.confine._disk import Kind, listed, listing
from executor.confine._git_files import Effort, Named, UnclearError, named_by, named_by_user, read, work_tree
from executor.confine._places import Places
from executor.confine._real import Real
from executor.confine._repositories import below, modules_in
from executor.confine._values import PASSING, ConfigFile

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from executor.confine._repositories import Repositories
    from executor.values._profile import Profile

COMMON = "commondir"  # of a repository: the folder that its configuration and hooks are taken from instead
OWN_CONFIG = "config.worktree"  # of one working tree, where the configuration says that each has one
# Of a repository: what a rebase, or a row of commits to be picked, has yet to do. git runs what stands there.
_BEGUN = ("rebase-merge", "rebase-apply", "sequencer")
_LONGEST_LINE = 1 << 14  # bytes of a file that holds one path
_LOOKS = 5  # that each repository takes at least
_MOST_LINKED = 10_000  # working trees of one repository
MOST_REPOSITORIES = 250  # in one place; what is beyond is closed as a whole


class _Seen(NamedTuple):
    """
    Attributes:
        user: What git's configuration names that holds for every repository.
        real: For paths.
        effort: What it may take.
        others: The same for what boxes may have made: submodules, linked working trees.
    """

    user: Named
    real: Real
    effort: Effort
    others: Effort


def unwritable(
    profile: Profile,
    nested: Repositories | None = None,
    going_on: Iterable[str] | None = None,
    real: Real | None = None,
    own: Collection[str] = (),
) -> tuple[str, ...]:
    """
    What *profile* may not write of its project, whether it is there or not; the project itself if that is not clear.

    Args:
        nested: The repositories below it, if they have been looked for.
        going_on: Those of `begun` that no box has begun; by default all.
        real: For paths, for somebody who asks about the same folders next.
        own: Those of `begun` that a box has begun.

    Raises:
        OSError: It cannot be told now, and may be soon.
    """
    project, real = profile.project, real or Real()
    nested = nested or below(project)
    going_on = begun(project, nested, real) if going_on is None else going_on
    always = (path for path in _always(project, nested, real) if not own or real.entry(path) not in own)
    return closable(dict.fromkeys((*profile.unwritable, *always, *going_on)), project, real)


def begun(project: str, nested: Repositories, real: Real) -> tuple[str, ...]:
    """
    What git has begun in *project* and in *nested*, and is to go on with: the folders of rebases and the like, and what
    says of a linked working tree where its repository is, which goes when that is removed.

    Raises:
        OSError: It cannot be told now, and may be soon.
    """
    found: dict[str, None] = {}
    named = (os.path.join(tree, ".git") for tree in (project, *nested.trees[:MOST_REPOSITORIES]))
    for git in (*named, *nested.bare[:MOST_REPOSITORIES]):
        with contextlib.suppress(UnclearError):  # then the working tree is closed as a whole
            if (repository := repository_of(git)) is not None:
                found |= dict.fromkeys(_begun_in(repository, real))
    return tuple(found)


def _begun_in(repository: str, real: Real) -> Iterator[str]:
    common = common_of(repository)
    linked = [*map(real, _linked(common, real) or ())]
    for folder in dict.fromkeys((real(repository), real(common), *linked)):
        yield from filter(os.path.lexists, (os.path.join(folder, name) for name in _BEGUN))
    yield from filter(os.path.lexists, (os.path.join(folder, COMMON) for folder in linked))


def _always(project: str, nested: Repositories, real: Real) -> Iterator[str]:
    yield os.path.join(project, ".toolexec")
    yield from nested.unseen
    yield from nested.trees[MOST_REPOSITORIES:]
    yield from nested.bare[MOST_REPOSITORIES:]
    places = Places.now()
    below = f"{project}/"
    ours = (path for path in places.all_own if real.entry(path).startswith(below) or real(path).startswith(below))
    yield from _each_name(ours, real)
    own = Effort.of_project()
    try:
        seen = _Seen(named_by_user(project, places, own), real, own, Effort())
    except UnclearError:
        yield project
        return
    yield f"{places.config}/git"
    yield from map(ConfigFile, _each_name(seen.user.files, real))
    yield from _or_whole(project, _of_tree(project, seen))
    for tree in around(project):  # a package of a larger repository may hold the hooks of that
        if (repository := repository_of(os.path.join(tree, ".git"))) is not None:
            yield from _or_whole(project, _own(tree, repository, seen))
    seen = seen._replace(effort=seen.others)
    for tree in nested.trees[:MOST_REPOSITORIES]:
        yield from _or_whole(tree, _of_tree(tree, seen))
    for repository in nested.bare[:MOST_REPOSITORIES]:
        yield from _or_whole(repository, _of_repository(repository, repository, seen))


def around(project: str) -> Iterator[str]:
    """The folders that *project* is in, the inmost first."""
    while project not in ("/", ""):
        project = os.path.dirname(project)
        yield project


def _or_whole(tree: str, found: Iterator[str]) -> Iterator[str]:
    """*found*; *tree* as a whole where what git reads there is not clear."""
    try:
        yield from found
    except UnclearError:
        yield tree


def _of_tree(tree: str, seen: _Seen) -> Iterator[str]:
    git = os.path.join(tree, ".git")
    if os.path.islink(git) or os.path.isfile(git):
        yield git  # it says where the repository is
    repository = repository_of(git)
    if repository is not None:
        yield from _of_repository(tree, repository, seen)


def repository_of(git: str) -> str | None:
    """The folder of the repository that *git* is, or names (gitrepository-layout(5))."""
    if os.path.isdir(git):
        return git
    named = _line(git).partition("gitdir: ")[2]
    return os.path.join(os.path.dirname(git), named) if named else None


def _of_repository(tree: str, repository: str, seen: _Seen) -> Iterator[str]:
    common = common_of(repository)
    yield from _own(tree, repository, seen)
    seen = seen._replace(effort=seen.others)
    for git in dict.fromkeys((repository, common, *(_linked(common, seen.real) or ()))):
        yield from _of_modules(os.path.join(git, "modules"), seen)


def common_of(repository: str) -> str:
    named = _line(os.path.join(repository, COMMON))
    return os.path.join(repository, named) if named else repository


def _own(tree: str, repository: str, seen: _Seen) -> Iterator[str]:
    """All but its submodules."""
    seen.effort.spend(_LOOKS)
    common = common_of(repository)
    yield os.path.join(repository, COMMON)
    yield os.path.join(common, "config")
    yield from _folder_of_hooks(os.path.join(common, "hooks"), seen)
    named = named_by([os.path.join(common, "config")], tree, seen.effort)
    yield from _named(tree, named, seen)
    yield from _hooks(repository, named, seen)  # git runs them from there where a push arrives
    linked = _linked(common, seen.real)
    if linked is None:
        yield os.path.join(common, "worktrees")
    yield from (os.path.join(git, COMMON) for git in linked or ())
    trees = {git: _line(os.path.join(git, "gitdir")).rpartition("/")[0] or tree for git in linked or ()}
    for git, at in {repository: tree, **trees}.items():
        own = os.path.join(git, OWN_CONFIG)
        there = os.path.lexists(own)
        if there or named.of_trees or seen.user.of_trees:
            yield own
        if at != tree:
            yield from _named(os.path.join(git, at), named, seen)
            yield from _hooks(git, named, seen)
        if there:
            of_tree = named_by([own], tree, seen.effort if git == repository else seen.others)
            yield from _named(os.path.join(git, at), of_tree, seen)
            yield from _hooks(git, of_tree, seen)


def _named(tree: str, named: Named, seen: _Seen) -> Iterator[str]:
    yield from map(ConfigFile, _each_name(named.files, seen.real))
    yield from _hooks(tree, named, seen)
    # What is not there is no program: git says so each time.
    words = dict.fromkeys((*seen.user.words, *named.words))
    seen.effort.spend(len(words))
    told = (os.path.join(tree, word) for word in words)
    yield from _each_name(filter(os.path.isfile, told), seen.real)


def _hooks(folder: str, named: Named, seen: _Seen) -> Iterator[str]:
    """Where they are, with *folder* as that which git runs in."""
    hooks = (*seen.user.hooks, *named.hooks)
    seen.effort.spend(len(hooks))
    for path in hooks:
        yield from _folder_of_hooks(os.path.join(folder, path), seen)


def _folder_of_hooks(folder: str, seen: _Seen) -> Iterator[str]:
    """It by each of its names, and what its hooks are links to: scripts of the project, mostly."""
    yield from _each_name([folder], seen.real)
    found = seen.real(folder)
    links = [f"{found}/{name}" for name, kind in listed(found).entries.items() if kind is Kind.LINK]
    seen.effort.spend(len(links))
    for link in links:
        with contextlib.suppress(OSError):  # gone meanwhile
            yield from _each_name([os.path.join(found, os.readlink(link))], seen.real)


def _each_name(paths: Iterable[str], real: Real) -> Iterator[str]:
    """*paths*, and what they lead to: a link outside of the project may lead into it."""
    for path in paths:
        yield path
        if (led_to := real(path)) != path:
            yield led_to


def _of_modules(folder: str, seen: _Seen) -> Iterator[str]:
    if not os.path.isdir(folder):
        return
    found = modules_in(seen.real(folder))
    yield from found.unseen
    for module in found.bare:  # those of their own included
        config = read(os.path.join(module, "config"))
        seen.effort.spend(1, len(config))
        tree = os.path.join(module, work_tree(config) or "")
        yield os.path.join(tree, ".git")
        yield from _own(tree, module, seen)


def _linked(common: str, real: Real) -> list[str] | None:
    """
    What a repository keeps of its linked working trees; None if it cannot be listed.

    Raises:
        UnclearError: They are too many.
    """
    folder = os.path.join(common, "worktrees")
    try:
        entries = listing(real(folder)).entries
    except OSError as error:
        if error.errno in PASSING:
            raise
        return None
    if len(entries) > _MOST_LINKED:
        raise UnclearError(folder)
    return [os.path.join(folder, name) for name, kind in entries.items() if kind is Kind.FOLDER]


def _line(path: str) -> str:
    """What stands in a file that holds one path. Raises UnclearError: it is too long for one."""
    return read(path, _LONGEST_LINE).partition("\0")[0].rstrip("\r\n")
