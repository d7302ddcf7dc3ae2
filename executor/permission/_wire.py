"""Questions and answers as JSON, between the processes of a user."""

from __future__ import annotations

import json
from typing import Any

from executor._json import to_text
from executor.values._approval import Answer, Approval, Lasting, parse_answer

_TEXTS = ("id", "tool", "reason", "text", "digest", "asker", "help")


def question_to_json(approval: Approval, origin: str) -> dict[str, Any]:
    """A question, and where it is asked."""
    return {
        **{name: getattr(approval, name) for name in _TEXTS},
        "arguments": _plain(dict(approval.arguments)),
        "parts": [_part(part) for part in approval.parts],
        "offered_rule": approval.offered_rule,
        "deadline": approval.deadline,
        "options": list(approval.options),
        "draft": _plain(dict(approval.draft)) if approval.draft is not None else None,
        "details": dict(approval.details),
        "origin": approval.origin or origin,
        "secret": approval.secret,
        "form": _plain(dict(approval.form)) if approval.form is not None else None,
        "rules": {word: list(rules) for word, rules in approval.rules.items()},
    }


def question_of(value: dict[str, Any]) -> Approval:
    """The question again. Raises KeyError, TypeError: it is none."""
    return Approval(**{**value, "parts": tuple(value["parts"]), "options": tuple(value["options"])})


def answer_to_json(said: object) -> list[Any]:
    """An answer: its word, and what belongs to it."""
    answer = parse_answer(said)
    value = answer.value
    if isinstance(value, Lasting):
        reach = {"scope": value.scope, "for": value.seconds, "times": value.times, "whole_tool": value.whole_tool}
        value = {name: item for name, item in reach.items() if item is not None} | {"rules": list(value.rules)}
    return [answer.word, _plain(value)]


def answer_of(value: object) -> object:
    """What `parse_answer` takes, of an answer that came from another process; what is none is a no."""
    if not isinstance(value, list) or len(value) != 2:
        return Answer("no")
    word, more = value
    return word if more is None else (word, more)


def _plain(value: Any) -> Any:
    return json.loads(to_text(value)) if isinstance(value, dict) else value


def _part(part: Any) -> Any:
    """A part that was judged, by the names of what is known of it."""
    return part._asdict() if hasattr(part, "_asdict") else str(part)
