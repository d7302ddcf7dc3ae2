"""What holds for a session: in this process alone, or in a file for all processes of one terminal."""

from __future__ import annotations

import json
import time
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from executor_permissions.store._private import locked, write_private

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from executor import Decision

_LONGEST = 30 * 86400.0  # seconds after which nobody comes back to a terminal


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
    The rules of the sessions that several processes share.

    Args:
        folder: The state folder.
        session: Of which session; "" keeps nothing.
    """

    def __init__(self, folder: Path, session: str) -> None:
        self._path = folder / "sessions.json"
        self._session = session

    def read(self) -> SessionRules:
        """What holds; nothing where the file is missing or damaged: that is the side on which a person is asked."""
        entry = self._content().get(self._session) if self._session else None
        if not isinstance(entry, dict):
            return SessionRules()
        allow, deny = (tuple(map(str, entry.get(name) or ())) for name in ("allow", "deny"))
        return SessionRules(allow, deny, entry.get("default"), entry.get("suspended"))

    def write(self, rules: SessionRules) -> None:
        """Keep them, for all processes of the session."""
        if not self._session:
            return
        now = time.time()
        with self._locked() as content:
            old = [key for key, entry in content.items() if entry.get("time", 0) < now - _LONGEST]
            for key in (*old, self._session):
                content.pop(key, None)
            if rules != SessionRules():
                content[self._session] = {**rules._asdict(), "time": now}

    def _content(self) -> dict[str, Any]:
        try:
            value = json.loads(self._path.read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return {}
        return {key: item for key, item in value.items() if isinstance(item, dict)} if isinstance(value, dict) else {}

    @contextmanager
    def _locked(self) -> Iterator[dict[str, Any]]:
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with locked(self._path.with_suffix(".lock")):
            content = self._content()
            yield content
            write_private(self._path, content)
