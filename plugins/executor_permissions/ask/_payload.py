"""
A question and its answer as JSON, for the channels that lead out of the process.

Beside the names that are used here stand those of the policy files' first home, so that services and scripts written
for it go on to work: ``tool_name``, ``response_options``; ``decision: allow_session``, ``edited_arguments``.
"""

from __future__ import annotations

import hmac
import json
import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from executor.approval import Answer, Lasting, read_answer, to_text, visible

if TYPE_CHECKING:
    from collections.abc import Callable

    from executor import Approval

_LOG = logging.getLogger("executor")
_DECISIONS: dict[str, Answer] = {  # theirs, and what they mean here
    "allow": Answer("yes"),
    "allow_once": Answer("once"),
    "allow_session": Answer("always", Lasting("session")),
    "allow_turn": Answer("turn"),
    "allow_until_idle": Answer("idle"),
    "allow_all": Answer("all"),
    "deny": Answer("no"),
    "deny_session": Answer("never", Lasting("session")),
}
_OPTIONS = {  # the other way round: short form, what it does, and their name for it
    "yes": ("y", "Let it run this time", "allow"),
    "no": ("n", "Do not let it run", "deny"),
    "once": ("o", "Let it run this time", "allow_once"),
    "always": ("a", "Let it run from now on", "allow_session"),
    "never": ("never", "Do not let it run from now on", "deny_session"),
    "turn": ("t", "Let everything run until the turn is over", "allow_turn"),
    "idle": ("i", "Let everything run until the assistant is idle", "allow_until_idle"),
    "all": ("all", "Let everything run for the rest of the session", "allow_all"),
    "comment": ("c", "Do not let it run, and tell the model why", "comment"),
    "edit": ("e", "Change the arguments", "edit"),
}
_REACH = ("scope", "for", "times", "whole_tool")
_ENDS = ("no", "error", "timeout")  # what is an answer to any question


def told(approval: Approval, timeout: float | None = None) -> dict[str, Any]:
    """
    The question as JSON.

    Args:
        timeout: How many seconds there are to answer it.
    """
    arguments = json.loads(to_text(dict(approval.arguments)))
    return {
        "request_id": approval.id,
        "digest": approval.digest,
        "tool": approval.tool,
        "arguments": arguments,
        "reason": approval.reason,
        "parts": [list(part) if isinstance(part, tuple) else str(part) for part in approval.parts],
        "text": approval.text,
        "offered_rule": approval.offered_rule,
        "deadline": approval.deadline,
        "options": list(approval.options),
        # What follows says the same by the other names.
        "timestamp": datetime.now(UTC).isoformat(),
        "tool_name": approval.tool,
        "timeout_seconds": timeout,
        "default_on_timeout": "deny",
        "context": {},
        "response_options": [
            dict(zip(("short", "full", "description", "decision"), (short, word, text, name), strict=True))
            for word in approval.options
            for short, text, name in [_OPTIONS[word]]
        ],
        "was_edited": False,
        "has_editable_content": "edit" in approval.options,
        "editable_parameters": list(arguments) if "edit" in approval.options else [],
        "editable_format": "json",
    }


def understood(value: Any, approval: Approval, secret: str | None = None) -> Answer:
    """
    The answer in a reply: a no, said in the log, unless it is about this very question and can be understood.

    Args:
        secret: What the reply has to carry as well; None where whoever received it has seen to that.
    """
    if not isinstance(value, Mapping):
        return _refused(approval, f"it is no JSON object, but {visible(to_text(value), 60)}")
    if value.get("request_id") != approval.id:
        return _refused(approval, f"its request_id is {visible(to_text(value.get('request_id')), 60)}")
    if value.get("digest") != approval.digest:
        return _refused(approval, 'its "digest" is not that of the question')
    given = value.get("secret")
    if secret is not None and not (isinstance(given, str) and hmac.compare_digest(given.encode(), secret.encode())):
        return _refused(approval, 'it does not carry the "secret" of the file that the question names')
    answer = _decision_in(value)
    if answer is None:
        return _refused(approval, f"its decision {visible(to_text(value.get('decision')), 60)} is none")
    return answer


def _decision_in(value: Mapping[str, Any]) -> Answer | None:
    decision, comment = value.get("decision"), value.get("comment")
    if not isinstance(decision, str):
        return None
    if decision == "edit":
        return read_answer(("edit", value.get("edited_arguments", value.get("arguments"))))
    if decision == "comment":
        return read_answer(("comment", comment or value.get("reason") or "")) or Answer("comment")
    answer = _DECISIONS.get(decision) or read_answer(decision)
    if answer is None:
        return None
    edited = value.get("edited_arguments")
    if answer.word in ("yes", "once") and edited is not None:
        return read_answer(("edit", edited))
    if answer.word in ("always", "never") and answer.value is None:
        return read_answer((answer.word, {key: value[key] for key in _REACH if key in value}))
    text = comment or (value.get("reason") if answer.word == "no" else None)
    if answer.word in ("yes", "once", "no") and text is not None:
        return read_answer((answer.word, text))
    return answer


def _refused(approval: Approval, why: str) -> Answer:
    _LOG.warning(f"A reply to the question {approval.id} about {approval.tool} was taken for a no: {why}")
    return Answer("no", f"the reply could not be used: {why}")


def give(approval: Approval, said: object, answer: Callable[[object], bool]) -> bool:
    """Hand on what a surface said: what is no answer to this question is a no, and that is said in the log."""
    read = read_answer(said)
    if read is None:
        why = f"the answer {visible(to_text(said), 60)} is none of {', '.join(approval.options)}"
    elif read.word not in approval.options and read.word not in _ENDS:
        why = f"{read.word!r} cannot be answered to it"
    else:
        return answer(read)
    _LOG.warning(f"The question {approval.id} about {approval.tool} was answered with a no: {why}")
    return answer(Answer("no", why))
