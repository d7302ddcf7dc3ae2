"""What a recursive search is told: where it looks, and which files it leaves out."""

# ruff: noqa: SIM905, PTH112 -- lines of words; texts, not files
from __future__ import annotations

import os
import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

from executor_permissions.judge.bash._words import Glob, program_of
from executor_permissions.judge.files._shows import SHOWING, shown_by
from executor_permissions.judge.git._ignore_files import is_shown
from executor_permissions.judge.git._shows import operands, sub_command_at
from executor_permissions.judge.options import walk
from executor_permissions.judge.options._programs import FIND_RUNS, GREPS
from executor_permissions.judge.paths._overlap import may_meet
from executor_permissions.judge.paths._paths import under
from executor_permissions.judge.runs._handed_on import told

if TYPE_CHECKING:
    from collections.abc import Callable

_SEARCHERS = frozenset("rg ag ack ugrep ug rga ripgrep-all rgrep".split())  # they always search below folders
# They unpack files for grep; what is told about folders they hand on, some versions of them.
_UNPACKING_GREPS = frozenset(
    f"{packed}{kind}grep" for packed in ("z", "bz", "xz", "lz", "zstd") for kind in ("", "e", "f")
)
_ALL_GREPS = GREPS | _UNPACKING_GREPS
_COMPARING = frozenset("diff sdiff colordiff zdiff bzdiff xzdiff lzdiff".split())
LOOKING = _ALL_GREPS | _SEARCHERS | SHOWING | _COMPARING | {"git", "find"}
LOOKING_OF_GIT = frozenset({"grep", "diff", "difftool"})  # its sub-commands that may look at folders
# They take names for names.
_NAMING = frozenset("echo printf basename dirname true false test [ [[ realpath readlink".split())
_FOLLOWING = re.compile(r"-[A-Za-z]*R|--dereference-rec")
_FOLLOWING_TOO = re.compile(r"-[A-Za-z]*[Lf]|--fol")
_GLOBS = re.compile(r"-[A-Za-z]*[gt]|--i?glob|--type-")
# Globs and types that are asked for are looked at even if they begin with a dot.
_HIDDEN = re.compile(r"-[A-Za-z]*[.uUgt]|--hid|--no-ignore|--unr|--i?glob|--type|--ignore-file|--pre")
_RECURSIVE = re.compile(r"-[A-Za-z]*[rRd]|--(?:dereference-)?rec|--dir")  # also "-d recurse"
_LEADING_OUT = re.compile(r"^[/~]|(?:^|/)\.\.(?:/|$)")
_UNTRACKED = ("--unt", "--no-ind", "--no-exc")  # git looks at files that are not its own
_CHOOSING = frozenset("--include --exclude --exclude-dir --exclude-from".split())
CHOOSING = ("--include=", "--exclude=", "--exclude-dir=")  # patterns for the files that are looked at, or left out
_UNSURE = frozenset("\\[")
_PLAIN = re.compile(r"-[acfHilLnQrRsSuUvwz]+\Z|--(?:hidden|follow|nocolor|literal|ignore-case)\Z")  # they take no value
# The types of rg for which nothing counts but the end of a name, in which "*" is for what differs between versions.
_TYPES = {"py": "*.py*", "rust": "*.rs", "go": "*.go", "js": "*.*js*", "ts": "*.*ts*", "css": "*.*css", "java": "*.j*"}


