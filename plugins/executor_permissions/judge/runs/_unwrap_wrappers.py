"""What programs run that are there to run another: ``timeout 5 ls``, and what options of theirs run besides."""

# ruff: noqa: SIM905 -- lines of words
from __future__ import annotations

import re
from typing import TYPE_CHECKING

from executor_permissions.judge.bash._words import Inner, Suffix
from executor_permissions.judge.options import _programs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from executor_permissions.judge.bash._words import Inside

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_MAX_SUFFIXES = 16  # where an inner command may begin, when that is not certain
_SUFFIX_WORDS = 64
_MOST_LETTERS = 5  # of a cluster, with its dash, behind which a script is looked for
PIECE = re.compile(r"[^\s;&|()`'\"<>{}=!]+")
# Without a command they run a shell.
_STARTING_SHELLS = frozenset(
    "ssh sudo doas pkexec sg chroot nsenter unshare setarch linux32 linux64 fakeroot dbus-run-session systemd-run"
    " torsocks".split()
)
_MARKS = "-+:@"  # systemd's, in front of a command


def wrapped(  # noqa: C901 -- the order of the words is one thing, told from left to right
    program: str, words: list[str], found: Inside
) -> bool:
    """Add to *found* what *program*, a wrapper that is given *words*, runs; False if that is its own shell."""
    wrapper = _programs.WRAPPERS[program]
    if program == "command" and any(word in ("-v", "-V") for word in words[1:2]):
        return True
    at, certain = skip_options(words, 1, wrapper.values)
    _told_by_options(program, words, found)
    if at > 1:
        _held_by_options(words, at, wrapper, found)
    if wrapper.assignments:
        while at < len(words) and (_ASSIGNMENT.match(words[at]) or words[at] == "-"):
            if type(words[at]) is not str:
                certain = False
            at += 1
        again, sure = skip_options(words, at, wrapper.values)
        at, certain = again, certain and sure
    if wrapper.optional and at < len(words):
        found.commands.append(Inner(words[at:], None, at))
    for _ in range(wrapper.operands):
        if at < len(words) and type(words[at]) is not str:
            certain = False
        at += 1
    if wrapper.operands:
        at, sure = skip_options(words, at, frozenset())
        certain = certain and sure
    inner = words[at:]
    if inner and certain:
        found.commands.append(_inner(inner, at, joined=wrapper.joined))
    elif not certain:
        found.commands.extend(suffixes(words, 1))
        found.hidden = f"what {program} runs is computed"
    if program == "coproc":
        found.commands.extend(suffixes(words, at + 1))
    return bool(inner) or program not in _STARTING_SHELLS


def _told_by_options(program: str, words: list[str], found: Inside) -> None:
    """What options of a wrapper run."""
    if program in ("env", "ssh", "sudo", "doas"):
        from executor_permissions.judge.runs._variables import told_by  # nearly no command is one of these

        found.commands.extend(told_by(words))
    elif program in ("flock", "watch", "sg"):
        found.commands.extend(scripts_of(words, ("-c", "--command")))


def scripts_of(words: list[str], names: tuple[str, ...]) -> Iterator[Inner]:
    """The values of the options *names*, which are scripts: the next word, or behind the option in the same."""
    for i, word in enumerate(words[1:], 1):
        if words[i - 1] in names:
            yield Inner(None, word, i)
        elif word.startswith(names) and type(word) is str:
            yield from glued_in(word, i)


def glued_in(word: str, at: int) -> Iterator[Inner]:
    """The script that the option *word* may hold: ``-c'rm x'``, ``-qc'rm x'``, ``--call='rm x'``."""
    if word[:2] == "--":
        yield Inner(None, word.partition("=")[2], at)
    elif word[:1] == "-":
        for letters in range(2, _MOST_LETTERS):
            yield Inner(None, word[letters:], at, certain=letters == 2)


def _held_by_options(words: list[str], end: int, wrapper: _programs.Wrapper, found: Inside) -> None:
    """What the wrapper's own options, which end at *end*, run besides: a value may be a command, or hold one."""
    for i in range(1, min(end, len(words))):
        word = words[i]
        if type(word) is not str:
            continue
        text, told = word, words[i - 1] in wrapper.commands
        if word[:2] == "--":
            name, _, text = word.partition("=")
            told = name in wrapper.commands
        elif word[:1] == "-":
            text, told = word[2:], word[:2] in wrapper.commands
        if not text:
            continue
        if told or text[0] in "|!":
            found.commands.append(Inner(None, text.lstrip("|!"), i))
        pieces = PIECE.findall(text)
        for j, piece in enumerate(pieces[:_MAX_SUFFIXES] if pieces != [text] else ()):
            held = Suffix([piece.lstrip(_MARKS), *pieces[j + 1 : j + _SUFFIX_WORDS]])
            found.commands.append(Inner(held, None, i, certain=False))


def _inner(words: list[str], at: int, *, joined: bool) -> Inner:
    if joined and all(type(word) is str for word in words):
        return Inner(None, " ".join(words), at)
    return Inner(words, None, at)


def suffixes(words: list[str], start: int) -> list[Inner]:
    """Every word from *start* on may be where the inner command begins."""
    last = min(len(words), start + _MAX_SUFFIXES)
    return [Inner(Suffix(words[i : i + _SUFFIX_WORDS]), None, i, certain=False) for i in range(start, last)]


def skip_options(words: list[str], start: int, values: frozenset[str]) -> tuple[int, bool]:
    """The index of the first word that is no option, and whether that is certain."""
    at = start
    while at < len(words):
        word = words[at]
        if type(word) is not str:
            return at, False
        if word == "--":
            return at + 1, True
        if word == "-" or word[:1] not in ("-", "+"):
            return at, True
        takes_value = word in values if word.startswith("--") else _cluster_takes_value(word, values)
        at += 2 if takes_value else 1
    return at, True


def _cluster_takes_value(word: str, values: frozenset[str]) -> bool:
    """Whether the value of a cluster's last letter is the next word: ``-u NAME`` but not ``-uNAME``."""
    if word in values:
        return True
    for position, letter in enumerate(word[1:], 1):
        if "-" + letter in values:
            return position == len(word) - 1
    return False
