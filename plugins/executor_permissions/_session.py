"""What a host says for a session, in code: rules, the default, and which questions are skipped."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from executor.ownfiles import kept_own, when_kept
from executor_permissions._forked import of_this_process
from executor_permissions.ask._suspensions import EVERYBODY
from executor_permissions.store._sessions import SessionRules

if TYPE_CHECKING:
    from collections.abc import Callable

    from executor_permissions.ask._questions import Questions
    from executor_permissions.ask._suspensions import Everybody, Suspension
    from executor_permissions.store._grants import GrantBook
    from executor_permissions.store._load import Policy
    from executor_permissions.store._sessions import SessionFile

DefaultVerdict = Literal["allow", "ask", "deny"]
_SCOPES: tuple[Suspension, ...] = ("turn", "idle", "all")


class SessionStatus(TypedDict):
    """
    What holds for a session.

    Attributes:
        allow: Rules that were added for it.
        deny: Rules that were added for it; like those of the blacklist nothing outweighs them.
        effective_default: What becomes of a call that no rule is about.
        is_suspended: Whether questions are skipped for whoever calls.
        suspension_scope: ``turn``, ``idle`` or ``all``: until when, or None.
        suspended: The suspensions by agent; ``*`` is everybody.
        grants: What was answered with ``always`` and ``never`` for this session, as JSON objects.
    """

    allow: list[str]
    deny: list[str]
    effective_default: str
    is_suspended: bool
    suspension_scope: str | None
    suspended: dict[str, list[str]]
    grants: list[dict[str, Any]]


class Session:
    """
    Permission for this session, as `PermissionPlugin.session`: what is said here ends with it; it is in no policy file.

    A rule is written as in the policy file: the name of a tool, a pattern for commands, or ``tool(argument=value)``.
    What other processes of the session say holds from the next call on. `_lock` guards the rules.

    Args:
        policy: The policy as loaded.
        questions: What judges by the policy in force.
        grants: Where answers are kept.
        file: For a session of several processes.

    Attributes:
        is_shared: Whether other processes may change what holds.
    """

    def __init__(self, policy: Policy, questions: Questions, grants: GrantBook, file: SessionFile) -> None:
        self._loaded = policy
        self._questions = questions
        self._grants = grants
        self._file = file
        self.is_shared = file.is_shared
        self._rules = SessionRules()
        self._begin()
        of_this_process.add(self)
        self._apply(file.read())
        when_kept(self._protect)
        questions.refresh = self._refresh_all

    def _refresh_all(self) -> None:
        self.refresh()
        self._grants.refresh()

    def _begin(self) -> None:
        self._lock = threading.Lock()  # in the child of a fork a new one: whoever held it is in the parent

    def refresh(self) -> None:
        """
        Take over what another process of the session has said.

        Raises:
            PermissionConfigError, OSError: The file of sessions cannot be read.
        """
        if self._file.has_news():
            with self._lock:
                self._take_news()

    def _protect(self) -> None:
        """There are more files of our own than when the policy was loaded."""
        with self._lock:
            self._apply(self._rules)

    def restore(self, rules: SessionRules) -> None:
        """Put *rules* in force, which `rules` of a plugin in another process were; those of a shared session are."""
        if not self.is_shared:
            with self._lock:
                self._change(lambda _: rules)

    @property
    def rules(self) -> SessionRules:
        """The rules that were added."""
        return self._rules

    def allow(self, rule: str) -> None:
        """Let run what *rule* covers. What the policy forbids, or asks every time, stays so. Raises as `deny`."""
        with self._lock:
            self._change(
                lambda rules: rules._replace(
                    allow=tuple(dict.fromkeys((*rules.allow, rule))),
                    deny=tuple(each for each in rules.deny if each != rule),
                )
            )

    def deny(self, rule: str) -> None:
        """
        Forbid what *rule* is about.

        Raises:
            PermissionConfigError: It is no rule; nothing was changed.
        """
        with self._lock:
            self._change(
                lambda rules: rules._replace(
                    deny=tuple(dict.fromkeys((*rules.deny, rule))),
                    allow=tuple(each for each in rules.allow if each != rule),
                )
            )

    def default(self, verdict: DefaultVerdict | None) -> None:
        """What becomes of calls that no rule is about; None: what the policy says. Raises ValueError for others."""
        if verdict not in (None, "allow", "ask", "deny"):
            raise ValueError(f"{verdict!r} is no default: use 'allow', 'ask', 'deny' or None")
        with self._lock:
            self._change(lambda rules: rules._replace(default=verdict))

    def suspend(self, kind: Suspension = "idle") -> None:
        """
        Skip questions, whoever calls: until the ``turn`` is over, the assistant is ``idle``, or for ``all`` of the
        session. What is forbidden stays so. Raises ValueError for other words.
        """
        if kind not in _SCOPES:
            raise ValueError(f"{kind!r} cannot be suspended: use 'turn', 'idle' or 'all'")
        with self._lock:
            self._change(lambda rules: rules._replace(suspended=kind))

    def resume(self) -> None:
        """Ask again: every suspension ends, those that people have answered with as well."""
        with self._lock:
            self._questions.suspensions.resume(*_SCOPES)
            self._change(lambda rules: rules._replace(suspended=None))

    def clear(self) -> None:
        """Take away the rules, the default and the grants of the session; suspensions stay, see `resume`."""
        with self._lock:
            self._grants.end_session()
            self._change(lambda rules: SessionRules(suspended=rules.suspended))

    def status(self) -> SessionStatus:
        """What holds now. Raises as `refresh`."""
        self.refresh()
        held = self._questions.suspensions.all()
        everybody = {kind for agent, kinds in held.items() if agent in (None, EVERYBODY) for kind in kinds}
        policy = self._questions.policy
        return {
            "allow": list(self._rules.allow),
            "deny": list(self._rules.deny),
            "effective_default": policy.default if policy is not None else "deny",
            "is_suspended": bool(everybody),
            "suspension_scope": next((kind for kind in _SCOPES if kind in everybody), None),
            "suspended": {_shown(agent): list(kinds) for agent, kinds in held.items()},
            "grants": [grant.to_dict() for grant in self._grants.all() if grant.scope == "session"],
        }

    def end(self, *kinds: Suspension) -> None:
        """These suspensions are over."""
        with self._lock:
            self._change(lambda rules: rules._replace(suspended=None) if rules.suspended in kinds else rules)

    def _take_news(self) -> None:
        rules = self._file.read()
        if rules != self._rules:
            self._apply(rules)

    def _change(self, change: Callable[[SessionRules], SessionRules]) -> None:
        """Put in force what *change* makes of the rules, for all processes of the session. `_lock` is held."""
        if self._file.has_news():
            self._take_news()
        if change(self._rules) == self._rules:
            return
        if self.is_shared:
            self._file.update(lambda held: self._apply(change(held)))
        else:
            self._apply(change(self._rules))

    def _apply(self, rules: SessionRules) -> SessionRules:
        """Put *rules* in force here, in the policy first: one that is none changes nothing. Returns *rules*."""
        if self._questions.policy is None:  # shut down: it goes on to deny everything
            self._rules = rules
            return rules
        policy, own = self._loaded, kept_own()
        if rules.allow or rules.deny or rules.default is not None or not own.issubset(policy.places.protected):
            policy = policy.varied(allow=rules.allow, deny=rules.deny, default=rules.default, protect=[*own])  # type: ignore[arg-type]  # one of its words
        self._questions.policy = policy
        suspensions = self._questions.suspensions
        if rules.suspended != self._rules.suspended:
            suspensions.resume(*_SCOPES, agent=EVERYBODY)
        if rules.suspended is not None:
            suspensions.suspend(EVERYBODY, rules.suspended)  # type: ignore[arg-type]  # as above
        self._rules = rules
        return rules


def _shown(agent: str | Everybody | None) -> str:
    """Whose suspension it is, in one word; an agent of everybody's name is put in quotes."""
    if agent is EVERYBODY:
        return EVERYBODY.value
    return repr(agent) if agent == EVERYBODY.value else agent or ""