class Search(NamedTuple):
    """
    What a recursive search is told.

    Attributes:
        program: The program that searches.
        operands: Where it searches.
        follows: Whether it follows the links that it meets.
        hidden: Whether it looks into what begins with a dot.
        choice: Which files it leaves out.
        unless_repository: Whether it searches only where no repository of git is.
        deep: Whether it looks into the folders in a folder.
        does: What it does to what it finds, for a person.
    """

    program: str
    operands: list[str]
    follows: bool
    hidden: bool
    choice: Choice
    unless_repository: bool = False
    deep: bool = True
    does: str = "searches"

    @classmethod
    def of(cls, words: list[str]) -> Search | None:
        """What *words* search, if they do so recursively."""
        program = program_of(words)
        if program is None or program not in LOOKING:
            return None
        if program == "git":
            if "diff" in words or "difftool" in words:
                return cls._of_git_diff(words)
            if "grep" not in words or not any(word.startswith(_UNTRACKED) for word in words[1:]):
                return None
            return cls(program, ["."], follows=False, hidden=True, choice=Choice())
        if program in SHOWING:
            return cls._of_shown(program, words)
        given = words[1:]
        if program in _ALL_GREPS and not any(map(_RECURSIVE.match, given)):
            return None
        if program == "find":
            return cls._of_find(words)
        found = walk(words)
        known = found is not None and found.reach < 0
        operands = found.reads if found is not None and known else _operands(words)
        if program in _ALL_GREPS:
            follows = any(map(_FOLLOWING.match, given))
            return cls(
                program, _searched(program, operands), follows, hidden=True, choice=Choice.of(words, known=known)
            )
        if program in _COMPARING:  # of two folders the files in them, of a file and a folder the one of that name
            follows, deep = "--no-dereference" not in given, any(map(_RECURSIVE.match, given))
            operands = operands if found is not None else [word for word in given if word[:1] != "-"]
            return cls(program, operands, follows, hidden=True, choice=Choice.of(words, known=known), deep=deep)
        follows = any(map(_FOLLOWING_TOO.match, given))
        hidden = program in ("ack", "rgrep") or any(map(_HIDDEN.match, given))
        return cls(program, operands or ["."], follows, hidden, Choice.of_globs(words) if known else Choice())

    @classmethod
    def _of_shown(cls, program: str, words: list[str]) -> Search | None:
        """What a program shows by itself."""
        shown = shown_by(program, words)
        if shown is None:
            return None
        choice = Choice(tuple((True, name) for name in shown.names))
        return cls(program, shown.folders, follows=False, hidden=True, choice=choice, does=shown.does)

    @classmethod
    def _of_git_diff(cls, words: list[str]) -> Search | None:
        """Two paths, which git compares as diff does: if told to, with one out of the repository, or without any."""
        given = operands(words[sub_command_at(words) :])
        if len(given) < 2:
            return None
        untracked = any(word.startswith(_UNTRACKED) for word in words)
        inside = not untracked and all(type(word) is str and not _LEADING_OUT.search(word) for word in given)
        return cls("diff", given, follows=False, hidden=True, choice=Choice(), unless_repository=inside)

    @classmethod
    def _of_find(cls, words: list[str]) -> Search | None:
        """What find has another program look at."""
        given = {program_of(words[i + 1 :]) for i, word in enumerate(words) if word in FIND_RUNS}
        if given <= _NAMING:
            return None
        found = walk(words)
        operands = found.reads if found is not None else []
        follows = not {"-L", "-follow"}.isdisjoint(words)
        return cls("find", operands or ["."], follows, hidden=True, choice=Choice.of_tests(words))

    def leaves_out(self, path: str, top: str) -> bool:
        """Whether it does not look at *path*, which it comes to from the folder *top*."""
        # Behind a link it knows the folders by other names.
        below = path[len(top) :].split("/") if under(path, top) and not self.follows else [path.rpartition("/")[2]]
        parts = [part for part in below if part]
        if not parts:
            return False
        if not self.hidden and not self.follows and any(part[:1] == "." for part in parts):
            return not is_shown(path, [part for part in parts if part[:1] == "."])
        is_folder = os.path.isdir(path)
        folders = parts if is_folder else parts[:-1]
        if not self.follows and any(map(self.choice.skips_folder, folders)):
            return True
        if is_folder:
            return self.program == "diff" and self.choice.skips_file(parts[-1])
        return self.choice.skips_file(parts[-1])

    @property
    def skips(self) -> Callable[[str], bool] | None:
        """Says of a folder's name whether nothing in it is looked at; None if that cannot be."""
        return self.choice.skips_folder if self.choice.folders and not self.follows else None

    def hint(self, path: str) -> str:
        """How the same search leaves *path* out, if there is a simple way."""
        if self.program not in GREPS:
            return ""
        option = "--exclude-dir=" if os.path.isdir(path) else "--exclude="
        return f" ({option}{path.rpartition('/')[2]} leaves it out)"


