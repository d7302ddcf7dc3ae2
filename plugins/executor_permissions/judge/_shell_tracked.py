"""What git shows of files that it tracks, and that no tool may read: ``git diff``, ``git log -p``, ``git grep``."""

# ruff: noqa: PTH118 -- texts, not files; and pathlib is slower
from __future__ import annotations

import os
import re
from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

from executor.paths import regular_only
from executor_permissions.judge._expand import ANYWHERE
from executor_permissions.judge._git_head import in_head
from executor_permissions.judge._git_index import tracked
from executor_permissions.judge._paths import Place, UnclearPathError, under
from executor_permissions.judge.options import kind_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from executor_permissions.judge._expand import Folders
    from executor_permissions.judge._file_rules import FileRules, Found
    from executor_permissions.judge._links import Links

_MOST_COMPARED = 10_000  # times a tracked file is compared with a rule that has a wildcard, 2 µs each
_PATCH = re.compile(
    r"-(?:(?![SGnlOCMBX])[A-Za-z]*[pucWmUL].*|-patch.*|-unified.*|-cc|-check|-word-diff.*|-color-words.*|-binary|-function-context"
    r"|-remerge-diff|-diff-merges.*)\Z"
)
_NO_PATCH = re.compile(
    r"-(?:[sq]|-no-patch|-quiet|-raw|-summary|-name-(?:only|status)|-(?:short|num|dir)?stat(?:=.*)?)\Z"
)
_ONLY_NAMES = re.compile(r"-(?:[A-Za-z]*[lLcq]|-files-with.*|-name-only|-count|-quiet)\Z")
_ABOUT_OBJECTS = re.compile(r"-(?:[tse]|-batch-check.*)\Z")
_VERBOSE = re.compile(r"-(?:[A-Za-z]*v|-verbose)\Z")
_PATCHES = frozenset({"diff", "show", "range-diff", "format-patch"})
_PATCHES_IF_TOLD = frozenset({"log", "whatchanged", "reflog", "stash", "diff-tree", "diff-index", "diff-files"})
_OTHERS = frozenset({"grep", "status", "commit", "archive", "cat-file"})
_TAKING_A_VALUE = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--exec-path"})
_TYPES = frozenset({"blob", "tree", "commit", "tag"})
LEAVING_OUT = re.compile(r":(?:[!^]|\(exclude\))")  # pathspecs for what a command of git is not about
_MAGIC = frozenset("*?[:")
_OBJECT = re.compile(r"[\w./~^-]+:([^:]+)\Z")
_HASH = re.compile(r"[0-9a-f]{4,64}\Z")
_OF_OBJECTS = frozenset({"show", "diff", "cat-file", "archive", "grep"})
_FLAG = re.compile(  # no word behind it is its value
    r"-(?:[pucWmsq]|-(?:patch|cc|no-patch|quiet|raw|summary|name-only|name-status|(?:short|num)?stat|word-diff|text"
    r"|color-words|binary|textconv|filters|no-color|color)|[a-z-]+=.*)\Z"
)
_PATTERN = re.compile(r"-[A-Za-z]*[ef]|--(?:and|or|not)\Z")
_NO_PATHS = frozenset({"grep", "stash", "cat-file", "range-diff", "reflog"})  # before "--" they name no files
_WRITING_THE_INDEX = frozenset({"add", "stage", "update-index", "read-tree", "reset", "restore", "apply", "am"})
_BY_PATH = frozenset({"add", "stage", "restore"})
_FORCING = re.compile(r"-[A-Za-z]*f|--f")
_STASHING_ALL = re.compile(r"-[a-z]*[au]|--all|--inc|--only|.*\^3")
_STASHED = re.compile(r".*stash.*\^3")  # the commit of what git did not track
_NOT_TRACKED = re.compile(r" -[a-z]*o| --o")
_MOST_ADDED = 5000  # files that are looked at for one decision
_LONGEST_IGNORE_FILE = 1 << 16  # characters


class _Added(NamedTuple):
    """What a command may have put into the index: the places, None for all; and whether also what git ignores."""

    wanted: list[str] | None
    forced: bool


