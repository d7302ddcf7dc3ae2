"""
What a shell command will run: read with tree-sitter-bash, behind the lexical gate.

A node kind that is not named here makes the command opaque: it is walked for denying, and never allowed.
"""

# ruff: noqa: SIM905 -- sets of words are read, and changed, best as a line of words
from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING

from executor_permissions.judge import _lexical, _parser
from executor_permissions.judge._shell_words import MANY, REDIRECTS, WORDS, WordReader
from executor_permissions.judge._words import Command, Reading, Redirect, Unknown

if TYPE_CHECKING:
    from tree_sitter import Node

_MAX_DEPTH = 80

_THROUGH = frozenset(
    "program list subshell compound_statement do_group if_statement elif_clause else_clause while_statement"
    " case_statement case_item negated_command pipeline command_substitution process_substitution string"
    " variable_assignments".split()
)
_INERT = frozenset(
    "comment string_content heredoc_start heredoc_end heredoc_content extglob_pattern variable_name"
    " special_variable_name file_descriptor test_operator number word raw_string".split()
)
_FREE_TARGETS = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr"})

_DELIMITER = re.compile(r"(?:'(\w+)'|\"(\w+)\"|\\?(\w+))\Z")
_LOOP_VARIABLE = re.compile(r"(?!.*_proxy\Z)[a-z_][a-z0-9_]*\Z")

_KEYWORDS = frozenset(
    b"! { } [[ ]] if then elif else fi for while until do done case esac in select function coproc".split()
)
_LOOKS_ASSIGNED = re.compile(rb"[A-Za-z_]\w*(\[.*\])?\+?=")
_CLOSING_BRACE = ord("}")


def read(text: str, home: str) -> Reading:
    """
    What *text* will run when bash is given it.

    Args:
        text: The command, of at most `_lexical.MAX_BYTES` bytes.
        home: What ``~`` and ``$HOME`` stand for.

    Raises:
        ImportError: tree-sitter, or its grammar, is not installed.
    """
    refused = _lexical.refused(text)
    reader = _Reader(text.encode("utf-8", "replace"), home)
    _parser.load_parser()
    root = None
    # Where the characters alone refuse it, only a short one is parsed, to deny what can be seen in it.
    short = len(reader.data) <= _parser.DIRECT and not _lexical.has_hidden_characters(text)
    if (refused is None or short) and not _lexical.is_tangled(text, _MAX_DEPTH):
        with suppress(TimeoutError):
            root = _parser.parse(reader.data)
    if root is None or root.has_error:
        refused = refused or "it cannot be parsed as a shell command"
    if root is not None:
        try:
            reader.walk(root, "", 0)
        except _TooDeepError:
            refused = refused or "it is nested too deep"
    if refused:
        reader.reading.opaque = reader.reading.hidden = refused
    return reader.reading


class _TooDeepError(Exception):
    """The command is nested deeper than anybody writes."""


