"""The gate: opinions of plugins, two-step plugins, and the inbox, combined; whatever fails is a denial."""

from __future__ import annotations

import threading

import pytest

from executor import Decision, PluginRegistry, ToolExecutor, Verdict, hookimpl


def opinion(answer):
    class Opinion:
        asked = 0

        @hookimpl
        def executor_check_permission(self, call, context):
            self.asked += 1
            if isinstance(answer, BaseException):
                raise answer
            return answer(call) if callable(answer) else answer

    return Opinion()


@pytest.fixture
def build():
    """An executor with these opinions; `ran` says with what its one tool has run."""
    made = []

    def build(*answers, plugin=None):
        registry = PluginRegistry(bundled=False, entry_points=False)
        for number, answer in enumerate(answers):
            registry.register(opinion(answer), f"opinion{number}")
        registry.expose_all()
        executor = ToolExecutor(registry=registry, permission_plugin=plugin)
        executor.ran = []
        executor.register("act", executor.ran.append)
        made.append(executor)
        return executor

    yield build
    for executor in made:
        executor.shutdown(cancel=True, timeout=5)


ALLOW, ASK, DENY = Decision("allow", "fine"), Decision("ask", "hm"), Decision("deny", "never", "blacklist", "act *")


class TwoSteps:
    """A permission plugin in two steps."""

    def __init__(self, decision, verdict=None):
        self.decision, self.verdict, self.asked = decision, verdict, []

    def decide(self, call, context):
        if isinstance(self.decision, BaseException):
            raise self.decision
        return self.decision

    def ask(self, call, decision, context):
        self.asked.append((call.name, decision.reason))
        if isinstance(self.verdict, BaseException):
            raise self.verdict
        return self.verdict


def test_without_plugin_and_opinion_the_library_runs_the_tool(build):
    executor = build(None)
    assert executor.execute("act", {"a": 1}) == (True, None)
    assert executor.ran == [{"a": 1}]


@pytest.mark.parametrize("answers", [(DENY, ALLOW), (ALLOW, DENY), (ASK, DENY), (DENY, ASK)])
def test_any_deny_ends_it_whatever_the_others_say(build, answers):
    executor = build(*answers)
    success, value = executor.execute("act")
    assert not success
    assert value["error"] == "Permission denied: never"
    assert value["_permission"] == {"decision": "denied", "reason": "never", "method": "blacklist", "rule": "act *"}
    assert executor.ran == []


@pytest.mark.parametrize("broken", [RuntimeError("x"), SystemExit(), "allow", True, Decision("perhaps")])
def test_an_opinion_that_cannot_be_had_is_a_denial(build, broken):
    executor = build(ALLOW, broken)
    success, value = executor.execute("act")
    assert not success
    assert value["_permission"]["method"] == "error"
    assert executor.ran == []


def test_an_allow_of_a_plugin_is_told_in_the_result(build):
    executor = build(ALLOW)
    executor.register("give", lambda args: {})
    assert executor.execute("give")[1]["_permission"]["reason"] == "fine"


def test_an_opinion_that_changes_its_copy_changes_nothing(build):
    def sly(call):
        call.arguments["a"] = 1000
        return ALLOW

    executor = build(sly, lambda call: DENY if call.arguments["a"] == 1000 else ALLOW)
    assert executor.execute("act", {"a": 1})[0]
    assert executor.ran == [{"a": 1}]


def test_an_ask_without_anybody_to_ask_is_a_denial(build):
    executor = build(ASK)
    success, value = executor.execute("act")
    assert not success
    assert value["_permission"]["method"] == "no_channel"
    assert executor.ran == []


@pytest.mark.parametrize(
    ("answer", "method"), [("yes", "user_approved"), ("no", "user_denied"), ("what?", "user_denied")]
)
def test_an_ask_is_put_to_the_inbox_and_the_answer_counts(build, answer, method):
    executor = build(ASK)
    executor.approvals.subscribe(
        lambda event, approval: event == "asked" and executor.approvals.decide(approval.id, answer)
    )
    executor.register("give", lambda args: {})
    success, value = executor.execute("give")
    assert success is (answer == "yes")
    assert value["_permission"]["method"] == method


def test_a_comment_reaches_the_model_as_it_is(build):
    executor = build(ASK)
    executor.approvals.subscribe(
        lambda event, approval: event == "asked" and executor.approvals.decide(approval.id, ("comment", "use git mv"))
    )
    success, value = executor.execute("act")
    assert not success
    assert value["error"] == "use git mv"
    assert value["_permission"]["method"] == "user_comment"


