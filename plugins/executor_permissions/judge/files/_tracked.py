"""What git shows of files that it tracks, and that no tool may read: ``git diff``, ``git log -p``, ``git grep``."""

# ruff: noqa: PTH112, PTH118 -- texts, not files; and pathlib is slower
from __future__ import annotations

import os
import re
from bisect import bisect_left
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

from executor_permissions.judge.bash._expand import ANYWHERE
from executor_permissions.judge.git._head import in_head
from executor_permissions.judge.git._ignore_files import is_ignored
from executor_permissions.judge.git._index import tracked
from executor_permissions.judge.git._links import repositories_in
from executor_permissions.judge.git._shows import (
    LEAVING_OUT,
    MAGIC,
    NO_PATHS,
    STASHING_ALL,
    hands_on,
    objects_given_names,
    objects_named,
    operands,
    paths_in_objects,
    shows_content,
    sub_command_at,
    takes_along,
    writes_the_index,
)
from executor_permissions.judge.git._work_tree import sent_elsewhere, work_tree_of
from executor_permissions.judge.options import kind_of
from executor_permissions.judge.paths._paths import Place, UnclearPathError, under

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from executor_permissions.judge.bash._expand import Folders
    from executor_permissions.judge.paths._links import Links
    from executor_permissions.judge.rules._file_rules import FileRules, Found

_MOST_COMPARED = 10_000  # times a tracked file is compared with a rule that has a wildcard, 2 µs each
_FLAGS = frozenset({"-p", "--patch"})  # no word behind them is their value
_BY_PATH = frozenset({"add", "stage", "restore"})
_FORCING = re.compile(r"-[A-Za-z]*f|--f")
_MAGIC = re.compile(r":(?:\([^)]*\)|[/!^]+)?")  # in front of a pathspec
_PATTERN = frozenset("*?[\\")
_ESCAPED = re.compile(r"\\(.)")
_STASHED = re.compile(r".*stash.*\^3")  # the commit of what git did not track
_NOT_TRACKED = re.compile(r" -[a-z]*o| --o")
_MOST_REPOSITORIES = 100
_MOST_ADDED = 5000  # files that are looked at for one decision


class _Added(NamedTuple):
    """What a command may have put into the index: the places, None for all; and whether also what git ignores."""

    wanted: list[str] | None
    forced: bool


class _About(NamedTuple):
    """
    The files that a command of git is about.

    Attributes:
        wanted: Files and folders, none for all.
        without: Those that are left out; with a slash at its end only if it is a folder.
        whatever: Whether paths say nothing about what it shows.
    """

    wanted: list[str]
    without: list[str]
    whatever: bool = False

    def includes(self, path: str) -> bool:
        if any(path.startswith(one) if one[-1:] == "/" else under(path, one) for one in self.without):
            return False
        return not self.wanted or any(under(path, one) for one in self.wanted)


def _globs(sub: list[str]) -> list[str]:
    """The patterns among the pathspecs of *sub*, in lower case, that say more than that all is meant."""
    texts = [
        _MAGIC.sub("", word, count=1) if word[:1] == ":" else word
        for word in operands(sub)
        if (word[:1] == ":" or not _PATTERN.isdisjoint(word)) and not LEAVING_OUT.match(word)
    ]
    return [_ESCAPED.sub(r"[\1]", text).replace("[^", "[!").lower() for text in texts if text.strip("*?./")]


