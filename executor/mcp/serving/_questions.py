"""Questions to a person, asked through the client by elicitation."""

from __future__ import annotations

import contextvars
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import mcp.types as t

from executor._json import to_text
from executor.calls._current import current_call
from executor.mcp.serving._fields import filled_in, form_of
from executor.permission._visible import indented, named, visible
from executor.values._approval import CLIENT, Answer, NoChannelError

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Mapping

    from executor.values._approval import Approval

MOST_SHOWN = 4000  # characters of one argument
_YES: tuple[Any, ...] = ("yes", "once")  # what a yes of the client may mean: never more than this one call
_ALLOW: dict[str, Any] = {
    "type": "object",
    "properties": {
        "allow": {"type": "boolean", "title": "Allow this call", "description": "Once; nothing is remembered."},
        # The default is for clients that fill in every field, and then hold what they have filled in to the form.
        "comment": {
            "type": "string",
            "title": "Comment",
            "description": "Told to the model. May be left out.",
            "default": "",
        },
    },
    "required": ["allow"],
}


class Asked(Protocol):
    """A call for which questions can be put to the client that made it. `put` and `withdraw` belong to the loop."""

    @property
    def id(self) -> str: ...

    @property
    def reachable(self) -> bool: ...

    def put(self, question: Question) -> None: ...

    def withdraw(self, question_id: str) -> None: ...


served: contextvars.ContextVar[Asked | None] = contextvars.ContextVar("executor_served_call", default=None)


@dataclass(frozen=True, slots=True)
class Question:
    """
    A question that is open.

    Attributes:
        answer: Answers it, from any thread but the loop's: what follows from an answer may take its time.
        inside: Whether the work has begun that asks it; else it is whether that may begin.
    """

    approval: Approval
    answer: Callable[[object], bool]
    inside: bool

    @property
    def id(self) -> str:
        return self.approval.id

    @property
    def schema(self) -> dict[str, Any]:
        """The form that the client is to show."""
        return form_of(self.approval.form) if self.approval.form is not None else _ALLOW

    @property
    def message(self) -> str:
        """
        The question in words. It is not the text for a person's own surface, which speaks of answers that last, and of
        how a form is filled in at a terminal.
        """
        asked = self.approval
        why = indented(visible(asked.reason))
        if asked.form is not None:
            said = visible(str(asked.arguments.get("message", "")))
            return f"{visible(asked.tool)} asks: {indented(said)}\n  why you are asked: {why}"
        lines = [f"Run {visible(asked.tool)}?", f"  why you are asked: {why}"]
        lines += [f"  {named(key)}: {_short(value)}" for key, value in asked.arguments.items()]
        if len(asked.parts) > 1:
            told = (
                f"    [{part.verdict}] {_short(part.text)} ({indented(visible(part.reason))})" for part in asked.parts
            )
            lines += dict.fromkeys(told)  # what a loop runs is judged for each of its rounds
        return "\n".join(lines)

    @property
    def request(self) -> t.ElicitRequest:
        """The question as a request to the client."""
        params = t.ElicitRequestFormParams(message=self.message, requested_schema=self.schema)
        return t.ElicitRequest(params=params)

    @property
    def refusal(self) -> Answer:
        """What a client means that does not answer."""
        return Answer("no", None, CLIENT)

    def read(self, response: object) -> Answer | None:
        """What the client's answer means; None: nothing, it has to be asked again."""
        try:
            told = t.ElicitResult.model_validate(response, by_name=False)
        except ValueError:
            return None
        content = told.content or {}
        if told.action != "accept":
            return Answer("no", None, CLIENT)
        if self.approval.form is not None:
            return Answer("edit", filled_in(self.approval.form, content), CLIENT)
        return _verdict(content, self.approval.options)


def _verdict(content: Mapping[str, Any], options: tuple[str, ...]) -> Answer | None:
    allow, comment = content.get("allow"), content.get("comment")
    if not isinstance(allow, bool):
        return None
    said = comment.strip() or None if isinstance(comment, str) else None
    word = next((each for each in _YES if each in options), None)
    return Answer(word, said, CLIENT) if allow and word is not None else Answer("no", said, CLIENT)


class ClientChannel:
    """
    The surface of an executor's inbox on which the client of the current call is asked.

    Args:
        loop: Where the connections live.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._askers: dict[str, Asked] = {}  # by question; dict operations are atomic

    def ask(self, approval: Approval, answer: Callable[[object], bool]) -> None:
        """Have the client of the current call asked. Raises NoChannelError where that cannot be."""
        call = served.get()
        if call is None or not call.reachable or approval.secret:  # a form of the protocol must not ask for secrets
            raise NoChannelError("the client that made this call cannot be asked")
        self._askers[approval.id] = call
        try:
            self._loop.call_soon_threadsafe(call.put, Question(approval, answer, _is_inside(approval, call)))
        except RuntimeError:
            del self._askers[approval.id]
            raise NoChannelError("the server has ended") from None

    def withdraw(self, approval_id: str) -> None:
        """It was answered elsewhere, or nobody waits for it any more."""
        call = self._askers.pop(approval_id, None)
        if call is not None:
            try:
                self._loop.call_soon_threadsafe(call.withdraw, approval_id)
            except RuntimeError:
                return  # the server has ended


def _short(value: object) -> str:
    text = visible(value if isinstance(value, str) else to_text(value))
    left = len(text) - MOST_SHOWN
    return indented(text if left <= 0 else f"{text[:MOST_SHOWN]} [and {left} characters more]")


def _is_inside(approval: Approval, call: Asked) -> bool:
    """Whether a tool asks, or a call that it makes; forms are filled in for tools only."""
    current = current_call()
    return approval.form is not None or (current is not None and current.id != call.id)
