"""Questions and answers as the page knows them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from executor.approval import Answer, mask, read_answer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from executor.approval import Approval

_WITH_TEXT = ("yes", "no", "once", "comment")


def told(approval: Approval, since: float) -> dict[str, Any]:
    """
    A question as JSON.

    Args:
        since: When it was first shown, in seconds since the epoch.
    """
    now = time.time()
    return {
        "id": approval.id,
        "digest": approval.digest,
        "tool": approval.tool,
        "arguments": dict(approval.arguments),
        "reason": approval.reason,
        "notice": notice(approval),
        "parts": list(approval.parts),
        "text": approval.text,
        "offered_rule": approval.offered_rule,
        "rules": {word: list(rules) for word, rules in approval.rules.items()},
        "options": list(approval.options),
        "details": dict(approval.details),
        "origin": approval.origin,
        "secret": approval.secret,
        "form": approval.form,
        "draft": approval.draft,
        "left": None if approval.deadline is None else max(0.0, approval.deadline - now),
        "age": max(0.0, now - since),
    }


def notice(approval: Approval) -> str:
    """Why it is asked, for a notification: without secrets, since desktops keep those, and other users see programs."""
    return str(mask(approval.reason))


def answer_in(body: Mapping[str, Any], approval: Approval) -> Answer:
    """
    The answer that the page gives to a question.

    Raises:
        ValueError: It is none; the text says what of it.
    """
    word, value = body.get("word"), body.get("value")
    if not isinstance(word, str) or (word not in approval.options and word != "no"):
        raise ValueError(f"/word is {word!r}, not one of {', '.join(approval.options)}")
    if word in _WITH_TEXT and (value is None or (isinstance(value, str) and not value.strip() and not approval.secret)):
        return Answer(word, None, "page")  # type: ignore[arg-type]  # one of its words
    read = read_answer(word if value is None else (word, value), "page")
    if read is None:
        raise ValueError(f"/value does not fit the answer {word!r}")
    return read
