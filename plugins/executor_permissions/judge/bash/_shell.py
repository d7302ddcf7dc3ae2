"""
The way into the room: what a shell command will run, as two parsers agree about it, or else, for denying, may run.
"""

from __future__ import annotations

from functools import lru_cache

from executor_permissions.judge.bash import _broad, _parser
from executor_permissions.judge.bash._expand import ANYWHERE
from executor_permissions.judge.bash._moves import Surroundings
from executor_permissions.judge.bash._plain_line import MOVING, plain_commands
from executor_permissions.judge.bash._split_words import NotUnderstoodError
from executor_permissions.judge.bash._understand import understand
from executor_permissions.judge.bash._walk import walk
from executor_permissions.judge.bash._words import Reading
from executor_permissions.judge.paths._links import Links

_KEPT = 256  # commands whose reading is kept
_KEPT_LENGTH = 2000  # characters of the longest of them


def understood(text: str) -> Reading:
    """
    What *text* is to bash; the commands of it only where it is not understood.

    The reading may be shared: nothing in it is to be changed.

    Raises:
        ImportError: tree-sitter, or its grammar, is not installed.
    """
    _parser.load_parser()  # in front of what is kept: without it, nothing is to be allowed
    return _kept(text) if len(text) <= _KEPT_LENGTH else _understood(text)


def _understood(text: str) -> Reading:
    commands = plain_commands(text)
    if commands is not None:
        return Reading(commands, moves=commands[0].words[0] == MOVING)
    try:
        return Reading(script=understand(text))
    except NotUnderstoodError as error:
        why = str(error)
        commands, whole = _broad.commands(text)
        return Reading(commands, opaque=why, hidden=why, partial=not whole)


_kept = lru_cache(maxsize=_KEPT)(_understood)


def read(text: str, home: str) -> Reading:
    """
    What *text* will run when bash is given it, in whatever folder.

    Args:
        text: The command.
        home: What ``~`` and ``$HOME`` stand for.

    Raises:
        ImportError: tree-sitter, or its grammar, is not installed.
    """
    reading = understood(text)
    if reading.script is None:
        return reading
    walked = walk(reading.script, text, Surroundings(home), Links(), frozenset({ANYWHERE}))
    return Reading([step.command for step in walked.steps], reading.script)
