"""
The commands that stand for another: what ``timeout 10``, ``xargs`` or ``find -exec`` runs, ``git --no-pager log``.

Only for allowing, and only forms that the tables know to the last word.
"""

# ruff: noqa: SIM905 -- sets of words are read, and changed, best as a line of words
from __future__ import annotations

import re
from typing import TYPE_CHECKING

from executor_permissions.judge.bash._words import MAX_NESTING, Command, Unknown, program_of
from executor_permissions.judge.options import kind_of, only_reads, walk
from executor_permissions.judge.options._programs import GREPS
from executor_permissions.judge.options._tables import grammar_of
from executor_permissions.judge.runs._handed_on import finds_files, handed_on

if TYPE_CHECKING:
    from collections.abc import Sequence

    from executor_permissions.judge.options import Walk
    from executor_permissions.judge.options._entry import Grammar

# Programs that tell about a file but do not show what is in it: they may be given files that nobody has seen.
_SHOW_NO_CONTENT = frozenset(
    "echo wc stat file du basename dirname realpath readlink md5sum sha1sum sha256sum sha512sum cksum".split()
)
_SHOWING = frozenset("cat head tail nl tac grep egrep fgrep sed".split())
_NAMES_OR_COUNTS = re.compile(r"-[EFGHPLchilnqrRsvwxz]*[lLcq][EFGHPLchilnqrRsvwxz]*\Z")
# Options in front of a sub-command that change nothing but what is told of it, and how fast it is.
_IDLE = frozenset(
    "-q -v -vv -vvv --quiet --verbose --silent -P --no-pager --no-color --color --colored --no-progress --progress"
    " --no-optional-locks --no-advice --literal-pathspecs --loglevel --log-level -D --debug --request-timeout"
    " --offline --locked --frozen --no-audit --no-fund --no-update-notifier --no-input --no-interaction"
    " --disable-pip-version-check".split()
)
_IDLE_OF_MAKE = frozenset(
    "-j --jobs -k --keep-going -s --silent --quiet -w --print-directory --no-print-directory -O --output-sync -l"
    " --load-average --max-load".split()
)
_LONG_NAMES_OR_COUNTS = frozenset({"--files-with-matches", "--files-without-match", "--count", "--quiet", "--silent"})


def peeled(command: Command) -> Command | None:
    """The one command behind ``timeout 10``, ``xargs`` and the like, if *command* stands for just one."""
    parts = parts_of(command)
    return parts[0] if len(parts) == 1 else None


def innermost(command: Command) -> Command:
    """What *command* does its work by: the last of its `parts_of`, or itself."""
    parts = parts_of(command)
    return parts[-1] if parts else command


def parts_of(command: Command) -> Sequence[Command]:
    """The commands that must all be covered in place of *command*, which does not change any more; none if none do."""
    if command.parts is None:
        command.parts = _parts(command, 0) or ()
    return command.parts


def _parts(command: Command, depth: int) -> list[Command] | None:
    words = command.words
    program = command.program
    if program is None or words[0] != program or depth > MAX_NESTING:
        return None
    found = walk(words)
    if found is None or found.grammar is None or found.reach >= 0:
        return None
    if program == "find":
        parts = _find(command, found)
    elif program == "xargs":
        handed = handed_on(command)
        behind = walk(handed) if handed is not None else None
        parts = (_find(_with_words(command, handed), behind) if handed and behind else None) or _xargs(command, found)
    elif "peel" in found.grammar.traits:
        parts = [_with_words(command, words[start:end]) for start, end in found.inner]
    else:
        bare = _without_leading_options(words, found) if found.lead > 1 else None
        return [_with_words(command, bare)] if bare else None
    flat: list[Command] = []
    for part in parts:
        flat.extend(_parts(part, depth + 1) or [part])
    return flat


def _with_words(command: Command, words: list[str]) -> Command:
    rest = command.assignments, command.redirects, command.stdin, command.body, command.files
    return Command(words, command.text, *rest)


