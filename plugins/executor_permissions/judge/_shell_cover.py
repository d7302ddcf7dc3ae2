"""
Which rule allows a simple command, and what keeps every rule from it: its variables, its words, its folder.

``make *`` covers ``make test``, but neither ``PATH=. make test`` nor ``cd /elsewhere && make test``.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from executor_permissions.judge.bash._expand import ANYWHERE
from executor_permissions.judge.bash._moves import OWN_VARIABLE, REACHING_ALL, READ_VALUES, names_set, read_names
from executor_permissions.judge.bash._public import with_public_words
from executor_permissions.judge.bash._words import KNOWN, Number
from executor_permissions.judge.files._made_links import MAKERS, LinkMakers
from executor_permissions.judge.files._places import Destinations
from executor_permissions.judge.git._links import holds_repositories
from executor_permissions.judge.git._work_tree import looks_at_the_tree
from executor_permissions.judge.options import _programs, kind_of
from executor_permissions.judge.paths._paths import UnclearPathError, under
from executor_permissions.judge.rules._rules import Part

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from executor_permissions.judge._shell_rules import Judged, Way
    from executor_permissions.judge._shell_scope import Rules
    from executor_permissions.judge.bash._expand import Folders
    from executor_permissions.judge.bash._walk import Step
    from executor_permissions.judge.bash._words import Command
    from executor_permissions.judge.files._places import Use
    from executor_permissions.judge.paths._links import Links
    from executor_permissions.judge.rules._tokens import TokenPattern

_COUNT = re.compile(r"[0-9]{1,3}\Z")
_FROM_ELSEWHERE = frozenset({"fetch", "pull", "push", "clone", "ls-remote", "remote", "submodule"})
_ENDS_OF_REPOSITORIES = ("/HEAD", "/.git", ".git")
_GIT_OWN = [["add"], ["commit"], ["fetch"], ["branch"], ["remote"]]  # they write in git's own folder only
_OF_A_BARE_ONE = ("objects", "commondir", "gitdir", "refs", "config")  # beside HEAD; some may be linked or elsewhere
_HAVING_ALL = "it may change anything in this shell, and so what every command behind it does"
_DIRECTING = frozenset({"break", "continue", "exit", "unset", "read"})


class Cover:
    """
    Finds the rule that allows a command.

    Args:
        rules: What the policy has.
        links: Resolves paths, for the whole decision.
        settled: Folders that need no look: those that the call says it is run in, and the project's own.
    """

    links_so_far = False  # whether a command before may have made a link
    plain_so_far = True  # whether no command before may have made files
    _makers: LinkMakers | None = None

    def __init__(self, rules: Rules, links: Links, settled: frozenset[str]) -> None:
        self._project, self._places = rules.project, rules.places
        self._links = links
        self._settled = settled
        self._inside: dict[str, bool] = {}

    def allowed(self, step: Step, ways: Iterable[Way], uses: Sequence[Use]) -> Part | None:
        """The part that says which of *ways* allows *step*, with all of *uses*; None if none does."""
        command = step.command
        if not command.words:
            return self._without_words(command)
        if self.unfit(command):
            return None
        if command.program in _DIRECTING and _directs_the_shell(command):
            return Part(command.text, "allow", None, "it only directs the shell", "whitelist")
        for way in ways:
            folders, path = step.folders, way.path
            if path is not None:
                folders = frozenset(one and os.path.join(one, path) for one in folders)  # noqa: PTH118 -- text
            fits = self._misplaced(folders, step, is_git=way.is_git) is None
            if fits and (not uses or self._unnamed(uses, folders, way.pattern) is None):
                return way.part
        return None

    def _without_words(self, command: Command) -> Part | None:
        if all(OWN_VARIABLE.match(name) or _is_safe(name, value) for name, value in command.assignments):
            reason = "it only sets variables of its own" if command.assignments else "it only redirects"
            return Part(command.text, "allow", None, reason, "whitelist")
        return None

    # What keeps every rule from it.

    def unfit(self, command: Command) -> str | None:
        """Why no rule may cover *command*, whatever its words and its folder."""
        program = command.program
        for name, value in command.assignments:
            own = type(value) is str and _programs.is_code_of_the_project(name, value)
            safe = _is_safe(name, value) or (own and kind_of(command.words) == "builder")
            if not safe and not (name == "IFS" and program == "read"):
                # One that a command has in front of it is for that command alone.
                why = f"it sets the variable {name}"
                return (
                    why
                    if command.words
                    else f"{why}, which programs may know; a name in small letters is the script's own"
                )
        if not KNOWN.issuperset(map(type, command.words)) and with_public_words(command) is None:
            return "a word of it is only known when it runs"
        other = next((name for name in names_set(command.words) if not OWN_VARIABLE.match(name)), None)
        return f"it sets the variable {other}" if other is not None else None

    def misplaced(self, step: Step) -> str | None:
        """Why its folder keeps every rule from *step*."""
        return self._misplaced(step.folders, step, is_git=step.command.program == "git")

    def _unnamed(self, uses: Sequence[Use], folders: Folders, rule: TokenPattern | None) -> str | None:
        if self.links_so_far:
            return "a command before it may have made a link"
        destinations = Destinations(self._places, self._links, self._settled)
        return destinations.unnamed(uses, folders, rule, plain=self.plain_so_far)

    def elsewhere(self, step: Step, uses: Sequence[Use]) -> str | None:
        """Why what *step* writes or runs keeps every rule from it that does not name the place."""
        return self._unnamed(uses, step.folders, None) if uses else None

    def _misplaced(self, folders: Folders, step: Step, *, is_git: bool) -> str | None:
        reached = step.reached
        if ANYWHERE in folders:
            return "the folder that it runs in is not known"
        if ANYWHERE in reached:
            return _HAVING_ALL if step.command.program in REACHING_ALL else "where it leads is not known"
        for folder in folders:
            settled = folder in self._settled
            if not settled and not self._is_inside(folder):
                return "it runs outside the project"
            if not settled and self._is_in_git(folder) and kind_of(step.command.words) != "reader":
                return "it runs in a repository's own folder, where it may write"
            if is_git and not self._is_plain(folder, settled=settled, tree=looks_at_the_tree(step.command.words)):
                return "it runs git in a folder that may have a repository of its own"
            if is_git and not _FROM_ELSEWHERE.isdisjoint(step.command.words):
                other = self._repository_in(step.command.words, folder)
                if other is not None:
                    return f"it takes the folder {other} for a repository"
        if reached != step.folders and not all(
            folder in self._settled or self._is_inside(folder) for folder in reached
        ):
            return "it leaves the project"
        return None

    def _repository_in(self, words: Sequence[str], folder: str) -> str | None:
        """One of *words*, like the name of a remote, that git may take for a repository in a folder."""
        if "submodule" in words and "add" not in words:
            return None
        for word in words[2:]:
            path = os.path.join(folder, word)  # noqa: PTH118 -- text
            if word[:1] not in ("-", ".", "/", "~") and (  # for what begins like a path, the table says no
                self._links.is_file(path) or any(self._links.exists(path + end) for end in _ENDS_OF_REPOSITORIES)
            ):
                return word
        return None

    def _is_inside(self, folder: str) -> bool:
        found = self._inside.get(folder)
        if found is None:
            try:
                found = under(self._links.real(folder), self._project)
            except UnclearPathError:
                found = False
            self._inside[folder] = found
        return found

    def _is_in_git(self, folder: str) -> bool:
        """Whether *folder*, which is in the project, is a repository's own, or in one."""
        return self._places.is_in_repository(self._links.real(folder))

    def _is_plain(self, folder: str, *, settled: bool, tree: bool) -> bool:
        """
        Whether git finds no repository but the project's, or that of a *settled* folder: its settings could run things.
        With *tree* it looks into those, too, that are tracked as parts of it (gitlinks): they may have no own settings.

        A folder with a HEAD and objects is one as well (a bare one). Any tool may have made these, so that not even the
        project's own folder may have them without a ``.git``.
        """
        if not settled and not self.plain_so_far:
            return False
        project, links = self._project, self._links
        start = at = links.real(folder)
        while at:
            if links.exists(f"{at}/.git"):
                return (at == project or (settled and at == start)) and not (tree and holds_repositories(at, links))
            if links.exists(f"{at}/HEAD") and any(links.exists(f"{at}/{name}") for name in _OF_A_BARE_ONE):
                return False
            if at == project:
                break
            at = at.rpartition("/")[0]
        return True

    def passed(self, step: Step, judged: Judged) -> None:
        """*step*, of which that is known, runs before what is judged next."""
        for run in judged.runs:
            if not self.links_so_far and run.program in MAKERS:
                self._makers = self._makers or LinkMakers(self._links)
                self.links_so_far = self._makers.may_link(run, step.folders)
        self.plain_so_far = self.plain_so_far and makes_nothing(step.command)


