"""What holds for a session: in this process alone, or in a file for all processes of one terminal."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from executor.errors import PermissionConfigError
from executor.ownfolders import make_private
from executor.terminalsession import is_open
from executor.wholefiles import locked
from executor_permissions.store._private import is_forgotten, read_private, stamp_of, write_private

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from executor import Decision


class SessionRules(NamedTuple):
    """
    What a host or a person has said for a session.

    Attributes:
        allow: Rules that are added to the whitelist.
        deny: Rules that are added to the blacklist.
        default: In place of the policy's ``defaultPolicy``, or None.
        suspended: Which questions are skipped: ``turn``, ``idle`` or ``all``, or None.
    """

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    default: str | None = None
    suspended: str | None = None

    def elsewhere(self) -> SessionRules:
        """What holds in a process to which nobody says that the turn is over, or the assistant idle."""
        return self if self.suspended == "all" else self._replace(suspended=None)

    def restrictions(self) -> SessionRules:
        """What is left where nobody can take it back any more: what lets nothing run."""
        return SessionRules(deny=self.deny, default=None if self.default == "allow" else self.default)

    def named(self, decision: Decision) -> Decision:
        """*decision*, with the method of a rule of the session where one of these decided."""
        if decision.rule is None or decision.verdict == "ask" or not (self.allow or self.deny):
            return decision
        method, rules = {
            "whitelist": ("session_whitelist", self.allow),
            "blacklist": ("session_blacklist", self.deny),
        }.get(decision.method, ("", ()))
        return replace(decision, method=method) if decision.rule in rules else decision


class SessionFile:
    """
    The rules of the sessions that several processes share: each change is made to what the file holds then.

    A process may go on when its terminal is closed, as a detached call does. Of what was said there only what restricts
    holds from then on.

    Args:
        folder: The state folder.
        session: Of which session; "" keeps nothing.

    Attributes:
        is_shared: Whether other processes may change what holds.
    """

    def __init__(self, folder: Path, session: str) -> None:
        self.is_shared = bool(session)
        self._path = folder / "sessions.json"
        self._session = session
        self._seen: tuple[int, int, int] | None = None
        self._held = SessionRules()

    def has_news(self) -> bool:
        """
        Whether something else holds than when it was last read, or changed, here.

        Raises:
            OSError: That cannot be told.
        """
        return self.is_shared and (stamp_of(self._path) != self._seen or self._in_force(self._held) != self._held)

    def read(self) -> SessionRules:
        """
        What holds; nothing where there is no such file.

        Raises:
            PermissionConfigError: It is damaged. Nobody knows what is forbidden in it.
        """
        if not self.is_shared:
            return SessionRules()
        seen = stamp_of(self._path)
        rules = self._rules(self._content())
        self._seen, self._held = seen, rules
        return rules

    def update(self, change: Callable[[SessionRules], SessionRules]) -> None:
        """
        Keep what *change* makes of the rules that hold, for all processes of the session; nothing where it raises.

        Raises:
            PermissionConfigError: As `read`.
            OSError: It cannot be written.
        """
        now = time.time()
        make_private(self._path.parent)
        with locked(self._path.with_suffix(".lock")):
            content = self._content()
            held = self._rules(content)
            rules = change(held)
            if rules != held:
                old = [key for key, entry in content.items() if is_forgotten(key, entry.get("time", 0), now)]
                for key in (*old, self._session):
                    content.pop(key, None)
                if rules != SessionRules():
                    content[self._session] = {**rules._asdict(), "time": now}
                write_private(self._path, content)
            self._seen, self._held = stamp_of(self._path), rules

    def _content(self) -> dict[str, dict[str, Any]]:
        try:
            content = read_private(self._path)
        except FileNotFoundError:
            return {}
        except ValueError as error:
            raise self._damaged(str(error)) from error
        if not isinstance(content, dict) or not all(isinstance(entry, dict) for entry in content.values()):
            raise self._damaged("it is no object of objects")
        return content

    def _rules(self, content: Mapping[str, Mapping[str, Any]]) -> SessionRules:
        entry = content.get(self._session, {})
        texts = [entry.get(name) or [] for name in ("allow", "deny")]
        default, suspended = entry.get("default"), entry.get("suspended")
        if not all(isinstance(rules, list) and all(isinstance(rule, str) for rule in rules) for rules in texts):
            raise self._damaged("a rule is no text")
        if default not in (None, "allow", "ask", "deny") or suspended not in (None, "turn", "idle", "all"):
            raise self._damaged("a word is not known")
        return self._in_force(SessionRules(tuple(texts[0]), tuple(texts[1]), default, suspended))

    def _in_force(self, rules: SessionRules) -> SessionRules:
        left = rules.restrictions()
        return left if rules != left and is_open(self._session) is False else rules

    def _damaged(self, why: str) -> PermissionConfigError:
        problem = f"{self._path}: the file of sessions is damaged ({why}): delete it, and say again what holds"
        return PermissionConfigError(problem, path=str(self._path), problems=[problem])