class _Reader(WordReader):
    """One walk over one tree: collects the commands."""

    def __init__(self, data: bytes, home: str) -> None:
        super().__init__(data, home)
        self._heredocs = 0
        self._seen: dict[tuple[bytes, str], Command] = {}

    def _add(self, command: Command) -> Command:
        self.reading.commands.append(command)
        return command

    def walk(self, node: Node, stdin: str, depth: int) -> None:  # noqa: C901 -- one case a node kind
        """Collect what *node* runs, with its input coming from *stdin* (see `Command.stdin`)."""
        if depth > _MAX_DEPTH:
            raise _TooDeepError
        kind = node.type
        if kind == "command":
            self._repeated_command(node, stdin, depth)
        elif kind == "redirected_statement":
            self._redirected(node, stdin, depth)
        elif kind == "list":
            self._list(node, stdin, depth)
        elif kind in _THROUGH:
            self._through(node, stdin, depth)
        elif kind in _STATEMENTS:
            _STATEMENTS[kind](self, node, stdin, depth)
        elif kind in REDIRECTS:
            command = self._add(Command([], self.text(node)))
            self._redirect(node, command, depth)
        elif kind not in _INERT:
            if kind not in WORDS and kind != "heredoc_body":
                self.opaque(f"it has {kind.replace('_', ' ')}")
            for child in node.named_children:
                self.walk(child, stdin, depth + 1)

    def _list(self, node: Node, stdin: str, depth: int) -> None:
        """``a && b && c``: the tree is as deep as the list is long, so it is taken apart without recursion."""
        waiting: list[Node | Command] = [node]
        while waiting:
            item = waiting.pop()
            if isinstance(item, Command):
                self._add(item)
            elif item.type == "list":
                waiting.extend(reversed(item.named_children))
            elif item.type == "redirected_statement" and item.named_children[0].type == "list":
                command = self._redirects_of(item, depth)
                if command.stdin:
                    self.misread("its input is redirected for a whole list")
                waiting.extend([command, item.named_children[0]] if command.redirects else [item.named_children[0]])
            else:
                self.walk(item, stdin, depth + 1)

    def _redirects_of(self, node: Node, depth: int) -> Command:
        """The redirections of a statement that is no simple command, as a command without words."""
        command = Command([], self.text(node))
        for child in self.apart(node.named_children):
            if child.type in REDIRECTS:
                self._redirect(child, command, depth + 1)
        if command.words:
            self.misread("it has words behind a redirection")
        return command

    def _through(self, node: Node, stdin: str, depth: int) -> None:
        children = node.children
        if not children:
            return
        if node.type == "variable_assignments" and len(children) > MANY:
            self.misread("it sets too many variables")
            return
        first = children[0].type
        if first in ("((", "$(("):
            self.opaque("it has arithmetic commands")
        if first == ">(":
            stdin = "pipe"
        pipeline = node.type == "pipeline"
        for child in children:
            if child.is_named:
                self.walk(child, stdin, depth + 1)
            elif pipeline:
                stdin = "pipe"
            elif child.type == ";;" and node.type != "case_item":
                self.opaque("it has ;; where bash takes none")

    def _repeated_command(self, node: Node, stdin: str, depth: int) -> None:
        key = (self.data[node.start_byte : node.end_byte], stdin)
        seen = self._seen.get(key)
        if seen is not None:
            self.reading.commands.append(seen)
            return
        count = len(self.reading.commands)
        command = self._command(node, stdin, depth)
        if len(self.reading.commands) == count + 1:
            self._seen[key] = command

    def _command(self, node: Node, stdin: str, depth: int) -> Command:
        command = Command([], self.text(node), stdin=stdin)
        # Nested commands come after: the slot keeps the order of reading.
        self.reading.commands.append(command)
        for child in self.apart(node.children):
            kind = child.type
            if kind in WORDS or kind == "command_name" or not child.is_named:
                if command.words in ([], ["time"], ["time", "-p"]):
                    self._check_first_word(child, command.words)
                inner = child.children[0] if kind == "command_name" and child.children else child
                command.words.append(self.word(inner, depth) if inner.is_named else self.text(inner))
            elif kind == "variable_assignment":
                if len(command.assignments) > MANY:
                    self.misread("it sets too many variables")
                    break
                command.assignments.append(self._assignment(child, depth))
            elif kind in REDIRECTS:
                self._redirect(child, command, depth)
            else:
                self.opaque(f"it has {kind.replace('_', ' ')}")
                self.walk(child, stdin, depth + 1)
        return command

    def _lost_dash(self, node: Node) -> list[str]:
        """The word ``-`` of ``git commit -F - <<E``: the parser leaves it out of the tree."""
        children = node.named_children
        if len(children) == 2 and children[0].type == "command" and children[1].type == "heredoc_redirect":
            gap = self.data[children[0].end_byte : children[1].start_byte]
            if gap.strip(b" \t") == b"-" and gap[:1] in b" \t" and gap[-1:] in b" \t":
                return ["-"]
        return []

    def _check_first_word(self, node: Node, before: list[str]) -> None:
        """A keyword that the parser takes for a program: bash reads what follows in another way."""
        text = self.data[node.start_byte : node.end_byte]
        if text in _KEYWORDS or (before and (text == b"time" or _LOOKS_ASSIGNED.match(text))):
            self.misread(f"it has {text.decode('utf-8', 'replace')[:20]!r} where a program should stand")

    def _redirected(self, node: Node, stdin: str, depth: int) -> None:
        body, redirects = None, []
        lost = self._lost_dash(node)
        for child in node.named_children if lost else self.apart(node.named_children):
            if child.type in REDIRECTS:
                redirects.append(child)
            else:
                body = child
        if body is not None and body.type == "command":
            command = self._command(body, stdin, depth + 1)
            command.words.extend(lost)
            for child in redirects:
                self._redirect(child, command, depth + 1)
            return
        command = self._redirects_of(node, depth)
        if body is not None:
            self.walk(body, command.stdin or stdin, depth + 1)
        # Behind the body: the parser gives "cd x && ls > f" one redirection for all, and bash opens f after cd.
        if command.redirects or command.words or body is None:
            self._add(command)

    def _redirect(self, node: Node, command: Command, depth: int) -> None:  # noqa: C901 -- three kinds in one form
        if command.words and node.start_byte and self.data[node.start_byte - 1] == _CLOSING_BRACE:
            self.misread("it has a word in braces before a redirection")  # {fd}>file sets the variable fd
        if node.type == "heredoc_redirect":
            self._heredoc(node, command, depth)
            return
        if node.type == "herestring_redirect":
            command.stdin = "text"
            if len(node.named_children) > 1 + (node.named_children[0].type == "file_descriptor"):
                self.misread("it has several words for one input")
            for child in node.named_children:
                value = self.word(child, depth)
                command.body = value + "\n" if type(value) is str else None
            return
        operator, words = "", []
        if b"\n" in self.data[node.start_byte : node.end_byte]:
            self.misread("a redirection goes over several lines")
        for child in self.apart(node.children):
            if not child.is_named:
                operator = child.type
            elif child.type != "file_descriptor":
                words.append(self.word(child, depth))
        target = words[0] if words else ""
        command.words.extend(words[1:])  # "echo > f a": the parser takes every word behind it for a target
        if operator in ("<", "<>", "<&"):
            command.stdin, command.body = "file", None
        duplicates = operator.endswith(("&", "&-")) and (
            type(target) is str and (target.isdigit() or target in ("", "-"))
        )
        if not duplicates and not (type(target) is str and target in _FREE_TARGETS):
            command.redirects.append(Redirect("<" if operator == "<&" else operator, target))

    def _heredoc(self, node: Node, command: Command, depth: int) -> None:
        self._heredocs += 1
        command.stdin, command.body = "text", None
        if any(not child.is_named and self.text(child) != child.type for child in node.children):
            self.misread("its here-document begins in a word")  # "-<<E", of which the parser makes one token
        parts = {child.type: child for child in node.named_children}
        start, body, end = parts.get("heredoc_start"), parts.get("heredoc_body"), parts.get("heredoc_end")
        literal = self._heredoc_text(node, start, body, end)
        if literal is None or self._heredocs > 1:
            self.reading.opaque = self.reading.hidden = "it has a here-document whose end is not certain"
        elif start is not None and (not _word_like(self.text(start)) or not set("$\\`") & set(literal)):
            command.body = literal
        for child in node.named_children:
            kind = child.type
            if kind in WORDS:
                command.words.append(self.word(child, depth))
            elif kind in ("pipeline", "command", "list", "redirected_statement"):
                self.walk(child, "pipe", depth + 1)
            elif kind == "heredoc_body":
                self.walk(child, "", depth + 1)
            elif kind in REDIRECTS:
                self._redirect(child, command, depth + 1)
            elif kind not in ("heredoc_start", "heredoc_end"):
                self.opaque(f"it has {kind.replace('_', ' ')} behind a here-document")
                self.walk(child, "", depth + 1)

    def _heredoc_text(self, node: Node, start: Node | None, body: Node | None, end: Node | None) -> str | None:
        """The text of a here-document, found by its lines; None where the parser found other ends for it."""
        match = start and _DELIMITER.match(self.text(start))
        if not start or not match or not end:
            return None
        delimiter = (match[1] or match[2] or match[3]).encode()
        tabs = node.children[0].type == "<<-"
        first = self.data.find(b"\n", start.end_byte) + 1
        at = first
        while first and at < len(self.data):
            line_end = self.data.find(b"\n", at)
            line = self.data[at : line_end if line_end >= 0 else len(self.data)]
            skipped = len(line) - len(line.lstrip(b"\t")) if tabs else 0
            if line[skipped:] == delimiter:
                agreed = end.start_byte == at + skipped and (body is None or body.start_byte >= first)
                return self.data[first:at].decode("utf-8", "replace") if agreed else None
            if line_end < 0:
                return None
            at = line_end + 1
        return None

    def _assignment(self, node: Node, depth: int) -> tuple[str, str]:
        children = node.named_children
        name = self.text(children[0]) if children else ""
        if not children or children[0].type != "variable_name":
            self.opaque("it assigns to a part of a variable")
        value = ""
        for child in children[1:]:
            if child.type in WORDS:
                value = self.word(child, depth)
            else:
                value = Unknown(self.text(child))
                self.walk(child, "", depth + 1)
        if len(children) > 1 and "=~" in self.text(node).replace("'", "").replace('"', ""):
            value = Unknown(value)
        return name, value

    # Statements that are more than their parts.

    def read_assignments(self, node: Node, _stdin: str, depth: int) -> None:
        self._add(Command([], self.text(node), [self._assignment(node, depth)]))

    def read_declaration(self, node: Node, stdin: str, depth: int) -> None:
        command = self._add(Command([], self.text(node), stdin=stdin))
        for child in self.apart(node.children):
            if child.type == "variable_assignment":
                name, value = self._assignment(child, depth)
                text = f"{name}={value}"
                command.words.append(text if type(value) is str else Unknown(text))
            elif child.type in WORDS:
                command.words.append(self.word(child, depth))
            elif not child.is_named:
                command.words.append(self.text(child))
            else:
                self.opaque(f"it has {child.type.replace('_', ' ')}")
                self.walk(child, stdin, depth + 1)

    def read_for(self, node: Node, stdin: str, depth: int) -> None:
        if node.children[0].type != "for":
            self.opaque("it has a menu")
        self.apart([child for child in node.children if child.type in WORDS and child.type != "variable_name"])
        for child in node.named_children:
            if child.type == "variable_name":
                if not _LOOP_VARIABLE.match(self.text(child)):
                    self.opaque(f"it sets the variable {self.text(child)} in a loop")
            elif child.type in WORDS:
                self.word(child, depth)
            else:
                self.walk(child, stdin, depth + 1)

    def read_function(self, node: Node, stdin: str, depth: int) -> None:
        self.opaque("it defines a function")
        for child in node.named_children[1:]:
            self.walk(child, stdin, depth + 1)

    def read_test(self, node: Node, stdin: str, depth: int) -> None:
        command = self._add(Command([], self.text(node), stdin=stdin))
        if node.children[0].type != "[":
            self.opaque("it has a [[ ]] or (( )) test")
        for leaf in self.apart(list(_parser.leaves(node))):
            if leaf.type in WORDS:
                command.words.append(self.word(leaf, depth))
            elif not leaf.is_named or leaf.type == "test_operator":
                command.words.append(self.text(leaf))
            else:
                self.opaque(f"its test has {leaf.type.replace('_', ' ')}")
                self.walk(leaf, stdin, depth + 1)


def _word_like(delimiter: str) -> bool:
    """Whether the body behind this delimiter is expanded: it is, unless a part of the delimiter is quoted."""
    return delimiter.isidentifier() or delimiter.isalnum()


_STATEMENTS = {
    "variable_assignment": _Reader.read_assignments,
    "declaration_command": _Reader.read_declaration,
    "unset_command": _Reader.read_declaration,
    "for_statement": _Reader.read_for,
    "function_definition": _Reader.read_function,
    "test_command": _Reader.read_test,
}
