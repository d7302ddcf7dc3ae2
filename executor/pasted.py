"""Commands that people are told to run, spelt so that they can be pasted into a shell."""

from __future__ import annotations

import shlex


def operand(word: str) -> str:
    """A word that is no option, whatever it begins with."""
    return f"-- {shlex.quote(word)}" if word.startswith("-") else shlex.quote(word)


def within(command: str, word: str) -> str:
    """A command with its last word, within a sentence: in quotes, unless it has some, which they would open."""
    line = f"{command} {operand(word)}"
    return line if "'" in line else f"'{line}'"
