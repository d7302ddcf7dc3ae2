"""The gate by itself: what is made of each opinion and answer, in whose words, and what is recorded of it."""

from __future__ import annotations

import time
from dataclasses import replace
from types import SimpleNamespace

import pytest

from executor import Decision, ToolCall, Verdict
from executor.calls._current import token_of
from executor.calls._scope import Blocking
from executor.calls._state import CallState
from executor.errors import PermissionDeniedError
from executor.permission._gate import ASK_SECONDS, Gate
from executor.permission._pause import Asking
from executor.threads._workers import Workers
from executor.values._approval import Answer

ALLOW = Decision("allow", "fine", "whitelist", "act *")
ASK = Decision("ask", "hm", "default", parts=("a part",))
DENY = Decision("deny", "never", "blacklist", "act rm")
ARGUMENTS = {"a": 1}


class Desk:
    """An inbox that answers at once, and keeps what it was asked."""

    def __init__(self, answer=None):
        self.answer, self.asked = answer or Answer("yes"), []

    def ask(self, approval, **options):
        self.asked.append((approval, options))
        return self.answer

    def put(self, approval, answered, **options):
        self.asked.append((approval, options))
        answered(self.answer)


class TwoSteps:
    def __init__(self, *decisions, verdict=None):
        self.decisions, self.verdict = list(decisions), verdict
        self.decided, self.asked = [], []

    def decide(self, call, context):
        self.decided.append((call, context))
        return self.decisions.pop(0) if len(self.decisions) > 1 else self.decisions[0]

    def ask(self, call, decision, context):
        self.asked.append((call, decision, context))
        if isinstance(self.verdict, BaseException):
            raise self.verdict
        return self.verdict


class Settling(TwoSteps):
    """Says of each decision whether it still holds."""

    def __init__(self, *decisions, holds=(), verdict=None):
        super().__init__(*decisions, verdict=verdict)
        self.holds, self.settled = list(holds), []

    def settle(self, decision):
        self.settled.append(decision)
        return self.holds.pop(0)


class WithStanding:
    """Has a decision that stands for many calls, and would decide otherwise if it were asked."""

    def __init__(self, standing):
        self.stands, self.seen = standing, []

    def standing(self, call_id, tool, arguments, context):
        self.seen.append((call_id, tool.id, arguments, context))
        if isinstance(self.stands, BaseException):
            raise self.stands
        return self.stands

    def decide(self, call, context):
        return DENY

    def ask(self, call, decision, context):
        raise AssertionError("nobody is to be asked")


class Checking:
    def __init__(self, answer):
        self.answer, self.asked = answer, []

    def check_permission(self, name, args, context, call_id):
        self.asked.append((name, args, context, call_id))
        return self.answer


class Judging:
    """A gate, what it may ask, and one call."""

    def __init__(self, *opinions, plugin=None, context=None, answer=None, blocking=True):
        self.desk, self.records, self.edited = Desk(answer), [], False
        self.opinions = [
            (f"plugin{n}", each if callable(each) else self._saying(each)) for n, each in enumerate(opinions)
        ]
        self.told = []
        self.gate = Gate(lambda: self.opinions, lambda: self.desk, lambda: self._record, Workers(warm=0, limit=1))
        self.gate.use(plugin, context)
        self.call = CallState("c1", "act", ARGUMENTS, None)
        self.call.tool = SimpleNamespace(id="act")
        self.call.blocking = blocking

    def _saying(self, decision):
        def opinion(call, context):
            self.told.append((call, context))
            return decision

        return opinion

    def _record(self, stage, payload):
        self.records.append((stage, payload))

    def judge(self):
        return self.gate.judge(SimpleNamespace(call=self.call, arguments=dict(ARGUMENTS), edited=self.edited))

    def denied(self):
        with pytest.raises(PermissionDeniedError) as error:
            self.judge()
        return error.value

    def opinion(self):
        return self.gate.opinion(self.call, dict(ARGUMENTS))


