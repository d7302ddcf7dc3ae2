"""A question that is open, and the channels that record its answer before they show the next one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from executor_permissions.ask._answers import Choice, read_choice

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    from executor import Approval, Channel, Decision, ToolCall
    from executor.approval import Answer, Inbox
    from executor_permissions.ask._offer import Offer


@dataclass(slots=True)
class Question:
    """
    A call that waits for a person: what is needed to act on the answer, and to judge it again meanwhile.

    Attributes:
        own: Whether the policy asks. What another plugin asks is for a person alone: no rule or grant answers it.
    """

    approval: Approval
    call: ToolCall
    decision: Decision
    offer: Offer
    definition: tuple[str | None, str]
    agent: str | None
    kinds: Mapping[str, str] | None = None
    own: bool = True
    inbox: Inbox | None = None
    rejudged: Decision | None = None
    settled: tuple[bool, dict[str, Any]] | None = None


class Recording:
    """
    A channel whose answers are acted upon before the next question is shown.

    Args:
        settle: Acts on an answer.
        lock: Held while others are settled: a question that was settled meanwhile is not shown.
        asked: The question.
        name: Of the channel.
        channel: The surface itself.
    """

    def __init__(
        self,
        settle: Callable[[Question, Answer], object],
        lock: AbstractContextManager[object],
        asked: Question,
        name: str,
        channel: Channel,
    ) -> None:
        self._settle = settle
        self._lock = lock
        self._asked = asked
        self._name = name
        self._channel = channel

    def ask(self, approval: Approval, answer: Callable[[object], bool]) -> None:
        """Show the question on the channel behind this one, unless it is settled already."""

        def take(said: object) -> bool:
            choice = replace(read_choice(said), by=self._name)
            taken = answer(choice.as_answer())
            if taken and choice.word not in ("timeout", "no_channel", "error"):
                self._settle(self._asked, choice.as_answer())
            return taken

        with self._lock:
            if self._asked.rejudged is None:
                self._channel.ask(approval, take)
                return
        answer(Choice("yes", by="policy").as_answer())

    def withdraw(self, approval_id: str) -> None:
        """Take it back there."""
        self._channel.withdraw(approval_id)
