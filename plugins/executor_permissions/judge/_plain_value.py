"""What a ``*`` in a rule about an argument of no known kind covers: text that is as plain as the rule."""

from __future__ import annotations

import re

from executor_permissions.judge._globs import STAR
from executor_permissions.judge._lexical import has_hidden_characters

SHELL_MARKS = re.compile(r"[;&|<>()$`\\\n*?{}\[\]!#~'\"]")
_DOTS = re.compile(r"\.\.|%")  # as they are, or encoded
_COMMANDS = frozenset(
    {"command", "cmd", "commandline", "command_line", "commandLine", "shell_command", "script", "exec"}
)
_STATEMENTS = frozenset({"sql", "query", "statement"})


def is_plain_for(rule: str, value: str) -> bool:
    """Whether *value*, which fits the glob *rule*, has nothing hidden, and no ``..`` where it may be a path."""
    if has_hidden_characters(value):
        return False
    if not rule.strip(STAR) or ".." in rule or not _DOTS.search(value):
        return True
    from executor_permissions.judge._wild import climbs  # what reads commands, 20 ms, for the few texts with dots

    return not climbs(value, is_glob=False)


def is_more_than_one(name: str, rule: str, value: str) -> bool:
    """Whether the argument *name*, by that name a command or a statement, may be several of them."""
    if name in _COMMANDS:
        return bool(rule.strip(STAR)) and SHELL_MARKS.search(value) is not None
    return name in _STATEMENTS and bool(rule.strip(STAR)) and ";" in value.rstrip().rstrip(";")