def checked(*, allowed, reason, method):
    told = {"tool": "act", "call_id": "c1", "args": ARGUMENTS, "allowed": allowed, "reason": reason, "method": method}
    return [("permission-check", told)]


# Decisions that stand ------------------------------------------------------------------------------------------------


def test_a_decision_that_stands_is_taken_and_recorded_like_another():
    judging = Judging(plugin=WithStanding(ALLOW), context={"agent": "a"})
    verdict = judging.judge()
    assert verdict.allowed
    assert verdict.info == {"decision": "allowed", "reason": "fine", "method": "whitelist", "rule": "act *"}
    assert judging.gate.plugin.seen == [("c1", "act", ARGUMENTS, {"agent": "a"})]
    assert judging.records == checked(allowed=True, reason="fine", method="whitelist")


@pytest.mark.parametrize(
    "stands", [None, ASK, replace(ALLOW, verdict="yes"), True, "allow", SimpleNamespace(verdict="allow")]
)
def test_what_does_not_stand_is_decided(stands):
    assert Judging(plugin=WithStanding(stands)).denied().decision is DENY


def test_a_standing_that_raises_is_an_error_and_lets_nothing_through():
    error = Judging(plugin=WithStanding(SystemExit("broken"))).denied()
    assert (error.decision.method, error.message) == ("error", "Permission check failed: broken")


def test_beside_an_opinion_and_about_an_edit_it_is_decided():
    assert Judging(ALLOW, plugin=WithStanding(ALLOW)).denied().decision is DENY
    judging = Judging(plugin=WithStanding(ALLOW))
    judging.edited = True
    assert judging.denied().decision is DENY


def test_what_would_be_decided_is_not_asked_of_what_stands():
    assert Judging(plugin=WithStanding(ALLOW)).opinion() is DENY


class Stricter(WithStanding):
    def decide(self, call, context):
        return replace(DENY, reason="stricter")


class Around:
    def __init__(self, plugin):
        self._plugin = plugin

    def __getattr__(self, name):
        return getattr(self._plugin, name)

    def decide(self, call, context):
        return replace(DENY, reason="around")


class Inherits(WithStanding):
    pass


@pytest.mark.parametrize(
    ("plugin", "reason"),
    [(Stricter(ALLOW), "stricter"), (Around(WithStanding(ALLOW)), "around"), (Inherits(ALLOW), "never")],
)
def test_a_decide_in_the_place_of_another_is_asked_about_each_call(plugin, reason):
    assert Judging(plugin=plugin).denied().decision.reason == reason


def test_a_decide_that_is_put_in_place_later_is_asked(monkeypatch):
    judging = Judging(plugin=WithStanding(ALLOW))
    assert judging.judge().allowed
    monkeypatch.setattr(judging.gate.plugin, "decide", lambda call, context: DENY)
    assert judging.denied().decision is DENY
    monkeypatch.undo()
    assert judging.judge().allowed
    monkeypatch.setattr(WithStanding, "decide", lambda self, call, context: DENY)
    assert judging.denied().decision is DENY


# Who is asked --------------------------------------------------------------------------------------------------------


def test_a_plugin_of_neither_form_is_refused_and_the_gate_stays_as_it_was():
    judging = Judging(plugin=TwoSteps(DENY))
    with pytest.raises(TypeError, match="neither decide and ask, nor check_permission"):
        judging.gate.use(SimpleNamespace(decide=len), None)
    assert judging.denied().decision is DENY


def test_it_is_silent_when_nobody_has_an_opinion_on_any_call():
    assert Judging().gate.silent
    assert not Judging(None).gate.silent
    assert not Judging(plugin=TwoSteps(ALLOW)).gate.silent
    assert not Judging(plugin=Checking((True, {}))).gate.silent
    judging = Judging(plugin=TwoSteps(ALLOW))
    judging.gate.use(None, None)
    assert judging.gate.silent


