"""
A memory of shell commands, of bounded size: what the rules say about them, how they were parsed, and what came of them.

It belongs to one tool of one policy, so that a changed policy begins with an empty one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from executor_permissions.judge._shell_rules import Judged
    from executor_permissions.judge._shell_scope import Outcome
    from executor_permissions.judge.bash._expand import Folders
    from executor_permissions.judge.bash._walk import Step
    from executor_permissions.judge.paths._links import Seen

_MOST_KEPT = 512  # commands, and scripts
_LONGEST_KEPT = 1000  # characters of a command whose judgement is kept


class Known:
    """
    What was worked out before, by one policy for one tool: bounded.

    Attributes:
        judged: What the rules say about a command.
        steps: The commands of a script that is started in certain folders.
        outcomes: What came of a script, and what of the file system that rests on.
    """

    __slots__ = ("judged", "outcomes", "steps")

    def __init__(self) -> None:
        self.judged: dict[object, Judged] = {}
        self.steps: dict[tuple[str, Folders], list[Step]] = {}
        self.outcomes: dict[tuple[object, ...], tuple[Outcome, Seen]] = {}

    def keep(self, key: object, judged: Judged, length: int) -> None:
        """Keep what is known about a command of *length* characters."""
        if length <= _LONGEST_KEPT:
            if len(self.judged) >= _MOST_KEPT:
                self.judged.clear()
            self.judged[key] = judged

    def outcome(self, key: tuple[object, ...]) -> Outcome | None:
        """What came of a script before, if the file system still says the same."""
        found = self.outcomes.get(key)
        return found[0] if found is not None and found[1].holds() else None

    def keep_outcome(self, key: tuple[object, ...], outcome: Outcome, seen: Seen, length: int) -> None:
        """Keep what came of a script of *length* characters."""
        if length <= _LONGEST_KEPT:
            if len(self.outcomes) >= _MOST_KEPT:
                self.outcomes.clear()
            self.outcomes[key] = outcome, seen

    def keep_steps(self, key: tuple[str, Folders], steps: list[Step]) -> None:
        """Keep the commands of a script."""
        if len(key[0]) <= _LONGEST_KEPT:
            if len(self.steps) >= _MOST_KEPT:
                self.steps.clear()
            self.steps[key] = steps
