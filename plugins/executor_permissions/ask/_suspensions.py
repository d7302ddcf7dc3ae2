"""The questions that are skipped for now, because somebody said ``turn``, ``idle`` or ``all``."""

from __future__ import annotations

import threading
from enum import Enum
from typing import TYPE_CHECKING, Final, Literal

from executor_permissions._forked import of_this_process

if TYPE_CHECKING:
    from executor import Decision
    from executor_permissions.store._load import Policy

Suspension = Literal["turn", "idle", "all"]


class Everybody(Enum):
    """In place of an agent: whoever calls. It is no text, so that no agent can have its name."""

    EVERYBODY = "*"


EVERYBODY: Final = Everybody.EVERYBODY
METHODS: dict[str, str] = {"turn": "turn_suspension", "idle": "idle_suspension", "all": "allow_all"}


class Suspensions:
    """Which questions are skipped, by agent. `_lock` guards them."""

    def __init__(self) -> None:
        self._held: dict[str | Everybody | None, set[Suspension]] = {}
        self._begin()
        of_this_process.add(self)

    def _begin(self) -> None:
        self._lock = threading.Lock()  # in the child of a fork a new one: whoever held it is in the parent

    def suspend(self, agent: str | Everybody | None, kind: Suspension) -> None:
        """Skip the questions about the calls of this agent, or of `EVERYBODY`."""
        with self._lock:
            self._held.setdefault(agent, set()).add(kind)

    def resume(self, *kinds: Suspension, agent: str | Everybody | None = None) -> None:
        """Skip them no longer: for *agent*, or by default whoever calls."""
        with self._lock:
            for name, held in self._held.items():
                if agent is None or name == agent:
                    held.difference_update(kinds)

    def all(self) -> dict[str | Everybody | None, tuple[Suspension, ...]]:
        """What is suspended, by agent."""
        with self._lock:
            return {agent: tuple(sorted(kinds)) for agent, kinds in self._held.items() if kinds}

    def skips(self, agent: str | None, decision: Decision, policy: Policy) -> Suspension | None:
        """Which suspension answers this question; none answers what needs a person."""
        if needs_person(decision, policy):
            return None
        with self._lock:
            held = self._held.get(agent, set()) | self._held.get(EVERYBODY, set())
            return next((kind for kind in ("turn", "idle", "all") if kind in held), None)


def needs_person(decision: Decision, policy: Policy) -> bool:
    """Whether nothing but a person may allow it: a deny rule may be about it, or it cannot be judged."""
    if decision.needs_person or decision.method in ("invalid", "blacklist"):
        return True
    if any(part.method == "invalid" for part in decision.parts):
        return True
    return decision.method == "ask_rule" and not policy.asks_by_rule(decision.rule)
