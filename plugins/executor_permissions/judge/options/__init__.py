"""
What is known about the arguments of programs: options known to be safe, and what is inside operands.

The tables are data, a file for each family of programs; `Entry` tells how they are written. What is in no table is
not covered by the ``*`` at the end of a rule. A program without a table is taken at its word.
"""

from __future__ import annotations

from executor_permissions.judge.bash._words import MAX_NESTING
from executor_permissions.judge.options import _shapes as _shapes  # the functions that tables name
from executor_permissions.judge.options import _shapes_files as _shapes_files
from executor_permissions.judge.options._entry import Kind
from executor_permissions.judge.options._tables import grammar_of
from executor_permissions.judge.options._walk import NEVER, SHAPES, Walk

__all__ = [
    "NEVER",
    "Kind",
    "Walk",
    "is_known",
    "kind_of",
    "only_reads",
    "read_only_words",
    "takes_files_by_option",
    "walk",
]

# Who judges a command asks half a dozen times about the same words. They are known by what they are, not by what they
# say: a word that is known may be spelled as one that is not, and nobody changes a list of words that was read.
_recent: dict[int, tuple[list[str], Walk | None]] = {}
_MOST_RECENT = 64


def walk(words: list[str]) -> Walk | None:
    """What is known about the arguments of *words*, a program and its arguments; None if it has no table."""
    known = _recent.get(id(words))
    if known is not None:
        return known[1]  # no other list has its identity, as it is kept
    first = words[0]
    grammar = grammar_of(first.rpartition("/")[2] or first)
    result: Walk | None = None
    if grammar is not None:
        result = Walk(words)
        SHAPES[grammar.entry.shape](result, grammar, 1)
    if len(_recent) >= _MOST_RECENT:
        _recent.clear()
    _recent[id(words)] = words, result
    return result


def is_known(program: str) -> bool:
    """Whether *program* has a table: if not, a rule ``program *`` is taken at its word, and covers every argument."""
    return grammar_of(program) is not None


def kind_of(words: list[str], depth: int = 0) -> Kind | None:
    """
    What the command does: that of what it runs, if it is ``timeout 5`` or ``find -exec`` and the like.

    Returns:
        None if nothing is known about it, if a program that reads has an option that is not known to be safe, or if
        it runs commands within commands beyond what anybody writes.
    """
    found = walk(words) if words and depth <= MAX_NESTING else None
    if found is None or found.grammar is None:
        return None
    kind = found.grammar.entry.kind
    if found.inner and ("peel" in found.grammar.traits or kind == "reader"):
        kinds = [kind_of(words[start:end], depth + 1) for start, end in found.inner]
        return next((one for one in kinds if one != "reader"), kind if kind == "reader" else kinds[0])
    return None if kind == "reader" and found.reach >= 0 else kind


def only_reads(words: list[str]) -> bool:
    """Whether the program reads and prints only, whatever its further words are."""
    found = walk(words)
    grammar = found.grammar if found is not None else None
    return grammar is not None and "inert" in grammar.traits and grammar.entry.kind == "reader"


def takes_files_by_option(words: list[str], *, lists: bool = False) -> bool:
    """Whether an option of the program names a file that it reads, or, with *lists*, a list of files."""
    found = walk(words)
    options = found.grammar.options.values() if found is not None and found.grammar is not None else ()
    return any(option.value == "list" or (not lists and option.value.startswith("read")) for option in options)


def read_only_words(words: list[str]) -> int:
    """
    How many leading words name a program, or a sub-command, that only reads; 0 if they name none.

    A rule of these words and a ``*`` covers nothing that changes anything.
    """
    found = walk(words)
    if found is None or found.grammar is None or found.grammar.entry.kind != "reader" or found.grammar.subs:
        return 0
    if type(words[found.named - 1]) is not str or words[1 : found.named] != [
        w for w in words[1 : found.named] if w[:1] != "-"
    ]:
        return 0
    return found.named