def _reach(added: Iterable[_Added], path: str) -> bool:
    """Whether one of *added* may be about *path*."""
    return any(
        one.wanted is None or any(under(path, place) or under(place, path) for place in one.wanted) for one in added
    )


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
        lead = sub_command_at(words)
        sub = words[lead:]
        if shows_content(sub) or paths_in_objects(sub) is not None or _is_moved(sub):
            self._shown.append((words, folders))
            found = self._in_each(words, lead, folders)
            if found is not None:
                return found
        if writes_the_index(sub):
            before = len(self._added)
            self._wrote(words, lead, folders)
            if sub[0] in ("add", "stage"):
                added = self._taken_in(words, lead, folders, self._added[before:])
                if added is not None:
                    return f"it may add {added.path}, which a rule denies", added.rule
            if not self._in_order:
                shown = (self._in_each(earlier, sub_command_at(earlier), where) for earlier, where in self._shown)
                return next((one for one in shown if one is not None), None)
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
                wanted = self._pathspecs(["add", "--", *operands(sub)], _base(words, lead, folder)).wanted
            self._added.append(_Added(wanted or None, forced=forced or folder == ANYWHERE))

    def _taken_in(self, words: list[str], lead: int, folders: Folders, added: list[_Added]) -> Found | None:
        """A file that no tool may read, and that *words* of ``git add`` find by force, or by a glob that fits it."""
        globs = _globs(words[lead:])
        forced = [one for one in added if one.forced]
        if not globs and not forced:
            return None
        for folder in folders - {ANYWHERE}:
            base = self._links.real(_base(words, lead, folder), folder)
            top = work_tree_of(base, self._links) or base
            for one in self._rules.below(top, "read"):
                if not self._links.exists(one.path):
                    continue
                names = (os.path.relpath(one.path, base), os.path.relpath(one.path, top))
                if _reach(forced, one.path) or any(fnmatchcase(name.lower(), glob) for name in names for glob in globs):
                    return one
            if forced and self._rules.globs("read"):
                found = next(self._added_by_pattern(top), None)
                if found is not None:
                    return found
        return None

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
        top = work_tree_of(base, self._links)
        beyond = self._beyond(base, top)
        if beyond is not None or top is None:
            return beyond
        sub = words[lead:]
        given = objects_given_names(sub)
        if given != [] and not shows_content(sub) and _are_commits(top, given):
            return None
        paths = paths_in_objects(sub)
        about = _named(paths, base, top) if paths is not None else self._about(words, lead, base, top)
        for path in about.wanted if paths is not None else ():
            for one in self._rules.about(Place(path, path, path), self._links):
                if one.kept == "read":
                    return f"it may show {os.path.relpath(path, top)}, which a rule denies", one.rule
        does = "show" if shows_content(sub) or paths is not None or takes_along(sub) else "give another name to"
        for one in self._candidates(sub, top):
            if about.includes(one.path):
                name = os.path.relpath(one.path, top)
                hint = "" if about.whatever else f": ':!{name}' at its end leaves that out"
                return f"it may {does} {name}, which a rule denies{hint}", one.rule
        return None

    def _beyond(self, base: str, top: str | None) -> tuple[str, str | None] | None:
        """Why nobody can tell what git shows: the environment sends it elsewhere."""
        self._links.looked_beyond = True  # the environment is in no key of what is kept
        name = sent_elsewhere()
        if name is None:
            return None
        trees = {base, top or base, self._links.real(os.path.join(base, os.environ.get("GIT_WORK_TREE", "")), base)}
        kept = [*self._rules.globs("read"), *(one for tree in trees for one in self._rules.below(tree, "read"))]
        return (f"{name} is set, so that git may show what a rule denies", kept[0].rule) if kept else None

    def _about(self, words: list[str], lead: int, base: str, top: str) -> _About:
        """What the words of a command of git say about the files that it is about."""
        sub = words[lead:]
        if hands_on(sub) or not (_are_commits(top, objects_given_names(sub)) and _are_commits(top, objects_named(sub))):
            return _About([], [], whatever=True)
        if sub[0] == "stash":
            return _About([], [])
        about = self._pathspecs(sub, base)
        other = [word for word in words[1:lead] if word.endswith("-pathspecs")]
        if other:  # they mean something else then
            return _About([] if "--icase-pathspecs" in other else about.wanted, [])
        return about

    def _candidates(self, sub: list[str], top: str) -> Iterator[Found]:
        """The files that no tool may read, and that a sub-command about all of the work tree *top* may show."""
        named = self._rules.below(top, "read")
        self._links.looked_beyond = True
        if any(map((STASHING_ALL if sub[0] == "stash" else _STASHED).match, sub)) and not takes_along(sub):
            yield from named  # whatever is there now
        if takes_along(sub):
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
        if self._added and self._rules.globs("read"):
            yield from self._added_by_pattern(top)

    def _was_added(self, path: str, top: str) -> bool:
        """Whether a command before may have put the file or folder *path* into the index."""
        return any(self._may_be_added(path, top, force=one.forced) for one in self._added if _reach([one], path))

    def _may_be_added(self, path: str, top: str, *, force: bool) -> bool:
        if not self._links.exists(path):
            return False
        others = self._others
        self._changed = self._changed or any(words[:1] != ["cd"] and kind_of(words) != "reader" for words in others)
        others.clear()
        return force or self._changed or not is_ignored(path, top)

    def _added_by_pattern(self, top: str) -> Iterator[Found]:
        """The files on the disk that a rule with a wildcard is about, and that may have been added."""
        waiting, seen = [top], 0
        while waiting:
            for path, _, is_folder in sorted(self._links.entries(waiting.pop())):
                seen += 1
                if seen > _MOST_ADDED:
                    raise UnclearPathError("it may show more files than are looked at")
                if is_folder:
                    if not path.endswith("/.git"):
                        waiting.append(path)
                    continue
                place = Place(path, path, path)
                for rule, one in self._rules.patterns:
                    if rule.piece in path and one.kept == "read" and rule.catches(place) and self._was_added(path, top):
                        yield one._replace(path=path)

    def _pathspecs(self, words: Sequence[str], base: str) -> _About:
        """The files and folders that it names, and those that it leaves out."""
        end = words.index("--") if "--" in words else len(words)
        # What stands behind an option may be its value, and the first operand of grep is a pattern.
        given = [
            words[i]
            for i in range(1, end)
            if words[0] not in NO_PATHS
            and words[i][:1] != "-"
            and (words[i - 1][:1] != "-" or words[i - 1] in _FLAGS)
            and self._links.exists(os.path.join(base, words[i]))
        ]
        if words[0] == "archive" and given and given[0] == next(iter(operands(words)), None):
            given = given[1:]  # a branch, whatever files there are
        wanted: list[str] = []
        without: list[str] = []
        everything = False
        for word in (*given, *words[end + 1 :]):
            excluded = LEAVING_OUT.match(word)
            if excluded is not None:
                path = os.path.join(base, word[excluded.end() :])
                only_below = path[-1:] == "/" and not os.path.isdir(path)
                without.append(os.path.normpath(path) + ("/" if only_below else ""))
            elif type(word) is not str or not MAGIC.isdisjoint(word):
                everything = True
            else:
                wanted.append(self._links.real(os.path.join(base, word), base))
        return _About([] if everything else wanted, without)

    def _kept(self, top: str, *, untracked: bool) -> Iterator[Found]:
        """
        The tracked files of the work tree *top*, and of the submodules in it, that no tool may read.

        git shows those too where an option or a setting says so (``--recurse-submodules``, ``diff.submodule``).
        """
        waiting = [top]
        for tree in waiting:  # grows
            yield from self._kept_in(tree, untracked=untracked)
            inside = repositories_in(tree, self._links) if self._rules.patterns or self._rules.below(tree) else ()
            if inside is None or len(waiting) + len(inside) > _MOST_REPOSITORIES:
                raise UnclearPathError("it may show more repositories than are looked at")
            waiting += inside

    def _kept_in(self, top: str, *, untracked: bool) -> Iterator[Found]:
        named = self._rules.below(top, "read")
        patterns = len(self._rules.globs("read"))
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


