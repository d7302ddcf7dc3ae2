"""What a surface shows of the policy: the grants, why a call is decided as it is, and what a rule would change."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from executor.errors import PermissionConfigError
from executor_permissions._plugin import PermissionPlugin
from executor_permissions._replay import replay
from executor_permissions.ask._offer import as_patterns
from executor_permissions.commands import _covers
from executor_permissions.commands._explain import lets_run, mend
from executor_permissions.commands._reading import read_as
from executor_permissions.judge.rules._scene import CallInfo
from executor_permissions.store._grants import GrantView
from executor_permissions.store._load import Policy, default_state_dir, find_project, key_of, load_effective
from executor_permissions.store._trust import Trust

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_UNKNOWN: Mapping[str, str] = {}  # the definitions of tools: they are known where the calls are made


class Desk:
    """
    The policy as a person looks at it, beside whoever judges by it. Nothing is asked, used up or run.

    Args:
        folder: Whose project's policy holds where a call says nothing of its own; default: the working folder.
        session_id: As for `PermissionPlugin`.

    Raises:
        PermissionConfigError: From every method but `grants` and `revoke`: the policy does not load.
    """

    def __init__(self, folder: str | Path | None = None, *, session_id: str = "") -> None:
        self._folder = Path(folder) if folder is not None else Path.cwd()
        self._session = session_id

    @property
    def grants_file(self) -> Path:
        """Where the lasting grants are: when it changes, `grants` has."""
        return default_state_dir() / "grants.json"

    # What was answered.

    def grants(self) -> list[dict[str, Any]]:
        """The grants of this user that outlive their process, of every project and terminal, newest first."""
        return [grant.to_dict() for grant in reversed(self._plugin().grants.kept())]

    def revoke(self, grant_id: str) -> bool:
        """End a grant. Returns whether there was one of this id."""
        return self._plugin().grants.revoke(grant_id)

    def _plugin(self) -> PermissionPlugin:
        return PermissionPlugin(terminal=False, session_id=self._session, project_root=find_project(self._folder))

    # What is decided.

    def explain(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """
        Why a call would be allowed, asked about or forbidden now, by what was answered and said for the session too.

        Returns:
            ``{"decision", "reason", "where", "parts"}``; a part is ``{"text", "decision", "reason", "method", "rule",
            "where", "mend"}``, ``where`` is ``FILE:LINE``, ``mend`` the command that would change it.
        """
        plugin, info = self._plugin(), CallInfo(str(self._folder))
        policy = plugin.policy
        assert policy is not None, "it has just been loaded"
        decision = policy.decide(tool, dict(arguments), info, grants=GrantView(plugin.grants, None, _UNKNOWN.get))
        parts = [
            {
                "text": part.text or tool, "decision": part.verdict, "reason": part.reason, "method": part.method,
                "rule": part.rule, "where": plugin.where(part),
            }
            for part in decision.parts
        ]  # fmt: skip
        for part in parts:
            part["mend"] = mend(part, (), partial(lets_run, policy, tool, arguments, info))
        told = {"decision": decision.verdict, "reason": decision.reason, "where": plugin.where(decision)}
        return {**told, "parts": parts}

    def read_rule(self, rule: str, call: tuple[str, Mapping[str, Any], str] | None = None) -> dict[str, Any]:
        """
        How a rule of the whitelist is read.

        Args:
            call: A tool, its arguments and its folder, to say whether the rule is about that.

        Returns:
            ``{"means", "covers", "problems", "decides"}``: in words, or "" where it is no rule; what it also covers
            that its author may not have in mind, or ""; what is wrong with it; whether the call would run by it, or
            None.
        """
        if call is not None:  # what is kept of an answer is about commands, whatever tool has such a name
            rule = as_patterns((rule,))[0]
        key = key_of(rule)
        try:
            alone = Policy.from_dict({"whitelist": {key: [rule]}})
        except PermissionConfigError as error:
            return {"means": "", "covers": "", "problems": [error.message], "decides": False if call else None}
        told = {
            "means": read_as("whitelist", key, rule),
            "covers": _covers.told(Policy.from_dict({}), alone),
            "problems": list(alone.problems),
        }
        return {**told, "decides": self._would_allow(rule, call) if call is not None else None}

    def _would_allow(self, rule: str, call: tuple[str, Mapping[str, Any], str]) -> bool:
        tool, arguments, folder = call
        policy = self._policy(Path(folder)).varied(allow=(rule,))
        return policy.decide(tool, dict(arguments), CallInfo(folder)).verdict == "allow"

    def would_allow(self, rule: str, records: Iterable[Mapping[str, Any]]) -> list[bool]:
        """
        For each record of a ledger: whether it is a call that *rule*, put in the whitelist, would have let run unasked,
        and the policy as it is would not.

        Raises:
            PermissionConfigError: It is no rule.
        """
        policy = self._policy(self._folder)
        varied = policy.varied(allow=(rule,))
        return [self._runs(record, varied) and not self._runs(record, policy) for record in records]

    @staticmethod
    def _runs(record: Mapping[str, Any], policy: Policy) -> bool:
        """Whether the call of a record of a judgement runs by *policy*."""
        refused = {**record, "allowed": False}
        return any(change["after"] == "allow" for change in replay([refused], policy))

    @staticmethod
    def _policy(folder: Path) -> Policy:
        state = default_state_dir()
        return load_effective(None, find_project(folder), state_dir=state, is_trusted=Trust(state).is_trusted)