def makes_nothing(command: Command) -> bool:
    """Whether *command* surely makes no file or folder in the work tree."""
    words = command.words
    if command.redirects and any(redirect.writes for redirect in command.redirects):
        return False
    if not words or words[0] == "read" or kind_of(words) == "reader":
        return True
    return command.program == "git" and words[1 + 2 * (words[1:2] == ["-C"]) :][:1] in _GIT_OWN


def _is_safe(name: str, value: str) -> bool:
    """Whether the variable may be set: a name of a file (`Glob`), which may be anything, is no value that is known."""
    return type(value) in (str, Number) and _programs.is_safe_variable(name, value)


def _directs_the_shell(command: Command) -> bool:
    """Whether it is a builtin that changes nothing but which of the other commands run, and variables of its own."""
    words = command.words
    if words[0] in ("break", "continue", "exit"):
        return len(words) == 1 or (len(words) == 2 and (type(words[1]) is Number or bool(_COUNT.match(words[1]))))
    if words[0] == "unset":
        return all(OWN_VARIABLE.match(word) for word in words[1:])
    return words[0] == "read" and _is_plain_read(words)


def _is_plain_read(words: list[str]) -> bool:
    options = [word for word in words[1:] if word[:1] == "-"]
    return bool(read_names(words)[0]) and all(word in READ_VALUES or set(word[1:]) <= {"r", "s"} for word in options)
