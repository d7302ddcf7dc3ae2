"""What a draft of a policy would have decided otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from executor_permissions.store._load import Policy


def replay(records: Iterable[Mapping[str, Any]], policy: Policy) -> list[dict[str, Any]]:
    """
    Judge the calls of a ledger with another policy.

    Returns:
        One entry for each call that would be decided differently: ``{"tool", "args", "before", "after", "reason"}``.
    """
    changes = []
    for record in records:
        if record.get("stage") != "permission-check":
            continue
        decision = policy.decide(str(record.get("tool")), record.get("args") or {})
        before = "allow" if record.get("allowed") else "deny"
        if decision.verdict != before:
            changes.append(
                {
                    "tool": record.get("tool"),
                    "args": record.get("args"),
                    "before": before,
                    "method": record.get("method"),
                    "after": decision.verdict,
                    "reason": decision.reason,
                }
            )
    return changes
