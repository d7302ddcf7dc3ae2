"""
A shell that is told a text and nothing else: what allows the text allows it as well.

``bash -lc 'git log | head'`` does what ``git log | head`` does, which assistants send that way.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from executor_permissions.judge._shell_scope import Outcome
from executor_permissions.judge.paths._paths import under

if TYPE_CHECKING:
    from collections.abc import Callable

    from executor_permissions.judge._shell_scope import Rules
    from executor_permissions.judge.bash._words import Command

POSIX_SHELLS = frozenset({"bash", "sh", "dash"})
SYSTEM = frozenset({"", "/bin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"})
_TOLD = (["-c"], ["-lc"], ["-l", "-c"])  # the text is the next word, and the last
_LOGIN = "l"


def is_posix_shell(program: str) -> bool:
    """Whether *program* is a shell that reads texts as they are judged, found by its name or where systems have it."""
    folder, name = os.path.split(program)
    return name in POSIX_SHELLS and folder in SYSTEM


class Told(NamedTuple):
    """A text, and the words in front of it: ``bash -lc``."""

    shell: str
    text: str


def told_by(command: Command, rules: Rules) -> Told | None:
    """What *command* tells a shell; None if it is none, or is told more than a text."""
    words = command.words
    if command.program not in POSIX_SHELLS or words[1:-1] not in _TOLD or any(type(word) is not str for word in words):
        return None
    beside = command.assignments or command.redirects or command.around or command.stdin or command.files
    if beside or not is_posix_shell(words[0]) or words[-1][:1] in ("-", "+"):
        return None
    # A login shell runs files of the home folder before: where that is the project's, what others have written.
    if _LOGIN in words[1] and under(rules.home, rules.project):
        return None
    return Told(" ".join(words[:-1]), words[-1])


def as_its_text(outcome: Outcome, told: Told, rules: Rules, judge: Callable[[str], Outcome]) -> Outcome:
    """
    *outcome*, of a shell that is *told* a text; or the text's, if no rule is about the shell and all of it is allowed.

    Args:
        judge: Judges the text as a command.
    """
    if not _is_open(outcome) or _is_in_line(told.text, rules):
        return outcome
    found = judge(told.text)
    if found.unseen is not None or any(part.verdict != "allow" for part in found.parts):
        return outcome
    # With the shell in front, as they run: no command gets more than its usual box.
    return Outcome([part._replace(text=f"{told.shell} {part.text}") for part in found.parts], None)


def _is_open(outcome: Outcome) -> bool:
    """Whether nothing is hidden, and nothing against it but that no rule is about the shell."""
    against = [part for part in outcome.parts if part.verdict != "allow"]
    if outcome.unseen is not None or len(against) != 1:
        return False
    (part,) = against
    return part.verdict == "ask" and part.method == "default" and not part.maybe_denied


def _is_in_line(text: str, rules: Rules) -> bool:
    """Whether a rule about whole lines is about *text*."""
    plain = " ".join(text.split())
    return rules.has_lines and bool(
        rules.deny.in_line(text) or rules.ask.in_line(text) or rules.ask.texts.get(plain) or rules.deny.texts.get(plain)
    )