class TrackedFiles:
    """
    Looks at what the git commands of one call may show of files that they are not given by name.

    Args:
        rules: The files that the policy keeps.
        links: Resolves paths.
        others: The commands of other programs so far; those that were looked at are taken out.
        in_order: Whether no command runs before one that is written in front of it.
    """

    _changed = False  # whether a command that is looked at may have changed what git ignores

    def __init__(self, rules: FileRules, links: Links, others: list[list[str]], *, in_order: bool) -> None:
        self._rules = rules
        self._links = links
        self._known: dict[tuple[str, bool], list[Found]] = {}
        self._added: list[_Added] = []
        self._shown: list[tuple[list[str], Folders]] = []
        self._others = others
        self._in_order = in_order

    def shown(self, words: list[str], folders: Folders) -> tuple[str, str | None] | None:
        """Why *words* of git may show what no tool may read, and the rule about that; None if they do not."""
        lead = _sub_command(words)
        sub = words[lead:]
        if _shows_content(sub) or _objects(sub) is not None or _takes_along(sub):
            self._shown.append((words, folders))
            return self._in_each(words, lead, folders)
        if _writes_the_index(sub):
            self._wrote(words, lead, folders)
            if not self._in_order:
                found = (self._in_each(earlier, _sub_command(earlier), where) for earlier, where in self._shown)
                return next((one for one in found if one is not None), None)
        return None

    def _wrote(self, words: list[str], lead: int, folders: Folders) -> None:
        """*words* put files into the index, for what comes behind them."""
        sub = words[lead:]
        if sub[0] not in _BY_PATH or "--pathspec-from-file" in " ".join(sub):
            self._added.append(_Added(None, forced=True))
            return
        if any(word in ("-u", "--update") for word in sub):
            return  # what is tracked already
        forced = sub[0] == "restore" or any(map(_FORCING.match, sub))
        for folder in folders:
            wanted: list[str] = []
            if folder != ANYWHERE:
                wanted, _ = self._pathspecs(["add", "--", *_operands(sub)], _base(words, lead, folder))
            self._added.append(_Added(wanted or None, forced=forced or folder == ANYWHERE))

    def _in_each(self, words: list[str], lead: int, folders: Folders) -> tuple[str, str | None] | None:
        for folder in folders - {ANYWHERE}:
            try:
                reached = self._reached(words, lead, folder)
            except UnclearPathError as error:
                return str(error), None
            if reached is not None:
                return reached
        return None

    def _reached(self, words: list[str], lead: int, folder: str) -> tuple[str, str | None] | None:
        base = self._links.real(_base(words, lead, folder), folder)
        top = _work_tree(base, self._links)
        if top is None:
            return None
        sub = words[lead:]
        wanted, without = self._wanted(sub, base, top)
        for path in wanted if _objects(sub) is not None else ():
            for one in self._rules.about(Place(path, path, path), self._links):
                if one.kept == "read":
                    return f"it may show {os.path.relpath(path, top)}, which a rule denies", one.rule
        for one in self._candidates(sub, top):
            if one.path not in without and (not wanted or any(under(one.path, path) for path in wanted)):
                name = os.path.relpath(one.path, top)
                return f"it may show {name}, which a rule denies: ':!{name}' at its end leaves that out", one.rule
        return None

    def _wanted(self, sub: list[str], base: str, top: str) -> tuple[list[str], set[str]]:
        """What a sub-command is about, none for all, and what it leaves out."""
        objects = _objects(sub)
        if objects is None:
            return ([], set()) if sub[0] == "stash" else self._pathspecs(sub, base)
        starts = [base if path.split("/")[0] in (".", "..") else top for path in objects]
        return [os.path.normpath(os.path.join(start, path)) for start, path in zip(starts, objects, strict=True)], set()

    def _candidates(self, sub: list[str], top: str) -> Iterator[Found]:
        """The files that no tool may read, and that a sub-command about all of the work tree *top* may show."""
        named = [one for one in self._rules.below(top) if one.kept == "read"]
        self._links.looked_beyond = True
        if any(map((_STASHING_ALL if sub[0] == "stash" else _STASHED).match, sub)) and not _takes_along(sub):
            yield from named  # whatever is there now
        if _takes_along(sub):
            every = any(word in ("-a", "--all") for word in sub)
            yield from (one for one in named if self._may_be_added(one.path, top, force=every))
            return
        untracked = any(word.startswith("--untracked") for word in sub)
        if (top, untracked) not in self._known:
            self._known[top, untracked] = list(self._kept(top, untracked=untracked))
        yield from self._known[top, untracked]
        for one in named:
            path = one.path[len(top) + 1 :]
            if self._was_added(one.path, top):
                yield one
            elif self._links.exists(one.path):
                found = in_head(top, path)
                if found or (found is None and any(word in ("--cached", "--staged") for word in sub)):
                    yield one
        if self._added and any(one.kept == "read" for _, _, one in self._rules.patterns):
            yield from self._added_by_pattern(top)

    def _was_added(self, path: str, top: str) -> bool:
        """Whether a command before may have put the file or folder *path* into the index."""
        return any(
            self._may_be_added(path, top, force=one.forced)
            for one in self._added
            if one.wanted is None or any(under(path, place) or under(place, path) for place in one.wanted)
        )

    def _may_be_added(self, path: str, top: str, *, force: bool) -> bool:
        if not self._links.exists(path):
            return False
        others = self._others
        self._changed = self._changed or any(words[:1] != ["cd"] and kind_of(words) != "reader" for words in others)
        others.clear()
        return force or self._changed or not _is_ignored(path, top)

    def _added_by_pattern(self, top: str) -> Iterator[Found]:
        """The files on the disk that a rule with a wildcard is about, and that may have been added."""
        waiting, seen = [top], 0
        while waiting:
            try:
                entries = sorted(os.scandir(waiting.pop()), key=lambda entry: entry.name)
            except OSError:
                continue
            for entry in entries:
                seen += 1
                if seen > _MOST_ADDED:
                    raise UnclearPathError("it may show more files than are looked at")
                if entry.is_dir(follow_symlinks=False):
                    if entry.name != ".git":
                        waiting.append(entry.path)
                    continue
                place = Place(entry.path, entry.path, entry.path)
                for rule, _, one in self._rules.patterns:
                    if one.kept == "read" and rule.catches(place) and self._was_added(entry.path, top):
                        yield one._replace(path=entry.path)

    def _pathspecs(self, words: Sequence[str], base: str) -> tuple[list[str], set[str]]:
        """The files and folders that it is about, none for all; and those that it leaves out."""
        end = words.index("--") if "--" in words else len(words)
        # What stands behind an option may be its value, and the first operand of grep is a pattern.
        given = [
            words[i]
            for i in range(1, end)
            if words[0] not in _NO_PATHS
            and words[i][:1] != "-" != words[i - 1][:1]
            and self._links.exists(os.path.join(base, words[i]))
        ]
        if words[0] == "archive" and given and given[0] == next(iter(_operands(words)), None):
            given = given[1:]  # a branch, whatever files there are
        wanted: list[str] = []
        without: set[str] = set()
        everything = False
        for word in (*given, *words[end + 1 :]):
            excluded = LEAVING_OUT.match(word)
            if excluded is not None:
                without.add(os.path.normpath(os.path.join(base, word[excluded.end() :])))
            elif type(word) is not str or not _MAGIC.isdisjoint(word):
                everything = True
            else:
                wanted.append(self._links.real(os.path.join(base, word), base))
        return [] if everything else wanted, without

    def _kept(self, top: str, *, untracked: bool) -> Iterator[Found]:
        """The tracked files of the work tree *top* that no tool may read."""
        named = [one for one in self._rules.below(top) if one.kept == "read"]
        patterns = sum(one.kept == "read" for _, _, one in self._rules.patterns)
        if not named and not patterns:
            return
        self._links.looked_beyond = True
        names = None if untracked else tracked(top)
        for one in named:
            rest = one.path[len(top) + 1 :]
            if self._links.exists(one.path) if names is None else _has(names, rest) or _has(names, rest + "/"):
                yield one
        if not patterns:
            return
        if names is None or len(names) * patterns > _MOST_COMPARED:
            raise UnclearPathError("it may show more files than are looked at")
        yield from self._rules.among(top, names)