def test_without_an_opinion_there_is_no_verdict_and_nothing_is_recorded():
    judging = Judging(None, None)
    assert judging.judge() is None
    assert judging.records == []
    assert len(judging.told) == 2


def test_the_first_who_allows_is_named():
    judging = Judging(None, ALLOW, Decision("allow", "me too"))
    verdict = judging.judge()
    assert verdict == Verdict(
        True, None, {"decision": "allowed", "reason": "fine", "method": "whitelist", "rule": "act *"}
    )
    assert judging.records == checked(allowed=True, reason="fine", method="whitelist")


def test_after_a_deny_nobody_else_is_asked():
    plugin = TwoSteps(ALLOW)
    judging = Judging(DENY, ALLOW, plugin=plugin)
    error = judging.denied()
    assert error.decision is DENY
    assert error.message == "Permission denied: never"
    assert error.tool_id == "act"
    assert error.info == {"decision": "denied", "reason": "never", "method": "blacklist", "rule": "act rm"}
    assert judging.records == checked(allowed=False, reason="never", method="blacklist")
    assert len(judging.told) == 1
    assert plugin.decided == []


def test_each_who_is_asked_is_given_the_call_and_the_context():
    own, usual = {"of": "the call"}, {"of": "the gate"}
    plugin = TwoSteps(ASK, verdict=Verdict(True))
    judging = Judging(ALLOW, plugin=plugin, context=usual)
    judging.judge()
    judging.call.context = own
    judging.judge()
    assert [context for _, context in judging.told] == [usual, own]
    assert [context for _, context in plugin.decided] == [usual, own]
    assert [context for _, _, context in plugin.asked] == [usual, own]
    for call in (judging.told[0][0], plugin.decided[0][0], plugin.asked[0][0]):
        assert call == ToolCall("c1", "act", ARGUMENTS)
    assert plugin.asked[0][1] == ASK


@pytest.mark.parametrize(
    ("opinion", "says"),
    [
        (lambda call, context: 1 / 0, "the plugin 'plugin0' raised ZeroDivisionError('division by zero')"),
        (lambda call, context: "allow", "the plugin 'plugin0' gave 'allow' instead of a Decision"),
        (Decision("perhaps"), "instead of a Decision"),
    ],
)
def test_an_opinion_that_is_none_is_an_error_in_the_plugins_name(opinion, says):
    judging = Judging(opinion)
    error = judging.denied()
    assert says in error.message
    assert error.message.startswith("Permission check failed: ")
    assert error.info["method"] == error.decision.method == "error"
    assert error.decision.verdict == "deny"
    ((stage, told),) = judging.records
    assert stage == "permission-error"
    assert told == {"tool": "act", "call_id": "c1", "args": ARGUMENTS, "error": error.decision.reason}


# By a person ---------------------------------------------------------------------------------------------------------


def test_a_person_is_shown_the_call_and_why_it_is_asked_about():
    judging = Judging(ASK, Decision("ask", "another reason"))
    before = time.time()
    judging.judge()
    ((approval, options),) = judging.desk.asked
    assert (approval.tool, approval.arguments, approval.reason, approval.parts) == (
        "act", ARGUMENTS, "hm; another reason", ("a part",),
    )  # fmt: skip
    assert before + ASK_SECONDS <= approval.deadline <= time.time() + ASK_SECONDS
    assert approval.text == 'act: hm; another reason\n{"a":1}'
    assert options["timeout"] == ASK_SECONDS
    assert options["cancel"] is token_of(judging.call)


def test_a_yes_lets_it_run():
    judging = Judging(ASK)
    assert judging.judge().info == {"decision": "allowed", "reason": "the user said yes", "method": "user_approved"}
    assert judging.records == checked(allowed=True, reason="the user said yes", method="user_approved")


