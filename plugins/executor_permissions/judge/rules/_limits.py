"""
How often a tool may run in a turn or a session before a person is asked, and how often it has.

Each conversation of the program has counts of its own. A turn ends when the host says so; of a host that never does,
when it has lasted for `TURN_SECONDS`.
"""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, NamedTuple

from executor_permissions._forked import of_this_process
from executor_permissions.judge.paths._globs import Wildcard

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from executor import Decision

LimitScope = Literal["turn", "session"]
TURN_SECONDS = 600.0


class Limit(NamedTuple):
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
    """What becomes of *decision* to allow a call beyond *limit*: a person is asked. Its box stays the same."""
    reason = f"{limit.tool} has run {_times(limit.calls)} in this {limit.scope}, as often as it may without a question"
    if limit.scope == "turn" and limit.calls:
        reason += "; it may again in the next turn"
    return replace(decision, verdict="ask", reason=reason, method="ask_rule", rule=limit.rule)


def _times(calls: int) -> str:
    return "once" if calls == 1 else f"{calls} times"


class _Counts:
    """
    The calls of one conversation.

    Attributes:
        of: How many count for each limit.
        began: When the first call of this turn was counted; None: none was.
    """

    __slots__ = ("began", "of")

    def __init__(self) -> None:
        self.of: dict[Limit, int] = {}
        self.began: float | None = None

    def end(self, *scopes: LimitScope) -> None:
        self.of = {limit: count for limit, count in self.of.items() if limit.scope not in scopes}
        self.began = None


def _reached(about: Iterable[Limit], counts: _Counts) -> Limit | None:
    return next((limit for limit in about if counts.of.get(limit, 0) >= limit.calls), None)


class LimitCounts:
    """
    The calls that have run so far. `_lock` guards the numbers.

    Args:
        clock: Seconds that pass, whatever the system's clock is set to.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._conversations: dict[str | None, _Counts] = {}
        self._clock = clock
        self._turns_are_told = False
        self._begin()
        of_this_process.add(self)

    def _begin(self) -> None:
        self._lock = threading.Lock()  # in the child of a fork a new one: whoever held it is in the parent

    def reached(self, limits: Sequence[Limit], tool: str, conversation: str | None = None) -> Limit | None:
        """The limit that another call of *tool* would go beyond, if there is one. Counts nothing."""
        if not limits:
            return None
        with self._lock:
            return _reached(limits_of(limits, tool), self._of(conversation))

    def _of(self, conversation: str | None) -> _Counts:
        counts = self._conversations.setdefault(conversation, _Counts())
        if counts.began is not None and not self._turns_are_told and self._clock() - counts.began >= TURN_SECONDS:
            counts.end("turn")
        return counts

    def use(self, limits: Sequence[Limit], tool: str | None, conversation: str | None = None) -> bool:
        """
        Count one call of *tool*; of None, which no limit is about, nothing.

        Returns:
            False, and nothing is counted, where a limit is reached meanwhile.
        """
        about = limits_of(limits, tool) if tool is not None else []
        if not about:
            return True
        with self._lock:
            counts = self._of(conversation)
            if _reached(about, counts) is not None:
                return False
            for limit in about:
                counts.of[limit] = counts.of.get(limit, 0) + 1
            if counts.began is None:
                counts.began = self._clock()
            return True

    def end(self, *scopes: LimitScope, conversation: str | None = None) -> None:
        """Begin to count anew for limits of *scopes*, in every conversation unless one is named."""
        with self._lock:
            self._turns_are_told = self._turns_are_told or "session" not in scopes  # a new one says nothing of turns
            for name, counts in self._conversations.items():
                if conversation in (None, name):
                    counts.end(*scopes)
            self._conversations = {name: counts for name, counts in self._conversations.items() if counts.of}
