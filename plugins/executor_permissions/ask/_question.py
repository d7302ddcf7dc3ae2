"""A question that is open, and the channels that understand its answer."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from executor_permissions.ask._answers import Choice, read_choice

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    from executor import Approval, CancelToken, Channel, Decision, ToolCall, Verdict
    from executor.approval import Approvals
    from executor_permissions.ask._offer import Offer


@dataclass(frozen=True, slots=True)
class Judged:
    """
    What a decision of a permission plugin carries along.

    Attributes:
        by: Stands for the plugin that decided.
        grants: The ids of the grants with a number of uses that it rests on.
    """

    by: object
    grants: tuple[str, ...] = ()


@dataclass(slots=True)
class Question:
    """
    A call that waits for a person: what is needed to act on the answer, and to judge it again meanwhile.

    Attributes:
        answered: Takes the verdict, or what kept it from being found.
        own: Whether the policy asks. What another plugin asks is for a person alone: no rule or grant answers it.
        rejudged: The decision that lets the call run without an answer, since somebody gave a lasting one to another.
        here: Whether it was put to the terminal, where nobody else could be reached.
        undo: Takes the question from the inboxes it was put to.
    """

    approval: Approval
    call: ToolCall
    decision: Decision
    offer: Offer
    definition: tuple[str | None, str]
    agent: str | None
    kinds: Mapping[str, str] | None
    own: bool
    inbox: Approvals
    cancel: CancelToken | None
    answered: Callable[[Verdict | BaseException], object]
    began: float
    rejudged: Decision | None = None
    here: bool = False
    undo: list[Callable[[], None]] = field(default_factory=list)


class Understanding:
    """
    A channel whose answers are read with what the policy's channels may say beyond the inbox's words.

    Args:
        lock: Held while others are answered: a question that was answered meanwhile is not shown.
        asked: The question.
        name: Of the channel.
        channel: The surface itself.
    """

    def __init__(self, lock: AbstractContextManager[object], asked: Question, name: str, channel: Channel) -> None:
        self._lock = lock
        self._asked = asked
        self._name = name
        self._channel = channel

    def ask(self, approval: Approval, answer: Callable[[object], bool]) -> None:
        """Show the question on the channel behind this one, unless it is answered already."""

        def take(said: object) -> bool:
            return answer(replace(read_choice(said), by=self._name).as_answer())

        with self._lock:
            if self._asked.rejudged is None:
                self._channel.ask(approval, take)
                return
        answer(Choice("yes", by="policy").as_answer())

    def withdraw(self, approval_id: str) -> None:
        """Take it back there."""
        self._channel.withdraw(approval_id)
