"""What a command may run that is not among its parts: for policies that allow what no rule is about."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from executor_permissions.judge import _lexical, _programs
from executor_permissions.judge._unwrap import look_inside
from executor_permissions.judge._words import MAX_NESTING, Command, Suffix
from executor_permissions.judge.options import walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from executor_permissions.judge._walk import Step

_MOST_WORDS = 20_000  # of commands that are in others
_JUDGED_BY_THEMSELVES = frozenset({*_programs.INERT, *_programs.WRAPPERS})
_EXPORTING = frozenset({"export", "declare", "typeset", "readonly"})  # git's settings, for all that follows
_OBEYING = _programs.SHELLS | {".", "source"}
_PARTED = re.compile(r"[^\w.:@%+,~-]")  # a word that may hold a name
_TEXT = re.compile(r"[^\w./=:@%+,~\[\]-]")  # one that is more than a name, a path, an option or a list: code


def hidden_in(steps: Iterable[Step], text: str, denied: frozenset[str]) -> str | None:
    """Why *steps*, of *text*, may run something that is not among them: a file just written, a *denied* program."""
    writes = named = False
    left = _MOST_WORDS
    for step in steps:
        command, program = step.command, step.command.program
        writes = writes or program in _programs.WRITERS
        if command.redirects and not writes:
            writes = any(redirect.writes for redirect in command.redirects)
        found = None
        if command.assignments:
            found = _sets(command)
        elif program in _EXPORTING:
            found = _exports(command)
        for one in _with_inner(command):
            left -= len(one.words)
            if left < 0 and one is not command:
                return "it runs more than is looked at"
            found = found or (_runs_what_it_wrote(one, named=named) if writes else None)
            found = found or _names_denied(one, text, denied)
            if found is not None:
                return found
        named = named or _lexical.mentions("\n".join([*command.words[1:], command.body or ""]), denied) is not None
    return None


def _with_inner(command: Command, depth: int = 0) -> Iterator[Command]:
    """*command*, and what it runs of its own words: ``timeout 5 awk …`` hides what awk does."""
    yield command
    for inner in look_inside(command).commands if depth < MAX_NESTING else ():
        if inner.words:
            behind = Command(inner.words, command.text, stdin=command.stdin, body=command.body)
            if type(inner.words) is Suffix:  # all that it may run is among what this is one of
                yield behind
            else:
                yield from _with_inner(behind, depth + 1)


def _runs_what_it_wrote(command: Command, *, named: bool) -> str | None:
    """``echo … > x; sh x`` runs what the command itself wrote; *named*: a denied program was in what it may be."""
    program = command.program
    by_path = bool(command.words) and "/" in command.words[0]
    if by_path or program in _OBEYING or (named and program in _programs.INTERPRETERS):
        return "it may run what it has just written"
    return None


def _sets(command: Command) -> str | None:
    for assigned, value in command.assignments:
        name = assigned.partition("[")[0]
        resolves = name in _programs.RESOLVING_VARIABLES or name.startswith(("LD_", "DYLD_", "BASH_FUNC", "GIT_"))
        if resolves and (name != "IFS" or command.program != "read"):
            return f"it sets {name}, which changes what runs"
        if "$(" in value or "`" in value:
            return f"it puts a command into the variable {name}"
    return None


def _exports(command: Command) -> str | None:
    for word in command.words[1:]:
        name = word.partition("=")[0]
        if name.startswith("GIT_CONFIG") or (name.startswith("GIT_") and name.endswith("_PATHSPECS")):
            return f"it sets {name}, which changes what runs"
    return None


def _names_denied(command: Command, text: str, denied: frozenset[str]) -> str | None:
    """A program that is given a blacklisted one may run it, unless it is known to run nothing."""
    program = command.program
    if not denied or program is None or program in _JUDGED_BY_THEMSELVES:
        return None
    if command.stdin and _lexical.mentions(text, denied):
        return None if _runs_nothing(command) else f"{program} may run what it is sent"
    given = command.words[1:]
    if denied.isdisjoint(given) and not any(map(_PARTED.search, given)):
        return None
    for word in given:
        name = word.rpartition("/")[2].rpartition("=")[2]
        if name in denied or (_TEXT.search(word) and _mentions(word, program, denied)):
            return None if _runs_nothing(command) else f"{program} may run what it is given"
    return None


def _mentions(word: str, program: str, denied: frozenset[str]) -> bool:
    """Whether a text names one of the *denied* programs, maybe right behind the letters of an option: ``-I'rm x'``."""
    if _lexical.mentions(word, denied):
        return True
    if program == "git":  # `look_inside` knows which of its options run something
        return False
    return word[:1] == "-" and word[1:2] != "-" and word.partition(" ")[0].endswith(tuple(denied))


def _runs_nothing(command: Command) -> bool:
    found = walk(command.words)
    if found is None or found.grammar is None or found.reach >= 0 or found.inner:
        return False
    return found.grammar.entry.kind != "builder" and command.program not in _programs.RUNNERS
