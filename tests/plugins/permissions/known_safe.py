"""
Everything that the tables of options call safe, line by line: what becomes safe, or stops being, is seen in a review.

    python -m tests.plugins.permissions.known_safe     # writes known_safe.txt anew, to be read before it is committed
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from executor_permissions.judge.options._entry import OPTIONAL, Entry, Option, compile_entry
from executor_permissions.judge.options._tables import entries

FILE = Path(__file__).with_suffix(".txt")
_ARITIES = {0: "", 1: " V", 2: " V V", OPTIONAL: "[=V]"}


def lines() -> Iterator[str]:
    """One line for each program and each of its sub-commands, those of the same table together."""
    for program, entry in sorted(entries().items(), key=lambda item: item[0]):
        yield from _lines(program, entry)


def _lines(words: str, entry: Entry) -> Iterator[str]:
    grammar = compile_entry(entry)
    told = [f"{words}: {entry.kind}{f' ({entry.manual})' if entry.manual else ''}"]
    told += [f"takes {entry.operands}"] if entry.operands else []
    told += [f"read by {entry.shape}"] if entry.shape else []
    told += [f"is {' '.join(sorted(entry.traits.split()))}"] if entry.traits else []
    for title, safe in (("safe", True), ("to be spelled out", False)):
        options = [_option(name, one) for name, one in sorted(grammar.options.items()) if one.safe is safe]
        told += [f"{title} {', '.join(options)}"] if options else []
    yield "; ".join(told)
    for names, sub in (entry.subs or {}).items():
        yield from _lines(f"{words} {'|'.join(sorted(names.split()))}", sub)


def _option(name: str, option: Option) -> str:
    value = "|".join(option.choices) or option.value
    return f"{name}{_ARITIES[option.arity]}{f' ({value})' if value else ''}"


if __name__ == "__main__":
    FILE.write_text("\n".join(lines()) + "\n", encoding="utf-8")