def _is_moved(sub: list[str]) -> bool:
    """Whether what is in files may come into a stash, or get another name."""
    return takes_along(sub) or hands_on(sub) or objects_given_names(sub) != []


def _are_commits(top: str, names: list[str] | None) -> bool:
    """Whether *names* of objects, None for some that are not known, are those of no file or folder."""
    if not names:
        return names is not None
    from executor_permissions.judge.git._objects import may_be_file

    return not any(may_be_file(top, name) for name in names)


def _named(paths: list[str], base: str, top: str) -> _About:
    """The *paths* in objects of git: most of them begin at the *top*, wherever git runs."""
    starts = [base if path.split("/")[0] in (".", "..") else top for path in paths]
    return _About([os.path.normpath(os.path.join(start, path)) for start, path in zip(starts, paths, strict=True)], [])


def lists_options(word: str, folder: str, links: Links) -> bool:
    """Whether a name that ``git ls-files`` lists, as in *word*, may be taken for an option in the resolved *folder*."""
    top = work_tree_of(folder, links)
    if top is None:
        return False
    links.looked_beyond = True
    names = None if _NOT_TRACKED.search(word) else tracked(top)
    start = f"{folder}/"[len(top) + 1 :]
    return names is None or any(
        name.startswith(start) and name[len(start) :].lstrip().startswith("-") for name in names
    )


def _base(words: list[str], lead: int, folder: str) -> str:
    """The folder that git goes to first."""
    for i in range(1, lead - 1):
        if words[i] == "-C":
            folder = os.path.join(folder, words[i + 1])
    return folder


def _has(names: tuple[str, ...], start: str) -> bool:
    """Whether one of the sorted *names* is *start*, or begins with it if that ends in ``/``."""
    at = bisect_left(names, start)
    return at < len(names) and (names[at].startswith(start) if start[-1:] == "/" else names[at] == start)
