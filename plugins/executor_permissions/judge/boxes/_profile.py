"""
Which box a command gets: the profile that the policy's ``confine`` names for it, or that the tables know.

Words, and what the tables say of them, to a profile; nothing is run, and no box is looked for.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from executor.confine import PROFILE_NAMES, Profile, is_elsewhere
from executor_permissions.judge._verdicts import BY_GRANT
from executor_permissions.judge.bash._shell import read
from executor_permissions.judge.bash._words import Command
from executor_permissions.judge.boxes._credentials import credentials
from executor_permissions.judge.boxes._moves import is_move, moved, start_of
from executor_permissions.judge.boxes._walked import Walked
from executor_permissions.judge.options import walk
from executor_permissions.judge.options._programs import REMOTE, RUNNERS
from executor_permissions.judge.paths._links import Links
from executor_permissions.judge.paths._paths import Place, under
from executor_permissions.judge.rules._rules import shell_rule
from executor_permissions.judge.runs._peel import parts_of
from executor_permissions.judge.runs._unwrap import look_inside

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from executor.confine import ProfileName
    from executor_permissions.judge.rules._file_rules import FileRules, Found
    from executor_permissions.judge.rules._rules import Part, Placeholders, Places
    from executor_permissions.judge.rules._tokens import TokenPattern
    from executor_permissions.judge.rules._tool_rules import ShellRule

# ruff: noqa: PTH112 -- text, as in _paths
_BY_KIND: dict[str, ProfileName] = {
    "reader": "read",
    "builder": "project",
    "network": "network",
    "writer": "project",
}
IsFree: TypeAlias = "Callable[[Sequence[str]], bool]"  # whether a command may run in no box
_WRITTEN, _READ = ">", "<"  # as the first word of a part: files follow that are redirected to, or from
_DURATION = re.compile(r"\d+(?:\.\d+)?[smhd]?\Z")
_UNREAD = "/"  # no program, so that no pattern and no table is about it


class Told(NamedTuple):
    """What a file says under ``confine``, what placeholders in it stand for, and whether it may widen."""

    value: Mapping[str, Any]
    marks: Placeholders
    trusted: bool


class Choice(NamedTuple):
    """
    The box of a call.

    Attributes:
        profile: None for no box.
        mixed: Whether some of its commands are to run as the user, and others, whose box it is, are not.
        unheld: A rule about more files than can be looked for: the box may not hold it.
    """

    profile: Profile | None
    mixed: bool = False
    unheld: str | None = None


@dataclass(frozen=True, slots=True)
class _File:
    """What one policy file says; an untrusted project's can only narrow."""

    rules: tuple[tuple[ProfileName, ShellRule], ...]
    default: ProfileName | None
    trusted: bool

    def named(self, part: Part, words: list[str], usual: ProfileName, is_free: IsFree) -> ProfileName | None:
        """The widest profile that it names for *words* of *part*, which would have the *usual* one."""
        wide = [name for name, rule in self._rules(usual, wider=True) if _is_let(name, rule, part, words, is_free)]
        kept = self._kept(words, usual)
        return max([*wide, kept] if kept is not None else wide, key=PROFILE_NAMES.index, default=None)

    def _kept(self, words: list[str], usual: ProfileName) -> ProfileName | None:
        """What it keeps a command to that is surely meant, in whatever spelling, or all those that it stands around."""
        rules = tuple(self._rules(usual, wider=False))
        own = [name for name, pattern in rules if pattern.catches(words) == 2]
        if rules and not own:
            behind = [self._kept(inner, usual) for inner in _behind(words)]
            own = [name for name in behind if name is not None]
            if len(own) < len(behind):
                return None
        return max(own, key=PROFILE_NAMES.index, default=None)

    def _rules(self, usual: ProfileName, *, wider: bool) -> Iterator[tuple[ProfileName, TokenPattern]]:
        """Those that let a command do more than the *usual* profile, or those that do not."""
        for name, rule in self.rules:
            if (PROFILE_NAMES.index(name) > PROFILE_NAMES.index(usual)) is wider:
                yield name, rule.patterns[0]


def _is_let(name: ProfileName, pattern: TokenPattern, part: Part, words: list[str], is_free: IsFree) -> bool:
    """
    Whether *pattern*, of the list of a profile that is wider than the usual one, is about a command.

    It lets one do more as a rule allows it: word by word, with nothing in front but how long it may take, and out of
    every box only if the project has no say in which programs these are.
    """
    timed = words[0] == "timeout" and len(words) > 2 and _DURATION.match(words[1]) is not None
    meant = words[2:] if timed and "timeout" not in pattern.tokens[:1] else words
    if part.text.split(None, 1)[:1] != words[:1] or not pattern.covers(Command(meant, part.text)):
        return False
    return name != "open" or is_free(words)


