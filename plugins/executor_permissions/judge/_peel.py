"""Wrappers that change nothing about what a command may do: ``timeout 10``, ``time``, ``nice``, ``nohup``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from executor_permissions.judge import _programs
from executor_permissions.judge._words import Command

if TYPE_CHECKING:
    from collections.abc import Callable

_DURATION = re.compile(r"\d+(\.\d+)?[smhd]?\Z")


def peeled(command: Command) -> Command | None:
    """
    The command behind ``timeout 10``, ``time``, ``nice``, ``nohup``, ``env LANG=C`` and the like; None for any other.

    Only forms that are known to the last word: for allowing.
    """
    words = command.words
    if any(type(word) is not str for word in words[:1]) or len(words) < 2:
        return None
    at = _PEELS[words[0]](words) if words[0] in _PEELS else 0
    if not at or at >= len(words) or words[at][:1] == "-":
        return None
    inner = Command(words[at:], command.text, command.assignments, command.redirects, command.stdin, command.body)
    return peeled(inner) or inner


def _peel_timeout(words: list[str]) -> int:
    i = 1
    while i < len(words) and words[i][:1] == "-":
        if words[i] in ("-k", "-s", "--kill-after", "--signal"):
            i += 1
        elif not words[i].startswith(("--kill-after=", "--signal=")) and words[i] not in (
            "--preserve-status", "--foreground", "-v", "--verbose",
        ):  # fmt: skip
            return 0
        i += 1
    return i + 1 if i < len(words) and _DURATION.match(words[i]) and type(words[i]) is str else 0


def _peel_nice(words: list[str]) -> int:
    if words[1] == "-n":
        return 3 if len(words) > 3 and re.fullmatch(r"-?\d+", words[2]) else 0
    return 2 if re.fullmatch(r"--?\d+|--adjustment=-?\d+", words[1]) else 1


def _peel_env(words: list[str]) -> int:
    i = 1
    while i < len(words) and type(words[i]) is str and "=" in words[i] and words[i][:1] != "-":
        if words[i].partition("=")[0] not in _programs.SAFE_VARIABLES:
            return 0
        i += 1
    return i


def _peel_stdbuf(words: list[str]) -> int:
    i = 1
    while i < len(words) and re.fullmatch(r"-[ioe](0|L|\d+[KMG]?)", words[i]):
        i += 1
    return i if i > 1 else 0


_PEELS: dict[str, Callable[[list[str]], int]] = {
    "command": lambda _words: 1,
    "env": _peel_env,
    "nice": _peel_nice,
    "nohup": lambda _words: 1,
    "stdbuf": _peel_stdbuf,
    "time": lambda words: 2 if words[1] == "-p" else 1,
    "timeout": _peel_timeout,
}
