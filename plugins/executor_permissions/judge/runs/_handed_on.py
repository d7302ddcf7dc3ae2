"""What find finds and gives to another program, name by name: by ``-exec``, or by ``-print0`` through ``xargs -0``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from executor_permissions.judge.bash._words import KNOWN
from executor_permissions.judge.options import walk

if TYPE_CHECKING:
    from collections.abc import Sequence

    from executor_permissions.judge.bash._words import Command

# What find does with the names that it finds, beside `-print0`; options of xargs with which it takes those as they are.
_DOING = ("-print", "-fprint", "-ls", "-fls", "-exec", "-ok", "-delete", "-files0")
_NULL = re.compile(r"-[rtx]*0[0rtx]*|--null")
_HANDING_ALL = re.compile(r"-[0rtx]+|--null|--no-run-if-empty|(?:-[nP])?[0-9]+|-[nP]")
# What makes of tests more than that all must hold; and what makes a link count as what it leads to.
_COMBINING = frozenset({"-o", "-or", ",", "(", ")"})
_NOT = frozenset({"!", "-not"})
_FOLLOWING = frozenset({"-L", "-H", "-follow"})


def handed_on(command: Command) -> list[str] | None:
    """``find . -name '*.py' -print0 | xargs -0 grep x`` as ``find . -name '*.py' -exec grep x {} +``, if it is that."""
    sender = command.sender
    if sender is None or command.stdin != "pipe" or (sender.program, command.program) != ("find", "xargs"):
        return None
    given, behind = sender.words[1:], walk(command.words)
    if sender.redirects or given[-1:] != ["-print0"] or not KNOWN.issuperset(map(type, (*given, *command.words))):
        return None
    if behind is None or len(behind.inner) != 1 or any(word.startswith(_DOING) for word in given[:-1]):
        return None
    (start, end), options = behind.inner[0], command.words[1 : behind.inner[0][0]]
    if not any(map(_NULL.fullmatch, options)) or not all(map(_HANDING_ALL.fullmatch, options)):
        return None
    return [sender.words[0], *given[:-1], "-exec", *command.words[start:end], "{}", "+"]


def told(words: Sequence[str], test: str, *, negated: bool = False) -> list[str]:
    """
    What *test* is told in the words of a find, where it has to hold for whatever is found, or, *negated*, for nothing.

    What looks like a test is no such value. Where *test* itself is the value of another one, find ends with an error.
    """
    if not _COMBINING.isdisjoint(words):
        return []
    at = [i for i in range(1, len(words) - 1) if words[i] == test and (words[i - 1] in _NOT) == negated]
    return [words[i + 1] for i in at if words[i + 1][:1] != "-"]


def finds_files(words: Sequence[str]) -> bool:
    """Whether find finds nothing but regular files, and no link that leads to one."""
    return "f" in told(words, "-type") and _FOLLOWING.isdisjoint(words)