@pytest.mark.parametrize(
    ("answer", "method", "reason", "message"),
    [
        (Answer("no"), "user_denied", "the user said no (hm)", None),
        (Answer("comment", "use mv"), "user_comment", "use mv", "use mv"),
        (Answer("timeout"), "timeout", "nobody answered in time (hm)", None),
        (Answer("no_channel"), "no_channel", "there is nobody to ask (hm)", None),
        (Answer("cancelled"), "user_denied", "the call was cancelled while a person was asked", None),
    ],
)
@pytest.mark.parametrize("blocking", [True, False])
def test_every_other_answer_is_a_no_that_says_why(answer, method, reason, message, blocking):
    judging = Judging(ASK, answer=answer, blocking=blocking)
    if blocking:
        error = judging.denied()
    else:
        came = []
        judging.judge().then(lambda *given: came.append(given))
        ((verdict, error),) = came
        assert verdict is None
        assert judging.desk.asked[0][1]["timeout"] == ASK_SECONDS
        assert judging.desk.asked[0][1]["cancel"] is token_of(judging.call)
    assert isinstance(error, PermissionDeniedError)
    assert error.message == (message or f"Permission denied: {reason}")
    assert error.commented is (message is not None)
    assert error.info == {"decision": "denied", "reason": reason, "method": method}
    assert error.decision == Decision("deny", reason, method)
    assert judging.records == checked(allowed=False, reason=reason, method=method)


def test_a_call_that_no_thread_waits_for_goes_on_with_the_answer():
    judging, came = Judging(ASK, blocking=False), []
    pause = judging.judge()
    with pytest.raises(RuntimeError):
        pause.block()
    pause.then(lambda *given: came.append(given))
    ((verdict, error),) = came
    assert verdict.allowed is True
    assert error is None


def test_a_question_that_cannot_be_put_is_settled_as_its_error():
    def broken(answered):
        raise OSError("no terminal")

    came = []
    Asking(broken, lambda answer: answer).then(lambda *given: came.append(given))
    ((verdict, error),) = came
    assert isinstance(verdict, OSError)
    assert error is None


# By a plugin in two steps --------------------------------------------------------------------------------------------


def test_what_a_plugin_decides_counts_and_it_asks_only_where_a_person_is_wanted():
    for opinions, decision, reason in (((), ASK, "hm"), ((Decision("ask", "careful"),), ALLOW, "careful")):
        plugin = TwoSteps(decision, verdict=Verdict(True, None, {"reason": "ok", "method": "user_approved"}))
        judging = Judging(*opinions, plugin=plugin)
        assert judging.judge().info == {"decision": "allowed", "reason": "ok", "method": "user_approved"}
        assert plugin.asked[0][1].reason == reason
    plugin = TwoSteps(ALLOW)
    assert Judging(plugin=plugin).judge().info["rule"] == "act *"
    assert plugin.asked == []


def test_a_plugins_no_is_its_own_decision():
    judging = Judging(plugin=TwoSteps(DENY))
    assert judging.denied().decision is DENY
    assert judging.records == checked(allowed=False, reason="never", method="blacklist")


class Replaced(TwoSteps):
    """Another plugin is put in its place while it asks a person, who says yes."""

    def __init__(self, decision, by, arguments=None):
        super().__init__(decision, verdict=Verdict(True, arguments, {"reason": "ok", "method": "user_approved"}))
        self.by, self.gate = by, None

    def ask(self, call, decision, context):
        self.gate.use(self.by, None)
        return super().ask(call, decision, context)


def replaced(by, **settings):
    plugin = Replaced(ASK, by, **settings)
    judging = Judging(plugin=plugin)
    plugin.gate = judging.gate
    return judging


@pytest.mark.parametrize("later", [TwoSteps(ALLOW), TwoSteps(ASK), None], ids=["allows", "asks", "nobody"])
def test_a_yes_holds_where_the_plugin_that_is_set_meanwhile_does_not_forbid_the_call(later):
    assert replaced(later).judge().info["method"] == "user_approved"


