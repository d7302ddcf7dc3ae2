"""tree-sitter with the bash grammar, kept from what makes it slow or crash."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Tree

_PARSE_SECONDS = 0.02  # of this thread's processor time; 32 KiB of ordinary commands take a quarter of it
DIRECT = 512  # bytes up to which no input makes the parser slow

_parsers = threading.local()  # a parser serves one thread at a time


def load_parser() -> Parser:
    """This thread's parser, imported when the first command is judged. Raises ImportError where it is not installed."""
    parser: Parser | None = getattr(_parsers, "parser", None)
    if parser is None:
        import tree_sitter
        import tree_sitter_bash

        parser = _parsers.parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))
    return parser


def parse(data: bytes) -> Node:
    """
    The tree of *data*, which is ASCII: the grammar's scanner looks characters up in a table, and crashes beyond it.

    Raises:
        TimeoutError: It takes too long.
        ImportError: tree-sitter, or its grammar, is not installed.
    """
    parser: Parser = getattr(_parsers, "parser", None) or load_parser()
    if data[-1:].isalnum():
        data += b"\n"  # without one, the end of "a | b | c" alone takes the parser 60 µs
    if len(data) <= DIRECT:
        return parser.parse(data).root_node
    limit = time.thread_time() + _PARSE_SECONDS

    def too_long(_offset: int, _error: bool) -> bool:  # noqa: FBT001 -- the parser's signature
        return time.thread_time() > limit

    try:
        tree: Tree | None = parser.parse(
            lambda offset, _point: data[offset : offset + 8192], progress_callback=too_long
        )
    except ValueError:  # what the binding makes of a parse that was stopped
        tree = None
    if tree is None:
        del _parsers.parser  # it stands in the middle of something
        raise TimeoutError
    return tree.root_node