def _moved(parts: tuple[Part, ...], project: str, start: frozenset[str]) -> frozenset[str]:
    """
    The folders of the project that a ``cd`` in front of all else may lead to; none: nothing does.

    What stands behind it is run there as if it had been started there, and the shell itself runs nothing else.
    """
    if len(parts) < 2 or not is_move(parts[0]):
        return frozenset()
    folders = moved(parts[0], start) or frozenset()
    return folders if all(under(os.path.realpath(one), project) for one in folders) else frozenset()


def _is_free(project: str, folders: Iterable[str], words: Sequence[str]) -> bool:
    """
    Whether a command may run in no box: no box can have put another program in the place of its own, or its path says
    that it may.

    A relative path begins at the project's root, as those of rules do: from other *folders* it is another program.
    """
    at_root = all(os.path.realpath(folder) == project for folder in folders)
    return all(
        program.startswith("/") or at_root if "/" in program else is_elsewhere(program, project)
        for program in _programs(words)
    )


def _programs(words: Sequence[str]) -> Iterator[str]:
    """The program of a command, and those that it stands around: ``timeout``, ``xargs`` and ``docker``."""
    yield words[0]
    for inner in _behind(words):
        yield from _programs(inner)


def _behind(words: Sequence[str]) -> Iterator[list[str]]:
    """The commands that one surely starts here; [""] for what cannot be read."""
    command = Command(list(words), "")
    if command.program in RUNNERS or command.program in REMOTE:
        return  # it is there to run what is the project's own, or another machine's
    for inner in look_inside(command).commands:
        if inner.certain and inner.words:
            yield inner.words
        elif inner.certain:
            yield from _of_script(inner.script or "")


def _of_script(script: str) -> Iterator[list[str]]:
    try:
        reading = read(script, "")
    except ImportError:
        yield [""]
        return
    yield from (command.words or [""] for command in reading.commands)
    if reading.opaque:
        yield [""]


