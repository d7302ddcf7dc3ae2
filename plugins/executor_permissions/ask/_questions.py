"""The questions that wait for a person: how they are put, and what an answer does."""

from __future__ import annotations

import os
import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from executor import Decision, ToolCall, Verdict, current_call
from executor.approval import Answer, Approval, Inbox, TerminalChannel, copy_arguments, new_approval_id, to_text
from executor_permissions.ask._answers import Choice, read_choice
from executor_permissions.ask._offer import offer
from executor_permissions.ask._question import Judged, Question, Understanding
from executor_permissions.ask._show import difference, question
from executor_permissions.ask._suspensions import METHODS, Suspensions
from executor_permissions.store._grants import Grant, GrantBook, GrantView, arguments_digest, new_grant_id

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from executor import Channel
    from executor_permissions._audit import Audit
    from executor_permissions.store._load import Policy

    Answered = Callable[[Verdict | BaseException], object]

OPTIONS = ("yes", "no", "once", "always", "never", "turn", "idle", "all", "comment", "edit")
_LASTING = ("always", "turn", "idle", "all")  # may answer other questions as well


class Questions:
    """
    Puts calls to people, and acts on what they answer.

    `_lock` guards the open questions. Grants are written and channels are shown a question under it, so that an answer
    is acted upon before the next question is shown; nobody is waited for.

    Args:
        own: Stands for the plugin in its decisions; see `Judged`.
        grants: Where lasting answers are kept.
        audit: Where the ends of questions are noted.
        channels: Where people are asked, by name; None: on the surfaces of the executor's inbox.
        terminal: Whether the terminal is asked where those reach nobody.
        timeout: Seconds that a question waits for a person.
        clock: Seconds since the epoch.

    Attributes:
        policy: The policy in force; None denies everything.
        suspensions: The questions that are skipped.
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
        clock: Callable[[], float],
    ) -> None:
        self.policy: Policy | None = None
        self.suspensions = Suspensions()
        self._own = own
        self._grants = grants
        self._audit = audit
        self._channels = channels
        self._terminal = terminal and channels is None
        self._timeout = timeout
        self._clock = clock
        self._lock = threading.RLock()
        self._open: dict[str, Question] = {}
        self._inbox: Inbox | None = None

    @property
    def inbox(self) -> Inbox:
        """The inbox of questions about calls that no executor makes."""
        with self._lock:
            if self._inbox is None:
                self._inbox = Inbox()
            return self._inbox

    # Asking.

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
            reason = "The permission plugin is not initialised, or was shut down"
            answered(Verdict(False, None, {"reason": reason, "method": "not_initialized", "rule": None}))
            return _nothing
        agent = agent_of(context)
        skipped = self.suspensions.skips(agent, decision, policy)
        if skipped is not None:
            answered(Verdict(True, None, {**_suspended(skipped), "rule": None}))
            return _nothing
        try:
            asked = self._question(call, decision, context, policy, answered)
        except Exception as error:  # noqa: BLE001 -- whoever waits for the verdict is told why there is none
            answered(error)
            return _nothing
        with self._lock:
            self._open[asked.approval.id] = asked
            # Somebody may have answered "always" between the two steps.
            asked.rejudged = self._judge_again(asked)
        if asked.rejudged is not None:
            self._end(asked, Answer("yes", None, "policy"))
            return _nothing
        self._put_on(asked, self._channels if self._channels is not None else asked.inbox.channels())
        return partial(self._take_back, asked)

    def _put_on(self, asked: Question, channels: Mapping[str, Channel]) -> None:
        take_back = asked.inbox.put(
            asked.approval,
            partial(self._end_or_ask_here, asked),
            channels={name: Understanding(self._lock, asked, name, channel) for name, channel in channels.items()},
            timeout=self._timeout,
            cancel=asked.cancel,
        )
        asked.undo.append(take_back)

    def _end_or_ask_here(self, asked: Question, answer: Answer) -> None:
        if answer.word == "no_channel" and self._terminal and not asked.here:
            asked.here = True
            self._put_on(asked, {"console": TerminalChannel()})
        else:
            self._end(asked, answer)

    def _take_back(self, asked: Question) -> None:
        for fn in asked.undo:
            fn()
        with self._lock:
            self._open.pop(asked.approval.id, None)

    def _question(
        self,
        call: ToolCall,
        decision: Decision,
        context: Mapping[str, Any] | None,
        policy: Policy,
        answered: Answered,
    ) -> Question:
        args = copy_arguments(call.arguments)
        current = current_call()
        tool = current.tool if current is not None and current.tool is not None else None
        kinds = tool.argument_kinds if tool is not None else None
        is_shell = policy.is_shell_tool(call.name) or "shell" in (kinds or {}).values()
        offered = offer(call.name, args, decision.parts, is_shell=is_shell, home=policy.places.home)
        definition = (tool.definition_hash, _definition_text(tool)) if tool is not None else (None, "")
        agent = agent_of(context)
        details = {
            "folder": os.getcwd(),  # noqa: PTH109 -- text, as it is shown
            "agent": agent or "",
            "server": call.name.split("__")[1] if call.name.startswith("mcp__") and call.name.count("__") > 1 else "",
            "the model says": str((context or {}).get("intent") or ""),
            "always": "it is asked every time, by a rule of the policy" if decision.method == "ask_rule" else "",
            "the tool has changed since you allowed it": self._changed(call.name, agent, definition),
        }
        approval = Approval(
            new_approval_id(),
            call.name,
            args,
            decision.reason,
            decision.parts,
            text=question(call.name, args, decision.reason, decision.parts, details=details, offered=offered.text),
            offered_rule=offered.text,
            deadline=time.time() + self._timeout,
            options=OPTIONS,
        )
        return Question(
            approval, ToolCall(call.id, call.name, args), decision, offered, definition, agent, kinds,
            own=isinstance(decision.details, Judged) and decision.details.by is self._own,
            inbox=current.host.approvals if current is not None else self.inbox,
            cancel=current.token if current is not None else None,
            answered=answered, began=time.perf_counter(),
        )  # fmt: skip

    def _changed(self, tool: str, agent: str | None, definition: tuple[str | None, str]) -> str:
        for grant in self._grants.about(tool, agent):
            if grant.verdict == "allow" and grant.definition and grant.definition_hash != definition[0]:
                return difference(grant.definition, definition[1])
        return ""

    # Answers.

    def _end(self, asked: Question, answer: Answer) -> None:
        """Act on an answer, tell who waits for it, and answer the other questions that it answers too."""
        freed: list[Question] = []
        try:
            with self._lock:
                self._open.pop(asked.approval.id, None)
                allowed, info = self._act(asked, answer)
                if answer.word in _LASTING:
                    freed = self._freed()
            self._audit.note(
                asked.call, asked.decision, time=self._clock(), latency=time.perf_counter() - asked.began,
                agent=asked.agent, answer=answer,
                outcome=("allow" if allowed else "deny", info["method"], info["reason"]),
            )  # fmt: skip
            edited = info.pop("modified_args", None)
            verdict: Verdict | BaseException = Verdict(allowed, edited if allowed else None, info)
        except Exception as error:  # noqa: BLE001 -- as in put
            verdict = error
        for other in freed:
            other.inbox.decide(other.approval.id, Answer("yes", None, "policy"))
            for channel in (self._channels or {}).values():
                channel.withdraw(other.approval.id)  # now, before it shows its next question
        asked.answered(verdict)

    def _act(self, asked: Question, answer: Answer) -> tuple[bool, dict[str, Any]]:
        info: dict[str, Any] = {"rule": None, "request_id": asked.approval.id}
        if asked.rejudged is not None:
            again = asked.rejudged
            return True, {**info, "reason": again.reason, "method": again.method, "rule": again.rule}
        choice = read_choice(answer)
        if choice.word in ("yes", "once"):
            return True, {**info, "reason": "you allowed it", "method": "user_approved"}
        if choice.word in ("always", "never"):
            return self._remember(asked, choice, info)
        if choice.word in ("turn", "idle", "all"):
            self.suspensions.suspend(asked.agent, choice.word)  # type: ignore[arg-type]  # just tested
            return True, {**info, **_suspended(choice.word)}
        if choice.word == "edit":
            edited = {"was_edited": True, "modified_args": choice.value}
            return True, {**info, "reason": "you edited it", "method": "user_approved", **edited}
        if choice.word == "comment":
            return False, {**info, "reason": str(choice.value), "method": "user_comment", "comment": str(choice.value)}
        hint = f"; to allow it, answer 'always' or add the rule: {asked.approval.offered_rule}"
        methods = {"timeout": "timeout", "no_channel": "no_channel", "error": "error"}
        told = {"timeout": "nobody answered in time", "no_channel": "there is nobody to ask", "error": "asking failed"}
        reason = f"{told.get(choice.word, 'you said no')} ({asked.approval.reason}){hint}"
        return False, {**info, "reason": reason, "method": methods.get(choice.word, "user_denied")}

    def _remember(self, asked: Question, choice: Choice, info: dict[str, Any]) -> tuple[bool, dict[str, Any]]:
        verdict: Literal["allow", "deny"] = "allow" if choice.word == "always" else "deny"
        if verdict == "allow" and (asked.decision.method == "ask_rule" or not asked.own):
            # An ask rule comes before every grant, and no grant answers what another plugin asks.
            reason = f"you allowed it this time: {asked.decision.reason}"
            return True, {**info, "reason": reason, "method": "user_approved"}
        rules = (asked.call.name,) if choice.whole_tool else asked.offer.rules
        lasting = (verdict, choice.scope, None, None)
        known = {
            (grant.kind, grant.rule, grant.digest)
            for grant in self._grants.about(asked.call.name, asked.agent)
            if (grant.verdict, grant.scope, grant.expires, grant.uses_left) == lasting
        }
        grants = [self._grant(asked, choice, verdict, rule) for rule in rules]
        self._grants.add(*(grant for grant in grants if (grant.kind, grant.rule, grant.digest) not in known))
        rule = "; ".join(rules)
        if verdict == "deny":
            return False, {**info, "reason": f"you said never to {rule}", "method": "session_blacklist", "rule": rule}
        method = "session_whitelist" if choice.scope == "session" else "grant"
        return True, {**info, "reason": f"you allowed {rule} ({choice.scope})", "method": method, "rule": rule}

    def _grant(self, asked: Question, choice: Choice, verdict: Literal["allow", "deny"], rule: str) -> Grant:
        now = self._clock()
        kind = "tool" if choice.whole_tool else asked.offer.kind
        return Grant(
            new_grant_id(), asked.call.name, verdict, kind, rule, choice.scope,
            digest=arguments_digest(asked.approval.arguments) if kind == "call" else "",
            project=self.policy.places.project if self.policy is not None else "",
            definition_hash=asked.definition[0], definition=asked.definition[1], created=now,
            expires=now + choice.seconds if choice.seconds is not None else None,
            # This call is the first of them.
            uses_left=choice.times - 1 if choice.times is not None else None,
            agent=asked.agent,
        )  # fmt: skip

    def _freed(self) -> list[Question]:
        """The questions that need no answer any more, now that there is a lasting one."""
        freed = []
        for other in self._open.values():
            if other.rejudged is None:
                other.rejudged = self._judge_again(other)
                if other.rejudged is not None:
                    freed.append(other)
        return freed

    def _judge_again(self, asked: Question) -> Decision | None:
        """The decision that lets a waiting call of the policy's own run now, if there is one."""
        policy = self.policy
        if policy is None or not asked.own:
            return None
        skipped = self.suspensions.skips(asked.agent, asked.decision, policy)
        if skipped is not None:
            told = _suspended(skipped)
            return Decision("allow", told["reason"], told["method"])
        view = GrantView(self._grants, asked.agent, lambda: asked.definition[0])
        args = copy_arguments(asked.call.arguments)
        decision = policy.decide(asked.call.name, args, grants=view, argument_kinds=asked.kinds, cwd=os.getcwd())  # noqa: PTH109 -- the folder that the first judgement was made for
        if decision.verdict != "allow":
            return None
        return decision if self._grants.use(self._grants.counted(asked.call.name, decision, asked.agent)) else None


def agent_of(context: Mapping[str, Any] | None) -> str | None:
    """Who calls, as the caller's context says."""
    agent = (context or {}).get("agent")
    return agent if isinstance(agent, str) else None


def _suspended(kind: str) -> dict[str, str]:
    return {"reason": f"you allowed everything ({kind})", "method": METHODS[kind]}


def _definition_text(tool: Any) -> str:
    definition = tool.definition
    return f"{definition.name}\n{definition.description}\n{to_text(definition.input_schema)}"


def _nothing() -> None:
    pass
