"""`PermissionPlugin`: the policy, the grants and the suspensions, and the person who is asked about the rest."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from executor import Decision, ToolCall, Verdict, current_call
from executor.approval import (
    Answer,
    Approval,
    Inbox,
    TerminalChannel,
    copy_arguments,
    keyed_digest,
    mask,
    new_approval_id,
    to_text,
)
from executor_permissions.ask._answers import Choice, read_choice
from executor_permissions.ask._channels import CallbackChannel, make_channel
from executor_permissions.ask._offer import offer
from executor_permissions.ask._question import Question, Recording
from executor_permissions.ask._show import difference, question
from executor_permissions.judge._rules import Placeholders
from executor_permissions.store import _load
from executor_permissions.store._grants import Grant, GrantBook, GrantView, arguments_digest, new_grant_id
from executor_permissions.store._load import Policy
from executor_permissions.store._trust import Trust

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from executor import Channel

Suspension = Literal["turn", "idle", "all"]
ASK_SECONDS = 300.0  # how long a question waits for a person, unless the policy says otherwise
OPTIONS = ("yes", "no", "once", "always", "never", "turn", "idle", "all", "comment", "edit")
AUDIT_LIMIT = 1000
_MAX_EDITS = 5
_METHODS: dict[str, str] = {"turn": "turn_suspension", "idle": "idle_suspension", "all": "allow_all"}


class PermissionPlugin:
    """
    Decides about calls: by the policy, by what people have answered before, or by asking.

    `_lock` guards the suspensions, the open questions and the audit. Grants are written and channels are shown a
    question under it, so that an answer is acted upon before the next question is shown; nobody is waited for.

    Args:
        config_path: The policy file. Default: ``TOOLEXEC_PERMISSIONS``, else the user's own file, else ask about all.
        channel_type: Where people are asked: console, callback, queue, file, webhook, none; beats the file's.
        policy: A `Policy`, or the content of a file, instead of a file.
        project_root: Default: the nearest folder upwards that looks like a project.
        home: What ``~`` stands for.
        channel: A `Channel`, or a function ``fn(approval) -> answer``; beats *channel_type*.
        state_dir: Where lasting grants are kept.

    Raises:
        PermissionConfigError: The policy could not be loaded: nothing may run on it.
    """

    def __init__(
        self,
        config_path: str | Path | None = None,
        channel_type: str | None = None,
        *,
        policy: Policy | Mapping[str, Any] | None = None,
        project_root: str | Path | None = None,
        home: str | Path | None = None,
        channel: Channel | Callable[[Approval], object] | None = None,
        state_dir: str | Path | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._lock = threading.RLock()
        self._clock = clock
        self._suspended: dict[str | None, set[Suspension]] = {}
        self._questions: dict[str, Question] = {}
        self._asking: deque[Decision] = deque(maxlen=AUDIT_LIMIT)  # our decisions to ask that may yet be put
        self._audit: deque[dict[str, Any]] = deque(maxlen=AUDIT_LIMIT)
        self._own_inbox: Inbox | None = None
        self._policy: Policy | None = None
        folder = Path(state_dir) if state_dir is not None else _load.default_state_dir()
        self.trusted = Trust(folder)
        root = Path(project_root) if project_root is not None else _load.find_project()
        self._policy = self._load_policy(config_path, policy, root, home, folder)
        places = self._policy.places
        self.grants = GrantBook(folder, Placeholders(places.project, places.home), clock)
        self._channels = self._choose_channel(channel, channel_type)
        self._timeout = float(self._policy.channel.get("timeout", ASK_SECONDS))

    def _load_policy(
        self,
        config_path: str | Path | None,
        policy: Policy | Mapping[str, Any] | None,
        root: Path,
        home: str | Path | None,
        folder: Path,
    ) -> Policy:
        if isinstance(policy, Policy):
            return policy
        if policy is not None:
            return Policy.from_dict(policy, project_root=root, home=home, state_dir=folder)
        return _load.load_effective(config_path, root, home=home, state_dir=folder, is_trusted=self.trusted.is_trusted)

    def _choose_channel(
        self, channel: Channel | Callable[[Approval], object] | None, channel_type: str | None
    ) -> dict[str, Channel] | None:
        """The surfaces to ask on, by name; None for those of the executor's inbox, else the terminal."""
        settings = self._policy.channel if self._policy is not None else {}
        if channel is not None:
            return {"callback": channel if hasattr(channel, "ask") else CallbackChannel(channel)}  # type: ignore[dict-item]  # either form
        name = channel_type or settings.get("type")
        if name is None:
            return None
        return make_channel(name, settings)

    # What a host calls.

    @property
    def policy(self) -> Policy | None:
        """The policy in force; None after `shutdown`."""
        return self._policy

    def check_permission(
        self,
        name: str,
        args: Mapping[str, Any] | None,
        context: Mapping[str, Any] | None = None,
        call_id: str | None = None,
    ) -> tuple[bool, dict[str, Any]]:
        """
        Judge one call, asking a person if need be.

        Returns:
            Whether it may run, and ``{"reason", "method", "rule", "request_id", "was_edited"?, "modified_args"?,
            "comment"?}``.
        """
        try:
            arguments = copy_arguments(args)
        except Exception as error:  # noqa: BLE001 -- whatever they are, they are no arguments
            return False, {"reason": str(error), "method": "invalid", "rule": None, "request_id": call_id}
        edited = False
        for _ in range(_MAX_EDITS):
            call = ToolCall(call_id or new_approval_id(), name, arguments)
            decision = self.decide(call, context)
            if decision.verdict != "ask":
                allowed = decision.verdict == "allow"
                info: dict[str, Any] = {"reason": decision.reason, "method": decision.method, "rule": decision.rule}
                break
            verdict = self._ask(call, decision, context)
            allowed, info = verdict.allowed, dict(verdict.info or {})
            if not allowed or verdict.arguments is None:
                break
            arguments, edited = copy_arguments(verdict.arguments), True
        else:
            allowed, info = False, {"reason": "it was edited too often", "method": "invalid", "rule": None}
        info.setdefault("request_id", call_id)
        if edited:
            info.update(was_edited=True, modified_args=arguments)
        return allowed, info

    def decide(self, call: ToolCall, context: Mapping[str, Any] | None = None) -> Decision:
        """The first step: what the policy and the grants say. Asks nobody, and never raises."""
        started = time.perf_counter()
        decision = self._judge(call, context)
        if decision.verdict == "allow" and decision.method in ("session_whitelist", "grant"):
            rules = [decision.rule or "", *(part.rule or "" for part in decision.parts)]
            self.grants.use(call.name, rules, _agent(context))
        if decision.verdict == "ask":
            self._asking.append(decision)
        self._note(call, context, decision.verdict, decision.method, decision.reason, decision, started=started)
        return decision

    def ask(self, call: ToolCall, decision: Decision) -> Verdict:
        """The second step: put *decision* to a person, unless somebody has said not to be asked for now."""
        return self._ask(call, decision, None)

    def end_turn(self) -> None:
        """The model's turn is over: ``turn`` ends."""
        self._resume("turn")

    def became_idle(self) -> None:
        """The assistant waits for its user: ``turn`` and ``idle`` end."""
        self._resume("turn", "idle")

    def new_session(self) -> None:
        """Another conversation: every suspension and every grant of the session ends."""
        self._resume("turn", "idle", "all")
        self.grants.end_session()

    def shutdown(self) -> None:
        """Deny everything from now on."""
        self._policy = None
        self.new_session()

    def suspensions(self) -> dict[str | None, tuple[Suspension, ...]]:
        """Which questions are skipped for now, by agent."""
        with self._lock:
            return {agent: tuple(sorted(kinds)) for agent, kinds in self._suspended.items() if kinds}

    def audit(self) -> list[dict[str, Any]]:
        """The newest decisions and answers, secrets masked."""
        with self._lock:
            entries = list(self._audit)
        return [
            {
                **{
                    key: mask(value) if isinstance(value, str) else value
                    for key, value in entry.items()
                    if key != "context"
                },
                "args": mask(entry["args"]),
                "args_sha256": keyed_digest(entry["args"] or {}),
            }
            for entry in entries
        ]

    def trust_project(self) -> bool:
        """
        Let the project's own policy file allow things, as long as its content stays as it is; load it.

        Returns:
            Whether there is such a file.
        """
        policy = self._policy
        if policy is None:
            return False
        path = Path(policy.places.project) / _load.PROJECT_FOLDER / _load.FILE_NAME
        if not path.exists():
            return False
        self.trusted.trust(Path(policy.places.project), _load.read_source(path).digest)
        return True

    # Judging.

    def _judge(self, call: ToolCall, context: Mapping[str, Any] | None) -> Decision:
        policy = self._policy
        if policy is None:
            return Decision("deny", "The permission plugin is not initialised, or was shut down", "not_initialized")
        try:
            current = current_call()
            tool = current.tool if current is not None and current.tool is not None else None
            if tool is not None and tool.id != call.name:
                tool = None
            cwd = os.getcwd()  # noqa: PTH109 -- a call of every judgement
            self.grants.refresh()
            view = None
            if self.grants.concerns(call.name):
                view = GrantView(
                    self.grants, _agent(context), lambda: tool.definition_hash if tool is not None else None
                )
            return policy.decide(
                call.name,
                call.arguments,  # type: ignore[arg-type]  # what is no object is refused there
                argument_kinds=tool.argument_kinds if tool is not None else None,
                # What a server says about its own tools is not to be trusted.
                read_only=not call.name.startswith("mcp__")
                and bool(tool is not None and tool.annotations and tool.annotations.read_only),
                grants=view,
                cwd=cwd,
                resolve=current.resolve_path if current is not None and tool is not None else None,
            )
        except Exception as error:  # noqa: BLE001 -- a gate that fails is shut
            return Decision("deny", f"The permission plugin failed ({type(error).__name__}: {error})", "error")

    # Asking.

    def _ask(self, call: ToolCall, decision: Decision, context: Mapping[str, Any] | None) -> Verdict:
        policy = self._policy
        if policy is None:
            return _refusal("The permission plugin is not initialised, or was shut down", "not_initialized")
        current = current_call()
        if context is None:
            context = self._context_of(call.id)
        agent = _agent(context)
        skipped = self._skips(agent, decision)
        if skipped is not None:
            return Verdict(
                True, None, {"reason": f"you allowed everything ({skipped})", "method": _METHODS[skipped], "rule": None}
            )
        asked = self._open(call, decision, context, policy)
        asked.own = any(decision is ours for ours in list(self._asking))
        started = time.perf_counter()
        answer = None
        try:
            # Somebody may have answered "always" between the two steps.
            asked.rejudged = self._judge_again(asked) if asked.own else None
            answer = self._put(asked, current) if asked.rejudged is None else Answer("yes", None, "policy")
            allowed, info = self._settle(asked, answer)
        finally:
            with self._lock:
                self._questions.pop(asked.approval.id, None)
        self._note(
            call,
            context,
            "allow" if allowed else "deny",
            info["method"],
            info["reason"],
            decision,
            answer=answer,
            started=started,
        )
        edited = info.pop("modified_args", None)
        return Verdict(allowed, edited if allowed else None, info)

    def _context_of(self, call_id: str) -> Mapping[str, Any] | None:
        """The context that `decide` was given for this call: the second step is not told it again."""
        with self._lock:
            for entry in reversed(self._audit):
                if entry["call_id"] == call_id:
                    context: Mapping[str, Any] | None = entry["context"]
                    return context
        return None

    def _open(self, call: ToolCall, decision: Decision, context: Mapping[str, Any] | None, policy: Policy) -> Question:
        args = copy_arguments(call.arguments)
        current = current_call()
        tool = current.tool if current is not None and current.tool is not None else None
        is_shell = (
            policy.is_shell_tool(call.name) or "shell" in ((tool.argument_kinds if tool else None) or {}).values()
        )
        offered = offer(call.name, args, decision.parts, is_shell=is_shell, home=policy.places.home)
        definition = (tool.definition_hash, _definition_text(tool)) if tool is not None else (None, "")
        agent = _agent(context)
        details = {
            "folder": os.getcwd(),  # noqa: PTH109 -- as in _judge
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
        kinds = tool.argument_kinds if tool is not None else None
        asked = Question(approval, ToolCall(call.id, call.name, args), decision, offered, definition, agent, kinds)
        with self._lock:
            self._questions[approval.id] = asked
        return asked

    def _changed(self, tool: str, agent: str | None, definition: tuple[str | None, str]) -> str:
        for grant in self.grants.about(tool, agent):
            if grant.verdict == "allow" and grant.definition and grant.definition_hash != definition[0]:
                return difference(grant.definition, definition[1])
        return ""

    def _put(self, asked: Question, current: Any) -> Answer:
        """Ask, on the surfaces that were chosen, else on those of the executor, else on the terminal."""
        inbox = asked.inbox = current.host.approvals if current is not None else self._inbox()
        cancel = current.token if current is not None else None
        recording = {
            name: Recording(self._settle, self._lock, asked, name, channel)
            for name, channel in (self._channels or {}).items()
        }
        answer: Answer = inbox.ask(
            asked.approval,
            channels=recording if self._channels is not None else None,
            timeout=self._timeout,
            cancel=cancel,
        )
        if answer.word == "no_channel" and self._channels is None:
            console = {"console": Recording(self._settle, self._lock, asked, "console", TerminalChannel())}
            answer = inbox.ask(asked.approval, channels=console, timeout=self._timeout, cancel=cancel)
        return answer

    def _inbox(self) -> Inbox:
        """The inbox of a plugin that is used without an executor."""
        with self._lock:
            if self._own_inbox is None:
                self._own_inbox = Inbox()
            return self._own_inbox

    @property
    def approvals(self) -> Inbox:
        """The questions that wait for a person, where no executor has them."""
        return self._inbox()

    def _settle(self, asked: Question, answer: Answer) -> tuple[bool, dict[str, Any]]:
        """Act on an answer: once a question, also when it came twice."""
        with self._lock:
            if asked.settled is None:
                asked.settled = self._act(asked, answer)
                # Questions that wait are judged again: "always" may have answered them too.
                if answer.word in ("always", "turn", "idle", "all"):
                    self._answer_others(asked)
            allowed, info = asked.settled
        return allowed, dict(info)

    def _act(self, asked: Question, answer: Answer) -> tuple[bool, dict[str, Any]]:
        info: dict[str, Any] = {"rule": None, "request_id": asked.approval.id}
        reason = asked.approval.reason
        if asked.rejudged is not None:
            again = asked.rejudged
            return True, {**info, "reason": again.reason, "method": again.method, "rule": again.rule}
        choice = read_choice(answer)
        if choice.word in ("yes", "once"):
            return True, {**info, "reason": "you allowed it", "method": "user_approved"}
        if choice.word in ("always", "never"):
            return self._remember(asked, choice, info)
        if choice.word in ("turn", "idle", "all"):
            self._suspended.setdefault(asked.agent, set()).add(choice.word)  # type: ignore[arg-type]  # just tested
            return True, {**info, "reason": f"you allowed everything ({choice.word})", "method": _METHODS[choice.word]}
        if choice.word == "edit":
            return True, {
                **info,
                "reason": "you edited it",
                "method": "user_approved",
                "was_edited": True,
                "modified_args": choice.value,
            }
        hint = f"; to allow it, answer 'always' or add the rule: {asked.approval.offered_rule}"
        if choice.word == "comment":
            return False, {**info, "reason": str(choice.value), "method": "user_comment", "comment": str(choice.value)}
        methods = {"timeout": "timeout", "no_channel": "no_channel", "error": "error"}
        told = {"timeout": "nobody answered in time", "no_channel": "there is nobody to ask", "error": "asking failed"}
        said = told.get(choice.word, "you said no")
        return False, {**info, "reason": f"{said} ({reason}){hint}", "method": methods.get(choice.word, "user_denied")}

    def _remember(self, asked: Question, choice: Choice, info: dict[str, Any]) -> tuple[bool, dict[str, Any]]:
        verdict: Literal["allow", "deny"] = "allow" if choice.word == "always" else "deny"
        policy = self._policy
        if verdict == "allow" and (asked.decision.method == "ask_rule" or not asked.own):
            # An ask rule comes before every grant, and no grant answers what another plugin asks.
            reason = f"you allowed it this time: {asked.decision.reason}"
            return True, {**info, "reason": reason, "method": "user_approved"}
        rules, kind = asked.offer.rules, asked.offer.kind
        if choice.whole_tool:
            rules, kind = (asked.call.name,), "tool"
        now = self._clock()
        grants = [
            Grant(
                new_grant_id(), asked.call.name, verdict, kind, rule, choice.scope,
                digest=arguments_digest(asked.approval.arguments) if kind == "call" else "",
                project=policy.places.project if policy is not None else "",
                definition_hash=asked.definition[0], definition=asked.definition[1], created=now,
                expires=now + choice.seconds if choice.seconds is not None else None,
                # This call is the first of them.
                uses_left=choice.times - 1 if choice.times is not None else None,
                agent=asked.agent,
            )
            for rule in rules
        ]  # fmt: skip
        lasting = (verdict, choice.scope, None, None)
        known = {
            (grant.kind, grant.rule, grant.digest)
            for grant in self.grants.about(asked.call.name, asked.agent)
            if (grant.verdict, grant.scope, grant.expires, grant.uses_left) == lasting
        }
        self.grants.add(*(grant for grant in grants if (grant.kind, grant.rule, grant.digest) not in known))
        rule = "; ".join(rules)
        if verdict == "deny":
            return False, {**info, "reason": f"you said never to {rule}", "method": "session_blacklist", "rule": rule}
        method = "session_whitelist" if choice.scope == "session" else "grant"
        return True, {**info, "reason": f"you allowed {rule} ({choice.scope})", "method": method, "rule": rule}

    def _answer_others(self, answered: Question) -> None:
        for other in list(self._questions.values()):
            if other is answered or not other.own or other.settled is not None or other.rejudged is not None:
                continue
            again = self._judge_again(other)
            if again is not None:
                other.rejudged = again
                if other.inbox is not None:
                    other.inbox.decide(other.approval.id, Answer("yes", None, "policy"))
                for channel in (self._channels or {}).values():
                    channel.withdraw(other.approval.id)  # now, before it shows its next question

    def _judge_again(self, asked: Question) -> Decision | None:
        """The decision that lets a waiting call run now, if there is one."""
        policy = self._policy
        if policy is None:
            return None
        skipped = self._skips(asked.agent, asked.decision)
        if skipped is not None:
            return Decision("allow", f"you allowed everything ({skipped})", _METHODS[skipped])
        view = GrantView(self.grants, asked.agent, lambda: asked.definition[0])
        args = copy_arguments(asked.call.arguments)
        decision = policy.decide(asked.call.name, args, grants=view, argument_kinds=asked.kinds, cwd=os.getcwd())  # noqa: PTH109 -- as in _judge
        return decision if decision.verdict == "allow" else None

    # Suspensions.

    def _skips(self, agent: str | None, decision: Decision) -> Suspension | None:
        """Which suspension answers this question; none answers what may be blacklisted, or cannot be judged."""
        if decision.method in ("invalid", "blacklist") or any(part.method == "invalid" for part in decision.parts):
            return None
        policy = self._policy
        if decision.method == "ask_rule" and policy is not None and not policy.asks_by_rule(decision.rule):
            return None
        with self._lock:
            held = self._suspended.get(agent, set())
            return next((kind for kind in ("turn", "idle", "all") if kind in held), None)

    def _resume(self, *kinds: Suspension) -> None:
        with self._lock:
            for held in self._suspended.values():
                held.difference_update(kinds)

    def _note(
        self,
        call: ToolCall,
        context: Mapping[str, Any] | None,
        verdict: str,
        method: str,
        reason: str,
        decision: Decision,
        *,
        answer: Answer | None = None,
        started: float,
    ) -> None:
        entry = {
            "time": self._clock(), "call_id": call.id, "tool": call.name, "args": call.arguments, "context": context,
            "verdict": verdict, "method": method, "reason": reason, "rule": decision.rule, "parts": decision.parts,
            "channel": answer.by if answer is not None else None, "answer": answer.word if answer is not None else None,
            "latency": time.perf_counter() - started, "agent": _agent(context),
        }  # fmt: skip
        with self._lock:
            self._audit.append(entry)


def _agent(context: Mapping[str, Any] | None) -> str | None:
    agent = (context or {}).get("agent")
    return agent if isinstance(agent, str) else None


def _definition_text(tool: Any) -> str:
    definition = tool.definition
    return f"{definition.name}\n{definition.description}\n{to_text(definition.input_schema)}"


def _refusal(reason: str, method: str) -> Verdict:
    return Verdict(False, None, {"reason": reason, "method": method, "rule": None})
