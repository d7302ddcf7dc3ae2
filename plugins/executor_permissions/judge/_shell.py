"""
What a shell command will run: from two readings of it that agree, or else, for denying, from a broad one.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from executor_permissions.judge import _broad, _parser
from executor_permissions.judge._shell_words import WordReader
from executor_permissions.judge._split_words import NotUnderstoodError
from executor_permissions.judge._syntax import Compound, Redirect, Script, Simple, Substitution, Word
from executor_permissions.judge._understand import understand
from executor_permissions.judge._words import Command, Reading
from executor_permissions.judge._words import Redirect as FileRedirect

if TYPE_CHECKING:
    from executor_permissions.judge._syntax import Node

_KEPT = 256  # commands whose reading is kept
_KEPT_LENGTH = 2000  # characters of the longest of them
_FREE_TARGETS = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr"})
_LOOP_VARIABLE = re.compile(r"(?!.*_proxy\Z)[a-z_][a-z0-9_]*\Z")


def read(text: str, home: str) -> Reading:
    """
    What *text* will run when bash is given it. The reading may be shared: nothing in it is to be changed.

    Args:
        text: The command.
        home: What ``~`` and ``$HOME`` stand for.

    Raises:
        ImportError: tree-sitter, or its grammar, is not installed.
    """
    _parser.load_parser()  # in front of what is kept: without it, nothing is to be allowed
    return _kept(text, home) if len(text) <= _KEPT_LENGTH else _read(text, home)


def _read(text: str, home: str) -> Reading:
    try:
        script = understand(text)
    except NotUnderstoodError as error:
        why = str(error)
        commands, whole = _broad.commands(text)
        return Reading(commands, opaque=why, hidden=why, partial=not whole)
    reader = _Reader(text, home)
    reader.script(script, "")
    reader.reading.script = script
    return reader.reading


_kept = lru_cache(maxsize=_KEPT)(_read)


class _Reader:
    """Collects the commands of a script that is understood; it goes as deep as that is nested, which is limited."""

    def __init__(self, text: str, home: str) -> None:
        self.text = text
        self.words = WordReader(text, home)
        self.reading = Reading()

    def script(self, script: Script, stdin: str) -> None:
        """Collect what *script* runs, with its input coming from *stdin* (see `Command.stdin`)."""
        for item in script.items:
            first = True
            for node in item.nodes:
                self._node(node, stdin if first else "pipe")
                first = False

    def _node(self, node: Node, stdin: str) -> None:
        if type(node) is Simple:
            self._simple(node, stdin)
        elif type(node) is Compound:
            self._compound(node, stdin)

    def _simple(self, node: Simple, stdin: str) -> None:
        command = Command([], self._text(node), stdin=stdin, node=node)
        self.reading.commands.append(command)
        for assignment in node.assignments:
            command.assignments.append((assignment.name, self.words.value(assignment.value)))
            self._inside(assignment.value)
        for word in node.words:
            command.words.append(self.words.value(word))
            if len(word.pieces) > 1 or type(word.pieces[0]) is Substitution:
                self._inside(word)
        self._redirects(node.redirects, command)

    def _text(self, node: Simple) -> str:
        """The command as written, without the redirections in front of it and behind it."""
        spans = [assignment.span for assignment in node.assignments] + [word.span for word in node.words]
        spans = spans or [node.span]
        return self.text[spans[0][0] : spans[-1][1]]

    def _compound(self, node: Compound, stdin: str) -> None:
        if node.variable is not None and not _LOOP_VARIABLE.match(node.variable):
            self.reading.opaque = self.reading.opaque or f"it sets the variable {node.variable} in a loop"
        whole = Command([], self.text[slice(*node.span)], stdin=stdin)
        self._redirects(node.redirects, whole)
        for word in node.words or ():
            self._inside(word)
        for branch in node.branches:
            for word in branch.patterns:
                self._inside(word)
            if branch.condition is not None:
                self.script(branch.condition, whole.stdin)
            self.script(branch.body, whole.stdin)
        if whole.redirects:
            self.reading.commands.append(whole)

    def _inside(self, word: Word) -> None:
        """What the substitutions in a word run."""
        for piece in word.pieces:
            if type(piece) is Substitution:
                self.script(piece.script, "")

    def _redirects(self, redirects: tuple[Redirect, ...], command: Command) -> None:
        for redirect in redirects:
            self._inside(redirect.target)
            operator = redirect.operator
            if operator[:2] == "<<":
                command.stdin, command.body = "text", redirect.body
                continue
            if operator[0] == "<":
                command.stdin, command.body = "file", None
            target = self.words.value(redirect.target)
            if operator in ("<&", ">&") and type(target) is str and (target.isdigit() or target == "-"):
                continue
            if type(target) is not str or target not in _FREE_TARGETS:
                command.redirects.append(FileRedirect(operator, target))
