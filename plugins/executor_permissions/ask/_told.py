"""What is told of a question that has ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from executor_permissions.ask._suspensions import METHODS

if TYPE_CHECKING:
    from executor.approval import Answer

SHUT_DOWN = ("The permission plugin is not initialised, or was shut down", "not_initialized")  # reason, method


def refusal(answer: Answer, asked_because: str) -> dict[str, str]:
    """What the model is told of a no."""
    said = f": {answer.value}" if isinstance(answer.value, str) else ""
    told = {
        "timeout": "nobody answered in time",
        "no_channel": "there is nobody to ask",
        "error": f"asking failed{said}",
        "cancelled": "the call was cancelled while a person was asked",
    }.get(answer.word, f"the user said no{said}")
    method = answer.word if answer.word in ("timeout", "no_channel", "error") else "user_denied"
    return {"reason": f"{told} ({asked_because})", "method": method}


def suspended(kind: str) -> dict[str, str]:
    """What the result says of a call that a suspension let through."""
    return {"reason": f"the user allowed everything ({kind})", "method": METHODS[kind]}
