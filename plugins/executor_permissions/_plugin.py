"""`PermissionPlugin`: the policy, the grants and the suspensions, and the person who is asked about the rest."""

from __future__ import annotations

import queue
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from executor import Decision, ToolCall, Verdict, current_call
from executor.approval import copy_arguments
from executor.ownfiles import keep_own, kept_own
from executor_permissions._audit import Audit
from executor_permissions._decider import Decider
from executor_permissions._session import Session
from executor_permissions.ask._caller import agent_of, info_of, tool_of
from executor_permissions.ask._choose import choose_channel
from executor_permissions.ask._judged import Judged
from executor_permissions.ask._questions import Questions
from executor_permissions.store import _load, _source
from executor_permissions.store._grants import GrantBook, GrantView
from executor_permissions.store._load import Policy
from executor_permissions.store._sessions import SessionFile
from executor_permissions.store._trust import Trust

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from executor import Approval, Channel, Tool
    from executor.approval import Inbox, Scope
    from executor_permissions.ask._suspensions import Everybody, Suspension
    from executor_permissions.judge.rules._rules import Part
    from executor_permissions.store._grants import Grant
    from executor_permissions.store._sessions import SessionRules

ASK_SECONDS = 300.0  # how long a question waits for a person, unless the policy says otherwise
_MAX_EDITS = 5
_SCOPES: tuple[Scope, ...] = ("session", "project", "user")


