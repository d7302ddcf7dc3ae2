"""What a recursive search of a shell command finds below its folders."""

# ruff: noqa: SIM905, PTH112, PTH118 -- lines of words; texts, not files
from __future__ import annotations

import os
import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Literal, NamedTuple

from executor_permissions.judge._expand import ANYWHERE
from executor_permissions.judge._file_rules import Found
from executor_permissions.judge._overlap import may_meet
from executor_permissions.judge._paths import Place, UnclearPathError
from executor_permissions.judge._secrets import secret_places
from executor_permissions.judge._unwrap import program_of
from executor_permissions.judge._words import Glob

if TYPE_CHECKING:
    from collections.abc import Iterator

    from executor_permissions.judge._expand import Folders
    from executor_permissions.judge._file_rules import FileRules
    from executor_permissions.judge._links import Links

_MOST_ENTRIES = 2000  # files that are looked at for one decision
GREPS = frozenset("grep egrep fgrep".split())
_SEARCHERS = frozenset({"rg", "ag", "ack"})  # they always search below folders
_LOOKING = GREPS | _SEARCHERS | {"diff", "git"}
_FOLLOWING = re.compile(r"-[A-Za-z]*R|--dereference-rec")
_HIDDEN = re.compile(r"-[A-Za-z]*[.uU]|--hid|--no-ignore|--unr")
_RECURSIVE = re.compile(r"-[A-Za-z]*[rRd]|--(?:dereference-)?rec|--dir")  # also "-d recurse"
_UNTRACKED = ("--unt", "--no-ind", "--no-exc")  # git grep looks at files that are not its own
_INCLUDING = "--include="
_EXCLUDING = "--exclude="
_EXCLUDING_FOLDERS = "--exclude-dir="
CHOOSING = (_INCLUDING, _EXCLUDING, _EXCLUDING_FOLDERS)  # patterns for the files that are looked at, or left out


class Searches:
    """
    Looks below the folders that the commands of one call search.

    Args:
        rules: The files that the policy keeps.
        home: Where the user's secrets are.
        links: Resolves paths.
    """

    def __init__(self, rules: FileRules, home: str, links: Links) -> None:
        self._rules = rules
        self._home = home
        self._links = links
        self._entries = 0

    def reached(self, words: list[str], folders: Folders) -> tuple[Literal["maybe", "ask"], str, str | None] | None:
        """
        Why a program with its arguments may show what no tool may read, and the rule about that; None if it does not.

        ``maybe`` if a rule denies it, ``ask`` if it is only known to be secret.
        """
        search = _Search.of(words)
        if search is None:
            return None
        for text in search.operands:
            for folder in folders - {ANYWHERE}:
                try:
                    top = self._links.real(os.path.join(folder, text), folder)
                    for one in self._held(top, follow=search.follows):
                        if not search.leaves_out(one.path[len(top) :]):
                            why = f"it searches {one.path}, which a rule denies{search.hint(one.path)}"
                            return "maybe", why, one.rule
                    for path in self._secrets_below(top):
                        if not search.leaves_out(path[len(top) :]):
                            return "ask", f"it searches {path}, which may hold secrets{search.hint(path)}", None
                except UnclearPathError as error:
                    return "maybe", str(error), None
        return None

    def _secrets_below(self, top: str) -> Iterator[str]:
        start = top if top.endswith("/") else top + "/"
        for path in secret_places(self._home):
            if path.startswith(start) and ("*" in path or os.path.lexists(path)):
                yield path

    def _held(self, top: str, *, follow: bool) -> Iterator[Found]:
        """What is below the folder *top*, and no tool may read; with *follow* behind links as well."""
        for one in self._rules.below(top):
            if one.kept == "read" and one.is_there():
                yield one
        if not self._rules.patterns and not follow:
            return
        waiting, seen = [top], {top}
        while waiting:
            for path, link in self._files_in(waiting.pop(), waiting):
                if link and not follow:
                    continue
                place = self._links.place(path) if link else Place(path, path, path)
                for one in self._rules.about(place):
                    if one.kept == "read":
                        yield Found(path, one.rule, one.kept)
                if link and place.real not in seen:
                    seen.add(place.real)
                    waiting.append(place.real)
                    yield from self._held(place.real, follow=False)

    def _files_in(self, folder: str, waiting: list[str]) -> Iterator[tuple[str, bool]]:
        """The files and links in *folder*, each with whether it is a link; its folders are added to *waiting*."""
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    self._entries += 1
                    if self._entries > _MOST_ENTRIES:
                        raise UnclearPathError("it searches more files than are looked at")
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    else:
                        yield entry.path, entry.is_symlink()
        except OSError:  # not there, or not to be looked at
            return


class _Search(NamedTuple):
    """
    What a recursive search is told.

    Attributes:
        operands: Where it searches.
        follows: Whether it follows the links that it meets.
        hidden: Whether it looks into what begins with a dot.
        words: All of its words.
    """

    operands: list[str]
    follows: bool
    hidden: bool
    words: list[str]

    @classmethod
    def of(cls, words: list[str]) -> _Search | None:
        """What *words* search, if they do so recursively."""
        program = program_of(words)
        if program not in _LOOKING:
            return None
        options = [word for word in words[1:] if word[:1] == "-"]
        if program in GREPS:
            if not any(_RECURSIVE.match(word) for word in options):
                return None
            follows, hidden = any(_FOLLOWING.match(word) for word in options), True
        elif program in _SEARCHERS:
            follows = any(word in ("-L", "--follow", "-f") for word in options)
            hidden = any(_HIDDEN.match(word) for word in options)
        elif program == "diff":  # of two folders it compares the files in them
            follows = any(_RECURSIVE.match(word) for word in options)
            return cls([word for word in words[1:] if word[:1] != "-"], follows=follows, hidden=True, words=words)
        elif "grep" in words and any(word.startswith(_UNTRACKED) for word in options):
            return cls(["."], follows=False, hidden=True, words=words)
        else:
            return None
        operands = [word for word in words[1:] if word[:1] != "-" or type(word) is not str]
        return cls(operands[1:] or ["."], follows, hidden, words)

    def leaves_out(self, below: str) -> bool:
        """Whether it does not look at the path *below* its folder."""
        parts = [part for part in below.split("/") if part]
        if not self.hidden and any(part[:1] == "." for part in parts):
            return True
        if any(fnmatchcase(parts[-1], value) for value in self._values(_EXCLUDING)):
            return True
        if any(fnmatchcase(part, value) for value in self._values(_EXCLUDING_FOLDERS) for part in parts):
            return True
        included = self._values(_INCLUDING)
        return bool(included) and not any(may_meet("/" + value, "/" + parts[-1]) for value in included)

    def hint(self, path: str) -> str:
        """How the same search leaves *path* out, if there is a simple way."""
        if program_of(self.words) not in GREPS:
            return ""
        option = _EXCLUDING_FOLDERS if os.path.isdir(path) else _EXCLUDING
        return f" ({option}{path.rpartition('/')[2]} leaves it out)"

    def _values(self, option: str) -> list[str]:
        return [word[len(option) :] for word in self.words if word.startswith(option) and type(word) in (str, Glob)]
