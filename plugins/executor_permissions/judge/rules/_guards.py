"""
How far a rule must spell a command out before its ``*`` may cover the rest.

``sort *`` covers ``sort -n a``, not ``sort -o /etc/passwd a``: the option is not known to be safe, so that a rule for
it must have it among its own words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from executor_permissions.judge.bash._words import MAX_NESTING, Command, program_of
from executor_permissions.judge.options import NEVER, _programs, is_known, walk
from executor_permissions.judge.options._editors import takes_commands
from executor_permissions.judge.runs._unwrap import look_inside

if TYPE_CHECKING:
    from collections.abc import Iterator

    from executor_permissions.judge.bash._words import Inside
    from executor_permissions.judge.options import Walk

__all__ = ["NEVER", "exposed"]

_MOST_WORDS = 40  # of a program that runs others
_FED = frozenset({"xargs", "find", "fd", "fdfind"})  # what they run gets words that are not in the command


def exposed(command: Command, depth: int = 0) -> int:
    """
    The index of the last word that a rule must spell out to cover *command*, or -1 if a wildcard may cover all.

    `NEVER` when no wildcard may.
    """
    words = command.words
    program = command.program
    if program is None or depth > MAX_NESTING:
        return NEVER
    found = walk(words)
    inside = look_inside(command)
    if inside.hidden:
        return NEVER
    reach = -1 if found is None else found.reach
    if command.stdin and takes_commands(words):
        return NEVER
    if found is None and (program in _programs.LAUNCHERS or program in _programs.RUNNERS):
        return _launched(words, depth)
    if not inside.commands and (found is None or not found.inner):
        return reach  # it runs nothing else, as nearly every command
    for at, inner, spelled in _inner_commands(words, found, inside):
        if spelled:
            reach = max(reach, at)
        further = exposed(Command(inner, "", stdin=command.stdin), depth + 1) if inner else -1
        if further >= 0:
            reach = NEVER if further == NEVER else max(reach, at + further)
    return reach


def _launched(words: list[str], depth: int) -> int:
    """A program that runs others, with options that nobody knows: any of its words may begin a command, or hold one."""
    if len(words) > _MOST_WORDS:
        return NEVER
    for at, word in enumerate(words[1:], 1):
        if " " in word or type(word) is not str:
            return NEVER
        known = is_known(word.rpartition("/")[2]) or word in _programs.WRAPPERS or word in _programs.LAUNCHERS
        if known and exposed(Command(words[at:], ""), depth + MAX_NESTING // 2) >= 0:
            return NEVER
    return -1


def _inner_commands(words: list[str], found: Walk | None, inside: Inside) -> Iterator[tuple[int, list[str], bool]]:
    """Where each inner command begins, its words, and whether a rule for the outer one must spell it out."""
    grammar = None if found is None else found.grammar
    if program_of(words) in _FED or (grammar is not None and grammar.entry.shape == "interpreter"):
        yield from ((inner.at, inner.words or [], True) for inner in inside.commands)
    elif found is not None and grammar is not None:
        for start, end in found.inner:
            yield start, words[start:end], not ("runner" in grammar.traits or "spell" in grammar.traits)
    elif found is None:
        yield from ((inner.at, inner.words or [], True) for inner in inside.commands if inner.certain)