def test_a_permission_plugin_is_asked_after_the_opinions(build):
    class Last:
        def check_permission(self, name, args, context, call_id):
            return False, {"reason": "last word", "method": "x"}

    assert build(ALLOW, plugin=Last()).execute("act")[1]["error"] == "Permission denied: last word"


def test_a_two_step_plugin_that_allows_is_not_asked_again(build):
    plugin = TwoSteps(ALLOW)
    executor = build(plugin=plugin)
    assert executor.execute("act")[0]
    assert plugin.asked == []


def test_a_two_step_plugin_asks_when_its_decision_or_an_opinion_says_so(build):
    for plugin, opinions, reason in (
        (TwoSteps(ASK, Verdict(True, None, {"reason": "r", "method": "user_approved"})), (), "hm"),
        (TwoSteps(ALLOW, Verdict(True, None, {"method": "user_approved"})), (Decision("ask", "careful"),), "careful"),
    ):
        executor = build(*opinions, plugin=plugin)
        assert executor.execute("act")[0]
        assert plugin.asked == [("act", reason)]


@pytest.mark.parametrize(
    "plugin",
    [
        TwoSteps(DENY),
        TwoSteps(ASK, Verdict(False, None, {"reason": "no"})),
        TwoSteps(ASK, Verdict("yes")),
        TwoSteps(ASK, None),
        TwoSteps(ASK, RuntimeError()),
        TwoSteps(RuntimeError()),
        TwoSteps(None),
        TwoSteps("allow"),
    ],
)
def test_a_two_step_plugin_that_does_not_clearly_allow_denies(build, plugin):
    executor = build(plugin=plugin)
    success, value = executor.execute("act")
    assert not success
    assert value["_permission"]["decision"] == "denied"
    assert executor.ran == []


def test_edits_of_a_two_step_plugin_are_judged_again(build):
    class Editor(TwoSteps):
        def decide(self, call, context):
            return ASK if "a" in call.arguments else ALLOW

    executor = build(plugin=Editor(None, Verdict(True, {"b": 2}, {"method": "user_approved"})))
    assert executor.execute("act", {"a": 1})[0]
    assert executor.ran == [{"b": 2}]


def test_the_context_is_passed_unchanged_to_opinions(build):
    seen = []

    class Watching:
        @hookimpl
        def executor_check_permission(self, context):
            seen.append(context)

    executor = build()
    context = {"session": 1}
    executor.registry.register(Watching(), "watching")
    executor.registry.expose("watching")
    executor.set_permission_plugin(None, context)
    executor.execute("act")
    assert seen == [context]
    assert seen[0] is context


@pytest.mark.parametrize("route", ["execute", "call", "many", "start", "inner", "carrier"])
def test_no_route_to_a_tool_leads_round_the_gate(route):
    from executor import ToolCall, errors

    registry = PluginRegistry(entry_points=False)
    registry.register(opinion(lambda call: DENY if call.name == "act" else None), "opinion")
    registry.expose("opinion")
    registry.expose("background")
    with ToolExecutor(registry=registry) as executor:
        ran = []
        executor.register("act", ran.append, auto_background=5)
        executor.register("outer", lambda args: executor.execute("act"))
        if route == "execute":
            value = executor.execute("act")[1]
        elif route == "call":
            value = executor.call(ToolCall("1", "act")).value
        elif route == "many":
            value = executor.execute_many([ToolCall("1", "act")])[0].value
        elif route == "start":
            with pytest.raises(errors.PermissionDeniedError) as caught:
                executor.start(ToolCall("1", "act"))
            value = {"_permission": caught.value.info}
        elif route == "inner":
            value = executor.execute("outer")[1][1]
        else:
            success, value = executor.execute("startBackgroundTask", {"tool_name": "act", "arguments": {}})
            assert not success
        assert value["_permission"]["method"] == "blacklist"
        assert ran == []


def test_waiting_for_a_person_counts_against_no_time_limit():
    release = threading.Event()

    class Slow:
        def check_permission(self, name, args, context, call_id):
            release.wait(0.05)
            return True, {}

    with ToolExecutor(permission_plugin=Slow()) as executor:
        executor.register("quick", lambda args: "done", timeout=0.04, auto_background=0.02)
        assert executor.execute("quick") == (True, "done")