def lists_options(word: str, folder: str, links: Links) -> bool:
    """Whether a name that ``git ls-files`` lists, as in *word*, may be taken for an option in the resolved *folder*."""
    top = _work_tree(folder, links)
    if top is None:
        return False
    links.looked_beyond = True
    names = None if _NOT_TRACKED.search(word) else tracked(top)
    start = f"{folder}/"[len(top) + 1 :]
    return names is None or any(
        name.startswith(start) and name[len(start) :].lstrip().startswith("-") for name in names
    )


def _work_tree(folder: str, links: Links) -> str | None:
    """The folder with ``.git`` that git finds from the resolved *folder*."""
    while not links.exists(f"{folder}/.git"):
        if folder in ("", "/"):
            return None
        folder = folder.rpartition("/")[0]
    return folder


def _sub_command(words: list[str]) -> int:
    """The index of git's sub-command."""
    at = 1
    while at < len(words) and words[at][:1] == "-":
        at += 2 if words[at] in _TAKING_A_VALUE else 1
    return at


def _shows_content(words: Sequence[str]) -> bool:
    """Whether a sub-command with these words prints lines of files that it is not given by name."""
    name = words[0] if words else ""
    if name not in _PATCHES and name not in _PATCHES_IF_TOLD and name not in _OTHERS:
        return False
    if len(words) == 1:
        return name in _PATCHES or name in ("grep", "archive")
    if name in _PATCHES or name in _PATCHES_IF_TOLD:
        if any(map(_PATCH.match, words)):
            return True
        if name == "show" and any(":" in word or _HASH.match(word) for word in _operands(words)):
            return True  # a file's content, whatever the options say about commits
        return name in _PATCHES and not any(map(_NO_PATCH.match, words))
    if name == "grep":
        return not any(map(_ONLY_NAMES.match, words))
    if name in ("status", "commit"):
        return any(map(_VERBOSE.match, words))
    return name == "archive" or (name == "cat-file" and not any(map(_ABOUT_OBJECTS.match, words)))


