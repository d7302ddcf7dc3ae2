"""
The gate: every opinion on a call, combined. Deny beats ask beats allow, an error is a deny, nothing falls through.

Edited arguments in a verdict are not the gate's to run: the pipeline validates them and asks the gate again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TypeAlias, cast

from executor._json import copy_arguments, to_text
from executor.errors import PermissionDeniedError
from executor.values import Decision, ToolCall, Verdict

if TYPE_CHECKING:
    from executor.calls._current import CurrentCall
    from executor.permission._inbox import Inbox
    from executor.permission._questions import Answer

ASK_SECONDS = 300.0  # how long a question of a hook waits for a person before it is a no

Context: TypeAlias = "Mapping[str, Any] | None"
Opinion: TypeAlias = "tuple[str, Callable[[ToolCall, Context], Decision | None]]"
Record: TypeAlias = "Callable[[str, dict[str, Any]], None]"


class PermissionPlugin(Protocol):
    """
    What `set_permission_plugin` takes: ``check_permission``, or the two steps of `TwoStepPlugin`.

    ``check_permission`` returns ``(allowed, info)``. `info` has ``reason`` and ``method``; ``rule`` and ``comment``
    where there are any; for edited arguments ``was_edited`` and ``modified_args``.
    """

    def check_permission(
        self, name: str, args: dict[str, Any], context: Context, call_id: str | None
    ) -> tuple[bool, Mapping[str, Any]]: ...


class TwoStepPlugin(Protocol):
    """A permission plugin that judges first, and asks a person only when all opinions together say ask."""

    def decide(self, call: ToolCall, context: Context) -> Decision: ...
    def ask(self, call: ToolCall, decision: Decision) -> Verdict: ...


class Gate:
    """
    Asks whoever has an opinion about a call.

    Args:
        opinions: Gives the (plugin name, function) pairs of the permission hook.
        inbox: Gives the inbox for questions that no two-step plugin asks.
        record: Gives the ledger's record function, or None.
    """

    def __init__(
        self, opinions: Callable[[], Sequence[Opinion]], inbox: Callable[[], Inbox], record: Callable[[], Record | None]
    ) -> None:
        self._opinions = opinions
        self._inbox = inbox
        self._record = record
        self.plugin: PermissionPlugin | TwoStepPlugin | None = None
        self.context: Context = None

    def judge(self, call: CurrentCall, arguments: dict[str, Any]) -> Verdict | None:
        """
        The verdict on *call* with *arguments*; always an allowing one, or None when nobody has an opinion at all.

        Raises:
            PermissionDeniedError: It may not run.
        """
        plugin, opinions = self.plugin, self._opinions()
        if plugin is None and not opinions:
            return None
        asking, allowing = self._collect(call, arguments, opinions)
        if plugin is not None and hasattr(plugin, "decide") and hasattr(plugin, "ask"):
            verdict = self._two_steps(cast("TwoStepPlugin", plugin), call, arguments, asking)
        else:
            if asking is not None:
                verdict = self._put_to_inbox(call, arguments, asking)
            elif allowing is not None:
                verdict = _verdict(allowing, allowed=True)
            if plugin is not None:
                verdict = self._one_step(plugin, call, arguments)
            elif asking is None and allowing is None:
                return None
        self._note(call, arguments, verdict.info or {}, allowed=True)
        return verdict

    def _collect(
        self, call: CurrentCall, arguments: dict[str, Any], opinions: Sequence[Opinion]
    ) -> tuple[Decision | None, Decision | None]:
        """The first opinion to ask and the first to allow. Raises on any deny, after which nobody else is asked."""
        asking = allowing = None
        for name, opinion in opinions:
            try:
                # Each gets a copy of its own: what one plugin does to it is not what the next one judges.
                decision = opinion(ToolCall(call.id, call.tool.id, copy_arguments(arguments)), self.context)
            except BaseException as error:  # noqa: BLE001 -- an opinion that cannot be had is a no
                self._fail(call, arguments, f"the plugin {name!r} raised {error!r}", error)
            if decision is None:
                continue
            if not isinstance(decision, Decision) or decision.verdict not in ("allow", "ask", "deny"):
                self._fail(call, arguments, f"the plugin {name!r} gave {decision!r} instead of a Decision")
            if decision.verdict == "deny":
                self._deny(call, arguments, decision)
            elif decision.verdict == "ask":
                asking = asking or decision
            else:
                allowing = allowing or decision
        return asking, allowing

    def _two_steps(
        self, plugin: TwoStepPlugin, call: CurrentCall, arguments: dict[str, Any], asking: Decision | None
    ) -> Verdict:
        def request() -> ToolCall:
            return ToolCall(call.id, call.tool.id, copy_arguments(arguments))

        try:
            decision = plugin.decide(request(), self.context)
            if not isinstance(decision, Decision) or decision.verdict not in ("allow", "ask", "deny"):
                raise TypeError(f"decide gave {decision!r} instead of a Decision")  # noqa: TRY301 -- handled below, as one
            if decision.verdict == "allow" and asking is None:
                return _verdict(decision, allowed=True)
            if decision.verdict != "deny":
                answer = plugin.ask(request(), decision if decision.verdict == "ask" else cast("Decision", asking))
                if not isinstance(answer, Verdict):
                    raise TypeError(f"ask gave {answer!r} instead of a Verdict")  # noqa: TRY301 -- as above
        except BaseException as error:  # noqa: BLE001 -- a permission plugin that fails must not let a call through
            self._fail(call, arguments, str(error) or type(error).__name__, error)
        if decision.verdict == "deny":
            self._deny(call, arguments, decision)
        if answer.allowed is not True:
            self._refuse(call, arguments, answer.info or {})
        return Verdict(True, answer.arguments, _info(answer.info or {}, allowed=True))

    def _one_step(self, plugin: PermissionPlugin, call: CurrentCall, arguments: dict[str, Any]) -> Verdict:
        try:
            answer = plugin.check_permission(call.tool.id, copy_arguments(arguments), self.context, call.id)
            allowed, info = answer
            info = info if info is not None else {}
            if not isinstance(allowed, bool) or not isinstance(info, Mapping):
                raise TypeError(f"check_permission gave {answer!r} instead of (bool, dict)")  # noqa: TRY301 -- handled below
        except BaseException as error:  # noqa: BLE001 -- a permission plugin that fails must not let a call through
            self._fail(call, arguments, str(error) or type(error).__name__, error)
        if not allowed:
            self._refuse(call, arguments, info)
        edited = info.get("modified_args") if info.get("was_edited") else None
        return Verdict(True, edited, _info(info, allowed=True))

    def _put_to_inbox(self, call: CurrentCall, arguments: dict[str, Any], decision: Decision) -> Verdict:
        from executor.permission._inbox import new_approval_id
        from executor.permission._questions import Approval
        from executor.permission._visible import visible

        approval = Approval(
            new_approval_id(),
            call.tool.id,
            copy_arguments(arguments),
            decision.reason,
            decision.parts,
            text=f"{visible(call.tool.id)}: {visible(decision.reason)}\n{visible(to_text(arguments))}",
            deadline=time.time() + ASK_SECONDS,
        )
        answer = self._inbox().ask(approval, timeout=ASK_SECONDS, cancel=call.token)
        info = _answer_info(answer, decision.reason)
        if not answer.allowed:
            self._refuse(call, arguments, info)
        return Verdict(True, None, _info(info, allowed=True))

    def _deny(self, call: CurrentCall, arguments: dict[str, Any], decision: Decision) -> NoReturn:
        self._refuse(
            call, arguments, {"reason": decision.reason, "method": decision.method, "rule": decision.rule}, decision
        )

    def _refuse(
        self, call: CurrentCall, arguments: dict[str, Any], info: Mapping[str, Any], decision: Decision | None = None
    ) -> NoReturn:
        info = _info(info, allowed=False)
        self._note(call, arguments, info, allowed=False)
        reason = str(info["reason"])
        commented = info["method"] == "user_comment"
        raise PermissionDeniedError(
            reason if commented else f"Permission denied: {reason}",
            decision=decision or Decision("deny", reason, str(info["method"]), info.get("rule")),
            info=info,
            commented=commented,
            tool_id=call.tool.id,
        )

    def _fail(
        self, call: CurrentCall, arguments: dict[str, Any], reason: str, error: BaseException | None = None
    ) -> NoReturn:
        info = _info({"reason": reason, "method": "error"}, allowed=False)
        record = self._record()
        if record is not None:
            record("permission-error", {"tool": call.tool.id, "call_id": call.id, "args": arguments, "error": reason})
        raise PermissionDeniedError(
            f"Permission check failed: {reason}",
            decision=Decision("deny", reason, "error"),
            info=info,
            tool_id=call.tool.id,
        ) from error

    def _note(self, call: CurrentCall, arguments: dict[str, Any], info: Mapping[str, Any], *, allowed: bool) -> None:
        record = self._record()
        if record is not None:
            told = {"allowed": allowed, "reason": info.get("reason", ""), "method": info.get("method", "")}
            record("permission-check", {"tool": call.tool.id, "call_id": call.id, "args": arguments, **told})


def _verdict(decision: Decision, *, allowed: bool) -> Verdict:
    info = {"reason": decision.reason, "method": decision.method, "rule": decision.rule}
    return Verdict(allowed, None, _info(info, allowed=allowed))


def _info(info: Mapping[str, Any], *, allowed: bool) -> dict[str, Any]:
    """The ``_permission`` entry of a result."""
    entry = {
        "decision": "allowed" if allowed else "denied",
        "reason": info.get("reason") or ("" if allowed else "no reason was given"),
        "method": info.get("method") or "unknown",
    }
    if info.get("rule") is not None:
        entry["rule"] = info["rule"]
    if info.get("was_edited"):
        entry["was_edited"] = True
    return entry


def _answer_info(answer: Answer, asked_because: str) -> dict[str, Any]:
    method, reason = {
        "comment": ("user_comment", str(answer.value)),
        "timeout": ("timeout", f"nobody answered in time ({asked_because})"),
        "no_channel": ("no_channel", f"there is nobody to ask ({asked_because})"),
        "cancelled": ("user_denied", "the call was cancelled while a person was asked"),
    }.get(answer.word, ("user_denied", f"a person said no ({asked_because})"))
    if answer.allowed:
        method, reason = "user_approved", "a person said yes"
    return {"method": method, "reason": reason}
