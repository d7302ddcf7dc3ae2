"""What a ``*`` in a rule about an argument of no known kind covers: text that is as plain as the rule."""

# ruff: noqa: SIM905 -- sets of words are read, and changed, best as a line of words
from __future__ import annotations

import re

from executor_permissions.judge.paths._globs import STAR
from executor_permissions.judge.paths._lexical import has_hidden_characters

SHELL_MARKS = re.compile(r"[;&|<>()$`\\\n*?{}\[\]!#~'\"]")
_DOTS = re.compile(r"\.\.|%")  # as they are, or encoded
_WORD = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
# In the name of an argument: what it holds is run.
COMMAND_WORDS = frozenset(
    "command commands commandline cmd cmds cmdline script scripts shell bash sh exec run code eval argv args".split()
)
# Of them, those that hold nothing but commands for a shell: "code" may be of any language.
_SHELL_WORDS = frozenset("command commands commandline cmd cmds cmdline shell".split())
_STATEMENTS = frozenset({"sql", "query", "statement", "statements", "q"})
_HOSTS = frozenset({"host", "hostname", "domain", "server", "site", "origin", "endpoint", "address", "remote"})
_JOINING = ",;|\n@"  # between items of a list, and what a mail address has once
_NO_HOST = re.compile(r"[^A-Za-z0-9._-]")


def words_of(name: str) -> list[str]:
    """The words in the name of an argument, in small letters: of ``shell_command`` and ``shellCommand`` both."""
    return [word.lower() for word in _WORD.findall(name)]


def is_for_shell(name: str) -> bool:
    """Whether the argument *name*, whatever its tool, is by that name a command of a shell."""
    return not _SHELL_WORDS.isdisjoint(words_of(name))


def is_plain_for(rule: str, value: str) -> bool:
    """
    Whether *value*, which fits the glob *rule*, has nothing hidden, no ``..`` where it may be a path, and is no list
    where the rule is about one thing.
    """
    if has_hidden_characters(value) or is_list(rule, value):
        return False
    if not rule.strip(STAR) or ".." in rule or not _DOTS.search(value):
        return True
    from executor_permissions.judge.rules._wild import climbs  # what reads commands, 20 ms, for the few texts with dots

    return not climbs(value, is_glob=False)


def is_list(rule: str, value: str) -> bool:
    """Whether *value*, which fits the glob *rule*, may be a list of items of which not all do: no text with blanks."""
    if not rule.strip(STAR) or " " in rule:
        return False
    return any(value.count(mark) > rule.count(mark) for mark in _JOINING)


def is_more_than_one(name: str, rule: str, value: str) -> bool:
    """Whether the argument *name*, by that name a command or a statement, may be several of them."""
    words = words_of(name)
    if not _HOSTS.isdisjoint(words) and rule.startswith(f"{STAR}."):
        return _NO_HOST.search(value) is not None
    if not COMMAND_WORDS.isdisjoint(words):
        return bool(rule.strip(STAR)) and SHELL_MARKS.search(value) is not None
    return not _STATEMENTS.isdisjoint(words) and bool(rule.strip(STAR)) and ";" in value.rstrip().rstrip(";")