def _operands(words: Sequence[str]) -> list[str]:
    return [word for word in words[1:] if word[:1] != "-"]


def _objects(words: Sequence[str]) -> list[str] | None:
    """The paths in ``HEAD:src/a.py``; None if a sub-command is, or may be, about anything else."""
    name = words[0] if words else ""
    if name not in _OF_OBJECTS or "--" in words or (name == "cat-file" and any(map(_ABOUT_OBJECTS.match, words))):
        return None
    at = [i for i in range(1, len(words)) if words[i][:1] != "-" and not (name == "cat-file" and words[i] in _TYPES)]
    if name == "grep" and not any(map(_PATTERN.match, words[1:])):
        at = at[1:]
    found: list[str] = []
    for i in at:
        named = _OBJECT.match(words[i]) if type(words[i]) is str else None
        before = words[i - 1]
        if named is None or (i > 1 and before[:1] == "-" and (name == "grep" or not _FLAG.match(before))):
            return None  # behind an option it may be its value
        found.append(named[1])
    return found or None


def _writes_the_index(words: Sequence[str]) -> bool:
    if words[:1] == ["stash"]:
        return words[1:2] in (["pop"], ["apply"], ["branch"])
    return bool(words) and words[0] in _WRITING_THE_INDEX


def _takes_along(words: Sequence[str]) -> bool:
    """Whether files that git does not track are put into a stash."""
    if words[:1] != ["stash"] or (len(words) > 1 and words[1][:1] != "-" and words[1] not in ("push", "save")):
        return False
    return any(map(_STASHING_ALL.match, words[1:]))


def _base(words: list[str], lead: int, folder: str) -> str:
    """The folder that git goes to first."""
    for i in range(1, lead - 1):
        if words[i] == "-C":
            folder = os.path.join(folder, words[i + 1])
    return folder


def _is_ignored(path: str, top: str) -> bool:
    """Whether ``.gitignore`` beside the file plainly names it, and nothing there may take that back."""
    folder, _, name = path.rpartition("/")
    if folder != top:
        return False
    try:
        with open(f"{top}/.gitignore", encoding="utf-8", errors="replace", opener=regular_only) as file:
            lines = file.read(_LONGEST_IGNORE_FILE).splitlines()
    except OSError:
        return False
    return any(line.rstrip() in (name, "/" + name) for line in lines) and not any(line[:1] == "!" for line in lines)


def _has(names: tuple[str, ...], start: str) -> bool:
    """Whether one of the sorted *names* is *start*, or begins with it if that ends in ``/``."""
    at = bisect_left(names, start)
    return at < len(names) and (names[at].startswith(start) if start[-1:] == "/" else names[at] == start)
