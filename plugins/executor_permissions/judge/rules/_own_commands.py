"""
Our own command, run by a tool.

What answers questions, grants, trusts, changes the policy, attaches, logs in, installs or serves is denied in any
spelling.
"""

# ruff: noqa: SIM905 -- sets of words are read, and changed, best as a line of words
from __future__ import annotations

import re
from typing import TYPE_CHECKING

from executor_permissions.judge.bash._words import Unknown
from executor_permissions.judge.rules._tokens import TokenPattern

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from executor_permissions.judge.rules._fitting import Match

RULE = "(toolexec's own commands)"
_PROGRAMS = "toolexec python python2 python3 pythonw pypy pypy3 py".split()
# The sub-commands of each group that only look, run a call that is judged itself, or end what runs.
_HARMLESS = {
    "approvals": frozenset("list show".split()),
    "mcp": frozenset("list get".split()),
    "permissions": frozenset("show check test log replay explain list".split()),
    "plugins": frozenset("list show".split()),
    "tasks": frozenset("list show output wait cancel prune".split()),
}
_HARMLESS_ALONE = frozenset("call chain completion config doctor tools version".split())
_CHANGING = frozenset("attach console init install login serve".split())
_HELP = frozenset({"--help", "-h", "--version"})
_YES = re.compile(r"--yes(?:=|\Z)|-[A-Za-z]*y[A-Za-z]*\Z")
_MODULE = re.compile(r"executor(?:\.cli(?:\.\w+)?|\.__main__)?\Z")
_FILE = re.compile(r"(?:.*/)?(?:executor(?:/__main__\.py|/cli(?:/__init__\.py)?|/)?|toolexec(?:\.\w+)?)\Z")
_CLUSTER = re.compile(r"-[A-Za-z]*?m")


class OwnCommands(TokenPattern):
    """The pattern for our own command, run as *program*: by its name, or by Python."""

    @classmethod
    def all(cls) -> Iterator[OwnCommands]:
        """One for each program that may run it."""
        for program in _PROGRAMS:
            yield cls(RULE, (program,), True)

    def catches(self, words: list[str]) -> Match:
        """Whether *words* do more than look."""
        if type(words[0]) is not str:
            return 0  # other rules say that nobody knows what runs
        given = words[1:] if self.program == _PROGRAMS[0] else _of_python(words)
        return 0 if given is None else _changes(given)


def _of_python(words: Sequence[str]) -> Sequence[str] | None:
    """What stands behind ``-m executor``, in whatever cluster, or behind the file of the command."""
    for i, word in enumerate(words[1:], 1):
        if type(word) is not str:
            return None
        module = _CLUSTER.match(word)
        if module is not None and not word.startswith("--"):
            attached = word[module.end() :]
            found = attached or "".join(words[i + 1 : i + 2])
            return words[i + 1 if attached else i + 2 :] if _MODULE.match(found) else None
        if word[:1] != "-" and words[i - 1] not in ("-W", "-X"):
            return words[i + 1 :] if _FILE.match(word) else None
    return None


def _changes(words: Sequence[str]) -> Match:
    """Whether a command of ours does more than look."""
    operands = [word for word in words if word[:1] != "-"]
    if not operands or any(word in _HELP for word in words):
        return 0
    if any(isinstance(word, Unknown) for word in operands[:3]):
        return 1
    group, command = operands[0], operands[1] if len(operands) > 1 else None
    if group in _CHANGING:
        return 2
    if group in _HARMLESS_ALONE:
        return 2 if any(_YES.match(word) for word in words) else 0
    if group not in _HARMLESS:
        return 1
    if group == "permissions" and command in ("grants", "session"):
        return 2 if len(operands) > 2 and operands[2] not in ("list", "status") else 0
    return 0 if command is None or command in _HARMLESS[group] else 2
