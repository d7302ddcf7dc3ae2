"""
The credentials that go into a box with a network: of the one program that it runs, ``~/.netrc`` for ``git fetch``.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from executor.confine import is_elsewhere
from executor_permissions.judge.bash._expand import MAX_FOLDERS
from executor_permissions.judge.bash._words import KNOWN
from executor_permissions.judge.boxes._moves import is_move, moved, start_of
from executor_permissions.judge.git._work_tree import plain_sub_command
from executor_permissions.judge.options import walk
from executor_permissions.judge.paths._paths import under

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from executor_permissions.judge.options._walk import Walk
    from executor_permissions.judge.rules._rules import Part, Places

# ruff: noqa: PTH113, PTH118, PTH120 -- text, as in _paths

_OF_CONTAINERS = (
    "/run/secrets",
    "/var/run/secrets",
)  # where a cluster gives a container what it calls the cluster with
# Of the known places of secrets, those that belong to a program; below the home folder, if not from the root on.
_GIT = (".ssh", ".git-credentials", ".config/git/credentials", ".netrc")
_OWN: dict[str, tuple[str, ...]] = {
    "git": _GIT,
    **dict.fromkeys(("ssh", "scp", "sftp", "rsync", "ssh-keyscan"), (".ssh",)),
    "npm": (".npmrc",),
    **dict.fromkeys(("pip", "pip3"), (".config/pip/pip.conf", ".pip/pip.conf", ".netrc")),
    "twine": (".pypirc", ".netrc"),
    **dict.fromkeys(("curl", "wget"), (".netrc",)),
    "gh": (".config/gh",),
    "kubectl": (".kube", *_OF_CONTAINERS),
    "helm": (".kube", ".config/helm/registry", *_OF_CONTAINERS),
    "aws": (".aws",),
    "az": (".azure",),
    "gcloud": (".config/gcloud",),
    "docker": (".docker/config.json",),
}  # fmt: skip
# The variables that name other files for them; of `executor.confine`, which hides these too.
_BY_VARIABLE: dict[str, tuple[str, ...]] = {
    "npm": ("NPM_CONFIG_USERCONFIG", "npm_config_userconfig"),
    **dict.fromkeys(("pip", "pip3"), ("PIP_CONFIG_FILE", "NETRC")),
    **dict.fromkeys(("twine", "curl", "wget"), ("NETRC",)),
    **dict.fromkeys(("kubectl", "helm"), ("KUBECONFIG",)),
    "gh": ("GH_CONFIG_DIR",),
    "aws": ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "AWS_WEB_IDENTITY_TOKEN_FILE"),
    "az": ("AZURE_CONFIG_DIR",),
    "gcloud": ("CLOUDSDK_CONFIG", "GOOGLE_APPLICATION_CREDENTIALS"),
    "docker": ("DOCKER_CONFIG",),
}  # fmt: skip
# What of them a builder has that installs packages: it says where these come from, and else they come from elsewhere.
_SOURCES = frozenset({".npmrc", ".config/pip/pip.conf", ".pip/pip.conf", *_BY_VARIABLE["npm"], "PIP_CONFIG_FILE"})
_PACKAGES = frozenset({"npmpackage", "codepackage"})  # its operands
# In a folder of the project it says through which proxy, and past which check of certificates, they are sent.
_SETTINGS = {"npm": ".npmrc"}

_GIT_RUN_BY = frozenset({"git", "gh"})
_NAMING_REMOTES = ("remotes", "branches")  # of a repository: its files are remotes too, see gitrepository-layout(5)
# Of git what looks at no files of the work tree. Into submodules none goes by itself: a box with credentials says so.
# A pull does: to put aside and merge what has changed there, it runs `git status` in each repository that was added.
_OF_REMOTES = frozenset({"fetch", "push", "clone", "ls-remote", "remote"})
# Of gh what asks the server alone; all else may run git in the work tree (`gh pr create` runs git status).
_OF_SERVERS = re.compile(r"gh (?:api|search|status|[a-z]+ (?:list|view|diff|checks|status))\b(?!-)")


def credentials(parts: Iterable[Part], places: Places, folder: str | None) -> tuple[str, ...]:
    """
    The files that the program of a line keeps its credentials in.

    All that a box holds reads them: so there are none if anything else runs in it, or what runs may be another program
    than the one they belong to, or may be told by the project what to run.

    Args:
        parts: The line's, each of which must be that program.
        folder: Where the line starts; the project's root if None.
    """
    names: set[str] = set()
    builds = False
    parts = tuple(parts)
    folders = start_of(os.path.join(places.project, folder or ""))
    for part in parts:
        if is_move(part):
            reached = moved(part, folders)
            folders |= reached or frozenset()
            if reached is None or len(folders) > MAX_FOLDERS:  # any of them may fail, so that each doubles them
                return ()
        elif _runs_itself(part):
            names.add(part.words[0])
            builds = builds or _is_builder(walk(list(part.words)))
        else:
            return ()
    if len(names) != 1 or any(_other_repository(os.path.realpath(one), places.project) for one in folders):
        return ()
    (name,) = names
    if name in _GIT_RUN_BY and (
        _led_astray(parts, places.project) or _named_repository(parts, folders, places.project)
    ):
        return ()
    if not is_elsewhere(name, places.project) or (not builds and _has_settings(name, folders, places.project)):
        return ()
    if any(_is_anywhere(os.environ.get(variable, "")) for variable in _BY_VARIABLE.get(name, ())):
        return ()
    files, variables = (
        [one for one in table.get(name, ()) if one in _SOURCES or not builds] for table in (_OWN, _BY_VARIABLE)
    )
    return (*(os.path.join(places.home, own) for own in files), *_named_by(variables, places))


def _named_by(variables: Iterable[str], places: Places) -> Iterable[str]:
    """Where the environment says that they are; in the project a box may have written them, and what they run."""
    from executor.confine import named_secrets

    named = named_secrets(places.home, variables)
    return (path for path in named if not under(os.path.realpath(path), places.project))


def _is_anywhere(value: str) -> bool:
    """Whether a variable names another file in each folder: in the project a box may have made it, and what it runs."""
    return any(path and not path.startswith("/") for path in value.split(os.pathsep))


def _runs_itself(part: Part) -> bool:
    """Whether *part* is one of the programs, by its bare name, with nothing set in front, that runs nothing else."""
    words = part.words
    if not words or type(words[0]) not in KNOWN or words[0] not in _OWN or part.text.split(None, 1)[0] != words[0]:
        return False
    found = walk(list(words))
    if found is None or found.grammar is None:
        return True
    if "loads" in found.grammar.traits:
        return False
    if _is_builder(found) and (found.inner or found.grammar.repeated not in _PACKAGES):
        return False
    # An option that may run something: only where a rule has spelled it out. One for the whole tool spells out nothing.
    spelled = part.verdict == "allow" and (part.rule or "").split(None, 1)[:1] == [words[0]]
    return found.reach < 0 or spelled


def _has_settings(name: str, folders: Iterable[str], project: str) -> bool:
    """Whether a file of the project, in one of *folders* or around it, says how the program's credentials are sent."""
    own = _SETTINGS.get(name)
    ways = (one for folder in folders for one in _up_to(os.path.realpath(folder), project))
    return own is not None and any(os.path.lexists(os.path.join(one, own)) for one in ways)