def test_what_a_plugin_forbids_that_is_set_while_a_person_is_asked_does_not_run():
    assert replaced(TwoSteps(DENY)).denied().decision is DENY
    older = Checking((True, {}))
    assert replaced(older).denied().message.endswith("was set while a person was asked: call it again")
    assert older.asked == []
    # Of arguments of the person's own it is asked about these.
    assert replaced(TwoSteps(DENY), arguments={"b": 2}).judge().arguments == {"b": 2}


def test_a_plugin_that_is_set_while_a_hooks_question_is_open_is_heard():
    judging = Judging(ASK)
    judging.desk.ask = lambda *_, **__: judging.gate.use(TwoSteps(DENY), None) or Answer("yes")
    assert judging.denied().decision is DENY


def test_what_a_person_edited_and_its_marks_are_passed_on():
    info = {"reason": "ok", "method": "user_approved", "was_edited": True, "rule": "r", "other": "not shown"}
    verdict = Judging(plugin=TwoSteps(ASK, verdict=Verdict(True, {"b": 2}, info))).judge()
    assert verdict.arguments == {"b": 2}
    assert verdict.info == {
        "decision": "allowed", "reason": "ok", "method": "user_approved", "rule": "r", "was_edited": True,
    }  # fmt: skip


def test_a_no_or_yes_without_a_word_is_told_as_that():
    error = Judging(plugin=TwoSteps(ASK, verdict=Verdict(False))).denied()
    assert error.info == {"decision": "denied", "reason": "no reason was given", "method": "unknown"}
    assert error.message == "Permission denied: no reason was given"
    verdict = Judging(plugin=TwoSteps(ASK, verdict=Verdict(True))).judge()
    assert verdict.info == {"decision": "allowed", "reason": "", "method": "unknown"}


@pytest.mark.parametrize("blocking", [True, False])
@pytest.mark.parametrize(
    ("verdict", "says"),
    [
        (None, "ask gave None instead of a Verdict"),
        (RuntimeError("gone"), "gone"),
        (RuntimeError(), "RuntimeError"),
    ],
)
def test_an_answer_of_a_plugin_that_is_none_is_an_error(verdict, says, blocking):
    judging = Judging(plugin=TwoSteps(ASK, verdict=verdict), blocking=blocking)
    if blocking:
        error = judging.denied()
    else:
        pause = judging.judge()
        assert type(pause) is Blocking
        with pytest.raises(PermissionDeniedError) as caught:
            pause.block()
        error = caught.value
    assert error.message == f"Permission check failed: {says}"
    assert error.__cause__ is not None
    assert judging.records[0][0] == "permission-error"


def test_an_answer_that_is_an_error_is_raised_as_one():
    class Later(TwoSteps):
        def ask_later(self, call, decision, context, answered):
            self.asked.append((call, decision, context))
            answered(self.verdict)

    for verdict, says in ((ValueError("gone"), "gone"), (ValueError(), "ValueError"), (3, "instead of a Verdict")):
        came = []
        plugin = Later(ASK, verdict=verdict)
        Judging(plugin=plugin, blocking=False, context={"x": 1}).judge().then(lambda *given: came.append(given))
        assert says in came[0][1].message
        assert plugin.asked == [(ToolCall("c1", "act", ARGUMENTS), ASK, {"x": 1})]


# Decisions that are used up ------------------------------------------------------------------------------------------


def granted(reason="granted"):
    return Decision("allow", reason, "grant", details=object())


def test_a_decision_that_others_used_up_is_made_anew():
    first, second = granted("first"), granted("second")
    plugin = Settling(first, second, holds=[False, True])
    assert Judging(plugin=plugin).judge().info["reason"] == "second"
    assert plugin.settled == [first, second]
    assert len(plugin.decided) == 2


