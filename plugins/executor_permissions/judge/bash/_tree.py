"""
The second parser: what tree-sitter-bash makes of a command, as a list of its tokens that can be compared.

Only the kinds of nodes that are named here are read. How the tree nests lists, pipelines and redirections is left out,
as it often is not bash's way: which token stands in which compound command is told by the token's depth.
"""

# ruff: noqa: SIM905 -- sets of words are read, and changed, best as a line of words
from __future__ import annotations

import re
from itertools import repeat
from operator import attrgetter
from typing import TYPE_CHECKING

from executor_permissions.judge.bash._marks import Segments

if TYPE_CHECKING:
    from tree_sitter import Node

    from executor_permissions.judge.bash._marks import Mark

_THROUGH = frozenset(
    "program list pipeline redirected_statement negated_command do_group elif_clause else_clause case_item"
    " file_redirect herestring_redirect heredoc_redirect variable_assignments command heredoc_body".split()
)
_NESTED = frozenset(
    "subshell compound_statement if_statement while_statement for_statement case_statement command_substitution".split()
)
_WORDS = frozenset(
    "word number concatenation string raw_string simple_expansion expansion command_substitution arithmetic_expansion"
    " extglob_pattern brace_expression variable_name".split()
)
_TOKENS = frozenset(
    "; & && || | |& ( ) { } ! if then elif else fi for in while until do done case esac ;; ;& ;;& $( `"
    " > >> < >| &> &>> <& >& << <<- <<<".split()
)
_MARKED = {
    "comment": "comment",
    "file_descriptor": "descriptor",
    "heredoc_start": "delimiter",
    "heredoc_end": "end",
}
_SILENT = frozenset({"\n", "heredoc_content"})
# Words, and parts of words, of one kind. What may stand in an arithmetic expansion is the splitter's to say.
_SINGLE = {
    **dict.fromkeys(
        "word number extglob_pattern brace_expression variable_name test_operator $ = == != !".split(), "u"
    ),
    "raw_string": "r",
    "arithmetic_expansion": "v",
}
_PLAIN_WORDS = {kind: part for kind, part in _SINGLE.items() if kind in _WORDS}
_KIND, _START, _END = attrgetter("type"), attrgetter("start_byte"), attrgetter("end_byte")
_STRING_PARTS = frozenset({'"', "string_content", "$"})
_EXPANSIONS = (
    ["$", "variable_name"],
    ["$", "special_variable_name"],
    ["${", "variable_name", "}"],
)
_INSTEAD, _TAKEN = frozenset({"-", ":-", "+", ":+"}), frozenset({"%", "%%", "#", "##"})
_OF_AN_ARRAY = ["${", "subscript", "}"]
_STATUS = re.compile(rb"\$\{PIPESTATUS\[[0-9]\]\}")


class UnreadableTreeError(Exception):
    """The tree has a node that is not read."""


def marks(root: Node, data: bytes) -> list[Mark]:
    """
    The marks of the tree *root* of *data*, in order.

    Raises:
        UnreadableTreeError: It has an error, or a node of another kind than those that are read.
    """
    if root.has_error:
        raise UnreadableTreeError("an error")
    reader = _TreeReader(data)
    reader.read(root)
    reader.marks.sort()
    return reader.marks


