"""From a call and a decision on it to the question for a person."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from executor import ToolCall, current_call
from executor.approval import Approval, asker_of, copy_arguments, new_approval_id, to_text
from executor_permissions._boxes import kept_boxes
from executor_permissions.ask._caller import about_of, agent_of, conversation_of, info_of, tool_of
from executor_permissions.ask._judged import Judged
from executor_permissions.ask._offer import AsGranted, Bound, Trial, exactly, offer
from executor_permissions.ask._question import Question
from executor_permissions.ask._show import by_severity, difference, question
from executor_permissions.store._grants import GrantView, portable, portable_links

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from executor import Decision, Verdict
    from executor.approval import Inbox, Scope
    from executor_permissions.ask._offer import Offer
    from executor_permissions.judge.rules._scene import CallInfo
    from executor_permissions.store._grants import GrantBook
    from executor_permissions.store._load import Policy

OPTIONS = ("yes", "no", "once", "always", "never", "turn", "idle", "all", "comment", "edit")
_MAX_OFFER = 2000  # characters of what "always" would remember: what is longer, nobody would read
_SCOPES: dict[Scope, str] = {"session": "this session", "project": "this project", "user": "you, in every project"}
_TOO_LONG = "it cannot be answered: the question is too long to be shown whole"
HELP = """\
'always' and 'never' may say for how long: session, project, user, for 1h, 3 times, and tool for the whole tool,
where that runs no commands:
  always project for 8h      never user      always tool 3 times"""


class Composer:
    """
    Makes questions.

    Args:
        own: Stands for the plugin in its decisions; see `Judged`.
        grants: To say what has changed in a tool that was allowed.
        scope: How far ``always`` reaches when it does not say.
        timeout: Seconds that a question waits for a person.
    """

    def __init__(self, own: object, grants: GrantBook, scope: Scope, timeout: float) -> None:
        self._own = own
        self._grants = grants
        self._scope = scope
        self._timeout = timeout

    def compose(
        self,
        call: ToolCall,
        decision: Decision,
        context: Mapping[str, Any] | None,
        policy: Policy,
        inbox: Callable[[], Inbox],
        answered: Callable[[Verdict | BaseException], object],
    ) -> Question:
        """
        The question whether *call* may run.

        Args:
            inbox: Gives the inbox for calls that no executor makes.
            answered: Takes the verdict, once.
        """
        args = copy_arguments(call.arguments)
        current = current_call()
        tool = tool_of(current, call.name)
        info = info_of(call.name, current, tool)
        asked = ToolCall(call.id, call.name, args)
        about = about_of(asked)
        known = tool if about is asked else None
        definition = (known.definition_hash, _definition_text(known)) if known is not None else (None, "")
        agent = agent_of(context)
        commands = policy.is_shell_tool(about.name, info.kinds)
        view = GrantView(self._grants, agent, {about.name: definition[0]}.get)
        offered, trial = _offered(policy, asked, about, decision, info, view)
        bound = _bound(policy, asked, offered, info)
        if bound is not None and trial is not None:
            bound = _where(bound, offered, trial, policy.places.project)
        boxes = [decision.confine.name] if decision.confine is not None else []
        if commands and bound is not None:
            again = policy.decide(call.name, copy_arguments(args), info, grants=trial) if trial is not None else None
            boxes = list(filter(None, dict.fromkeys(kept_boxes(decision, policy, offered.rules, again).values())))
        reason, parts = _reason(decision), decision.parts
        changed = self._changed(about.name, agent, definition)
        told = {name: text for name, text in _circumstances(call.name, info.cwd or "", agent, context, changed) if text}
        whole = len(offered.text) <= _MAX_OFFER and question(call.name, args, reason, parts, details={}).whole
        details = told | (
            self._lasting(about.name, decision, offered, bound, boxes, commands=commands)
            if whole
            else {"always": _TOO_LONG}
        )
        approval = Approval(
            new_approval_id(),
            call.name,
            args,
            reason,
            decision.parts,
            text=question(
                call.name, args, reason, parts, details=details, kinds=info.kinds, declared=_declared(tool)
            ).text,
            offered_rule=offered.text if whole else None,
            deadline=time.time() + self._timeout,
            options=OPTIONS if whole else tuple(word for word in OPTIONS if word != "always"),
            asker=asker_of(context, conversation_of(current)),
            help=HELP,
            details=told | self._reach(decision) if whole else told,
            rules=self._editable(decision, offered) if whole else {},
        )
        return Question(
            approval, asked, about, decision, offered, definition, agent, info, commands,
            own=self._is_own(decision),
            inbox=current.host.approvals if current is not None else inbox(),
            cancel=current.token if current is not None else None,
            answered=answered, began=time.perf_counter(), bound=bound, conversation=conversation_of(current),
        )  # fmt: skip

    def _lasting(
        self,
        tool: str,
        decision: Decision,
        offered: Offer,
        bound: Bound | None,
        boxes: Iterable[str],
        *,
        commands: bool,
    ) -> dict[str, str]:
        """What is said of ``always``, which keeps these *boxes*."""
        shell = offered.kind == "shell"
        always, never = ("\n".join(each) if shell else offered.text for each in (offered.rules, offered.never))
        holds = {"always is for": f"{_SCOPES[self._scope]} (unless it says more: 'always user', 'always for 1h')"}
        if not self._is_own(decision):
            return {"always": "it is asked every time, by another plugin", "never would remember": never}
        folders = {folder for each in (bound.folders if bound is not None else {}).values() for folder in each}
        if folders:
            holds["always holds in"] = ", ".join(sorted(folders))
        if decision.confine is not None and boxes:
            holds["what always lets through runs in the box"] = ", ".join(boxes)
        if decision.method == "ask_rule":
            return {"always": "it is asked every time, by a rule of the policy", "never would remember": never}
        if bound is None:
            whole = {} if commands else {"always tool would remember": f"every call of {tool} that is clear"}
            return {"always": f"it is asked every time: {decision.reason}", "never would remember": never, **whole}
        if not commands:
            holds = {"always tool would remember": f"every call of {tool}", **holds}
        if always == never:
            return {"always/never would remember": always, **holds}
        return {"always would remember": always, "never would remember": never, **holds}

    def _editable(self, decision: Decision, offered: Offer) -> dict[str, tuple[str, ...]]:
        """The rules in place of which a person may write others: those for commands."""
        if offered.kind != "shell":
            return {}
        lasts = self._is_own(decision) and decision.method != "ask_rule"
        return {"always": offered.rules, "never": offered.never} if lasts else {"never": offered.never}

    def _reach(self, decision: Decision) -> dict[str, str]:
        """How far ``always`` goes when the answer does not say, where it lasts at all."""
        lasts = self._is_own(decision) and decision.method != "ask_rule"
        return {"always is for": _SCOPES[self._scope]} if lasts else {}

    def _is_own(self, decision: Decision) -> bool:
        return isinstance(decision.details, Judged) and decision.details.by is self._own

    def _changed(self, tool: str, agent: str | None, definition: tuple[str | None, str]) -> str:
        for grant in self._grants.about(tool, agent):
            if grant.verdict == "allow" and grant.definition and grant.definition_hash != definition[0]:
                return difference(grant.definition, definition[1])
        return ""


def _circumstances(
    tool: str, folder: str, agent: str | None, context: Mapping[str, Any] | None, changed: str
) -> Iterator[tuple[str, str]]:
    """Who calls the tool, and where; empty texts for what is not known."""
    told = context or {}
    yield "folder", folder
    yield "agent", agent or ""
    yield "client", str(told.get("client") or "")
    yield "server", tool.split("__")[1] if tool.startswith("mcp__") and tool.count("__") > 1 else ""
    yield "the model says", str(told.get("intent") or "")
    yield "the tool has changed since you allowed it", changed


def _reason(decision: Decision) -> str:
    """Why a person is asked: because of the worst part, where several have no rule."""
    worst = by_severity(decision.parts)[:1]
    if decision.method == "default" and len(decision.parts) > 1 and worst and worst[0].text:
        return f"{worst[0].text}: {worst[0].reason}"
    return decision.reason


def _offered(
    policy: Policy, call: ToolCall, about: ToolCall, decision: Decision, info: CallInfo, grants: GrantView
) -> tuple[Offer, Trial | None]:
    """Rules for the commands of the call, if they let it run and deny it, and how they were tried; else the call."""
    args, places = copy_arguments(about.arguments), policy.places
    is_shell = policy.is_shell_tool(about.name, info.kinds)
    found = offer(about.name, args, decision.parts, is_shell=is_shell, home=places.home)
    if found.kind != "shell":
        return found, None

    def verdict(trial: Trial) -> str:
        return policy.decide(call.name, copy_arguments(call.arguments), info, grants=trial).verdict

    trial = Trial(found.rules, places, grants)
    lasts = decision.method == "default"
    if (lasts and verdict(trial) != "allow") or verdict(Trial(found.never, places, grants, "deny")) != "deny":
        return exactly(about.name, args), None
    return found, trial if lasts else None


def _where(bound: Bound, offered: Offer, trial: Trial, project: str) -> Bound:
    """*bound* with where the rules hold, and by which links: all but those for a whole sub-command."""
    # What that reads is judged by its words, wherever it runs.
    exact = [rule for rule in offered.rules if not rule.endswith(" *")]
    folders = {rule: portable(trial.folders[rule], project) for rule in exact}
    links = {rule: portable_links(trial.links[rule], project) for rule in exact}
    return bound._replace(folders=folders, links=links)


def _bound(policy: Policy, call: ToolCall, offered: Offer, info: CallInfo) -> Bound | None:
    """What a grant for this very call is bound to; None where it would not let it run."""
    if offered.kind != "call":
        return Bound({}, ())
    granted = AsGranted()
    again = policy.decide(call.name, copy_arguments(call.arguments), info, grants=granted)
    return granted.bound if again.verdict == "allow" else None


def _declared(tool: Any) -> tuple[str, ...]:
    """The arguments that a tool says it has."""
    schema = tool.definition.input_schema if tool is not None else None
    told = schema.get("properties") if isinstance(schema, dict) else None
    return tuple(told) if isinstance(told, dict) else ()


def _definition_text(tool: Any) -> str:
    definition = tool.definition
    return f"{definition.name}\n{definition.description}\n{to_text(definition.input_schema)}"