def test_a_decision_made_anew_may_be_to_ask():
    plugin = Settling(granted(), ASK, holds=[False], verdict=Verdict(True, None, {"method": "user_approved"}))
    assert Judging(plugin=plugin).judge().info["method"] == "user_approved"
    assert len(plugin.settled) == 1


def test_a_plugin_that_takes_back_whatever_it_decides_is_refused():
    plugin = Settling(granted(), holds=[False] * 100)
    error = Judging(plugin=plugin).denied()
    assert "settle refused 5 decisions" in error.message
    assert len(plugin.settled) == 5


def test_only_a_no_takes_a_decision_back():
    for said in (None, True, 0):
        assert Judging(plugin=Settling(granted(), holds=[said])).judge().allowed


def test_what_a_hook_asks_about_is_settled_as_well_and_what_the_plugin_asks_about_is_not():
    plugin = Settling(granted(), holds=[True], verdict=Verdict(True))
    assert Judging(ASK, plugin=plugin).judge().allowed
    assert plugin.settled == [granted()]
    plugin = Settling(ASK, verdict=Verdict(True))
    assert Judging(plugin=plugin).judge().allowed
    assert plugin.settled == []
    assert Judging(plugin=TwoSteps(granted())).judge().allowed


def test_a_settle_that_raises_is_an_error():
    plugin = Settling(granted())  # it has no answer: IndexError
    assert "pop from empty list" in Judging(plugin=plugin).denied().message


# By a plugin of the older form ---------------------------------------------------------------------------------------


def test_the_older_form_is_asked_with_the_context_and_the_id():
    plugin = Checking((True, {"reason": "ok", "method": "policy"}))
    judging = Judging(plugin=plugin, context={"x": 1})
    assert judging.judge() == Verdict(True, None, {"decision": "allowed", "reason": "ok", "method": "policy"})
    assert plugin.asked == [("act", ARGUMENTS, {"x": 1}, "c1")]
    assert judging.desk.asked == []


def test_arguments_are_changed_only_where_it_says_that_they_were_edited():
    told = {"modified_args": {"b": 2}}
    assert Judging(plugin=Checking((True, told))).judge().arguments is None
    verdict = Judging(plugin=Checking((True, {**told, "was_edited": True}))).judge()
    assert verdict.arguments == {"b": 2}
    assert verdict.info["was_edited"] is True
    assert Judging(plugin=Checking((True, None))).judge().arguments is None


@pytest.mark.parametrize("answer", [True, (True,), (True, {}, {}), ("yes", {}), (1, {}), (True, "info"), [True, {}]])
def test_an_answer_of_another_shape_is_an_error(answer):
    error = Judging(plugin=Checking(answer)).denied()
    assert error.message == f"Permission check failed: check_permission gave {answer!r} instead of (bool, dict)"


def test_where_a_hook_wants_a_person_that_one_is_asked_before_the_older_form():
    plugin = Checking((True, {"method": "policy"}))
    judging = Judging(ASK, plugin=plugin)
    assert judging.judge().info["method"] == "policy"
    assert judging.desk.asked[0][1] == {"timeout": ASK_SECONDS, "cancel": token_of(judging.call)}
    refused = Judging(ASK, plugin=plugin, answer=Answer("no"))
    assert refused.denied().info["method"] == "user_denied"
    assert len(plugin.asked) == 1


def test_about_a_call_that_no_thread_waits_for_the_older_form_is_asked_on_a_worker():
    pause = Judging(plugin=Checking((True, {"method": "policy"})), blocking=False).judge()
    assert type(pause) is Blocking
    assert pause.block().info["method"] == "policy"


