"""What programs run because a variable or a setting says so: ``GIT_EDITOR='rm -rf x' git commit``. For denying."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from executor_permissions.judge.bash._words import Inner, Unknown
from executor_permissions.judge.runs._unwrap_wrappers import PIECE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# Its value is a command.
_COMMAND = re.compile(
    r"\w*(?:EDITOR|PAGER|COMMAND|_RSH|_SSH|ASKPASS|_DIFF|BROWSER|_WRAPPER|_RUNNER|_PROG)\Z|VISUAL\Z|FCEDIT\Z|PS[0-4]\Z"
)
# Its value holds one, among options or settings.
_HOLDS = re.compile(
    r"\w*(?:OPTIONS?|_?OPTS?|FLAGS|SHELL)\Z|GIT_|LESS|npm_config_|NPM_CONFIG_|(?:BASH_)?ENV\Z|CC\Z|CXX\Z|LD\Z|\w+_CMD\Z"
)
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)\+?=(.*)\Z", re.DOTALL)
# ssh's: behind one dash or a word of its own, with "=" or a blank.
_SETTING = re.compile(r"(?:-\w*?o)?\s*(?:\w+Command|XAuthLocation)\s*[=\s]\s*(.*)", re.IGNORECASE | re.DOTALL)
_SPLITS = re.compile(r"-[a-zA-Z0]*S\Z|--s[a-z-]*\Z")  # env -S, -vS, --split-string
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)  # of which that of "_" is a blank for env
_MOST_SPLIT = 64  # words of env's that are looked at
_PROXY = re.compile(r"\w+_proxy\Z", re.IGNORECASE)
_MOST_WORDS = 24  # of a command that a value may hold
_MOST_PIECES = 150


def run_by(assignments: Iterable[tuple[str, str]], words: list[str], at: int = 0) -> Iterator[Inner]:
    """
    What may run because of *assignments*.

    Args:
        assignments: Names with their values.
        words: The command that they are for.
        at: Where they stand among the words of the command.
    """
    for assigned, value in assignments:
        name = assigned.partition("[")[0].rstrip("+")
        if type(value) is not str:
            continue
        if _COMMAND.match(name):
            yield Inner(None, value, at)
        elif words and _PROXY.match(name):
            yield Inner([*words, f"--proxy={value}"], None, at)
        elif _HOLDS.match(name):
            pieces = PIECE.findall(value)
            for i in range(min(len(pieces), _MOST_PIECES)):
                yield Inner(pieces[i : i + _MOST_WORDS], None, at, certain=False)


def told_by(words: list[str]) -> Iterator[Inner]:
    """What the variables, settings and options among the words of a command have run, of one that takes any."""
    program = words[0].rpartition("/")[2]
    if program in ("ssh", "scp", "sftp"):
        yield from _ssh_settings(words)
        return
    if program == "env":
        yield from _split_strings(words)
    ends = max((i for i, word in enumerate(words) if _ASSIGNMENT.match(word)), default=0) + 1
    yield from run_by(_assigned_in(words[1:]), words[ends:] if program in ("env", "sudo", "doas") else [], ends - 1)


def _ssh_settings(words: list[str]) -> Iterator[Inner]:
    """``-o ProxyCommand=x``, in whatever spelling."""
    for i, word in enumerate(words[1:], 1):
        match = _SETTING.match(word)
        if match is not None:
            yield Inner(None, match[1].strip("\"' "), i)


def _split_strings(words: list[str]) -> Iterator[Inner]:
    """What ``env -S 'rm -rf x'`` runs."""
    for i, word in enumerate(words[:_MOST_SPLIT]):
        if _SPLITS.match(word) and i + 1 < len(words):
            text, rest = words[i + 1], words[i + 2 :]
        elif word.startswith("--s") and "=" in word:
            text, rest = word.partition("=")[2], words[i + 1 :]
        elif re.match(r"-[a-zA-Z]*S.", word):
            text, rest = word.partition("S")[2], words[i + 1 :]
        else:
            continue
        text = _ESCAPE.sub(lambda escape: " " if escape[1] == "_" else escape[0], text)
        try:
            split = shlex.split(text)
        except ValueError:
            split = text.split()
        yield Inner(["env", *(Unknown(one) if "${" in one else one for one in split), *rest], None, i)


def _assigned_in(words: list[str]) -> Iterator[tuple[str, str]]:
    """The assignments among *words*: those of ``env`` and ``export``."""
    for word in words:
        match = _ASSIGNMENT.match(word) if type(word) is str else None
        if match is not None:
            yield match[1], match[2]
