"""What ``xargs`` is sent: names of files, of which none is an option of the program that it gives them to."""

# ruff: noqa: PTH118, SIM905 -- texts, not files; lines of words
from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from executor_permissions.judge.bash._expand import ANYWHERE
from executor_permissions.judge.bash._words import Glob
from executor_permissions.judge.options import walk
from executor_permissions.judge.options._programs import GREPS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from executor_permissions.judge.bash._walk import Step
    from executor_permissions.judge.paths._links import Links

_SILENT = frozenset("cd true : [ [[ test set".split())
_PASSING = GREPS | frozenset("head tail sort uniq".split())  # lines of their input, as they are
_LISTING = frozenset("rg git ls fd fdfind".split()) | GREPS  # names in the folder, in which a file may have any name
# With these they do no more than that: others cut lines, or print something beside the names.
_PLAIN = re.compile(
    r"-(?:\d+|n\d*|[viEFwxrRulzHI01aAtdSge]+)\Z|--(?:include|exclude|exclude-dir|glob|type|extension)="
    r"|--(?:files|files-with-matches|hidden|no-ignore|cached|others|modified|exclude-standard)?\Z"
)
_NAMES_ONLY = re.compile(r"-[A-Za-z]*l|--files|ls-files\Z")
_RECURSIVE = re.compile(r"-[A-Za-z]*[rR]")
_OF_FIND = re.compile(r"-(?:f?printf|exec|ok|f?ls)")  # what it prints then may be anything
_WILD = frozenset("*?[")
_MAY_BE_FOLDERS = frozenset("*?]/")


def may_send_options(steps: Sequence[Step], links: Links, *, flat: bool) -> bool:
    """
    Whether an ``xargs`` among *steps* may be sent a word that begins with a dash.

    Args:
        flat: Whether the steps are pipelines one after another: then only those of its own send it something.
    """
    for i, step in enumerate(steps):
        if not step.command.stdin or not any(word.endswith("xargs") for word in step.command.words):
            continue
        first = next((j for j in range(i, -1, -1) if not steps[j].command.stdin), 0) if flat else 0
        if step.command.stdin != "pipe" or not all(_sends_names(one, links) for one in steps[first:i]):
            return True
    return False


def _sends_names(step: Step, links: Links) -> bool:
    """Whether all that a command prints are names of files that are there, and none of them begins with a dash."""
    command, program = step.command, step.command.program or ""
    if program in _SILENT:
        return True
    found = walk(command.words) if command.words else None
    if found is None or not (program == "ls" or all(map(_is_told, command.words))):
        return False
    if program == "find":  # each begins with the folder that it was given
        return not any(map(_OF_FIND.match, command.words))
    if program == "xargs":
        return all(_prints_names(command.words[start], command.words[start:end]) for start, end in found.inner)
    if program in _PASSING and command.stdin == "pipe" and not found.reads and _passes(program, command.words):
        return True
    if not _prints_names(program, command.words) or ANYWHERE in step.folders:
        return False
    below = ["", *(word for word in found.reads if program == "ls" and type(word) is str)]
    listed = (links.names_in(os.path.join(folder, one)) for folder in step.folders for one in below)
    return not any(name[0] == "-" for names in listed for name in names)


def _is_told(word: str) -> bool:
    """Whether it is known of a word whether it is an option."""
    return type(word) is str or (type(word) is Glob and word[0] not in _WILD)


def _is_plain(words: list[str]) -> bool:
    return all(_PLAIN.match(word) for word in words[1:] if word[:1] == "-")


def _passes(program: str, words: list[str]) -> bool:
    return _is_plain(words) and not (program in GREPS and any(map(_RECURSIVE.match, words)))


def _prints_names(program: str, words: list[str]) -> bool:
    if program not in _LISTING or not _is_plain(words):
        return False
    if program == "ls":  # of a folder that a pattern becomes it lists what is in it
        further = (word for word in words if type(word) is not str)
        return all(type(word) is Glob and word[-1] not in _MAY_BE_FOLDERS for word in further)
    if program == "git":
        return words[1:2] == ["ls-files"] or (words[1:2] == ["grep"] and any(map(_NAMES_ONLY.match, words[2:])))
    return program in ("fd", "fdfind") or any(map(_NAMES_ONLY.match, words[1:]))
