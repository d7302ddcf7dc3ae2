"""
Where a command writes, and whose code it runs, by the table of its program.

Outside the project, and in a repository's own folder, only a rule that names the place covers it: ``cp *`` is no leave
to write ``~/.bashrc`` or ``.git/hooks``, nor ``pytest *`` to run the tests of another project.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Literal, NamedTuple

from executor_permissions.judge.bash._expand import ANYWHERE
from executor_permissions.judge.bash._words import MAX_NESTING, NO_FILES, Glob, Module, program_of
from executor_permissions.judge.options import walk
from executor_permissions.judge.options._unpacks import UNPACKERS, Unpacked, is_git, unpacked_by
from executor_permissions.judge.paths._globbed import WILDCARD
from executor_permissions.judge.paths._globs import Wildcard, literal
from executor_permissions.judge.paths._overlap import may_meet
from executor_permissions.judge.paths._paths import UnclearPathError, followed, under
from executor_permissions.judge.rules._wild import folder_of
from executor_permissions.judge.runs._peel import parts_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from executor_permissions.judge.bash._expand import Folders
    from executor_permissions.judge.bash._words import Command
    from executor_permissions.judge.options import Walk
    from executor_permissions.judge.paths._links import Links
    from executor_permissions.judge.rules._rules import Places
    from executor_permissions.judge.rules._tokens import TokenPattern

# Where programs may leave what nobody keeps.
_FREE = ("/tmp", "/var/tmp")  # noqa: S108 -- compared, not opened
_STREAMS = NO_FILES | {"-"}
# What they put into a folder keeps its name there; of "a/." and the like it is what is in the folder.
PLACING = frozenset({"cp", "mv", "rsync", "install", "ln"})
_CONTENTS = re.compile(r"(?:\A|/)\.{0,2}\Z")
_INTO_ITSELF = re.compile(r"-[^-]*T|--no-t")


class Use(NamedTuple):
    """
    What a command does to a file or folder that it is given.

    Attributes:
        verb: It brings what comes under that name out of another folder, maybe with what is in it.
        path: As it is written; what is imported by its name is a `Module`.
        source: The folder of which all that is in it comes into the folder *path*, or "".
        unpacked: What comes into the folder *path* out of an archive, or None.
    """

    verb: Literal["writes", "runs", "brings"]
    path: str
    source: str = ""
    unpacked: Unpacked | None = None


def uses_of(command: Command) -> tuple[Use, ...]:
    """What *command* is given to write and to run."""
    inner = parts_of(command)
    found = None
    if inner or command.program in UNPACKERS:
        found = unpacked_by(command) or (unpacked_by(inner[-1]) if inner else None)
    known = walk(command.words)
    if found is None and (known is None or not (known.writes or known.runs or known.inner)):
        return ()  # as for nearly every command
    uses = tuple(_uses(command.words, 0))
    return uses if found is None else (*uses, Use("writes", found.folder or ".", "", found))


def _uses(words: list[str], depth: int) -> Iterator[Use]:
    found = walk(words) if words and depth <= MAX_NESTING else None
    if found is None or not (found.writes or found.runs or found.inner):
        return
    yield from (Use("writes", path) for path in found.writes if path not in _STREAMS)
    for path in found.runs:
        yield Use("runs", path if type(path) is Module else path.partition("::")[0])
    yield from _placed(words, found)
    for start, end in found.inner:
        yield from _uses(words[start:end], depth + 1)


def _placed(words: list[str], found: Walk) -> Iterator[Use]:
    """What a copy or a move puts into the folder that it is given last."""
    for path in names_in_targets(words, found):
        name = path.rpartition("/")[2]
        if name == ".git" or (type(path) is Glob and may_meet(f"/{name}", "/.git")):
            yield Use("writes", f"{found.writes[-1]}/.git")
        yield Use("brings", f"{found.writes[-1]}/{name}")
    if found.writes and program_of(words) in PLACING:
        into = any(map(_INTO_ITSELF.match, words))
        for source in (*found.reads, *found.writes[:-1]):
            if into or _CONTENTS.search(source):
                yield Use("writes", found.writes[-1], source)


def names_in_targets(words: list[str], found: Walk | None) -> list[str]:
    """The files that a copy or a move makes, if what it is given last is a folder: of ``cp a/b c`` that is ``c/b``."""
    if found is None or not found.writes or program_of(words) not in PLACING:
        return []
    target = found.writes[-1].rstrip("/")
    paths = []
    for source in (*found.reads, *found.writes[:-1]):
        name = source.rstrip("/").rpartition("/")[2]
        if name not in ("", ".", ".."):
            paths.append(Glob(f"{target}/{name}") if type(source) is Glob else f"{target}/{name}")
    return paths


class Destinations:
    """
    Says of files that are written or run whether a rule has to name them.

    Args:
        places: The project, in which it need not, and its repository, in which it has to.
        bases: The folders that relative names in rules start from.
    """

    def __init__(self, places: Places, links: Links, bases: Folders) -> None:
        self._project = places.project
        self._own = places
        self._links = links
        self._bases = bases

    def unnamed(self, uses: Iterable[Use], folders: Folders, rule: TokenPattern | None, *, plain: bool) -> str | None:
        """
        Why *rule* does not cover all of *uses*, in whichever of *folders*; None if it does.

        Args:
            plain: Whether no command before has made files.
        """
        for use in uses:
            if type(use.path) is Module:
                why = self._imported(use.path, folders)
                if why is not None and not _names_module(rule, use.path):
                    return why
                continue
            if use.verb == "brings" and not self._own.repository:
                continue
            for place in self._places(_fixed(use.path), folders):
                why = self._brings(use, place) if use.verb == "brings" else self._why(use, place)
                if why is not None and not self._names(rule, use, place):
                    return why
                why = self._comes_in(use, place, folders, rule, plain=plain)
                if why is not None and not self._spells(rule, use, place):
                    return why
        return None

    def _names(self, rule: TokenPattern | None, use: Use, place: str | None) -> bool:
        """Whether one of the words of *rule* is the path of *use*, or names a folder that *place* is below."""
        if rule is None or place is None:
            return False
        if self._spells(rule, use, place):
            return True
        for token in rule.tokens:
            folder = folder_of(token) if literal(token) is None else ""
            if folder and Wildcard.of(token).fits(use.path) and self._is_below(place, folder):
                return True
        return False

    def _spells(self, rule: TokenPattern | None, use: Use, place: str | None) -> bool:
        """Whether *rule* has that path, and means *place*: after ``cd .git`` the name alone says nothing of it."""
        return rule is not None and str(use.path) in rule.literals and place in {*self._meant(_fixed(use.path))}

    def _meant(self, path: str) -> Iterator[str]:
        """Where *path* of a rule is, from each of the folders that it may start from."""
        for base in self._bases:
            named = os.path.normpath(os.path.join(base, path))  # noqa: PTH118 -- text, not a file
            with suppress(UnclearPathError):
                yield followed(named, self._project, self._links.real)

    def _is_below(self, place: str, folder: str) -> bool:
        """Whether *place* is below *folder* of a rule, and in no ``.git`` there."""
        in_own = self._own.is_in_repository
        for named in self._meant(folder):
            if under(place, named) and not is_git(place[len(named) :]) and (in_own(named) or not in_own(place)):
                return True
        return False

    def _imported(self, name: str, folders: Folders) -> str | None:
        """Why what Python finds by *name* may not be in the project."""
        first = name.partition(".")[0]
        ends = ("/__init__.py", ".py") if first == "test" else ("", ".py")  # Python has a package of that name
        paths = [name] if "/" in name else [above + first + end for above in ("", "src/") for end in ends]
        for folder in folders:
            places = [place for path in paths for place in self._places(path, frozenset({folder}))]
            place = next((one for one in places if one is not None and self._links.exists(one)), None)
            why = self._why(Use("runs", name), place) if place else f"it runs what is not in the project: {name}"
            if why is not None:
                return why
        return None

    def _places(self, path: str, folders: Folders) -> Iterator[str | None]:
        for folder in folders:
            try:
                yield None if folder == ANYWHERE else self._links.real(os.path.join(folder, path), folder)  # noqa: PTH118 -- text, not a file
            except UnclearPathError:
                yield None

    def _brings(self, use: Use, place: str | None) -> str | None:
        """Why what *use* brings may be the folder that the repository is in, or one that holds it."""
        name, is_glob = use.path.rpartition("/")[2], WILDCARD.search(use.path)
        for folder in self._own.repository:
            if place is None or not under(folder, place):
                continue
            first = folder[len(place) :].partition("/")[2].partition("/")[0]
            if not is_glob or may_meet(f"/{name}", f"/{first}"):
                return f"it writes what is in a repository's own folder: {folder}"
        return None

    def _holds_own(self, source: str, place: str) -> bool:
        """Whether in the folder *source* is what would become a repository's own in the folder *place*."""
        names = [folder[len(place) :] for folder in self._own.repository if under(folder, place)]
        return any(self._links.exists(source + name) for name in ("/.git", *names))

    def _comes_in(
        self, use: Use, place: str | None, folders: Folders, rule: TokenPattern | None, *, plain: bool
    ) -> str | None:
        """Why what comes into the folder *place* may come into a repository's own folder."""
        if place is None or use.verb == "brings" or not self._may_hold_own(place):
            return None
        if use.unpacked is not None:
            spelled = rule is not None and "*" not in rule.text and use.unpacked.archive is not None
            return self._unpacked(use.unpacked, place, folders, plain=plain, spelled=spelled)
        if not use.source:
            return None
        for source in self._places(_fixed(use.source), folders):
            if source is None or not plain or self._holds_own(source, place):
                return f"what it copies from {use.source} may be a repository's own folder"
        return None

    def _may_hold_own(self, place: str) -> bool:
        own = any(under(folder, place) for folder in self._own.repository)
        return own or place == self._project or self._links.exists(f"{place}/.git")

    def _unpacked(self, unpacked: Unpacked, top: str, folders: Folders, *, plain: bool, spelled: bool) -> str | None:
        """The same of what is unpacked into the folder *top*; one that is *spelled* out need not be looked into."""
        from executor_permissions.judge.files._archives import names_at

        unclear = None if spelled else f"what it unpacks cannot be looked at, and {top} may have a repository"
        if unpacked.archive is None or not plain:
            return unclear
        for archive in self._places(unpacked.archive, folders):
            names = names_at(archive, unpacked.form, self._links) if archive is not None else None
            if names is None:
                return unclear
            for name in names:
                if is_git(name) or self._is_in_git(f"{top}/{name}"):
                    return f"it writes what is in a repository's own folder: {name}"
        return None

    def _is_in_git(self, path: str) -> bool:
        try:
            place = self._links.real(path)
            return is_git(place[len(self._project) :]) or self._own.is_in_repository(place)
        except UnclearPathError:
            return True

    def _why(self, use: Use, place: str | None) -> str | None:
        if place is None:
            return f"it {use.verb} {use.path}, and nobody knows where that is"
        if under(place, self._project):
            inside = self._own.is_in_repository(place)
            return f"it {use.verb} what is in a repository's own folder: {use.path}" if inside else None
        if use.verb != "runs" and any(under(place, free) for free in _FREE):
            return None
        return f"it {use.verb} what is outside the project: {use.path}"


def _fixed(path: str) -> str:
    """The folder in which a glob's names are; any other path as it is."""
    wildcard = WILDCARD.search(path)
    return path if wildcard is None else path[: path.rfind("/", 0, wildcard.start()) + 1] or "."


def _names_module(rule: TokenPattern | None, name: str) -> bool:
    """Whether one of the words of *rule* is the module *name*, or the package that it is in with a ``.*``."""
    if rule is None:
        return False
    globs = [token for token in rule.tokens if literal(token) is None and token.endswith(".*") and "/" not in name]
    return str(name) in rule.literals or any(Wildcard.of(token).fits(name) for token in globs if token[:1] != "*")