def _find(command: Command, found: Walk) -> list[Command]:
    """The search itself, and what it runs; only where names that nobody has seen can do no harm."""
    words = command.words
    own: list[str] = []
    inner: list[list[str]] = []
    at = 0
    for start, end in found.inner:
        within = words[start:end]
        if words[start - 1] != "-exec" or not (
            _takes_any_path(within) or (finds_files(words[: start - 1]) and _shows_what_it_is_given(within))
        ):
            return []
        own.extend(words[at : start - 1])
        inner.append([word for word in words[start:end] if word != "{}"])
        at = end + 1
    own.extend(words[at:])
    return [_with_words(command, part) for part in (own, *inner)] if inner else []


def _xargs(command: Command, found: Walk) -> list[Command]:
    """What xargs runs, without the words that come from its input; echo, if it is told nothing."""
    words = command.words
    parts = [] if found.inner else [_with_words(command, ["echo"])]
    for start, end in found.inner:
        inner = words[start:end]
        if _is_plain_placeholder(words[1:start], inner) and _takes_any_file(inner):
            parts.append(_with_words(command, [word for word in inner if word != "{}"]))
    return parts


def _is_plain_placeholder(options: list[str], inner: list[str]) -> bool:
    """Whether what stands for the input, if anything does, is ``{}``, and neither the program nor an option."""
    for i, word in enumerate(options):
        if word.startswith(("-I", "-i", "-J", "--replace")):
            value = options[i + 1] if word == "-I" and i + 1 < len(options) else word
            if value not in ("{}", "-I{}", "-i", "-i{}", "--replace", "--replace={}"):
                return False
    return not any("{}" in word for word in inner if word is inner[0] or word[:1] == "-")


def _shows_what_it_is_given(words: list[str]) -> bool:
    """Whether the program shows the files that find gives to it behind its other words, and no others."""
    found = walk(words)
    if found is None or found.reach >= 0 or kind_of(words) != "reader" or words[0] not in _SHOWING:
        return False
    return found.reads[-1:] == ["{}"] == words[-1:] and not any("{}" in word for word in words[:-1])


def _takes_any_path(words: list[str]) -> bool:
    """The same for words that are surely paths, as find begins each with the folder that it was given."""
    found = walk(words) if words else None
    if found is None or found.reach >= 0 or kind_of(words) != "reader":
        return False
    return program_of(words) == "ls" or _tells_no_content(words)


def _takes_any_file(words: list[str]) -> bool:
    """Whether the program may be given files, and options, that nobody has seen: it tells nothing of their content."""
    return only_reads(words) and _tells_no_content(words)


def _tells_no_content(words: list[str]) -> bool:
    program = program_of(words)
    if program is None or any(type(word) is Unknown for word in words):
        return False
    if program in GREPS:
        return any(_NAMES_OR_COUNTS.match(word) or word in _LONG_NAMES_OR_COUNTS for word in words[1:])
    return program in _SHOW_NO_CONTENT


def _without_leading_options(words: list[str], found: Walk) -> list[str] | None:
    """
    ``git --no-pager log`` is ``git log``, and ``make -j4 test`` is ``make test``: such options change nothing.

    Others go behind it, as its own: ``kubectl -n x get pods`` is ``kubectl get pods -n x``, and ``make -n test`` is
    ``make test -n``, which runs nothing.
    """
    grammar = grammar_of(words[0])
    if grammar is None or (grammar.subs is None and words[0] != "make"):
        return None
    idle = _IDLE if grammar.subs is not None else _IDLE_OF_MAKE
    telling = _telling(words[1 : found.lead], grammar, idle)
    own = words[found.lead :]
    at = own.index("--") if "--" in own else len(own)
    bare = [words[0], *own[:at], *telling, *own[at:]]
    return bare if bare != words else None


def _telling(options: list[str], grammar: Grammar, idle: frozenset[str]) -> list[str]:
    """The words among *options* that are not *idle*, with their values."""
    telling: list[str] = []
    at = 0
    while at < len(options):
        word = options[at]
        option = grammar.options.get(word)
        following = at + (2 if option is not None and option.arity == 1 else 1)
        if word.partition("=")[0] not in idle and not (word[:2] in idle and word[2:].isdigit()):
            telling += options[at:following]
        at = following
    return telling
