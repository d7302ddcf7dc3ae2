"""The questions that wait for a person: how they are put, and what an answer does."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal

from executor import Decision, Verdict
from executor_permissions._boxes import BOXLESS, boxed
from executor_permissions._forked import of_this_process
from executor_permissions.ask._caller import agent_of
from executor_permissions.ask._choose import terminal_channel
from executor_permissions.ask._suspensions import Suspensions
from executor_permissions.ask._told import SHUT_DOWN, refusal, suspended
from executor_permissions.judge._verdicts import method_of_grant
from executor_permissions.judge.rules._limits import LimitCounts
from executor_permissions.store._grants import Grant, GrantBook, GrantView, new_grant_id

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from executor import Channel, ToolCall
    from executor.approval import Answer, Inbox, Lasting, Scope
    from executor.confine import ProfileName
    from executor_permissions._audit import Audit
    from executor_permissions.ask._compose import Composer
    from executor_permissions.ask._question import Question
    from executor_permissions.store._load import Policy

    Answered = Callable[[Verdict | BaseException], object]

_LASTING = ("always", "never", "turn", "idle", "all")  # may answer other questions as well


class Questions:
    """
    Puts calls to people, and acts on what they answer.

    `_lock` guards the open questions. Under it grants are written, and it is looked up whether a question is yet to be
    shown, so that an answer is acted upon before the next one is. Nothing of somebody else's is called under it.

    Args:
        own: Stands for the plugin in its decisions; see `Judged`.
        grants: Where lasting answers are kept.
        audit: Where the ends of questions are noted.
        channels: Where people are asked, by name; None: on the surfaces of the executor's inbox.
        terminal: Whether the terminal is asked where those reach nobody.
        timeout: Seconds that a question waits for a person.
        scope: How far ``always`` reaches when it does not say.
        clock: Seconds since the epoch.

    Attributes:
        policy: The policy in force; None denies everything.
        suspensions: The questions that are skipped.
        refresh: Takes over what other processes have said.
    """

    def __init__(
        self,
        own: object,
        grants: GrantBook,
        audit: Audit,
        *,
        channels: Mapping[str, Channel] | None,
        terminal: bool,
        timeout: float,
        scope: Scope,
        clock: Callable[[], float],
    ) -> None:
        self.policy: Policy | None = None
        self.suspensions = Suspensions()
        self.limits = LimitCounts()
        self.refresh: Callable[[], object] = grants.refresh
        self._own = own
        self._scope = scope
        self._grants = grants
        self._audit = audit
        self._channels = channels
        self._terminal = terminal and channels is None
        # Another surface was chosen on purpose; the terminal is one of those of a person.
        self._elsewhere = channels is None or "console" in channels
        self._timeout = timeout
        self._clock = clock
        self._inbox: Inbox | None = None
        self._begin()
        of_this_process.add(self)

    def _begin(self) -> None:
        self._lock = threading.RLock()  # in the child of a fork a new one, and no question: they are the parent's
        self._open: dict[str, Question] = {}

    @property
    def channels(self) -> dict[str, Channel]:
        """The surfaces of its own; none where those of the executor's inbox are asked."""
        return dict(self._channels or {})

    @property
    def inbox(self) -> Inbox:
        """The inbox of questions about calls that no executor makes."""
        with self._lock:
            if self._inbox is None:
                from executor.approval import Inbox

                self._inbox = Inbox.shared()
            return self._inbox

    # Asking.

    @cached_property
    def _composer(self) -> Composer:
        from executor_permissions.ask._compose import Composer  # 60 ms, for those who are asked something

        return Composer(self._own, self._grants, self._scope, self._timeout)

    def put(
        self, call: ToolCall, decision: Decision, context: Mapping[str, Any] | None, answered: Answered
    ) -> Callable[[], None]:
        """
        Put *decision* to a person, unless somebody has said not to be asked for now.

        Args:
            answered: Called once, from any thread, maybe before this returns.

        Returns:
            A function that takes the question back, after which *answered* is called no more.
        """
        policy = self.policy
        if policy is None:
            reason, method = SHUT_DOWN
            answered(Verdict(False, None, {"reason": reason, "method": method, "rule": None}))
            return _nothing
        skipped = self.suspensions.skips(agent_of(context), decision, policy)
        if skipped is not None:
            answered(Verdict(True, None, {**suspended(skipped), "rule": None}, decision.confine))
            return _nothing
        try:
            asked = self._composer.compose(call, decision, context, policy, lambda: self.inbox, answered)
        except Exception as error:  # noqa: BLE001 -- whoever waits for the verdict is told why there is none
            answered(error)
            return _nothing
        with self._lock:
            self._open[asked.approval.id] = asked
            # Somebody may have answered "always" between the two steps.
            asked.rejudged = self._judge_again(asked)
        if asked.rejudged is not None:
            from executor_permissions.ask._question import BY_POLICY  # it is there, since something was asked

            self._end(asked, BY_POLICY)
            return _nothing
        self._ask(asked)
        return partial(self._take_back, asked)

    def _ask(self, asked: Question) -> None:
        if self._channels is not None:
            self._put_on(asked, self._channels)
        elif self._terminal and not asked.inbox.attended:
            asked.here = True
            self._put_on(asked, {"console": terminal_channel()})
        else:
            self._put_on(asked, asked.inbox.channels())

    def _put_on(self, asked: Question, channels: Mapping[str, Channel]) -> None:
        from executor_permissions.ask._question import BY_POLICY, Waiting  # it is there, since something was asked

        take_back = asked.inbox.put(
            asked.approval,
            partial(self._end_or_ask_here, asked),
            channels={name: Waiting(self._lock, asked, channel) for name, channel in channels.items()},
            elsewhere=self._elsewhere,
            timeout=self._timeout,
            cancel=asked.cancel,
            takes=partial(self._takes, asked),
        )
        asked.undo.append(take_back)
        with self._lock:
            freed = asked.rejudged is not None
        if freed:  # while it was put: whoever freed it did not find it
            asked.inbox.decide(asked.approval.id, BY_POLICY)

    def _end_or_ask_here(self, asked: Question, answer: Answer) -> None:
        if answer.word == "no_channel" and self._terminal and not asked.here:
            asked.here = True
            self._put_on(asked, {"console": terminal_channel()})
        else:
            self._end(asked, answer)

    def _take_back(self, asked: Question) -> None:
        for fn in asked.undo:
            fn()
        with self._lock:
            self._open.pop(asked.approval.id, None)

    # Answers.

    def _takes(self, asked: Question, answer: Answer) -> bool:
        """Whether the answer can be acted upon: rules that a person has written have to decide this very call."""
        policy, rules = self.policy, getattr(answer.value, "rules", ())
        if not rules or policy is None:
            return True
        from executor_permissions.ask._offer import Trial, may_be_granted  # it is there, since something was asked

        if answer.word not in asked.approval.rules or not may_be_granted(rules, policy.places):
            return False
        verdict: Literal["allow", "deny"] = "allow" if answer.word == "always" else "deny"
        trial = Trial(rules, policy.places, self._view(asked), verdict)
        return asked.decided_again(policy, trial).verdict == verdict

    def _end(self, asked: Question, answer: Answer) -> None:
        """Act on an answer, tell who waits for it, and answer the other questions that it answers too."""
        from executor_permissions.ask._question import BY_POLICY  # it is there, since something was asked

        freed: list[Question] = []
        try:
            with self._lock:
                self._open.pop(asked.approval.id, None)
                if _is_spent(asked, answer):
                    from executor.approval import new_approval_id  # it is there, since something was asked

                    again = time.time() + self._timeout
                    asked.approval = replace(asked.approval, id=new_approval_id(), deadline=again)
                    self._open[asked.approval.id] = asked
                    verdict: Verdict | BaseException | None = None
                else:
                    verdict = self._verdict(asked, answer)
                if answer.word in _LASTING:
                    freed = self._freed()
        except Exception as error:  # noqa: BLE001 -- as in put
            verdict = error
        if verdict is not None:
            asked.answered(verdict)
        for other in freed:
            other.inbox.decide(other.approval.id, BY_POLICY)
        if verdict is None:
            self._ask(asked)

    def _verdict(self, asked: Question, answer: Answer) -> Verdict:
        allowed, info = self._act(asked, answer)
        self._audit.note(
            asked.call, asked.decision, time=self._clock(), latency=time.perf_counter() - asked.began,
            agent=asked.agent, answer=answer,
            outcome=("allow" if allowed else "deny", info["method"], info["reason"]),
        )  # fmt: skip
        edited = info.pop("modified_args", None)
        # What a person has seen runs as it is, unless the policy says otherwise.
        confine = asked.decision.confine if allowed else None
        if confine is not None and asked.rejudged is None and not confine.people:
            confine = None
        return Verdict(allowed, edited if allowed else None, info, confine, by_person=edited is not None)

    def _act(self, asked: Question, answer: Answer) -> tuple[bool, dict[str, Any]]:
        info: dict[str, Any] = {"rule": None, "request_id": asked.approval.id}
        settled = asked.rejudged or (self._forbidden(asked) if answer.allowed else None)
        if settled is not None:
            info |= {"reason": settled.reason, "method": settled.method, "rule": settled.rule}
            return settled.verdict == "allow", info
        if answer.word in ("yes", "once"):
            said = {"comment": answer.value} if answer.value else {}
            return True, {**info, "reason": "the user allowed it", "method": answer.yes_method, **said}
        if answer.word in ("always", "never"):
            return self._remember(asked, answer, info)
        if answer.word in ("turn", "idle", "all"):
            self.suspensions.suspend(asked.agent, answer.word)
            return True, {**info, **suspended(answer.word)}
        if answer.word == "edit":
            edited = {"was_edited": True, "modified_args": answer.value}
            return True, {**info, "reason": "the user edited it", "method": "user_approved", **edited}
        if answer.word == "comment" and answer.value:
            return False, {**info, "reason": answer.value, "method": "user_comment", "comment": answer.value}
        return False, {**info, **refusal(answer, asked.approval.reason), "rule": self._rule_for(asked)}

    def _forbidden(self, asked: Question) -> Decision | None:
        """The decision that forbids the call by now, whatever a person answers to the question that was put before."""
        self.refresh()
        if self.policy is None:
            return Decision("deny", *SHUT_DOWN)
        again = asked.decided_again(self.policy, self._view(asked))
        return again if again.verdict == "deny" and again.method != "default" else None

    def _rule_for(self, asked: Question) -> str | None:
        """The rule that would have let the call run, for the person; None where there is none to be added."""
        if self.policy is None:
            return None
        from executor_permissions.ask._offer import rules_that_allow  # as above

        rules = rules_that_allow(self.policy, asked.about, asked.decision, asked.info, self._view(asked))
        return "; ".join(rules) or None

    def _remember(self, asked: Question, answer: Answer, info: dict[str, Any]) -> tuple[bool, dict[str, Any]]:
        verdict: Literal["allow", "deny"] = "allow" if answer.word == "always" else "deny"
        if verdict == "allow" and not asked.may_last(answer):
            # An ask rule comes before every grant, and no grant answers what another plugin asks.
            reason = f"the user allowed it this time: {asked.decision.reason}"
            return True, {**info, "reason": reason, "method": "user_approved"}
        from executor.approval import Lasting  # as above

        lasting = answer.value or Lasting()
        if asked.runs_commands:
            lasting = replace(lasting, whole_tool=False)
        scope = lasting.scope or self._scope
        narrow = lasting.rules or (asked.offer.rules if verdict == "allow" else asked.offer.never)
        rules = (asked.about.name,) if lasting.whole_tool else narrow
        if answer.to in ("", asked.approval.id):  # else it is remembered already, for who asked the same first
            self._grant(asked, lasting, verdict, rules)
        rule = "; ".join(rules)
        if verdict == "deny":
            reason = f"the user said never to {rule}"
            return False, {**info, "reason": reason, "method": "session_blacklist", "rule": rule}
        reason, method = f"the user allowed {rule} ({scope})", method_of_grant(scope)
        return True, {**info, "reason": reason, "method": method, "rule": rule}

    def _grant(
        self, asked: Question, lasting: Lasting, verdict: Literal["allow", "deny"], rules: Sequence[str]
    ) -> None:
        """Remember the answer to *asked*, unless the same stands there."""
        now, scope = self._clock(), lasting.scope or self._scope
        kind = "tool" if lasting.whole_tool else asked.offer.kind
        same = (verdict, scope, None, None)
        boxes: Mapping[str, ProfileName | None] = {}
        if self.policy is not None and verdict == "allow":
            boxes = asked.boxes(self.policy, self._view(asked), kind, rules)
        self._grants.refresh()  # another process may have been given the same answer meanwhile
        known = {
            grant.about
            for grant in self._grants.about(asked.about.name, asked.agent)
            if (grant.verdict, grant.scope, grant.expires, grant.uses_left) == same
            and grant.definition_hash == asked.definition[0]
        }
        grants = [
            Grant(
                new_grant_id(), asked.about.name, verdict, kind, rule, scope,
                digest=asked.digest(verdict) if kind == "call" else "",
                project=self.policy.places.base if self.policy is not None else "",
                definition_hash=asked.definition[0], definition=asked.definition[1], created=now,
                expires=now + lasting.seconds if lasting.seconds is not None else None,
                # This call is the first of them.
                uses_left=lasting.times - 1 if lasting.times is not None else None,
                agent=asked.agent,
                session=self._grants.open_session if scope == "session" else "",
                confine=boxes.get(rule),
                **asked.where(verdict, rule),
            )
            for rule in rules
        ]  # fmt: skip
        self._grants.add(*(grant for grant in grants if grant.about not in known))

    def _freed(self) -> list[Question]:
        """The questions that need no answer any more, now that there is a lasting one."""
        freed = []
        for other in self._open.values():
            if other.rejudged is None:
                other.rejudged = self._judge_again(other)
                if other.rejudged is not None:
                    freed.append(other)
        return freed

    def _view(self, asked: Question) -> GrantView:
        return GrantView(self._grants, asked.agent, {asked.about.name: asked.definition[0]}.get)

    def _judge_again(self, asked: Question) -> Decision | None:
        """The decision that answers a waiting call of the policy's own now, if there is one."""
        policy = self.policy
        if policy is None or not asked.own or asked.decision.method == BOXLESS:
            return None
        skipped = self.suspensions.skips(asked.agent, asked.decision, policy)
        if skipped is not None:
            told = suspended(skipped)
            return Decision("allow", told["reason"], told["method"])
        view = self._view(asked)
        decision = asked.decided_again(policy, view)
        if decision.verdict == "allow":  # the files that its paths mean by now, and also those that will be opened
            decision = asked.decided_again(policy, view, asked.info.resolve)
        granted, about = view.profiles(decision), asked.about
        kinds, start = asked.info.kinds, asked.info.cwd or ""
        decision = boxed(
            decision, policy, about.name, kinds=kinds, granted=granted, arguments=about.arguments, start=start
        )
        if decision.verdict == "ask" or (decision.verdict == "deny" and decision.method == "default"):
            return None
        if decision.verdict == "deny":
            return decision
        counts_too = partial(self.limits.use, policy.limits, asked.call.name, asked.conversation)
        return decision if self._grants.use(view.counted(decision), counts_too) else None


def _is_spent(asked: Question, answer: Answer) -> bool:
    """Whether it was given to an identical question, and used up there: "always, twice", of which this is the third."""
    if asked.rejudged is not None or answer.to in ("", asked.approval.id):
        return False
    from executor_permissions.ask._question import is_by_policy  # it is there, since something was asked

    return is_by_policy(answer) or (answer.word == "always" and asked.may_last(answer))


def _nothing() -> None:
    pass