class Confinement:
    """
    What a policy says about boxes.

    Args:
        told: What each file says, the user's own first.
        older: Whether the files are of a version without boxes: then only what is known to read gets one.
        files: The files that the blacklist keeps from tools.
    """

    def __init__(
        self,
        told: Sequence[Told],
        places: Places,
        files: FileRules,
        *,
        older: bool,
    ) -> None:
        self.older = older
        self.people = any(one.value.get("people", False) for one in told)
        self.required = any(one.value.get("require", False) for one in told)
        self._files = [_file(one) for one in told]
        self._default = self._files[0].default if self._files else None  # None: as the tables know each command
        self._env = tuple(told[0].value.get("env", ())) if told else ()
        self._places = places
        self._rules = files
        self._walked = Walked(files, places.project)
        project = Place(places.project, places.project, places.project)
        self._all_kept = any(found.kept != "other" for found in files.about(project, Links()))

    def choose(
        self, parts: Iterable[Part], granted: Mapping[str, ProfileName | None], folder: str | None = None
    ) -> Choice:
        """
        The box for a call that runs commands, of which these are the parts.

        Args:
            parts: As they were judged; one without words stands for commands that could not be read.
            granted: By the rule of a grant, the profile that its question showed; None for a grant made before.
            folder: Where they start; the project's root if None.
        """
        names: list[ProfileName] = []
        written: list[str] = []
        parts = tuple(parts)
        start = start_of(folder or self._places.project)
        folders = _moved(parts, self._places.project, start)
        is_free = partial(_is_free, self._places.project, start | folders)
        for part in parts[bool(folders) :]:
            if part.words[:1] == (_WRITTEN,):
                if part.verdict == "allow" and part.rule is not None:
                    written.extend(map(os.path.realpath, part.words[1:]))
                else:
                    # It writes, and no rule has said where: to older files that is no command that only reads.
                    wide: ProfileName = "project" if not self.older else "open"
                    names.append(max(wide, self._default or wide, key=PROFILE_NAMES.index))
                continue
            if part.words[:1] == (_READ,) or (not part.words and part.method == "ask_rule"):
                continue  # a file that the shell opens, or a rule about the whole of the call: they run nothing
            words = list(part.words) or [_UNREAD]
            names.append(self._of_part(part, words, granted, is_free))
        boxed = [name for name in names if name != "open"]
        mixed = len(boxed) < len(names)
        if mixed and (self.older or not boxed):
            return Choice(None)
        # Beside what is open the others have their box all the same, where nobody looks at the line.
        name: ProfileName = max(boxed, key=PROFILE_NAMES.index, default="project")
        own = credentials(parts, self._places, folder) if name == "network" else ()
        return self.named(name, written, own)._replace(mixed=mixed)

    def kept(self, parts: Iterable[Part]) -> ProfileName | None:
        """What a grant that these *parts* rest on keeps of their box; None in files that say nothing of boxes."""
        profile = self.choose(parts, {}).profile
        return profile.name if profile is not None else None if self.older else "open"

    def profile(self, name: ProfileName) -> Profile:
        """The profile of this name, with all that the policy says of files."""
        profile = self.named(name).profile
        assert profile is not None
        return profile

    def named(self, name: ProfileName, written: Iterable[str] = (), own: Iterable[str] = ()) -> Choice:
        """The box of this name, with all that the policy says of files."""
        project = self._places.project
        unreadable, unwritable, unheld = self._kept()
        profile = Profile(
            name,
            project,
            unreadable=unreadable,
            unwritable=unwritable,
            writable=tuple(path for path in written if not path.startswith("/dev/")),
            credentials=tuple(own),
            env=self._env,
            required=self.required,
            people=self.people,
        )
        return Choice(profile, unheld=None if self.older else unheld)

    # Which.

    def _of_part(
        self, part: Part, words: list[str], granted: Mapping[str, ProfileName | None], is_free: IsFree
    ) -> ProfileName:
        usual = self._usual(part, words, is_free)
        if part.method not in BY_GRANT or part.rule is None or part.rule not in granted:
            return usual
        kept = granted[part.rule]
        if kept is not None:
            # Never more than by itself: a rule that a person wrote is about commands, too, that no question has shown.
            return min(usual, kept, key=PROFILE_NAMES.index)
        before = _older(words)
        return before if before != "open" or self.older or is_free(words) else usual

    def _usual(self, part: Part, words: list[str], is_free: IsFree) -> ProfileName:
        """The box of a command that no grant is about."""
        if self.older:
            return _older(words)
        # What a project's file says of the rest can only narrow, trusted or not: it is not about single commands.
        defaults: list[ProfileName] = [file.default for file in self._files[1:] if file.default is not None]
        name: ProfileName = min([*defaults, self._default or of_words(words)], key=PROFILE_NAMES.index)
        for file in sorted(self._files, key=lambda file: not file.trusted):
            told = file.named(part, words, name, is_free)
            if told is not None:
                name = told if file.trusted else min(name, told, key=PROFILE_NAMES.index)
        return name

    # What of the files.

    def _kept(self) -> tuple[tuple[str, ...], tuple[str, ...], str | None]:
        """What may not be read, what may not be written below the project, and a rule that may be about more."""
        unreadable: dict[str, None] = {}
        unwritable: dict[str, None] = {self._places.project: None} if self._all_kept else {}
        walked, unheld = self._walked.found()
        for found in (*self._rules.roots.values(), *walked):
            if found.kept in ("own", "read"):
                unreadable[found.path] = None
            if found.kept != "other" and found.path.startswith(self._places.project + "/"):
                unwritable |= dict.fromkeys(_closed(found, self._places.project))
        return tuple(unreadable), tuple(unwritable), unheld


def of_words(words: list[str]) -> ProfileName:
    """The profile that the tables know for a command; ``project`` for what they do not know."""
    inner = parts_of(Command(words, ""))
    if inner:
        return max((of_words(command.words) for command in inner), key=PROFILE_NAMES.index)
    found = walk(words)
    if found is None or found.grammar is None:
        return "project"
    name = _BY_KIND[found.grammar.entry.kind]
    if name != "read":
        return name
    # A rule that spells out an option which writes, or runs something, has allowed just that.
    wider: ProfileName = "project" if found.reach >= 0 or found.writes else "read"
    inside = (words[start:end] for start, end in found.inner if start < end)  # find -exec may have nothing behind it
    return max([wider, *map(of_words, inside)], key=PROFILE_NAMES.index)


def _older(words: list[str]) -> ProfileName:
    return "read" if of_words(words) == "read" else "open"


def _file(told: Told) -> _File:
    value, marks, trusted = told
    rules = []
    for name in PROFILE_NAMES:
        for pattern in value.get(name, ()):
            rule = shell_rule(pattern, marks)
            if rule is not None and len(rule.patterns) == 1:
                rules.append((name, rule))
    default = value.get("default", "auto")
    return _File(tuple(rules), None if default == "auto" else default, trusted)


def _closed(found: Found, project: str) -> Iterator[str]:
    """What of a denied place is closed: of git's own folder that from which it runs things, else it could not work."""
    if found.path == f"{project}/.git" and (os.path.isdir(found.path) or not os.path.lexists(found.path)):
        yield from (f"{project}/.git/hooks", f"{project}/.git/config")
        return
    yield found.path
