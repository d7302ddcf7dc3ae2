"""
Why a command may run something that nobody sees in it, for policies that allow what no rule is about.

``echo 'rm x' > a; sh a`` runs what it has just written.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from executor_permissions.judge.bash._words import Command
from executor_permissions.judge.options import _programs, walk
from executor_permissions.judge.options._editors import takes_commands
from executor_permissions.judge.paths import _lexical
from executor_permissions.judge.runs._unwrap import look_inside

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from executor_permissions.judge.bash._walk import Step
    from executor_permissions.judge.runs._runs import Run

_MOST_WORDS = 20_000  # of commands that are in others
_MOST_SUB_COMMANDS = 3  # words that may be one: values of options in front of it are among them
_JUDGED_BY_THEMSELVES = frozenset({*_programs.INERT, *_programs.WRAPPERS})
_EXPORTING = frozenset({"export", "declare", "typeset", "readonly"})  # git's settings, for all that follows
_OBEYING = _programs.SHELLS | {".", "source"}
_TEXT = re.compile(r"[^\w./=:@%+,~\[\]-]")  # one that is more than a name, a path, an option or a list: code


def hidden_in(
    judged: Collection[tuple[Step, Sequence[Run]]], text: str, programs: frozenset[str], *, in_order: bool
) -> str | None:
    """
    Why *text* may run something that nobody has seen in it: a file just written, one of *programs*.

    Args:
        judged: Its commands, each with all that it runs.
        programs: Those that rules to deny, or to ask, are about.
        in_order: Whether no command runs before one that is written in front of it.
    """
    every = [(step.command, _all_of(step, runs)) for step, runs in judged]
    writes = not in_order and any(surely and _writes(one) for _, ones in every for one, surely in ones)
    is_sent = any(one.stdin for _, ones in every for one, _ in ones)
    names_one = is_sent and _lexical.mentions(text, programs) is not None
    before: list[Command] = []
    left = _MOST_WORDS
    for command, ones in every:
        for one, surely in ones:
            left -= len(one.words)
            if left < 0 and one is not command:
                return "it runs more than is looked at"
            writes = writes or (surely and _writes(one))
            found = _sets(one) if one.assignments else None
            if one.program in _EXPORTING:
                found = found or _exports(one)
            found = found or (_runs_what_it_wrote(one, before, programs) if writes else None)
            found = found or _names_one_of(one, programs, sent=names_one)
            if found is not None:
                return found
        before.append(command)
    return None


def _all_of(step: Step, runs: Sequence[Run]) -> Sequence[tuple[Command, bool]]:
    """
    The command of *step*, and what it runs: ``timeout 5 awk …`` hides what awk does.

    Each with whether it is written as a command, there or in a script that surely runs, and not among words of another.
    """
    command = step.command
    found = [(command, True)]
    for run in runs:
        if run.step is None and run.words is command.words:
            continue  # that is it, as of nearly every command
        inner = command
        if run.step is not None:
            inner = run.step.command
            found.append((inner, run.certain))
        if run.words != inner.words and run.words:
            found.append((Command(run.words, inner.text, stdin=inner.stdin, body=inner.body), False))
    return found


def _writes(command: Command) -> bool:
    if command.program in _programs.WRITERS:
        return True
    return bool(command.redirects) and any(redirect.writes for redirect in command.redirects)


def _runs_what_it_wrote(command: Command, before: Sequence[Command], programs: frozenset[str]) -> str | None:
    """``echo … > x; sh x`` runs what the command itself wrote, of *programs* if *before* it one was named there."""
    program = command.program
    by_path = bool(command.words) and "/" in command.words[0]
    obeys = program in _OBEYING and not _read_by_themselves(command)
    if by_path or obeys or (program in _programs.INTERPRETERS and _is_named_in(before, programs)):
        return "it may run what it has just written"
    return None


def _is_named_in(commands: Sequence[Command], programs: frozenset[str]) -> bool:
    """Whether one of *programs* is named in what one of *commands* is given."""
    texts = ("\n".join([*one.words[1:], one.body or ""]) for one in commands)
    return any(_lexical.mentions(text, programs) is not None for text in texts)


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


def _names_one_of(command: Command, programs: frozenset[str], *, sent: bool) -> str | None:
    """
    A program that is given the name of one of *programs* may run it, unless it is known to run nothing.

    Args:
        sent: Whether its input, if it has one, may name one of them.
    """
    program = command.program
    if not programs or program is None or (program in _JUDGED_BY_THEMSELVES and not _runs_behind_a_word(command)):
        return None
    if sent and command.stdin:
        quiet = _runs_nothing(command) and not takes_commands(command.words)
        return None if quiet else f"{program} may run what it is sent"
    for at, word in enumerate(command.words[1:], 1):
        name = word.rpartition("/")[2].rpartition("=")[2]
        if name not in programs and not (_TEXT.search(word) and _mentions(word, program, programs)):
            continue
        if _runs_nothing(command):
            return None
        if at not in _read_by_themselves(command):
            return f"{program} may run what it is given"
    return None


def _runs_behind_a_word(command: Command) -> bool:
    """Whether one of the programs of which most arguments are never run has such an option or sub-command."""
    behind = _programs.RUN_BEHIND.get(command.program or "")
    if behind is None:
        return False
    options = [word.partition("=")[0] for word in command.words[1:] if word[:1] == "-"]
    operands = [word for word in command.words[1:] if word[:1] != "-"][:_MOST_SUB_COMMANDS]
    return not behind.isdisjoint((*options, *operands)) or any(
        full.startswith(option) for option in options if len(option) > len("--x") for full in behind
    )


def _read_by_themselves(command: Command) -> frozenset[int]:
    """Which of its words are commands that surely run, and are among all that it runs: ``bash -c 'echo rm'``."""
    inside = look_inside(command)
    if inside.hidden:
        return frozenset()
    surely = [inner for inner in inside.commands if inner.certain]
    return frozenset(i for inner in surely for i in range(inner.at, inner.at + len(inner.words or ("",))))


def _mentions(word: str, program: str, programs: frozenset[str]) -> bool:
    """Whether a text names one of *programs*, maybe right behind the letters of an option: ``-I'rm x'``."""
    if _lexical.mentions(word, programs):
        return True
    if program == "git":  # `look_inside` knows which of its options run something
        return False
    return word[:1] == "-" and word[1:2] != "-" and word.partition(" ")[0].endswith(tuple(programs))


def _runs_nothing(command: Command) -> bool:
    found = walk(command.words)
    if found is None or found.grammar is None or found.reach >= 0 or found.inner:
        return False
    return found.grammar.entry.kind != "builder" and command.program not in _programs.RUNNERS
