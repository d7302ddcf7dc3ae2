"""Reading the words of a shell command: what each becomes, as far as that can be known before it runs."""

# ruff: noqa: SIM905 -- sets of words are read, and changed, best as a line of words
from __future__ import annotations

import re
from typing import TYPE_CHECKING

from executor_permissions.judge._words import Glob, Number, Reading, Unknown

if TYPE_CHECKING:
    from tree_sitter import Node

WORDS = frozenset(
    "word string raw_string ansi_c_string number concatenation simple_expansion expansion command_substitution"
    " process_substitution arithmetic_expansion translated_string variable_name brace_expression".split()
)
REDIRECTS = frozenset({"file_redirect", "heredoc_redirect", "herestring_redirect"})
_TOUCHY = WORDS | {"command_name", "test_operator", "variable_assignment", "=~", "==", "=", "!=", "$"}
_TOUCHY_BEFORE = _TOUCHY | REDIRECTS | {"heredoc_start"}
MANY = 200  # assignments of one command, or pieces of one word: more are not read
_PLAIN = re.compile(r"[A-Za-z0-9_./:@%+,^-][A-Za-z0-9_./:=@%+,^-]*\Z")
_UNESCAPED_BLANK = re.compile(r"(?<!\\)(?:\\\\)*[ \t\n]|\\\n")
_BACKSLASH = re.compile(r"\\(.)", re.DOTALL)
_IN_DOUBLE_QUOTES = re.compile(r'\\([$`"\\])')
_GLOB = re.compile(r"[*?\[]")
_BRACES = re.compile(r"\{[^{}]*(?:,|\.\.)|\{.*\{.*(?:,|\.\.)", re.DOTALL)
_BLANK_GAP = re.compile(rb"(?:[ \t]|\\\n)+\Z")
_SIMPLE_ESCAPES = {"t": "\t", "n": "\n", "\\": "\\", "'": "'", '"': '"'}
_ARITHMETIC = re.compile(r"\$\(\([\d\s+*/%()-]*\)\)\Z")


_BARE = frozenset({"word", "number", "variable_name"})
_EXPANSIONS = frozenset({"simple_expansion", "expansion"})


