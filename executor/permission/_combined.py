"""Several opinions on one call, as one: what each of them keeps the call from holds."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from executor.values import Decision
    from executor.values._profile import Profile


def combined(one: Decision, other: Decision | None) -> Decision:
    """
    Two opinions on a call that neither denies: ask beats allow, of equals the first; both in the narrower box.

    A question of both tells both reasons, and is for a person alone if either says so. It keeps the first one's
    `details`: so what answers the questions of a permission plugin by itself does not answer a hook's.
    """
    if other is None:
        return one
    first, second = (other, one) if other.verdict == "ask" != one.verdict else (one, other)
    confine = narrower(first.confine, second.confine)
    if first.verdict == "allow":
        return first if confine is first.confine else replace(first, confine=confine)
    reason, rule = first.reason, first.rule
    if second.verdict == "ask":
        reason = "; ".join(dict.fromkeys(text for text in (reason, second.reason) if text))
        rule = rule or second.rule
    return replace(
        first,
        reason=reason,
        rule=rule,
        parts=first.parts or second.parts,
        confine=confine,
        maybe_denied=first.needs_person or second.needs_person,
    )


def in_order(opinion: Decision, decision: Decision) -> tuple[Decision, Decision]:
    """The hooks' opinion and the plugin's decision; a hook's question is not the plugin's to answer by itself."""
    return (opinion, decision) if opinion.verdict == "ask" else (decision, opinion)


def narrower(one: Profile | None, other: Profile | None) -> Profile | None:
    """The narrower of two boxes, None being none."""
    if one is None or other is None:
        return one or other
    return one.or_narrower(other)


def box_of(decision: Decision | None, *, seen: bool) -> Profile | None:
    """The box for a call of *decision*: of one that a person has *seen*, only where people's are boxed too."""
    confine = decision.confine if decision is not None else None
    return confine if confine is not None and (confine.people or not seen) else None