class PermissionPlugin:
    """
    Decides about calls: by the policy, by what people have answered before, or by asking.

    Args:
        config_path: The policy file. Default: ``TOOLEXEC_PERMISSIONS``, else the user's own file, else ask about all.
        channel_type: Where people are asked: console, callback, queue, file, webhook, none; beats the file's.
        policy: A `Policy`, or the content of a file, instead of a file.
        project_root: Default: the nearest folder upwards that looks like a project.
        home: What ``~`` stands for in the policy, and in commands beside what ``HOME`` says.
        channel: A `Channel`, or a function ``fn(approval) -> answer``; beats *channel_type*.
        state_dir: Where lasting grants are kept.
        terminal: Whether the plugin may ask on this process's terminal. If not, what would be asked there is asked on
            the surfaces of the executor's inbox alone.
        always: How far ``always`` and ``never`` reach when the answer does not say.
        session_id: Of a session that several processes share, as those of a terminal; its grants and rules are kept in
            *state_dir*. Default: the session is this plugin's life, until `new_session`.

    Attributes:
        session: What a host says for this session: rules, the default, which questions are skipped.

    Raises:
        PermissionConfigError: The policy could not be loaded: nothing may run on it.
        ValueError, TypeError: *always* is no scope, *channel* no channel.
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
        terminal: bool = True,
        always: Scope = "session",
        session_id: str = "",
        clock: Callable[[], float] = time.time,
    ) -> None:
        if always not in _SCOPES:
            raise ValueError(f"always: {always!r} is none of {', '.join(_SCOPES)}")
        self._clock = clock
        self._own = object()
        self._audit = Audit()
        # All of them are those of the folder that the program is in now, wherever it, or its detached calls, go on.
        config_path = _load.named_file(config_path)
        home = Path(home).absolute() if home is not None else None
        folder = Path(state_dir).absolute() if state_dir is not None else _load.default_state_dir()
        self.trusted = Trust(folder)
        root = Path(project_root).absolute() if project_root is not None else _load.find_project()
        loaded = self._load_policy(config_path, policy, root, home, folder)
        channels = choose_channel(channel, channel_type, loaded, folder, terminal=terminal)
        own = {path for each in (channels or {}).values() for path in getattr(each, "protected", ())}
        if not own.issubset(loaded.places.protected):
            loaded = loaded.varied(protect=sorted(own))
        self.grants = GrantBook(folder, loaded.places.marks, clock, session_id)
        self._questions = Questions(
            self._own,
            self.grants,
            self._audit,
            channels=channels,
            terminal=terminal,
            timeout=float(loaded.channel.get("timeout") or ASK_SECONDS),
            scope=always,
            clock=clock,
        )
        self._questions.policy = loaded
        self.session = Session(loaded, self._questions, self.grants, SessionFile(folder, session_id))
        self._decider = Decider(self._own, self._questions, self.grants, self.session)
        self._origin: dict[str, Any] = {
            "config_path": config_path,
            "policy": policy,
            "project_root": root,
            "home": home,
            "state_dir": folder,
            "always": always,
            "session_id": session_id,
        }

    def __reduce__(self) -> tuple[Any, ...]:
        """The process that a call is left to judges by the same policy and answers; it has nobody to ask."""
        own = [grant for grant in self.grants.all() if not grant.kept]
        lasting = [grant for grant in own if grant.uses_left is None or grant.verdict == "deny"]
        made = partial(type(self), **self._origin, terminal=False)
        return _made_anew, (made, self.session.rules.elsewhere(), lasting, kept_own())

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

    # What a host calls.

    @property
    def policy(self) -> Policy | None:
        """The policy in force; None after `shutdown`."""
        return self._questions.policy

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
        from executor.approval import new_approval_id  # the executor's own calls have ids

        info: dict[str, Any]
        edited = False
        for _ in range(_MAX_EDITS):
            call = ToolCall(call_id or new_approval_id(), name, arguments)
            decision = self.decide(call, context)
            if edited and decision.verdict != "deny" and not decision.needs_person:
                allowed, info = True, {"reason": "the user edited it", "method": "user_approved", "rule": None}
                break
            if decision.verdict == "allow" and not self.settle(decision):
                continue
            if decision.verdict != "ask":
                allowed = decision.verdict == "allow"
                info = {"reason": decision.reason, "method": decision.method, "rule": decision.rule}
                break
            verdict = self.ask(call, decision, context)
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
        """
        The first step: what the policy and the grants say. Asks nobody, uses nothing up, and never raises.

        Args:
            context: ``agent``: whose suspensions and grants hold; ``intent``: what the model says it wants.
        """
        started = time.perf_counter()
        current = current_call()
        decision = self._decider.decide(call, context, current)
        latency = time.perf_counter() - started
        if current is None or not current.is_rehearsal:
            agent = agent_of(context) if context else None
            self._audit.note(call, decision, time=self._clock(), latency=latency, agent=agent)
        return decision

    def standing(
        self, call_id: str, tool: Tool, arguments: dict[str, Any], context: Mapping[str, Any] | None
    ) -> Decision | None:
        """
        What `decide` would come to, where that is an allowing decision that is at hand; None: `decide` is to be asked.

        Raises:
            PermissionConfigError, OSError: The grants cannot be read.
        """
        started, name = time.perf_counter(), tool.id
        decision = self._decider.standing(name, tool, arguments)
        if decision is None or decision.verdict != "allow":
            return None
        latency = time.perf_counter() - started
        agent = agent_of(context) if context else None
        call = ToolCall(call_id, name, dict(arguments))  # they are plain: nothing in them can change
        self._audit.note(call, decision, time=self._clock(), latency=latency, agent=agent)
        return decision

    def settle(self, decision: Decision) -> bool:
        """
        A call is run because *decision*, of this plugin's `decide`, allows it: the grants it rests on are used.

        Returns:
            Whether it still holds. Where a grant was used up meanwhile by another call, this one is to be judged anew.
        """
        details = decision.details
        if not isinstance(details, Judged) or details.by is not self._own:
            return True
        policy = self.policy
        if policy is None:
            return False
        limits = self._questions.limits
        return self.grants.use(
            details.grants, partial(limits.use, policy.limits, details.limited, details.conversation)
        )

    def ask(self, call: ToolCall, decision: Decision, context: Mapping[str, Any] | None = None) -> Verdict:
        """
        The second step: put *decision* to a person, and wait; `ask_later` for those who have a thread to wait in.

        Args:
            decision: One of this plugin's own, or another plugin's, which no rule or grant answers.
            context: As in `decide`.
        """
        verdicts: queue.SimpleQueue[Verdict | BaseException] = queue.SimpleQueue()
        take_back = self._questions.put(call, decision, context, verdicts.put)
        try:
            verdict = verdicts.get()
        finally:
            take_back()
        if isinstance(verdict, BaseException):
            raise verdict
        return verdict

    def ask_later(
        self,
        call: ToolCall,
        decision: Decision,
        context: Mapping[str, Any] | None,
        answered: Callable[[Verdict | BaseException], object],
    ) -> None:
        """
        `ask` without a thread that waits: put the question, and return at once.

        Args:
            answered: Called exactly once, from any thread, maybe before this returns: when a person has answered, the
                time has passed, the call was cancelled, or nobody can be reached. It must not block. An exception is
                what kept the verdict from being found: then the call may not run.
        """
        self._questions.put(call, decision, context, answered)

    def end_turn(self, conversation: str | None = None) -> None:
        """
        The model's turn is over: ``turn`` ends.

        Args:
            conversation: Whose calls are counted anew for the policy's ``limits``; None: those of all. A host that
                never says it has a turn of ten minutes.
        """
        self._questions.suspensions.resume("turn")
        self.session.end("turn")
        self._questions.limits.end("turn", conversation=conversation)

    def became_idle(self) -> None:
        """The assistant waits for its user: ``turn`` and ``idle`` end."""
        self._questions.suspensions.resume("turn", "idle")
        self.session.end("turn", "idle")
        self._questions.limits.end("turn")

    def new_session(self) -> None:
        """Another conversation: every suspension and every grant of the session ends."""
        self.session.resume()
        self.session.clear()
        self._questions.limits.end("turn", "session")

    def shutdown(self) -> None:
        """Deny everything from now on."""
        self._questions.policy = None
        self.new_session()

    def suspensions(self) -> dict[str | Everybody | None, tuple[Suspension, ...]]:
        """Which questions are skipped for now, by agent; `Everybody` stands for whoever calls."""
        return self._questions.suspensions.all()

    def audit(self) -> list[dict[str, Any]]:
        """The newest decisions and answers, secrets masked."""
        return self._audit.entries()

    @property
    def channels(self) -> Mapping[str, Channel]:
        """The surfaces of its own, by name: that of the policy file, as the ``queue``, or the one that was given."""
        return self._questions.channels

    @property
    def approvals(self) -> Inbox:
        """The questions that wait for a person, where no executor has them."""
        return self._questions.inbox

    @property
    def has_policy(self) -> bool:
        """Whether a policy file is in force: one that was named, the user's, or a project's."""
        return self.policy is not None and bool(self.policy.files)

    def where(self, decided: Decision | Part) -> str | None:
        """``FILE:LINE`` of the rule that decided, or None: it is of no file, or there is no rule."""
        policy = self.policy
        if policy is None or decided.rule is None:
            return None
        lists = ("ask", "blacklist") if decided.method == "ask_rule" else (decided.method,)
        return next((place for name in lists if (place := policy.origin(name, decided.rule)) is not None), None)

    def rules_that_allow(self, call: ToolCall, decision: Decision) -> tuple[str, ...]:
        """The rules that, added to the whitelist, would let *call* run, which *decision* asks about; maybe none."""
        if self.policy is None:
            return ()
        from executor_permissions.ask._offer import rules_that_allow  # as for a question: it reads shell commands

        current = current_call()
        tool = tool_of(current, call.name)
        known: dict[str, str | None] = {} if tool is None else {tool.id: tool.definition_hash}
        view = GrantView(self.grants, None, known.get)
        return rules_that_allow(self.policy, call, decision, info_of(call.name, current, tool), view)

    def trust_project(self) -> bool:
        """
        Let the project's own policy file allow things, as long as its content stays as it is; load it.

        Returns:
            Whether there is such a file.
        """
        policy = self.policy
        path = _load.project_file(policy.places.project) if policy is not None else None
        if policy is None or path is None or not _load.is_meant(path):
            return False
        self.trusted.trust(Path(policy.places.project), _source.read_source(path).digest)
        return True


def _made_anew(
    make: Callable[[], PermissionPlugin], rules: SessionRules, grants: Sequence[Grant], own: frozenset[str]
) -> PermissionPlugin:
    keep_own(*own)
    plugin = make()
    plugin.session.restore(rules)
    plugin.grants.add(*grants)
    return plugin