def _searched(program: str, operands: list[str]) -> list[str]:
    """Where a grep does; one that unpacks is given the content of each file and no name: it searches where it is."""
    return [*operands, "."] if program in _UNPACKING_GREPS or not operands else operands


def _operands(words: list[str]) -> list[str]:
    """Where a program searches of whose options nobody knows which take a value."""
    options = [word for word in words[1:] if word[:1] == "-"]
    operands = [word for word in words[1:] if word[:1] != "-" or type(word) is not str]
    plain = words[0] in ("ag", "ack") and all(map(_PLAIN.match, options))
    return operands[1:] if plain or not options else [*operands, "."]


class Choice(NamedTuple):
    """
    Which files a search of GNU's leaves out.

    Attributes:
        files: Patterns for names of files in their order, each with whether it includes them; None for any number that
            are not known.
        folders: Patterns for names of folders that are left out.
    """

    files: tuple[tuple[bool, str | None], ...] = ()
    folders: tuple[str, ...] = ()

    @classmethod
    def of(cls, words: list[str], *, known: bool) -> Choice:
        """What *words* say; nothing unless it is *known* which of them are options."""
        if not known or "--" not in " ".join(words):
            return cls()
        files: list[tuple[bool, str | None]] = []
        folders: list[str] = []
        end = words.index("--") if "--" in words else len(words)
        for i in range(1, end):
            if words[i][:2] != "--":
                continue
            name, equals, value = words[i].partition("=")
            if name not in _CHOOSING or type(words[i]) not in (str, Glob):
                continue
            if not equals:
                value = words[i + 1] if i + 1 < len(words) else ""
            if name == "--exclude-dir":
                folders.append(value)
            else:
                files.append((name == "--include", None if name == "--exclude-from" else value))
        return cls(tuple(files), tuple(folders))

    @classmethod
    def of_globs(cls, words: list[str]) -> Choice:
        """What ``rg`` looks at, if it is given globs: of ``-g '*.py'`` no other files."""
        found: list[tuple[bool, str | None]] = []
        end = words.index("--") if "--" in words else len(words)
        for i in range(1, end):
            name, equals, value = words[i].partition("=")
            if not equals:
                value = words[i + 1] if i + 1 < len(words) else ""
            if name in ("-t", "--type") or (name[:2] == "-t" and name[2:] in _TYPES):
                value = value if name in ("-t", "--type") else name[2:]
                found.append((True, _TYPES.get(value)))
                continue
            if name not in ("-g", "--glob"):
                if _GLOBS.match(name):
                    return cls()
                continue
            if value[:1] != "!":
                found.append((True, value.rpartition("/")[2] if "{" not in value else None))
        return cls(tuple(found))

    @classmethod
    def of_tests(cls, words: list[str]) -> Choice:
        """What ``find`` hands on: with ``-name '*.py'`` no other files."""
        end = next(i for i, word in enumerate(words) if word in FIND_RUNS)
        names = told(words[:end], "-name")
        if not names or any(type(name) is not str for name in names):
            return cls()
        return cls(((True, names[0]), *((False, name) for name in told(words[:end], "-name", negated=True))))

    def skips_file(self, name: str) -> bool:
        """Whether no file *name* is looked at: the last pattern that fits counts, and if none does, the first."""
        for includes, pattern in reversed(self.files):
            if includes and (pattern is None or "\\" in pattern or may_meet("/" + pattern, "/" + name, dots=True)):
                return False
            if not includes and _surely_fits(pattern, name):
                return True
        return bool(self.files) and self.files[0][0]

    def skips_folder(self, name: str) -> bool:
        """Whether no folder *name* is looked into."""
        return any(_surely_fits(pattern.rstrip("/"), name) for pattern in self.folders)


def _surely_fits(pattern: str | None, name: str) -> bool:
    """Whether *name* fits, whoever reads the pattern: classes and backslashes are not the same everywhere."""
    return pattern is not None and _UNSURE.isdisjoint(pattern) and fnmatchcase(name, pattern)
