"""The gate of ``toolexec serve``: that of the command, but no thread waits for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from executor import Decision, ToolCall, Verdict
from executor.cli._ask import CommandGate
from executor.cli._policy import add_commands

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from executor.cli._render import Screen

_CANNOT, _CLOSED = "the assistant cannot show the question", "no surface is open, as 'toolexec console' is one"
NOBODY = {
    "client": f"nobody could be asked: {_CANNOT}",
    "console": f"nobody could be asked: {_CLOSED}",
    "never": "nobody is asked here (--ask never)",
}
NOBODY_ANYWHERE = f"nobody could be asked: {_CANNOT}, and {_CLOSED}"


class ServeGate(CommandGate):
    """
    See `CommandGate`; it never says yes by itself.

    Args:
        session: What is answered for the session holds for this one.
        ask: Where a person is asked; see `ServeOptions`.
    """

    def __init__(self, screen: Screen, *, session: str, ask: str | None) -> None:
        super().__init__(screen, yes=False, session=session, refused=NOBODY.get(ask or "", NOBODY_ANYWHERE))

    def ask_later(
        self,
        call: ToolCall,
        decision: Decision,
        context: Mapping[str, Any] | None,
        answered: Callable[[Verdict | BaseException], object],
    ) -> object:
        """Put the question; *answered* is called once there is a verdict."""
        if self.plugin is None:
            reason = f"{call.name}: {decision.reason}: the permission plugin is missing: install the package as a whole"
            return answered(Verdict(False, None, {"reason": reason, "method": "no_channel"}))
        return self.plugin.ask_later(
            call,
            decision,
            context,
            lambda verdict: answered(self._explained(call, decision, verdict)),
        )

    def _explained(
        self, call: ToolCall, decision: Decision, verdict: Verdict | BaseException
    ) -> Verdict | BaseException:
        """The verdict; one that nobody could give says which rule would have allowed the call."""
        if isinstance(verdict, BaseException) or verdict.allowed:
            return verdict
        info = dict(verdict.info or {})
        if info.get("method") != "no_channel":
            return verdict
        reason, rules = f"{call.name}: {decision.reason}: {self._refused}", self.rules_that_allow(call, decision)
        if rules:
            info["rule"] = "; ".join(rules)
            reason += f"; a person can allow it from now on: {add_commands(rules)}"
        return Verdict(False, None, {**info, "reason": reason})
