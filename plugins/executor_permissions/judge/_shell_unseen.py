"""Words of a shell command that only the running shell knows: which files they may be, and who is given them."""

# ruff: noqa: SIM905 -- lines of words
from __future__ import annotations

import re
from typing import TYPE_CHECKING

from executor_permissions.judge._words import REST, Glob, Number, program_of
from executor_permissions.judge.options import walk

if TYPE_CHECKING:
    from executor_permissions.judge.options._walk import Walk

_WORKED_OUT = re.compile(r"\$\([^()]*\)|`[^`]*`|\$\{[^{}]*\}|\$\w+|\$[^\w({]|\{[^{}]*\}")
_DEEPEST_BRACES = 6
_NAMED: frozenset[type[str]] = frozenset({str, Glob, Number})  # words that do not become any name
# They tell of files what they are, and not what is in them.
_TELLING = frozenset("ls stat wc du df file tree realpath readlink cksum md5sum sha1sum sha256sum sha512sum".split())


def given_unseen(words: list[str]) -> str | None:
    """The program, if it shows files or takes them elsewhere and one of them may be any."""
    if _NAMED.issuperset(map(type, words)):
        return None
    found = walk(words)
    if found is None or found.grammar is None:
        return None
    program = program_of(words) or ""
    if not any(_is_open(word, words) for word in (_moved(found) if program == "mv" else found.reads)):
        return None
    return None if program in _TELLING or found.grammar.entry.kind == "builder" else program


def _moved(found: Walk) -> list[str]:
    """What ``mv`` is given to move: it writes that as well, and its target last, unless an option is not known."""
    return found.writes if found.guessed else found.writes[:-1]


def _is_open(word: str, words: list[str]) -> bool:
    """Whether *word* may become any name; what ``find`` puts in place of ``{}`` is looked for by itself."""
    if type(word) in _NAMED:
        return False
    if word in ("{}", REST):
        return REST in words
    text, found = word, int("$" in word or "`" in word)  # of braces every name is written out
    while found:
        text, found = _WORKED_OUT.subn("", text)
    return not text.rpartition("/")[2].strip("\"'*")


def patterns_of(text: str) -> list[str]:
    """The names in a path of which the shell works out a part, with ``*`` for that part: of ``.{env,x}`` ``.*``."""
    for _ in range(_DEEPEST_BRACES):
        text, found = _WORKED_OUT.subn("*", text)
        if not found:
            break
    names = text.replace('"', "").replace("'", "").split("/")
    return [name for name in names if "*" in name and name.strip("*")]
