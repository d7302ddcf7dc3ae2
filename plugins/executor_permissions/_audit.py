"""The newest decisions and answers, kept in memory."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, TypeAlias

from executor_permissions.judge.rules._rules import Part

if TYPE_CHECKING:
    from collections.abc import Callable

    from executor import Decision, ToolCall
    from executor.approval import Answer

LIMIT = 1000
_Noted: TypeAlias = "tuple[ToolCall, Decision, float, float, str | None, Answer | None, tuple[str, str, str] | None]"


class Audit:
    """The newest `LIMIT` decisions and answers; whoever reads them pays for how they look."""

    def __init__(self) -> None:
        self._noted: deque[_Noted] = deque(maxlen=LIMIT)  # appended to and copied in single steps: it needs no lock

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
        self._noted.append((call, decision, time, latency, agent, answer, outcome))

    def entries(self) -> list[dict[str, Any]]:
        """All of them, oldest first, secrets masked."""
        from executor.approval import keyed_digest, mask  # 4 ms, for those who read them

        return [
            {
                **{key: mask(value) if isinstance(value, str) else value for key, value in entry.items()},
                "args": mask(entry["args"]),
                "parts": tuple(_masked(part, mask) for part in entry["parts"]),
                "args_sha256": keyed_digest(entry["args"] or {}),
            }
            for entry in map(_entry, self._noted.copy())
        ]


def _masked(part: object, mask: Callable[[str], str]) -> object:
    """*part* of a call without secrets, and without its words: they hold what variables stand for, under no name."""
    if not isinstance(part, Part):
        return mask(str(part))
    return part._replace(text=mask(part.text), reason=mask(part.reason), words=())


def _entry(noted: _Noted) -> dict[str, Any]:
    call, decision, time, latency, agent, answer, outcome = noted
    verdict, method, reason = outcome or (decision.verdict, decision.method, decision.reason)
    return {
        "time": time, "call_id": call.id, "tool": call.name, "args": call.arguments,
        "verdict": verdict, "method": method, "reason": reason, "rule": decision.rule, "parts": decision.parts,
        "channel": answer.by if answer is not None else None, "answer": answer.word if answer is not None else None,
        "latency": latency, "agent": agent,
    }  # fmt: skip
