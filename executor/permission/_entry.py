"""What is said of a decision: the ``_permission`` entry of a result, and the words of a person's answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from executor.values._approval import Answer
    from executor.values._decision import Decision
    from executor.values._profile import Profile


def entry_of(info: Mapping[str, Any], *, allowed: bool, confine: Profile | None = None) -> dict[str, Any]:
    """
    The ``_permission`` entry of a result.

    Args:
        info: What whoever decided says of it: ``reason``, ``method``, ``rule``, ``was_edited``, ``comment``.
        confine: The box that it is allowed in.
    """
    entry = {
        "decision": "allowed" if allowed else "denied",
        "reason": info.get("reason") or ("" if allowed else "no reason was given"),
        "method": info.get("method") or "unknown",
    }
    if info.get("rule") is not None:
        entry["rule"] = info["rule"]
    if info.get("was_edited"):
        entry["was_edited"] = True
    if allowed and info.get("comment"):
        entry["comment"] = info["comment"]
    if confine is not None:
        entry["confine"] = confine.name
    return entry


def allowed_by(decision: Decision) -> dict[str, Any]:
    """The entry for a call that *decision* allows, without a person."""
    entry = {"decision": "allowed", "reason": decision.reason or "", "method": decision.method or "unknown"}
    if decision.rule is not None:
        entry["rule"] = decision.rule
    if decision.confine is not None:
        entry["confine"] = decision.confine.name
    return entry


def told_by(answer: Answer, asked_because: str) -> dict[str, Any]:
    """What a person's answer says to the model, where nobody but the gate acts on it."""
    if answer.allowed:
        info = {"method": answer.yes_method, "reason": "the user said yes"}
        return {**info, "comment": answer.value} if isinstance(answer.value, str) else info
    said = f": {answer.value}" if isinstance(answer.value, str) else f" ({asked_because})"
    method, reason = {
        "comment": ("user_comment", str(answer.value or f"the user said no ({asked_because})")),
        "timeout": ("timeout", f"nobody answered in time ({asked_because})"),
        "no_channel": ("no_channel", f"there is nobody to ask ({asked_because})"),
        "cancelled": ("user_denied", "the call was cancelled while a person was asked"),
        "error": ("error", f"asking failed{said}"),
    }.get(answer.word, ("user_denied", f"the user said no{said}"))
    return {"method": method, "reason": reason}


def odd_answer(method: str, answer: object, wanted: str) -> tuple[str, TypeError]:
    """The reason, and the error, for what a plugin's *method* gave that is not what is *wanted* of it."""
    error = TypeError(f"{method} gave {answer!r} instead of {wanted}")
    return str(error), error
