"""What the policy says about files, ready to be asked about the operands of commands."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from executor import paths
from executor_permissions.judge.paths._globs import STAR, Texts, TreeWildcard, Wildcard, escaped
from executor_permissions.judge.paths._overlap import may_meet
from executor_permissions.judge.paths._paths import Place
from executor_permissions.judge.paths._secrets import may_hold_secrets
from executor_permissions.judge.rules._rules import OWN_FILES, READING_TOOLS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from executor_permissions.judge.paths._links import Links
    from executor_permissions.judge.paths._paths import PathRule
    from executor_permissions.judge.rules._rules import Places, RuleList

# From whom a file is kept: it is the policy's own, from whoever reads it, from some tool, from what changes it.
Kept = Literal["own", "read", "other", "write"]
_ORDER: tuple[Kept, ...] = ("own", "read", "other", "write")
_MOST_FREE = 512
_LOOKS_AT_ONCE = 16  # rules with a "*" that a path is compared with in the time of one look at a path
_WRITING_TOOLS = frozenset({"writeFile", "editFile", "deleteFile", "write_file", "edit_file", "delete_file"})


class Found(NamedTuple):
    """A file that a rule is about: the rule, and what it keeps the file from."""

    path: str
    rule: str
    kept: Kept


class Several(NamedTuple):
    """A rule that may be about files of several names: what their whole paths fit, the folder in which to look, it."""

    glob: TreeWildcard
    root: str
    about: Found


@dataclass(slots=True)
class FileRules:
    """
    The files that the lists of a policy keep from its tools.

    Attributes:
        roots: Files and folders, resolved and as they are written.
        patterns: Rules with a ``*``, each with what it is about: the path of that is a pattern.
        several: What may be about files of several names: those with a ``*``, and beginnings.
        keeps_from_reading: Whether a file may be kept from whoever reads it.
        usual: Some of the folders that neither a rule is about nor what is known of secrets; at most `_MOST_FREE`.
    """

    roots: dict[str, Found] = field(default_factory=dict)
    patterns: list[tuple[PathRule, Found]] = field(default_factory=list)
    several: list[Several] = field(default_factory=list)
    keeps_from_reading: bool = False
    usual: set[str] = field(default_factory=set)
    _beginnings: list[Found] = field(default_factory=list)
    _called: list[tuple[Wildcard, Found]] = field(default_factory=list)  # of *patterns*, by one name in each
    _folded: dict[str, str] = field(default_factory=dict)
    _names: set[str] = field(default_factory=set)
    _bare: set[tuple[str, str]] = field(default_factory=set)  # folders that `is_bare` said yes of, and so many
    _free: set[str] = field(default_factory=set)  # folders that no root is, or is above; at most `_MOST_FREE`
    _named: dict[bool, dict[str, Found]] = field(default_factory=dict)  # `kept_by_name`, of either kind
    _compared: tuple[str, tuple[str, ...], list[Found]] = field(default_factory=lambda: ("", (), []))

    def add_rule(self, rule: PathRule, text: str, kept: Kept) -> None:
        """Add a rule of the file."""
        if "*" in rule.pattern:
            about = Found(rule.pattern, text, kept)
            self.patterns.append((rule, about))
            if rule.glob is not None:
                self.several.append(Several(rule.glob, rule.root, about))
            if kept == "read":
                self._called.append((Wildcard.of(_telling_name(rule.pattern)), about))
                self.keeps_from_reading = True
            self.usual.clear()
            self._bare.clear()
            return
        for path in (rule.root, rule.written):
            self.add(path, text, kept)
            if not path[-1:].isalnum() and path != "/" and not rule.subtree:
                about = Found(path, text, kept)  # "/home/me/.ssh/id_"
                self._beginnings.append(about)
                self.several.append(
                    Several(TreeWildcard.of(escaped(path) + STAR), path.rpartition("/")[0] or "/", about)
                )

    def add(self, path: str, text: str, kept: Kept) -> None:
        """Add one file or folder. Of two rules for it the one that keeps more is heeded."""
        found = self.roots.get(path)
        if found is None or _ORDER.index(kept) < _ORDER.index(found.kept):
            self.roots[path] = Found(path, text, kept)
            self.keeps_from_reading = self.keeps_from_reading or kept == "read"
            self._free.clear()
            self.usual.clear()
            self._bare.clear()
            self._named.clear()
            self._folded[_fold(path)] = path
            self._names.add(_fold(path.rpartition("/")[2]))

    @property
    def looks(self) -> int:
        """What comparing one path with all rules costs: the look at it, and that at rules with a ``*``."""
        return 1 + len(self.patterns) // _LOOKS_AT_ONCE

    def kept_by_name(self, *, writes: bool) -> dict[str, Found]:
        """The first of the files of each name that rules keep from whoever reads, or who *writes*."""
        found = self._named.get(writes)
        if found is None:
            found = self._named[writes] = {}
            for path, one in self.roots.items():
                if one.kept in ("own", "read") or (writes and one.kept == "write"):
                    found.setdefault(path.rpartition("/")[2], one)
        return found

    @property
    def has_rules(self) -> bool:
        """Whether a rule of the file keeps any: those of the policy's own are kept without one."""
        return bool(self.patterns) or any(one.kept != "own" for one in self.roots.values())

    def keep_usual(self, folder: str) -> None:
        """Remember that *folder* is one of the usual ones."""
        if len(self.usual) >= _MOST_FREE:
            self.usual.clear()
        self.usual.add(folder)

    def is_bare(self, folder: str, home: str) -> bool:
        """Whether nothing below *folder* is kept from reading, or secret if *home* is the user's, whatever is there."""
        if (folder, home) in self._bare:
            return True
        if self.patterns or self.below(folder, "read") or may_hold_secrets(folder, home):
            return False
        if len(self._bare) >= _MOST_FREE:
            self._bare.clear()
        self._bare.add((folder, home))
        return True

    def is_plain(self, path: str) -> bool:
        """Whether no file or folder of one of the names in *path* has a rule."""
        if self.patterns or self._beginnings:
            return False
        return self._names.isdisjoint(path.casefold().split("/") if path.isascii() else map(_fold, path.split("/")))

    def about(self, place: Place, links: Links) -> list[Found]:
        """The rules about *place*, to which *links* have led."""
        found = self._above(place.real, links)
        if place.written != place.real:
            found += self._above(place.written, links)
        if place.entry != place.real:
            found += self._above(place.entry, links)
        text = "\n".join({place.real, place.written, place.entry})
        found += [about for rule, about in self.patterns if rule.piece in text and rule.catches(place)]
        return found

    def may_be_in(self, folder: str, files: Iterable[str], links: Links) -> bool:
        """Whether a rule may be about one of *files*, paths of what is in *folder*."""
        if self._above(folder, links):
            return True
        paths = "\n".join(files)
        if any(rule.piece in paths for rule, _ in self.patterns) or any(one.path in paths for one in self._beginnings):
            return True
        names = _fold(paths.replace(f"{folder}/", "/"))
        return any(f"/{name}" in names for name in self._names)

    def _above(self, path: str, links: Links) -> list[Found]:
        """The rules about *path*, or about a folder above it."""
        found = [one for one in self._beginnings if path.startswith(one.path)]
        roots, folded, free = self.roots, self._folded, True
        at, other = path, _fold(path)
        while at not in self._free:
            if at in roots:
                found.append(roots[at])
                free = False
            elif other in folded:
                free = False
                if self._same(at, links):
                    found.append(roots[folded[other]])
            if len(at) <= 1:
                break
            at = at[: at.rfind("/")] or "/"
            other = other[: other.rfind("/")] or "/"
        if free:
            if len(self._free) >= _MOST_FREE:
                self._free.clear()
            self._free.add(path[: path.rfind("/")] or "/")
        return found

    def _same(self, path: str, links: Links) -> bool:
        """Whether a file system that knows no case takes *path* for one of the roots."""
        links.looked_beyond = True
        try:
            return str(paths.resolve(path)) in self.roots
        except (OSError, ValueError):
            return False

    def below(self, folder: str, kept: Kept | None = None) -> list[Found]:
        """The rules about files and folders below *folder*: those that keep them from *kept*, or all."""
        start = folder if folder.endswith("/") else folder + "/"
        return [one for path, one in self.roots.items() if path.startswith(start) and kept in (None, one.kept)]

    def globs(self, kept: Kept) -> list[Found]:
        """What the rules with a ``*`` are about that keep files from *kept*."""
        return [one for _, one in self.patterns if one.kept == kept]

    def among(self, top: str, names: tuple[str, ...]) -> list[Found]:
        """The files of these *names* in the folder *top* that a rule with a wildcard keeps from whoever reads."""
        if self._compared[0] != top or self._compared[1] is not names:  # the same names are asked about again and again
            found = []
            for path in (f"{top}/{name}" for name in names):
                place = Place(path, path, path)
                found += [
                    one._replace(path=path)
                    for rule, one in self.patterns
                    if rule.piece in path and one.kept == "read" and rule.catches(place)
                ]
            self._compared = top, names, found
        return self._compared[2]

    def named_among(self, names: set[str], *, every: bool) -> Found | None:
        """A rule with a wildcard that keeps files of one of *names*, or *every* file, from whoever reads."""
        texts = Texts.of(names)
        return next((one for glob, one in self._called if every or texts.have(glob)), None)

    def may_become(self, pattern: str) -> list[Found]:
        """The rules about what a shell glob (absolute) may become."""
        found = [one for path, one in self.roots.items() if may_meet(pattern, path)]
        return found + [one for _, one in self.patterns if may_meet(pattern, one.path)]


