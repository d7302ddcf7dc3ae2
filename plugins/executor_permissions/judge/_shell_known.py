"""
A memory of shell commands, of bounded size: what the rules say about them, how they were parsed, and what came of them.

It belongs to one tool of one policy, so that a changed policy begins with an empty one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from executor_permissions.judge._shell_rules import Judged
    from executor_permissions.judge._shell_scope import Outcome
    from executor_permissions.judge.bash._expand import Folders, Values
    from executor_permissions.judge.bash._walk import Step
    from executor_permissions.judge.paths._links import Seen

_MOST_KEPT = 512  # commands, and scripts
_LONGEST_KEPT = 1000  # characters of a command whose judgement is kept
K = TypeVar("K")
V = TypeVar("V")


class Memory(dict[K, V]):
    """What was worked out before: bounded."""

    __slots__ = ()

    def keep(self, key: K, value: V, length: int) -> None:
        """Keep what is known about a text of *length* characters."""
        if length <= _LONGEST_KEPT:
            if len(self) >= _MOST_KEPT:
                self.clear()
            self[key] = value


class Known:
    """
    What one policy has worked out for one tool.

    Attributes:
        judged: What the rules say about a command.
        steps: The commands of a script that is started in certain folders.
        outcomes: What came of a script, and what of the file system that rests on.
    """

    __slots__ = ("judged", "outcomes", "steps")

    def __init__(self) -> None:
        self.judged: Memory[object, Judged] = Memory()
        self.steps: Memory[tuple[str, Folders, Values], list[Step]] = Memory()
        self.outcomes: Memory[tuple[object, ...], tuple[Outcome, Seen]] = Memory()

    def outcome(self, key: tuple[object, ...]) -> Outcome | None:
        """What came of a script before, if the file system still says the same."""
        found = self.outcomes.get(key)
        return found[0] if found is not None and found[1].holds() else None