def _is_builder(found: Walk | None) -> bool:
    """Whether a command runs code of the project, or of packages, whatever else it does (npm publish: its scripts)."""
    if found is None or found.grammar is None:
        return False
    return found.grammar.entry.kind == "builder" or found.grammar.repeated.startswith("code")


def _led_astray(parts: Iterable[Part], project: str) -> bool:
    """
    Whether git may go where a box has said what it runs: into another repository of the project, as what looks at its
    files does, or to one that a file names as a remote.
    """
    for name in _NAMING_REMOTES:
        try:
            with os.scandir(os.path.join(project, ".git", name)) as found:
                if any(found):
                    return True
        except (FileNotFoundError, NotADirectoryError):
            pass
        except OSError:
            return True
    if all(part.words[0] == "cd" or _sees_no_files(part.words) for part in parts):
        return False
    from executor.confine import repositories_below

    try:
        return repositories_below(project) != ()
    except OSError:  # it cannot be told now
        return True


def _sees_no_files(words: tuple[str, ...]) -> bool:
    if words[0] == "gh":
        return _OF_SERVERS.match(" ".join(words)) is not None
    recursive = any(word.startswith("--rec") for word in words)  # --recurse-submodules, which may be shortened
    return plain_sub_command(words) in _OF_REMOTES and not recursive


def _named_repository(parts: Iterable[Part], folders: Iterable[str], project: str) -> bool:
    """
    Whether git may be sent to a repository below *project*, by a word or by a remote that is configured: where it is
    pushed to git runs the hooks of that.

    It is one by its name with ``.git`` behind, too, and by a file that says where it is.
    """
    from executor.confine import remote_paths

    words = {word.rpartition("=")[2] for part in parts for word in part.words[1:]} - {""}
    try:
        names = {name for path in remote_paths(words, project) for name in (path, f"{path}.git")}
    except OSError:  # it cannot be told now
        return True
    for folder in {*folders, project}:
        for name in names:
            path = os.path.realpath(os.path.join(folder, name))
            if under(path, project) and (os.path.isfile(path) or _other_repository(path, project)):
                return True
    return False


def _other_repository(folder: str, project: str) -> bool:
    """Whether git takes what is in *folder* for a repository below *project*: a box may have made it."""
    inside = (one for one in _up_to(folder, project) if one != project)
    return any(os.path.lexists(os.path.join(one, name)) for one in inside for name in (".git", "HEAD"))


def _up_to(folder: str, project: str) -> Iterator[str]:
    """*folder* and those that it is in, of which *project* is the last; nothing if it is elsewhere."""
    while under(folder, project):
        yield folder
        if folder == project:
            return
        folder = os.path.dirname(folder)