def _telling_name(pattern: str) -> str:
    """The last name in *pattern* that is not any name: ``*.pem`` of ``**/*.pem``, and ``keys`` of ``keys/**``."""
    return next((name for name in reversed(pattern.split("/")) if name.strip(STAR)), STAR)


def _fold(path: str) -> str:
    return path.casefold() if path.isascii() else unicodedata.normalize("NFC", path).casefold()


def file_rules(
    rules: RuleList, tools: Iterable[str], kinds: Mapping[str, Mapping[str, str]], places: Places
) -> FileRules:
    """What one list says about files, for any of *tools*, whose arguments mean *kinds*; and the policy's own files."""
    found = FileRules()
    for tool in sorted(tools):
        kept: Kept = "read" if tool in READING_TOOLS else "write" if tool in _WRITING_TOOLS else "other"
        of_tool = rules.for_tool(tool, kinds.get(tool, {}), is_shell=False)
        about = [each for file in of_tool.files for values in file.values.values() for each in values]
        about += [
            (call.text, rule) for call in of_tool.calls for rule in call.arguments.values() if len(call.arguments) == 1
        ]
        for text, rule in about:
            if rule.path is not None and isinstance(rule.value, str):
                found.add_rule(rule.path, text, kept)
    for path in places.protected:
        found.add(path, OWN_FILES, "own")
    return found
