"""The newest decisions and answers, kept in memory."""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, Any

from executor.approval import keyed_digest, mask

if TYPE_CHECKING:
    from executor import Decision, ToolCall
    from executor.approval import Answer

LIMIT = 1000


class Audit:
    """The newest `LIMIT` decisions and answers. `_lock` guards them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: deque[dict[str, Any]] = deque(maxlen=LIMIT)

    def note(
        self,
        call: ToolCall,
        decision: Decision,
        *,
        time: float,
        latency: float,
        agent: str | None,
        answer: Answer | None = None,
        outcome: tuple[str, str, str] | None = None,
    ) -> None:
        """
        Keep a decision, or what came of one that was put to a person.

        Args:
            time: In seconds since the epoch.
            latency: How long it took, in seconds.
            outcome: Verdict, method and reason; by default the decision's.
        """
        verdict, method, reason = outcome or (decision.verdict, decision.method, decision.reason)
        entry = {
            "time": time, "call_id": call.id, "tool": call.name, "args": call.arguments,
            "verdict": verdict, "method": method, "reason": reason, "rule": decision.rule, "parts": decision.parts,
            "channel": answer.by if answer is not None else None, "answer": answer.word if answer is not None else None,
            "latency": latency, "agent": agent,
        }  # fmt: skip
        with self._lock:
            self._entries.append(entry)

    def entries(self) -> list[dict[str, Any]]:
        """All of them, oldest first, secrets masked."""
        with self._lock:
            entries = list(self._entries)
        return [
            {
                **{key: mask(value) if isinstance(value, str) else value for key, value in entry.items()},
                "args": mask(entry["args"]),
                "args_sha256": keyed_digest(entry["args"] or {}),
            }
            for entry in entries
        ]
