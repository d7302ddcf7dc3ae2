"""What the gate is told, and what it answers."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal

from executor.values._frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from executor.values._profile import Profile


@dataclass(frozen=True, slots=True)
class Decision:
    """
    An opinion on one call.

    Attributes:
        verdict: ``allow``, ``ask`` (a person) or ``deny``.
        reason: For the person and the model.
        method: How it was reached: ``blacklist``, ``whitelist``, ``default``, ``hook`` …
        rule: The rule that decided, as written, or None.
        parts: What was judged one by one (the commands of a shell line), each with its own verdict.
        details: What whoever decided keeps for its own ``ask`` and ``settle``; nobody else looks at it.
        confine: The profile of the box that the call is to run in if it is allowed; None for no box.
        maybe_denied: It is asked about because it cannot be told whether a deny rule is about it: only a person who has
            seen the question may allow it, and nothing that answers without one (``--yes``, a suspension).
    """

    verdict: Literal["allow", "ask", "deny"]
    reason: str = ""
    method: str = "hook"
    rule: str | None = None
    parts: tuple[Any, ...] = ()
    details: Any = field(default=None, compare=False, repr=False)
    confine: Profile | None = None
    maybe_denied: bool = False

    @property
    def needs_person(self) -> bool:
        """Whether a deny rule may be about the call or a part of it, so that nothing but a person may allow it."""
        return self.maybe_denied or any(getattr(part, "maybe_denied", False) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Verdict:
    """
    The gate's answer to one call.

    Attributes:
        allowed: Whether it may run.
        arguments: Other arguments to run it with, or None to leave them. They are validated and judged again.
        info: The ``_permission`` entry of the result; None if nobody was asked.
        confine: The profile of the box that it is to run in; None for no box.
        by_person: The arguments are a person's own: they are judged for what is denied, and not asked about again.
    """

    allowed: bool
    arguments: Mapping[str, Any] | None = None
    info: Mapping[str, Any] | None = None
    confine: Profile | None = None
    by_person: bool = False