class _TreeReader:
    """One walk, without recursion: lists and pipelines nest as deep as they are long."""

    __slots__ = ("_waiting", "data", "marks")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.marks: list[Mark] = []
        self._waiting: list[tuple[Node, int]] = []

    def read(self, root: Node) -> None:
        waiting = self._waiting
        waiting.append((root, 0))
        while waiting:
            node, depth = waiting.pop()
            kind = node.type
            special = _SPECIAL.get(kind)
            if special is not None:
                special(self, node, depth)
            elif kind in _THROUGH:
                waiting.extend(zip(node.children, repeat(depth)))
            elif kind in _TOKENS:
                self._mark(node, kind, depth)
            elif kind in _WORDS:
                self._word(node, "word", depth)
            elif kind in _NESTED:
                waiting.extend(zip(node.children, repeat(depth + 1)))
            elif kind in _MARKED:
                self._mark(node, _MARKED[kind], depth)
            elif kind not in _SILENT:
                raise UnreadableTreeError(kind)

    def _mark(self, node: Node, kind: str, depth: int, part: str = "") -> None:
        self.marks.append((node.start_byte, node.end_byte, kind, depth, part))

    # Words.

    def _word(self, node: Node, kind: str, depth: int) -> None:
        part = _SINGLE.get(node.type)
        if part is not None:
            self.marks.append((node.start_byte, node.end_byte, kind, depth, part))
            return
        parts = Segments()
        self._parts(node, depth, parts)
        self.marks.append((node.start_byte, node.end_byte, kind, depth, parts.told()))

    def _parts(self, node: Node, depth: int, parts: Segments, start: int | None = None) -> None:
        kind = node.type
        start = node.start_byte if start is None else start
        part = _SINGLE.get(kind)
        if part is not None:
            parts.add(start, node.end_byte, part)
        elif kind == "string":
            self._string(node, depth, parts)
        elif kind == "concatenation":
            for child in node.children:
                self._parts(child, depth, parts)
        elif kind in ("simple_expansion", "expansion"):
            kinds = [child.type for child in node.children]
            known = kinds in _EXPANSIONS or _is_altered(kinds)
            if not known and not (kinds == _OF_AN_ARRAY and self._is_status(start, node.end_byte)):
                raise UnreadableTreeError(kind)
            parts.add(start, node.end_byte, "v")
        elif kind == "command_substitution":
            parts.add(start, node.end_byte, "s")
            opening, *rest = node.children
            self.marks.append((start, opening.end_byte, opening.type, depth + 1, ""))
            self._waiting.extend((child, depth + 1) for child in rest)
        else:
            raise UnreadableTreeError(kind)

    def _string(self, node: Node, depth: int, parts: Segments) -> None:
        children = node.children
        if all(child.type in _STRING_PARTS for child in children):
            parts.add(node.start_byte, node.end_byte, "d")
            return
        place = node.start_byte
        for child in children:
            kind, end = child.type, child.end_byte
            if kind == "string_content":
                start = child.start_byte
            else:  # blanks in front of it are left out of the tree, or made a part of it
                start = max(place, child.start_byte)
                while self.data[start : start + 1].isspace():
                    start += 1
            if self.data[place:start].isspace():
                parts.add(place, start, "d")
            if kind in _STRING_PARTS:
                parts.add(start, end, "q" if kind == '"' else "d")
            else:
                self._parts(child, depth, parts, start)
            place = end

    # Nodes that are more than their children.

    def command(self, node: Node, depth: int) -> None:
        """The program and its words; what else stands among them is waited for."""
        first, *words = node.children
        kinds = list(map(_KIND, words))
        if first.type == "command_name" and _PLAIN_WORDS.keys() >= set(kinds) and not self._is(first, b"time"):
            self._word(first.children[0], "program", depth)
            parts = map(_PLAIN_WORDS.__getitem__, kinds)
            self.marks.extend(zip(map(_START, words), map(_END, words), repeat("word"), repeat(depth), parts))
        else:
            self._odd_command(node, depth)

    def _odd_command(self, node: Node, depth: int) -> None:
        """``time`` is a reserved word, for which the parser has none: the word behind it is the program."""
        timed = False
        for child in node.children:
            part = _PLAIN_WORDS.get(child.type)
            if part is not None and not timed:
                self.marks.append((child.start_byte, child.end_byte, "word", depth, part))
            elif child.type == "command_name":
                timed = self._is(child, b"time")
                if timed:
                    self._mark(child, "time", depth)
                else:
                    self._word(child.children[0], "program", depth)
            elif timed and child.type in _WORDS:
                timed = self._is(child, b"-p")
                self._word(child, "word" if timed else "program", depth)
            else:
                self._waiting.append((child, depth))

    def _is_status(self, start: int, end: int) -> bool:
        """Of arrays only this one is read: a number, for each command of the last pipeline."""
        return _STATUS.fullmatch(self.data, start, end) is not None

    def _is(self, node: Node, text: bytes) -> bool:
        return self.data[node.start_byte : node.end_byte] == text

    def assignment(self, node: Node, depth: int) -> None:
        self._assignment(node, "assignment", depth)

    def _assignment(self, node: Node, kind: str, depth: int) -> None:
        name, equals, *value = node.children
        if name.type != "variable_name" or equals.type != "=" or len(value) > 1:
            raise UnreadableTreeError("variable_assignment")
        parts = Segments()
        for child in node.children:
            self._parts(child, depth, parts)
        self.marks.append((node.start_byte, node.end_byte, kind, depth, parts.told()))

    def declaration(self, node: Node, depth: int) -> None:
        """``export`` and its like have nodes of their own, and are programs as others."""
        first, *rest = node.children
        self._mark(first, "program", depth, "u")
        for child in rest:
            if child.type == "variable_assignment":
                self._assignment(child, "word", depth)
            else:
                self._waiting.append((child, depth))

    def test(self, node: Node, depth: int) -> None:
        """``[ … ]`` is a tree of operators, of which none is more than a word; so is what is read of ``[[ … ]]``."""
        first, *rest = node.children
        if first.type not in ("[", "[["):
            raise UnreadableTreeError(first.type)
        self._mark(first, "program", depth, "u")
        waiting = rest
        while waiting:
            child = waiting.pop()
            if child.type in ("binary_expression", "unary_expression", "ternary_expression"):
                waiting.extend(child.children)
            elif child.type in ("]", "]]"):
                self._mark(child, "word", depth, "u")
            else:
                self._word(child, "word", depth)

    def closing(self, node: Node, depth: int) -> None:
        """``>&-`` is an operator and what it is given."""
        start, end = node.start_byte, node.end_byte
        self.marks.append((start, end - 1, node.type[:-1], depth, ""))
        self.marks.append((end - 1, end, "word", depth, "u"))

    def redirected(self, node: Node, depth: int) -> None:
        """The parser leaves the ``-`` of ``cat - <<E`` out of the tree."""
        children = node.children
        self._waiting.extend((child, depth) for child in children)
        if len(children) == 2 and children[1].type == "heredoc_redirect":
            start, end = children[0].end_byte, children[1].start_byte
            gap = self.data[start:end]
            if gap.strip(b" \t") == b"-" and gap[0] in b" \t" and gap[-1] in b" \t":
                at = start + gap.index(b"-")
                self.marks.append((at, at + 1, "word", depth, "u"))


def _is_altered(kinds: list[str]) -> bool:
    """Whether it is ``${x:-y}`` or ``${x%y}``, and its text one node: what that may hold is the splitter's to say."""
    if kinds[:2] != ["${", "variable_name"] or kinds[-1] != "}" or len(kinds) not in (4, 5):
        return False
    operator, text = kinds[2], kinds[3:-1]
    return (operator in _INSTEAD and text in ([], ["word"], ["number"])) or (operator in _TAKEN and text == ["regex"])


_SPECIAL = {
    "command": _TreeReader.command,
    "variable_assignment": _TreeReader.assignment,
    "declaration_command": _TreeReader.declaration,
    "unset_command": _TreeReader.declaration,
    "test_command": _TreeReader.test,
    "redirected_statement": _TreeReader.redirected,
    ">&-": _TreeReader.closing,
    "<&-": _TreeReader.closing,
}
