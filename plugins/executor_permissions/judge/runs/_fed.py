"""
What commands are sent by their input: texts that they obey (``echo rm x | sh``), and names of files (``| xargs cat``).
"""

# ruff: noqa: SIM905 -- lines of words
from __future__ import annotations

import re
from typing import TYPE_CHECKING

from executor_permissions.judge.options import _programs, kind_of, walk
from executor_permissions.judge.options._editors import takes_commands
from executor_permissions.judge.paths._secrets import is_secret

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from executor_permissions.judge.runs._runs import Run

# Between the names of files in a text; what follows a bracket at once is an attribute: "a[0].env".
PARTING = re.compile(r"(?:[\s\"'`(){},;|&<>=$\[!^]|\](?![\w.-]))+")
_LISTED = frozenset("xargs parallel".split())  # what they are sent becomes operands
# Whatever their tables say of their words, they do as their input says, or take it for names.
_OBEYING = _LISTED | frozenset("make gmake gcc g++ cc c++ clang clang++".split())
# They keep their input, or send it on, as it is; a shell's input is read as commands.
_KEEPING = _programs.SHELLS | frozenset(
    "sponge pbcopy wl-copy xclip xsel ts pv logger wall mail mailx gh gpg openssl".split()
)


def names_in(text: str) -> list[str]:
    """What may be names of files in *text*, each once."""
    return [name for name in dict.fromkeys(PARTING.split(text)) if name]


def obeys(words: list[str]) -> bool:
    """Whether a program may do as its input says, or open what that names."""
    program = words[0].rpartition("/")[2]
    if program in _OBEYING or takes_commands(words):
        return True
    found = walk(words)
    return program not in _KEEPING and (found is None or found.reach >= 0)


def secret_in(text: str, home: str) -> str | None:
    """The place of secrets, of the user with the folder *home*, that is named in *text*."""
    for name in PARTING.split(text):
        path = f"{home}{name[1:]}" if name[:2] == "~/" else name
        if is_secret(path, home):
            return path
    return None


def sent_to(runs: Sequence[Run]) -> Iterable[Run]:
    """Those of *runs*, of which the first runs the others, that surely run and get its input."""
    found = walk(runs[0].words) if runs and runs[0].words else None
    if found is not None and found.reach < 0 and not found.inner:
        return runs[:1]
    return [run for run in runs if run.certain]


def changes_listed(runs: Iterable[Run]) -> bool:
    """Whether one of *runs* does more than read the files whose names it is sent."""
    return any(run.program in _LISTED and not _only_reads(run.words) for run in runs)


def _only_reads(words: list[str]) -> bool:
    """Whether what a program runs on the files that it is sent reads them."""
    found = walk(words)
    if found is None or found.reach >= 0:
        return False
    return all(kind_of(words[start:end]) == "reader" for start, end in found.inner)