# What would be decided -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("opinions", "plugin", "verdict", "reason"),
    [
        ((ALLOW,), None, "allow", "fine"),
        ((ALLOW, ASK), None, "ask", "hm"),
        ((DENY,), None, "deny", "never"),
        ((), TwoSteps(ALLOW), "allow", "fine"),
        ((), TwoSteps(DENY), "deny", "never"),
        ((ASK,), TwoSteps(ALLOW), "ask", "hm"),
        ((ASK,), TwoSteps(Decision("ask", "mine")), "ask", "hm; mine"),
        ((ASK,), TwoSteps(DENY), "deny", "never"),
        ((ALLOW,), TwoSteps(ASK), "ask", "hm"),
        ((), Checking((True, {})), "ask", "the permission plugin decides when the call is made"),
        ((ASK,), Checking((True, {})), "ask", "hm"),
        ((DENY,), Checking((True, {})), "deny", "never"),
        (("allow",), None, "deny", "the plugin 'plugin0' gave 'allow' instead of a Decision"),
        ((), TwoSteps("allow"), "deny", "decide gave 'allow' instead of a Decision"),
        ((), TwoSteps(Decision("maybe")), "deny", None),
    ],
)
def test_what_would_be_decided_is_said_without_asking_or_recording(opinions, plugin, verdict, reason):
    judging = Judging(*opinions, plugin=plugin)
    decision = judging.opinion()
    assert decision.verdict == verdict
    assert reason is None or decision.reason == reason
    assert judging.records == []
    assert judging.desk.asked == []
    assert not getattr(plugin, "asked", [])


def test_where_nobody_has_an_opinion_nothing_would_be_decided():
    assert Judging().opinion() is None
    assert Judging(None).opinion() is None


# What a person has edited --------------------------------------------------------------------------------------------


def edited(*opinions, plugin=None, **options):
    judging = Judging(*opinions, plugin=plugin, **options)
    judging.edited = True
    return judging


def test_that_a_person_edited_the_arguments_is_passed_on():
    verdict = Judging(plugin=TwoSteps(ASK, verdict=Verdict(True, {"a": 2}, {}, by_person=True))).judge()
    assert (verdict.arguments, verdict.by_person) == ({"a": 2}, True)
    assert not Judging(plugin=TwoSteps(ASK, verdict=Verdict(True, {"a": 2}, {}))).judge().by_person


@pytest.mark.parametrize("decision", [ALLOW, ASK])
def test_a_persons_own_arguments_are_not_asked_about_again(decision):
    plugin = TwoSteps(decision)
    judging = edited(ASK, plugin=plugin)
    assert judging.judge().info == {"decision": "allowed", "reason": "the user edited it", "method": "user_approved"}
    assert (plugin.asked, judging.desk.asked) == ([], [])
    assert edited(ASK).judge().allowed


@pytest.mark.parametrize(("opinions", "decision"), [((DENY,), ALLOW), ((), DENY), ((ASK,), DENY)])
def test_a_persons_own_arguments_are_denied_where_a_rule_forbids_them(opinions, decision):
    assert edited(*opinions, plugin=TwoSteps(decision)).denied().decision == DENY


PERHAPS = Decision("ask", "it may be forbidden", "default", maybe_denied=True)


@pytest.mark.parametrize(
    "decision", [PERHAPS, Decision("ask", "hm", "default", parts=(SimpleNamespace(maybe_denied=True),))]
)
def test_a_persons_own_arguments_are_asked_about_where_a_rule_may_forbid_them(decision):
    plugin = TwoSteps(decision, verdict=Verdict(False, None, {"reason": "no", "method": "user_denied"}))
    assert edited(plugin=plugin).denied().info["method"] == "user_denied"
    assert len(plugin.asked) == 1
    assert len(edited(PERHAPS).judge().info) and edited(PERHAPS, answer=Answer("no")).denied()


def test_a_yes_with_a_text_tells_the_model():
    assert Judging(ASK, answer=Answer("yes", "mind the dog")).judge().info["comment"] == "mind the dog"
    assert "comment" not in Judging(ASK, answer=Answer("yes")).judge().info
    denied = Judging(ASK, answer=Answer("no", "not today")).denied()
    assert denied.info["reason"] == "the user said no: not today"
