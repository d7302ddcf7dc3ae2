"""A policy beside which a project's own file is heard that nobody has trusted: whatever it says, it only narrows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from executor_permissions.judge.rules._scene import NOTHING_MORE
from executor_permissions.store._check import VERDICTS
from executor_permissions.store._load import Policy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from executor import Decision
    from executor_permissions.judge._judge import Judge
    from executor_permissions.judge._verdicts import Grants
    from executor_permissions.judge.rules._scene import CallInfo


class Narrowed(Policy):
    """The rules of all files. A call is judged by them, and by those of `own` alone; the stricter of the two holds."""

    _own: Policy

    @property
    def own(self) -> Policy:
        """What holds without the untrusted file."""
        return self._own

    def decide(
        self,
        tool: str,
        args: Mapping[str, Any],
        info: CallInfo = NOTHING_MORE,
        *,
        argument_kinds: Mapping[str, str] | None = None,
        cwd: str | None = None,
        grants: Grants | None = None,
    ) -> Decision:
        """As `Judge.decide`."""
        own, whole = (
            decide(tool, args, info, argument_kinds=argument_kinds, cwd=cwd, grants=grants)
            for decide in (self._own.decide, super().decide)
        )
        return self._stricter(own, whole)

    def fixed(self, tool: str, args: object, argument_kinds: Mapping[str, str] | None = None) -> Decision | None:
        """As `Judge.fixed`."""
        own, whole = self._own.fixed(tool, args, argument_kinds), super().fixed(tool, args, argument_kinds)
        return self._stricter(own, whole) if own is not None and whole is not None else None

    def _stricter(self, own: Decision, whole: Decision) -> Decision:
        found = max(own, whole, key=lambda decision: VERDICTS.index(decision.verdict))
        if found.verdict != "ask":
            return found
        if own.verdict == "ask" and own.method == "default":
            found = whole  # which may know why
        is_for_a_person = _is_for_a_person(own, self._own) or _is_for_a_person(whole, self)
        return replace(found, maybe_denied=True) if is_for_a_person else found


def _is_for_a_person(decision: Decision, judge: Judge) -> bool:
    by_rule = decision.method == "ask_rule" and not judge.asks_by_rule(decision.rule)
    return decision.needs_person or decision.method == "invalid" or by_rule
