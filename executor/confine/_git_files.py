"""What files of git's configuration, and the files that these include, name: folders of hooks, and further files."""

from __future__ import annotations

import errno
import os
import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from executor._regular import regular_only
from executor.confine._git_config import BOM, Setting, of_environment, paths, settings
from executor.confine._values import PASSING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from executor.confine._places import Places

_LARGEST = 1 << 20  # bytes of a file that is read
_MOST_READ = 500_000  # characters of all files that are read for one box, beside those for the project itself
_MOST_OF_PROJECT = 1_500_000  # each branch that git knows is 80 of them
_LOOK = 50  # of these: as much as it is to look for a file
_LARGEST_KEPT = 1 << 15  # characters of one that is not parsed anew as long as it says the same
_MOST_FILES = 100  # that include one another
_OF_A_REPOSITORY = re.compile(r"(?:repositoryformatversion|bare|worktree)[ \t\r]*+(?:$|[=\n#;])")
_BEFORE = " \t\r\n]"  # what may stand in front of these
# Of people, branches and folders, or git's own words: unless they say by a "!" that they are a command.
_NO_COMMANDS = frozenset({"alias", "branch", "submodule", "user", "author", "committer"})
_OF_HOOKS = {("core", "hookspath"), ("init", "templatedir")}  # from the second each new repository has its own
_OF_REMOTES = frozenset({"remote", "branch"})
_BLANK_IN_VALUE = re.compile(r"(?:=|\\\n)[^\n=]*[\t\r]")
_BETWEEN_WORDS = re.compile(r"[\s'\"`$(){};|&<>=,!]+")
_UNREADABLE = (errno.EACCES, errno.EPERM, errno.EIO)


class UnclearError(Exception):
    """What git would read is not known: too much of it, or it cannot be read now."""


class LongError(UnclearError):
    """A file is longer than what is read of one."""


class Named(NamedTuple):
    """
    What configuration names.

    Attributes:
        files: Further files of configuration, absolute.
        hooks: Folders of hooks, those that new repositories get included, relative to the working tree maybe.
        words: What may be a program, or a file that one is to run, likewise: of whatever else is set.
        of_trees: Whether each working tree has configuration of its own.
        remotes: What may say where another repository is: a path, an address or a name.
        instead: What stands for the beginning of such a one, and that beginning.
    """

    files: tuple[str, ...]
    hooks: tuple[str, ...]
    words: tuple[str, ...]
    of_trees: bool
    remotes: tuple[str, ...]
    instead: tuple[tuple[str, str], ...]


class Effort:
    """How much is read and looked for, for one box: who writes, or has one clone, without end keeps nobody waiting."""

    def __init__(self, most: int = _MOST_READ) -> None:
        self._left = most

    @classmethod
    def of_project(cls) -> Effort:
        """For what is the user's own, and the project's, which no box writes."""
        return cls(_MOST_OF_PROJECT)

    def spend(self, looks: int, characters: int = 0) -> None:
        """
        Raises:
            UnclearError: It is more than that.
        """
        self._left -= looks * _LOOK + characters
        if self._left < 0:
            raise UnclearError("more is configured than is read for a box")


def read(path: str, most: int = _LARGEST) -> str:
    """
    The text of a file that somebody else may have made, line ends as they are; "" where there is none.

    Args:
        path: Where it is.
        most: How many bytes it may have.

    Raises:
        LongError: It has more.
        UnclearError: It may not be read by this user.
        OSError: It cannot be read now, and may be soon.
    """
    try:
        with open(path, "rb", opener=regular_only) as file:
            data = file.read(most + 1)
    except (OSError, ValueError) as error:
        number = getattr(error, "errno", None)
        if number in PASSING:
            raise
        if number in _UNREADABLE:
            raise UnclearError(path) from error
        return ""
    if len(data) > most:
        raise LongError(path)
    return data.decode("utf-8", "surrogateescape")


def says_it_is_one(config: str) -> bool:
    """Whether *config*, the text of a file, is the configuration of a repository, or looks like it."""
    small = config.removeprefix(BOM).lower()
    before = (small[found.start() - 1 : found.start()] for found in _OF_A_REPOSITORY.finditer(small))
    return any(not character.strip(_BEFORE) for character in before)