class WordReader:
    """The half of the reader that is about words; `walk` is the other."""

    def __init__(self, data: bytes, home: str) -> None:
        self.data = data
        self.home = home
        self.reading = Reading()

    def text(self, node: Node) -> str:
        return self.data[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def walk(self, node: Node, stdin: str, depth: int) -> None:
        """Collect what *node* runs, with its input coming from *stdin* (see `Command.stdin`)."""
        raise TypeError(f"{type(self).__name__} does not walk a {node.type} ({stdin}, {depth})")

    def opaque(self, why: str) -> None:
        if self.reading.opaque is None:
            self.reading.opaque = why

    def misread(self, why: str) -> None:
        """The parser's reading is not bash's: what runs may be something else."""
        self.opaque(why)
        self.reading.hidden = self.reading.hidden or why

    def apart(self, nodes: list[Node]) -> list[Node]:
        """
        The same nodes, once it is certain that nothing but blanks stands between them.

        The parser takes an escaped blank for a blank, and two words that touch for two words.
        """
        data = self.data
        end, before = -1, None
        for node in nodes:
            start = node.start_byte
            if end == start:
                if node.type in _TOUCHY and before in _TOUCHY_BEFORE:
                    self.misread("it has words that cannot be told apart")
            elif end >= 0 and data[end:start] != b" " and not _BLANK_GAP.match(data[end:start]):
                self.misread("it has characters between its words")
            end, before = node.end_byte, node.type
        return nodes

    def word(self, node: Node, depth: int) -> str:  # noqa: C901 -- one case a node kind
        """The word that *node* becomes, as far as it can be known; what it runs is collected."""
        kind = node.type
        if kind in _BARE:
            text = self.text(node)
            return text if _PLAIN.match(text) else self._unquoted(text, text)
        text = self.text(node)
        if kind == "raw_string":
            return text[1:-1]
        if kind == "string" and all(child.type in ("string_content", '"') for child in node.children):
            return _IN_DOUBLE_QUOTES.sub(r"\1", text[1:-1])
        if kind == "concatenation":
            return self._concatenation(node, depth)
        if kind == "ansi_c_string":
            return _ansi_c(text)
        if kind in _EXPANSIONS:
            if text in ("$HOME", "${HOME}") and b"HOME=" not in self.data:
                return self.home if _PLAIN.match(self.home) else Unknown(text)
            if text in ("$?", "$#", "$$", "$!"):
                return Number(text)
        if kind == "string" and text in ('"$HOME"', '"${HOME}"') and b"HOME=" not in self.data:
            return self.home
        if kind == "arithmetic_expansion" and _ARITHMETIC.match(text):
            return Number(text)
        count = len(self.reading.commands)
        for child in node.named_children:
            self.walk(child, "", depth + 1)
        return self._quoted_text(node, count) or Unknown(text)

    def _quoted_text(self, node: Node, count: int) -> str | None:
        """The text of ``"$(cat <<'E' …)"``, as long messages are written, if the word is nothing but that."""
        if node.type != "string" or node.named_child_count != 1 or len(self.reading.commands) != count + 1:
            return None
        inner, command = node.named_children[0], self.reading.commands[count]
        whole = inner.type == "command_substitution" and (inner.start_byte, inner.end_byte) == (
            node.start_byte + 1,
            node.end_byte - 1,
        )
        plain = command.words == ["cat"] and not (command.redirects or command.assignments)
        return command.body.rstrip("\n") if whole and plain and command.body is not None else None

    def _concatenation(self, node: Node, depth: int) -> str:
        if node.child_count > MANY:
            self.misread("it has a word of too many pieces")
            return Unknown(self.text(node))
        known, shape = [], []
        result: type[str] = str
        end = node.start_byte
        for child in node.children:
            if child.start_byte != end:
                self.misread("it has a word with gaps")
            end = child.end_byte
            if child.type in ("word", "number") or not child.is_named:
                piece = self.text(child)
                shape.append(piece)
                known.append(_BACKSLASH.sub(r"\1", piece))
                continue
            piece = self.word(child, depth)
            if type(piece) is not str and result is not Unknown:
                result = type(piece)
            # A placeholder: what was quoted, or comes from a variable, is no glob, brace or tilde here.
            shape.append("q" * len(piece) if len(piece) else "q")
            known.append(piece)
        text = "".join(known)
        value = self._unquoted("".join(shape), text)
        if result is not str:
            return Unknown(self.text(node)) if result is not Number or type(value) is not str else Number(text)
        return value

    def _unquoted(self, shape: str, text: str) -> str:
        """A word from its unquoted characters (*shape*) and its text; a glob, a brace or a tilde makes it unknown."""
        bare = shape
        if _UNESCAPED_BLANK.search(shape):
            self.misread("it has a word with blanks in it")
        if "\\" in shape:
            bare = _BACKSLASH.sub("q", shape)
            text = _BACKSLASH.sub(r"\1", text) if text == shape else text
        if "{" in bare and _BRACES.search(bare):
            return Unknown(text)
        if bare.startswith("~"):
            if bare == "~" or bare.startswith("~/"):
                text = self.home + text[1:]
            else:
                return Unknown(text)
        if bare.startswith("=") or "=~" in bare or ":~" in bare:
            return Unknown(text)
        if _GLOB.search(bare):
            return Glob(text)
        return text


def _ansi_c(text: str) -> str:
    out = []
    escaped = False
    for character in text[2:-1]:
        if escaped:
            if character not in _SIMPLE_ESCAPES:
                return Unknown(text)
            out.append(_SIMPLE_ESCAPES[character])
            escaped = False
        elif character == "\\":
            escaped = True
        else:
            out.append(character)
    return "".join(out)
