"""The first step: what the policy, the grants and the limits say of a call, without asking anybody."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from executor import Decision
from executor_permissions._boxes import boxed_call
from executor_permissions.ask._caller import about_of, agent_of, conversation_of, info_of, tool_of
from executor_permissions.ask._judged import Judged
from executor_permissions.ask._suspensions import needs_person
from executor_permissions.judge._carriers import CARRIERS
from executor_permissions.judge.rules._limits import beyond, limits_of
from executor_permissions.store._grants import GrantView

if TYPE_CHECKING:
    from collections.abc import Mapping

    from executor import CurrentCall, Tool, ToolCall
    from executor_permissions._session import Session
    from executor_permissions.ask._questions import Questions
    from executor_permissions.store._grants import GrantBook
    from executor_permissions.store._load import Policy
    from executor_permissions.store._sessions import SessionRules

_MOST_STANDING = 512  # tools whose decisions are kept at hand; those of more are made anew each time


class Decider:
    """
    Decides about calls.

    Args:
        own: Stands for the plugin in its decisions; see `Judged`.
        questions: Have the policy in force, and count what has run.
        grants: What people have answered before.
        session: The rules of the session.
    """

    def __init__(self, own: object, questions: Questions, grants: GrantBook, session: Session) -> None:
        self._own = own
        self._questions = questions
        self._grants = grants
        self._session = session
        self._shared = session.is_shared
        self._standing: dict[str, tuple[Policy, Tool | None, SessionRules, Decision]] = {}  # changed in single steps

    def decide(self, call: ToolCall, context: Mapping[str, Any] | None, current: CurrentCall | None) -> Decision:
        """What becomes of *call*, if nobody is asked. Never raises."""
        try:
            if self._shared:
                self._session.refresh()
            policy = self._questions.policy
            if policy is None:
                return Decision("deny", "The permission plugin is not initialised, or was shut down", "not_initialized")
            tool = tool_of(current, call.name)
            standing = self.standing(call.name, tool, call.arguments)
            if standing is not None:
                return standing
            self._grants.refresh()
            if self._grants.concerns(call.name) or call.name in CARRIERS:
                known = {} if tool is None else {tool.id: tool.definition_hash}
                view = GrantView(self._grants, agent_of(context), known.get)
                return self._session.rules.named(self._decided(call, current, policy, tool, view))
            return self._without_grants(call, current, policy, tool)
        except Exception as error:  # noqa: BLE001 -- a gate that fails is shut
            return Decision("deny", f"The permission plugin failed ({type(error).__name__}: {error})", "error")

    def standing(self, name: str, tool: Tool | None, arguments: object) -> Decision | None:
        """
        The decision that is kept for the tool *name*, where it is still what `decide` would come to, or None.

        It rests on the policy, the tool and the rules of the session. None of these ever changes, another one takes its
        place: it stands while they are the very same, no grant is about the tool, and *arguments* need no look.

        Raises:
            PermissionConfigError, OSError: The grants, or the rules of the session, cannot be read.
        """
        kept = self._standing.get(name)
        if kept is None:
            return None
        if self._shared:
            self._session.refresh()
        self._grants.refresh()
        policy, about, rules, decision = kept
        stands = policy is self._questions.policy and about is tool and rules is self._session.rules
        return decision if stands and not self._grants.concerns(name) and policy.is_plain(arguments) else None

    def _without_grants(
        self, call: ToolCall, current: CurrentCall | None, policy: Policy, tool: Tool | None
    ) -> Decision:
        """The decision on a tool that no grant is about: where it depends on the tool alone it is kept."""
        rules = self._session.rules
        fixed = policy.fixed(call.name, call.arguments, tool.argument_kinds if tool is not None else None)
        decision = self._decided(call, current, policy, tool, None, fixed)
        named = rules.named(decision)
        # It is the policy's alone: in no box, and counted by no limit. The kinds of arguments could be written to.
        stands = decision is fixed and (tool is None or (tool.argument_kinds is None and tool.confine is None))
        if stands and (call.name in self._standing or len(self._standing) < _MOST_STANDING):
            self._standing[call.name] = policy, tool, rules, named
        return named

    def _decided(
        self,
        call: ToolCall,
        current: CurrentCall | None,
        policy: Policy,
        tool: Tool | None,
        view: GrantView | None,
        fixed: Decision | None = None,
    ) -> Decision:
        """What the policy says, with the grants of *view*; *fixed* is that where it depends on the tool alone."""
        decision = fixed
        if decision is None:
            decision = policy.decide(
                call.name,
                call.arguments,  # type: ignore[arg-type]  # what is no object is refused there
                info_of(call.name, current, tool),
                grants=view,
            )
        decision = boxed_call(decision, policy, about_of(call), current, tool, view)
        if decision.verdict == "ask":
            return replace(decision, details=Judged(self._own), maybe_denied=needs_person(decision, policy))
        counted = view.counted(decision) if view is not None else ()
        limits = policy.limits if decision.verdict == "allow" else ()
        limited = call.name if limits and limits_of(limits, call.name) else None
        if counted or limited is not None:
            talk, counts = conversation_of(current), self._questions.limits
            reached = counts.reached(limits, limited, talk) if limited is not None else None
            if reached is not None:
                return replace(beyond(reached, decision), details=Judged(self._own))
            decision = replace(decision, details=Judged(self._own, counted, limited, talk))
        return decision