def work_tree(config: str) -> str | None:
    """Where the working tree of a submodule is, as the text of its configuration says."""
    found = None
    for each in settings(config):
        if (each.section, each.name) == ("core", "worktree"):
            found = each.value or None
    return found


def named_by(files: Iterable[str], project: str, effort: Effort) -> Named:
    """
    What *files* name, and those that they include, whatever the condition.

    Args:
        files: Of configuration.
        project: What cannot be read elsewhere no box can have made unreadable: git cannot read it either.
        effort: What it may take.

    Raises:
        UnclearError, OSError: As `read`; too many files include one another; it takes more than that.
    """
    return _named((), files, project, effort)


def named_by_user(project: str, places: Places, effort: Effort) -> Named:
    """As `named_by`, of what git reads for every repository; `files` has these files too."""
    told = os.environ
    usual = [
        told.get("GIT_CONFIG_SYSTEM"),
        "/etc/gitconfig",
        told.get("GIT_CONFIG_GLOBAL"),
        f"{places.home}/.gitconfig",
        f"{places.config}/git/config",
    ]
    files = [os.path.abspath(path) for path in usual if path]
    found = _named(of_environment(told), files, project, effort)
    return found._replace(files=(*files, *found.files))


def _named(first: Iterable[Setting], files: Iterable[str], project: str, effort: Effort) -> Named:
    reading = list(files)
    included: dict[str, None] = {}
    hooks: dict[str, None] = {}
    words: dict[str, None] = {}
    remotes: dict[str, None] = {}
    instead: dict[tuple[str, str], None] = {}
    of_trees = False
    for file, each in _each(first, reading, project, effort):
        if each.section in _OF_REMOTES and each.value:
            remotes[each.value] = None
        elif each.section == "url" and each.value:
            instead[each.value, each.subsection] = None
        if (each.section, each.name) == ("extensions", "worktreeconfig"):
            of_trees = True
        elif (each.section, each.name) in _OF_HOOKS:
            hooks |= dict.fromkeys(_paths(each.value))
        elif each.section in ("include", "includeif") and each.name == "path":
            for path in _paths(each.value):
                further = _plain(os.path.join(os.path.dirname(file), path))
                if further not in reading:
                    if len(reading) >= _MOST_FILES:
                        raise UnclearError(f"more than {_MOST_FILES} files include one another")
                    reading.append(further)
                    included[further] = None
        else:
            words |= dict.fromkeys(_words(each))
    return Named(tuple(included), tuple(hooks), tuple(words), of_trees, tuple(remotes), tuple(instead))


def _words(setting: Setting) -> Iterator[str]:
    """
    What git may run of a setting's value, or have run: a program by its path, and further words of a command.

    There is no list of such settings: drivers, helpers, filters and editors come with every version.
    """
    value = setting.value or ""
    if (setting.section in _NO_COMMANDS and value[:1] != "!") or not ("/" in value or " " in value):
        return
    words = [word for word in _BETWEEN_WORDS.split(value) if word]
    told = [*map(os.path.expanduser, words if words and "/" in words[0] else words[1:])]
    yield from told
    if setting.section == "submodule":  # its update runs in its folder, which mostly is its name
        yield from (os.path.join(setting.subsection, word) for word in told)


def _each(first: Iterable[Setting], reading: list[str], project: str, effort: Effort) -> Iterator[tuple[str, Setting]]:
    """Each setting, and the file that it is in. *reading* may grow meanwhile."""
    for each in first:
        yield "", each
    for file in reading:
        try:
            text = read(file)
        except UnclearError:
            if not os.path.realpath(file).startswith(project.rstrip("/") + "/"):
                continue
            raise
        effort.spend(1, len(text))
        for each in _parsed(text) if len(text) <= _LARGEST_KEPT else _as_read(text):
            yield file, each


def _as_read(text: str) -> tuple[Setting, ...]:
    """The settings in *text* to every version of git."""
    text = text.replace("\r\n", "\n")
    return (*settings(text), *(settings(text, keeps_blanks=True) if _BLANK_IN_VALUE.search(text) else ()))


_parsed = lru_cache(maxsize=32)(_as_read)  # it hardly ever changes, and is looked at before every command


def _plain(path: str) -> str:
    """*path*, its folder without links: so each file is read once, whatever it is called."""
    folder, name = os.path.split(path)
    return os.path.join(os.path.realpath(folder), name)


def _paths(value: str | None) -> list[str]:
    return paths(value) if value else []
