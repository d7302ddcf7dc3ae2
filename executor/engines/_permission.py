"""Who judges the calls that a tool makes on a worker. The call itself was judged by its host."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

from executor.calls._apart import Judged
from executor.calls._state import current
from executor.values import Decision, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from executor.permission._plugin import PermissionPlugin
    from executor.values import ToolCall

NOBODY = "a call on a cluster may make no others: there is no permission plugin that could judge them here"


class InnerCalls:
    """The permission plugin of a worker: that of the host whose call it is, as it was when that was judged."""

    def decide(self, call: ToolCall, context: Mapping[str, Any] | None) -> Decision:
        """The first step."""
        plugin = _plugin()
        return plugin.decide(call, context) if plugin is not None else Decision("deny", NOBODY, "cluster")

    def settle(self, decision: Decision) -> bool:
        """The decision is used."""
        settle = getattr(_plugin(), "settle", None)
        return settle is None or bool(settle(decision))

    def ask(self, call: ToolCall, decision: Decision, context: Mapping[str, Any] | None) -> Verdict:
        """The second step."""
        plugin = _plugin()
        if plugin is None:
            return Verdict(False, None, {"reason": decision.reason, "method": "cluster"})
        return plugin.ask(call, decision, context)


def _plugin() -> PermissionPlugin | None:
    """The plugin that came with the call around this one; None where there is none, or it cannot be made here."""
    call = current.get()
    while call is not None and call.parent is not None:
        call = call.parent
    if not isinstance(call, Judged):
        return None
    if isinstance(call.judge, bytes):
        try:
            call.judge = pickle.loads(call.judge)  # noqa: S301 -- of the host, which may run what it likes here
        except Exception:  # noqa: BLE001 -- code of others; without it inner calls are denied
            call.judge = None
    return call.judge  # type: ignore[no-any-return]  # what was pickled as one
