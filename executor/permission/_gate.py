"""
The gate: every opinion on a call, combined. Deny beats ask beats allow, an error is a deny, nothing falls through.

Edited arguments in a verdict are not the gate's to run: the pipeline validates them and asks the gate again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeAlias, TypeVar, cast

from executor._json import copy_checked
from executor._older import permission_plugin
from executor.calls._current import token_of
from executor.calls._scope import Blocking
from executor.errors import PermissionDeniedError
from executor.permission._combined import box_of, combined, in_order
from executor.permission._entry import allowed_by, entry_of, odd_answer, told_by
from executor.permission._pause import Asking
from executor.permission._standing import standing_of
from executor.values import Decision, ToolCall, Verdict

if TYPE_CHECKING:
    from executor.calls._scope import Pause
    from executor.calls._state import CallState
    from executor.permission._inbox import Inbox
    from executor.permission._plugin import CheckingPlugin, Context, Judged, PermissionPlugin
    from executor.permission._standing import Decide, Standing
    from executor.threads._workers import Workers
    from executor.values._approval import Answer, Approval
    from executor.values._profile import Profile

T = TypeVar("T")
ASK_SECONDS = 300.0  # how long a question of a hook waits for a person before it is a no
_MAX_SETTLING = 5  # other calls may use a grant up between the judging and the using, but not for ever
_MOST_ALLOWING = 64  # decisions whose verdicts are kept

Opinion: TypeAlias = "tuple[str, Callable[[ToolCall, Context], Decision | None]]"
Record: TypeAlias = "Callable[[str, dict[str, Any]], None]"


class Heard(NamedTuple):
    """Who judges a call: the permission plugin, and the hooks of others with what they have said."""

    plugin: object
    opinions: Sequence[Opinion]
    opinion: Decision | None


class Gate:
    """
    Asks whoever has an opinion about a call.

    Args:
        opinions: Gives the (plugin name, function) pairs of the permission hook.
        inbox: Gives the inbox for questions that no permission plugin asks.
        record: Gives the ledger's record function, or None.
        workers: Where a plugin is asked that may block, about a call that no thread waits for.
    """

    def __init__(
        self,
        opinions: Callable[[], Sequence[Opinion]],
        inbox: Callable[[], Inbox],
        record: Callable[[], Record | None],
        workers: Workers,
    ) -> None:
        self._opinions = opinions
        self._inbox = inbox
        self._record = record
        self._workers = workers
        self.plugin: PermissionPlugin | None = None
        self.checking: CheckingPlugin | None = None
        self.context: Context = None
        self._settles = False
        self._standing: tuple[Decide, Standing] | None = None
        self._allowing: dict[int, tuple[Decision, Verdict]] = {}  # by the decision's id, which it keeps taken

    def use(self, plugin: PermissionPlugin | CheckingPlugin | None, context: Context) -> None:
        """Ask *plugin* from now on. Raises TypeError for what has neither form."""
        two_steps = hasattr(plugin, "decide") and hasattr(plugin, "ask")
        if plugin is not None and not two_steps and not hasattr(plugin, "check_permission"):
            raise TypeError(
                f"{plugin!r} is not a permission plugin: it has neither decide and ask, nor check_permission"
            )
        self.plugin = permission_plugin(plugin) if two_steps else None
        self._standing = standing_of(self.plugin)
        self._settles = hasattr(self.plugin, "settle")
        self.checking = cast("CheckingPlugin", plugin) if plugin is not None and not two_steps else None
        self.context = context

    @property
    def silent(self) -> bool:
        """Whether nobody has an opinion on any call."""
        return self.plugin is None and self.checking is None and not self._opinions()

    def judge(self, prepared: Judged) -> Verdict | Pause | None:
        """
        The verdict on a call: an allowing one, None when nobody has an opinion at all, or the pause until it is there.

        Raises:
            PermissionDeniedError: It may not run.
        """
        call, arguments = prepared.call, prepared.arguments
        opinions = self._opinions()
        if self._standing is not None and not opinions and not prepared.edited:
            stands = self._stands(*self._standing, call, arguments)
            if stands is not None:
                return self._allow(call, arguments, stands)
        opinion = self._collect(call, arguments, opinions) if opinions else None
        heard = Heard(self.plugin if self.plugin is not None else self.checking, opinions, opinion)
        if prepared.edited and self.checking is None and (opinion is None or not opinion.needs_person):
            return self._corrected(call, arguments, heard)
        if self.plugin is not None:
            return self._by_plugin(self.plugin, call, arguments, heard)
        if self.checking is not None:
            check = partial(self._check, self.checking, call, arguments, heard)
            return check() if call.blocking else Blocking(check, self._workers)
        if opinion is not None and opinion.verdict == "ask":
            return self._by_inbox(call, arguments, heard)
        return None if opinion is None else self._allow(call, arguments, opinion)

    def opinion(self, call: CallState, arguments: dict[str, Any]) -> Decision | None:
        """
        What would be decided, without asking a person; None when nobody has an opinion.

        A plugin of the older form cannot be asked without making it decide: its word is still to come.
        """
        try:
            opinion = self._collect(call, arguments, self._opinions(), noted=False)
            if self.checking is not None:
                if opinion is not None and opinion.verdict == "ask":
                    return opinion
                return Decision("ask", "the permission plugin decides when the call is made", "plugin")
            if self.plugin is None:
                return opinion
            decision = self._decided(self.plugin, call, arguments, noted=False)
        except PermissionDeniedError as error:
            return error.decision
        return decision if opinion is None else combined(*in_order(opinion, decision))

    def _collect(
        self, call: CallState, arguments: dict[str, Any], opinions: Sequence[Opinion], *, noted: bool = True
    ) -> Decision | None:
        """What all who have an opinion come to. Raises on any deny, after which nobody else is asked."""
        found: Decision | None = None
        for name, opinion in opinions:
            try:
                decision = opinion(_request(call, arguments), self._context(call))
            except BaseException as error:  # noqa: BLE001 -- an opinion that cannot be had is a no
                self._fail(call, arguments, f"the plugin {name!r} raised {error!r}", error, noted=noted)
            if decision is None:
                continue
            if not isinstance(decision, Decision) or decision.verdict not in ("allow", "ask", "deny"):
                self._fail(call, arguments, f"the plugin {name!r} gave {decision!r} instead of a Decision", noted=noted)
            if decision.verdict == "deny":
                self._deny(call, arguments, decision, noted=noted)
            found = decision if found is None else combined(found, decision)
        return found

    def _stands(
        self, decide: Decide, standing: Standing, call: CallState, arguments: dict[str, Any]
    ) -> Decision | None:
        """The allowing decision that the plugin keeps for such calls, or None."""
        try:
            if getattr(self.plugin.decide, "__func__", None) is not decide:  # type: ignore[union-attr]  # there is one
                return None  # another has been put in its place, as tests do
            decision = standing(
                call.id, call.tool, arguments, call.context if call.context is not None else self.context
            )
        except BaseException as error:  # noqa: BLE001 -- as in _decided
            return self._fail(call, arguments, str(error) or type(error).__name__, error)
        return decision if type(decision) is Decision and decision.verdict == "allow" else None

    def _by_plugin(
        self, plugin: PermissionPlugin, call: CallState, arguments: dict[str, Any], heard: Heard
    ) -> Verdict | Pause:
        decision = self._decided(plugin, call, arguments)
        if self._settles:  # also where a hook asks: what answers for a person is counted as well
            decision = self._used(plugin, call, arguments, decision)
        if heard.opinion is not None:
            decision = combined(*in_order(heard.opinion, decision))
        if decision.verdict == "allow":
            return self._allow(call, arguments, decision)
        question = _request(call, arguments), decision, self._context(call)
        settle = partial(self._settle, call, arguments, heard)
        if call.blocking:
            return settle(self._tried(call, arguments, lambda: plugin.ask(*question)))
        later = getattr(plugin, "ask_later", None)
        if later is not None:
            return Asking(partial(later, *question), settle)
        return Blocking(lambda: settle(self._tried(call, arguments, lambda: plugin.ask(*question))), self._workers)

    def _corrected(self, call: CallState, arguments: dict[str, Any], heard: Heard) -> Verdict | Pause:
        """Arguments that a person has given: the opinions have not denied them, and nobody is asked a second time."""
        decision = heard.opinion
        if self.plugin is not None:
            decision = self._decided(self.plugin, call, arguments)
            if decision.verdict == "ask" and decision.needs_person:
                return self._by_plugin(self.plugin, call, arguments, heard)
            decision = combined(decision, heard.opinion)
        info = {"reason": "the user edited it", "method": "user_approved"}
        return self._pass(call, arguments, info, None, box_of(decision, seen=True))

    def _decided(
        self, plugin: PermissionPlugin, call: CallState, arguments: dict[str, Any], *, noted: bool = True
    ) -> Decision:
        """The plugin's decision, unless it is a no: that is raised."""
        try:
            request = ToolCall(call.id, call.tool.id, copy_checked(arguments))  # as `_request`: calls come by often
            decision = plugin.decide(request, call.context if call.context is not None else self.context)
        except BaseException as error:  # noqa: BLE001 -- a permission plugin that fails must not let a call through
            self._fail(call, arguments, str(error) or type(error).__name__, error, noted=noted)
        if not isinstance(decision, Decision) or decision.verdict not in ("allow", "ask", "deny"):
            self._fail(call, arguments, *odd_answer("decide", decision, "a Decision"), noted=noted)
        if decision.verdict == "deny":
            self._deny(call, arguments, decision, noted=noted)
        return decision

    def _used(
        self, plugin: PermissionPlugin, call: CallState, arguments: dict[str, Any], decision: Decision
    ) -> Decision:
        """*decision*, counted as used; made anew while other calls have used up what it rests on."""
        for _ in range(_MAX_SETTLING):
            if decision.verdict != "allow":
                return decision
            try:
                holds = plugin.settle(decision)  # type: ignore[attr-defined]  # `use` has looked
            except BaseException as error:  # noqa: BLE001 -- as in _decided
                self._fail(call, arguments, str(error) or type(error).__name__, error)
            if holds is not False:
                return decision
            decision = self._decided(plugin, call, arguments)
        return self._fail(call, arguments, f"settle refused {_MAX_SETTLING} decisions of the plugin's own")

    def _tried(self, call: CallState, arguments: dict[str, Any], fn: Callable[[], T], *, noted: bool = True) -> T:
        try:
            return fn()
        except BaseException as error:  # noqa: BLE001 -- a permission plugin that fails must not let a call through
            self._fail(call, arguments, str(error) or type(error).__name__, error, noted=noted)

    def _settle(self, call: CallState, arguments: dict[str, Any], heard: Heard, answer: object) -> Verdict:
        """What a person's answer, as the plugin gives it, means."""
        if isinstance(answer, BaseException):
            self._fail(call, arguments, str(answer) or type(answer).__name__, answer)
        if not isinstance(answer, Verdict):
            self._fail(call, arguments, *odd_answer("ask", answer, "a Verdict"))
        if answer.allowed is not True:
            self._refuse(call, arguments, answer.info or {})
        if answer.arguments is None:  # others are judged anew in any case
            self._heed_later(call, arguments, heard)
        verdict = self._pass(call, arguments, answer.info or {}, answer.arguments, answer.confine)
        return replace(verdict, by_person=True) if answer.by_person else verdict

    def _heed_later(self, call: CallState, arguments: dict[str, Any], heard: Heard) -> None:
        """Raises what plugins forbid that came, or took the place of those *heard*, while a person was asked."""
        if (opinions := self._opinions()) is not heard.opinions:
            self._collect(call, arguments, opinions)
        if self.checking is not None and self.checking is not heard.plugin:  # asking it is making it decide: a wait
            self._fail(call, arguments, "another permission plugin was set while a person was asked: call it again")
        if self.plugin is not None and self.plugin is not heard.plugin:
            self._decided(self.plugin, call, arguments)

    def _check(self, plugin: CheckingPlugin, call: CallState, arguments: dict[str, Any], heard: Heard) -> Verdict:
        """The older form: a person first, where a hook wants one, then the plugin, which may ask one too."""
        opinion = heard.opinion
        asked = opinion is not None and opinion.verdict == "ask"
        if opinion is not None and asked:
            approval = self._approval(call, arguments, heard)
            answered = self._inbox().ask(approval, timeout=ASK_SECONDS, cancel=token_of(call))
            self._answered(call, arguments, heard, answered)
        answer = self._tried(
            call,
            arguments,
            lambda: plugin.check_permission(call.tool.id, copy_checked(arguments), self._context(call), call.id),
        )
        if not isinstance(answer, tuple) or len(answer) != 2:
            self._fail(call, arguments, *odd_answer("check_permission", answer, "(bool, dict)"))
        allowed, info = answer[0], answer[1] if answer[1] is not None else {}
        if not isinstance(allowed, bool) or not isinstance(info, Mapping):
            self._fail(call, arguments, *odd_answer("check_permission", answer, "(bool, dict)"))
        if not allowed:
            self._refuse(call, arguments, info)
        edited = info.get("modified_args") if info.get("was_edited") else None
        if edited is None:
            self._heed_later(call, arguments, heard)
        return self._pass(call, arguments, info, edited, box_of(opinion, seen=asked))

    def _by_inbox(self, call: CallState, arguments: dict[str, Any], heard: Heard) -> Verdict | Pause:
        approval, inbox = self._approval(call, arguments, heard), self._inbox()
        settle = partial(self._answered, call, arguments, heard)
        if call.blocking:
            return settle(inbox.ask(approval, timeout=ASK_SECONDS, cancel=token_of(call)))
        return Asking(partial(inbox.put, approval, timeout=ASK_SECONDS, cancel=token_of(call)), settle)

    def _answered(self, call: CallState, arguments: dict[str, Any], heard: Heard, answer: Answer) -> Verdict:
        assert heard.opinion is not None, "a hook has asked"
        info = told_by(answer, heard.opinion.reason)
        if not answer.allowed:
            self._refuse(call, arguments, info)
        self._heed_later(call, arguments, heard)
        return self._pass(call, arguments, info, None, box_of(heard.opinion, seen=True))

    def _allow(self, call: CallState, arguments: dict[str, Any], decision: Decision) -> Verdict:
        """The verdict that *decision* comes to: the same one each time, for a decision that stands for many calls."""
        found = self._allowing.get(id(decision))
        if found is None:
            if len(self._allowing) >= _MOST_ALLOWING:
                self._allowing.clear()
            found = self._allowing[id(decision)] = decision, Verdict(True, None, allowed_by(decision), decision.confine)
        return found[1] if self._record() is None else self._passed(call, arguments, found[1])

    def _pass(
        self,
        call: CallState,
        arguments: dict[str, Any],
        info: Mapping[str, Any],
        changed: Mapping[str, Any] | None,
        confine: Profile | None,
    ) -> Verdict:
        entry = entry_of(info, allowed=True, confine=confine)
        return self._passed(call, arguments, Verdict(True, changed, entry, confine))

    def _passed(self, call: CallState, arguments: dict[str, Any], verdict: Verdict) -> Verdict:
        record = self._record()
        if record is not None:
            self._note(record, call, arguments, verdict.info or {}, allowed=True)
        return verdict

    def _approval(self, call: CallState, arguments: dict[str, Any], heard: Heard) -> Approval:
        from executor.permission._open import approval_of

        assert heard.opinion is not None, "a hook asks"
        return approval_of(call, arguments, heard.opinion, self._context(call), ASK_SECONDS)

    def _context(self, call: CallState) -> Context:
        return call.context if call.context is not None else self.context

    def _deny(self, call: CallState, arguments: dict[str, Any], decision: Decision, *, noted: bool) -> NoReturn:
        info = {"reason": decision.reason, "method": decision.method, "rule": decision.rule}
        self._refuse(call, arguments, info, decision, noted=noted)

    def _refuse(
        self,
        call: CallState,
        arguments: dict[str, Any],
        info: Mapping[str, Any],
        decision: Decision | None = None,
        *,
        noted: bool = True,
    ) -> NoReturn:
        info = entry_of(info, allowed=False)
        record = self._record()
        if record is not None and noted:
            self._note(record, call, arguments, info, allowed=False)
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
        self,
        call: CallState,
        arguments: dict[str, Any],
        reason: str,
        error: BaseException | None = None,
        *,
        noted: bool = True,
    ) -> NoReturn:
        record = self._record()
        if record is not None and noted:
            told = {"tool": call.tool.id, "call_id": call.id, "args": arguments, "error": reason}
            record("permission-error", {**told, **call.notes})
        raise PermissionDeniedError(
            f"Permission check failed: {reason}",
            decision=Decision("deny", reason, "error"),
            info=entry_of({"reason": reason, "method": "error"}, allowed=False),
            tool_id=call.tool.id,
        ) from error

    def _note(
        self, record: Record, call: CallState, arguments: dict[str, Any], info: Mapping[str, Any], *, allowed: bool
    ) -> None:
        told = {"allowed": allowed, **{key: info[key] for key in ("reason", "method", "confine") if key in info}}
        record("permission-check", {"tool": call.tool.id, "call_id": call.id, "args": arguments, **told, **call.notes})


def _request(call: CallState, arguments: dict[str, Any]) -> ToolCall:
    # Each who is asked gets a copy of its own: what one does to it is not what the next one judges.
    return ToolCall(call.id, call.tool.id, copy_checked(arguments))
