"""How often a tool may run in a turn or a session before a person is asked, and how often it has."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from executor import Decision
from executor_permissions.judge._globs import Wildcard

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

LimitScope = Literal["turn", "session"]


@dataclass(frozen=True, slots=True)
class Limit:
    """
    One number of the policy's ``limits``.

    Attributes:
        tool: The tool it is about; with a ``*``, all of those that fit together.
        scope: ``turn`` or ``session``.
        calls: How many calls may run without a question.
    """

    tool: str
    scope: LimitScope
    calls: int

    @property
    def rule(self) -> str:
        """What is shown as the rule that asks."""
        return f"limits {self.tool} {self.scope} {self.calls}"

    def is_about(self, tool: str) -> bool:
        """Whether calls of *tool* count."""
        return Wildcard.of(self.tool).fits(tool)


def limits_of(limits: Iterable[Limit], tool: str) -> list[Limit]:
    """Those of *limits* that count calls of *tool*."""
    return [limit for limit in limits if limit.is_about(tool)]


def beyond(limit: Limit, decision: Decision) -> Decision:
    """What becomes of *decision* to allow a call beyond *limit*: a person is asked."""
    reason = f"{limit.tool} has run {limit.calls} times in this {limit.scope}, as often as it may without a question"
    return Decision("ask", reason, "ask_rule", limit.rule, decision.parts)


class LimitCounts:
    """The calls that have run so far. `_lock` guards the numbers."""

    def __init__(self) -> None:
        self._counts: dict[Limit, int] = {}
        self._lock = threading.Lock()

    def reached(self, limits: Sequence[Limit], tool: str) -> Limit | None:
        """The limit that another call of *tool* would go beyond, if there is one. Counts nothing."""
        if not limits:
            return None
        with self._lock:
            return self._reached(limits, tool)

    def _reached(self, limits: Iterable[Limit], tool: str) -> Limit | None:
        return next((one for one in limits_of(limits, tool) if self._counts.get(one, 0) >= one.calls), None)

    def use(self, limits: Sequence[Limit], tool: str) -> bool:
        """Count one call of *tool*. Returns False, and counts nothing, where a limit is reached meanwhile."""
        if not limits:
            return True
        with self._lock:
            if self._reached(limits, tool) is not None:
                return False
            for limit in limits_of(limits, tool):
                self._counts[limit] = self._counts.get(limit, 0) + 1
            return True

    def end(self, *scopes: LimitScope) -> None:
        """Begin to count anew for limits of *scopes*."""
        with self._lock:
            self._counts = {limit: count for limit, count in self._counts.items() if limit.scope not in scopes}
