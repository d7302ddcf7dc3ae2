"""
A line of nothing but plain words, as most are: ``git log -5 | head``, and ``cd src && make``.

It is read at once, and as the splitter and the walk read it: of their expressions and tables is made what is read here,
and whatever is more than that is left to them. It has to agree with the second reading as well.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from executor_permissions.judge.bash import _parser, _tree
from executor_permissions.judge.bash._moves import FOLLOWED
from executor_permissions.judge.bash._split_simple import BEFORE_SETTINGS, PLAIN_PARTS, QUOTED, RESERVED, UNQUOTED
from executor_permissions.judge.bash._words import Command

if TYPE_CHECKING:
    from executor_permissions.judge.bash._marks import Mark

LONGEST = 400  # characters, of which no more commands and words can be made than the splitter takes
# Words without quotes, a word in quotes, a separator.
_TOKEN = re.compile(rf"((?:{UNQUOTED}[ \t]*+)++)|(?:{QUOTED}|(\|\|?|&&|;))[ \t]*+")
_WORDS, _SEPARATOR = 1, 4  # groups of the expression
# What changes how the rest is read, and what changes the shell: the splitter and the walk look at these.
_OTHERS = BEFORE_SETTINGS | FOLLOWED.keys()
MOVING = "cd"  # may stand in front of all others, if these run only once it has succeeded
_BEHIND_IT = frozenset({"&&", "|"})


def plain_commands(text: str) -> list[Command] | None:
    """
    The commands of *text*, which run in the folder that the shell is started in; None if it is more than that.

    In front of all there may be a `MOVING` one: then they run where that leads, if it does.
    """
    if len(text) > LONGEST or not (text.isascii() and text.isprintable()):
        return None
    found = split_plainly(text)
    if found is None:
        return None
    data = text.encode()
    try:
        agreed = _tree.marks(_parser.parse(data), data) == found[1]
    except _tree.UnreadableTreeError:
        return None
    return found[0] if agreed else None


def split_plainly(text: str) -> tuple[list[Command], list[Mark]] | None:
    """The commands, and the marks of the tokens, in order."""
    commands: list[Command] = []
    marks: list[Mark] = []
    words: list[str] = []
    begin, piped, moved = 0, "", False  # of the command, and whether it runs behind a `MOVING` one
    at = 0  # of the next token
    for match in _TOKEN.finditer(text):
        if match.start() != at:
            return None
        form, at = match.lastindex or 0, match.end()
        start, stop = match.span(form)
        if form == _WORDS:
            for word in match[form].split():
                first = text.index(word, start)  # there are nothing but blanks in front of it
                start = first + len(word)
                marks.append((first, start, "word" if words else "program", 0, "u"))
                words.append(word)
        elif form != _SEPARATOR:
            marks.append((start - 1, stop + 1, "word" if words else "program", 0, PLAIN_PARTS[form]))
            words.append(match[form])
        else:
            operator = match[form]
            moves = not commands and operator == "&&" and words[:1] == [MOVING]
            if not (moves or _is_complete(text, words, begin)) or (moved and operator not in _BEHIND_IT):
                return None
            commands.append(_piped(commands, words, text[begin : marks[-1][1]], piped))
            moved = moved or moves
            marks.append((start, stop, operator, 0, ""))
            words, begin, piped = [], at, "pipe" if operator == "|" else ""
    if at != len(text) or not _is_complete(text, words, begin):
        return None
    commands.append(_piped(commands, words, text[begin : marks[-1][1]], piped))
    return commands, marks


def _piped(before: list[Command], words: list[str], text: str, piped: str) -> Command:
    return Command(words, text, stdin=piped, sender=before[-1]) if piped else Command(words, text)


def _is_complete(text: str, words: list[str], begin: int) -> bool:
    """Whether *words*, which begin there, are a command that is only run."""
    return bool(words) and words[0] not in _OTHERS and "=" not in words[0] and not RESERVED.match(text, begin)
