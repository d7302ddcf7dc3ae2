"""What is said about a rule: what is the matter, and how to write it."""

from __future__ import annotations

from typing import NamedTuple


class Advice(NamedTuple):
    """
    What is the matter with a rule.

    Attributes:
        rules: What to write instead. None, where it is not sure what was meant.
        where: What these are for, if that needs a word.
    """

    wrong: str
    rules: tuple[str, ...] = ()
    where: str = ""

    def told(self) -> str:
        """In words."""
        if not self.rules:
            return self.wrong
        each = "a rule for each, " if len(self.rules) > 1 else ""
        return f"{self.wrong}: write {each}{', '.join(map(repr, self.rules))}{self.where}"
