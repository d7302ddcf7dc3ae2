"""The files that a shell command names: secrets, files that the blacklist names, and the policy's own."""

# ruff: noqa: SIM905 -- sets of words are read, and changed, best as a line of words
from __future__ import annotations

import os.path
import re
from typing import TYPE_CHECKING

from executor_permissions.judge import _programs
from executor_permissions.judge._guards import NEVER, exposed
from executor_permissions.judge._paths import touches, under
from executor_permissions.judge._rules import Part
from executor_permissions.judge._unwrap import program_of
from executor_permissions.judge._words import Glob

if TYPE_CHECKING:
    from collections.abc import Sequence

    from executor_permissions.judge._shell_scope import Rules
    from executor_permissions.judge._words import Command

MOVERS = frozenset({"cd", "pushd"})
_SECRETS = (".ssh", ".aws", ".gnupg", ".netrc", ".kube", ".docker", ".git-credentials", ".npmrc", ".pypirc")
_SYSTEM_SECRETS = ["/etc/shadow", "/etc/gshadow", "/etc/sudoers"]
_SECRET_MARKS = re.compile(r"\.(?:ssh|aws|gnupg|netrc|kube|docker|git-cred|npmrc|pypirc)|shadow|sudoers|environ")
_SECRET_PATH = re.compile(
    r"/\.(?:ssh|aws|gnupg|kube)(?:/|\Z)|/\.(?:netrc|git-credentials|npmrc|pypirc|docker/config\.json)\Z"
    r"|^/+etc/(?:g?shadow|sudoers)\b|^/+proc/[^/]+/environ\Z"
)
_FOLDER_MOVERS = frozenset("rm mv rmdir rsync chown chmod shred".split())


def secret(command: Command, rules: Rules, base: str) -> str | None:
    """Why *command* names a file that holds secrets, or that the blacklist keeps from the file tools; else None."""
    text = " ".join(command.words) if len(command.words) > 1 else ""
    globs = any(type(word) is Glob for word in command.words)
    if globs or _SECRET_MARKS.search(text):
        for word in command.words[1:]:
            path = os.path.normpath(os.path.join(base, word.rpartition("=")[2]))  # noqa: PTH118 -- text, not a file
            if _SECRET_PATH.search(path):
                return f"{path} may hold secrets"
        places = [f"{rules.home}/{name}" for name in _SECRETS] + _SYSTEM_SECRETS
        found = _touched(command, rules, base, places) if globs else None
        if found:
            return f"{found} may hold secrets"
    if rules.denied_marks is not None and (globs or rules.denied_marks.search(text)):
        found = _touched(command, rules, base, rules.denied_files)
        if found:
            return f"{found} is blacklisted for other tools"
    return None


def protected(command: Command, rules: Rules, base: str, *, moved: bool) -> Part | None:
    """The policy's own files: nothing that writes may name them."""
    words = command.words
    program = program_of(words) or ""
    named = rules.protected_marks.search(" ".join(words)) is not None
    if not named and not any(type(word) is Glob for word in words):
        return _above_protected(command, rules, base, program)
    if program in _programs.READERS and exposed(command) != NEVER:
        return None
    found = _touched(command, rules, base, rules.protected)
    if found is not None and program not in ("git", *MOVERS):
        reason = f"{found} belongs to the permission policy"
        return Part(command.text, "deny", "(the policy's own files)", reason, "blacklist")
    if found is not None or (moved and named):
        return Part(command.text, "ask", None, "it names the permission policy's own files", "ask_rule")
    return _above_protected(command, rules, base, program)


def _touched(command: Command, rules: Rules, base: str, places: Sequence[str]) -> str | None:
    for word in command.words[1:]:
        found = touches(word, base, rules.home, places, is_glob=type(word) is Glob)
        if found is not None:
            return found
    return None


def _above_protected(command: Command, rules: Rules, base: str, program: str) -> Part | None:
    if program not in _FOLDER_MOVERS:
        return None
    for word in command.words[1:]:
        if type(word) is str and word[:1] != "-":
            path = os.path.normpath(os.path.join(base, word))  # noqa: PTH118 -- speed
            if any(under(place, path) for place in rules.protected):
                reason = f"{path} holds the permission policy's own files"
                return Part(command.text, "ask", None, reason, "ask_rule")
    return None
