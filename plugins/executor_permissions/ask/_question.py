"""A question that is open, and the channels that it is shown on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from executor.approval import Answer, copy_arguments
from executor_permissions._boxes import kept_boxes
from executor_permissions.ask._offer import Trial
from executor_permissions.store._grants import arguments_digest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from executor import Approval, CancelToken, Channel, Decision, ToolCall, Verdict
    from executor.approval import Approvals
    from executor.confine import ProfileName
    from executor_permissions.ask._offer import Bound, Offer
    from executor_permissions.judge._verdicts import Grants
    from executor_permissions.judge.paths._paths import Resolve
    from executor_permissions.judge.rules._scene import CallInfo
    from executor_permissions.store._grants import GrantKind
    from executor_permissions.store._load import Policy


_SETTLED = "its call has been judged again"
BY_POLICY = Answer("error", _SETTLED, "policy")  # closes a question that needs no answer any more


def is_by_policy(answer: Answer) -> bool:
    """Whether it is no answer, but what closes a question whose call has been judged again."""
    return answer.value is _SETTLED


@dataclass(slots=True)
class Question:
    """
    A call that waits for a person: what is needed to act on the answer, and to judge it again meanwhile.

    Attributes:
        about: The call that the answer is about: this one, or that which it carries. A grant is of that one.
        info: What is known of the call: what its paths were when it was first judged is what will be opened.
        conversation: Whose calls it is counted with.
        bound: What a grant for this very call is bound to; None where none would let it run.
        runs_commands: Whether the tool runs commands: nothing is remembered of all that it could run.
        answered: Takes the verdict, or what kept it from being found.
        own: Whether the policy asks. What another plugin asks is for a person alone: no rule or grant answers it.
        rejudged: The decision that needs no answer any more, since somebody gave a lasting one to another question.
        here: Whether it was put to the terminal, where nobody else could be reached.
        undo: Takes the question from the inboxes it was put to.
    """

    approval: Approval
    call: ToolCall
    about: ToolCall
    decision: Decision
    offer: Offer
    definition: tuple[str | None, str]
    agent: str | None
    info: CallInfo
    runs_commands: bool
    own: bool
    inbox: Approvals
    cancel: CancelToken | None
    answered: Callable[[Verdict | BaseException], object]
    began: float
    conversation: str | None = None
    bound: Bound | None = None
    rejudged: Decision | None = None
    here: bool = False
    undo: list[Callable[[], None]] = field(default_factory=list)

    def may_last(self, answer: Answer) -> bool:
        """Whether the answer ``always`` can hold for it."""
        about_tool = answer.value is not None and answer.value.whole_tool and not self.runs_commands
        return self.own and self.decision.method != "ask_rule" and (self.bound is not None or about_tool)

    def decided_again(self, policy: Policy, grants: Grants, resolve: Resolve | None = None) -> Decision:
        """What *policy* and *grants* say of the call by now, whose paths are what *resolve* says, or what they are."""
        info = self.info._replace(resolve=resolve)
        return policy.decide(self.call.name, copy_arguments(self.call.arguments), info, grants=grants)

    def digest(self, verdict: Literal["allow", "deny"]) -> str:
        """What a grant for this very call is compared with, as `GrantView` does."""
        if self.bound is None:  # it was not judged to its end: it is forbidden as it stands
            return arguments_digest(copy_arguments(self.about.arguments))
        return arguments_digest(self.bound.args, self.bound.also if verdict == "allow" else ())

    def where(self, verdict: Literal["allow", "deny"], rule: str) -> Mapping[str, Any]:
        """The ``folders`` and ``links`` of a grant of *rule*: what a person wrote, and a ``never``, holds anywhere."""
        if self.bound is None or verdict == "deny" or self.offer.kind != "shell":
            return {}
        return {"folders": self.bound.folders.get(rule), "links": self.bound.links.get(rule)}

    def boxes(
        self, policy: Policy, grants: Grants, kind: GrantKind, rules: Sequence[str]
    ) -> Mapping[str, ProfileName | None]:
        """By rule, the box that a grant of it keeps."""
        if not self.runs_commands:
            return {}
        again = None
        if kind == "shell":
            again = self.decided_again(policy, Trial(rules, policy.places, grants))
        return kept_boxes(self.decision, policy, rules, again)


class Waiting:
    """
    A channel that is shown a question only while that needs an answer.

    Args:
        lock: Held while others are answered: a question that was answered by then is not shown.
        asked: The question.
        channel: The surface itself.
    """

    def __init__(self, lock: AbstractContextManager[object], asked: Question, channel: Channel) -> None:
        self._lock = lock
        self._asked = asked
        self._channel = channel

    def ask(self, approval: Approval, answer: Callable[[object], bool]) -> None:
        """Show the question on the channel behind this one, unless it is answered already."""
        with self._lock:
            freed = self._asked.rejudged is not None
        if freed:
            answer(BY_POLICY)
        else:  # not under the lock: the channel may wait for a thread that gives an answer just now
            self._channel.ask(approval, answer)

    def withdraw(self, approval_id: str) -> None:
        """Take it back there."""
        self._channel.withdraw(approval_id)
