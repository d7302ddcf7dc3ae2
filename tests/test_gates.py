"""Gates that combine, a time limit that a tool cannot end, and numbers that cannot be meant."""

from __future__ import annotations

import contextlib
import gc
import threading

import pytest

from executor import Decision, PluginRegistry, ToolCall, ToolExecutor, Verdict, current_call, hookimpl
from executor.errors import PermissionDeniedError
from executor.run import Runner

SECONDS = 20.0


class Policy:
    """A permission plugin that says one thing, and how often it was asked."""

    def __init__(self, verdict):
        self.verdict = verdict
        self.asked = []

    def decide(self, call, context):
        self.asked.append(call.arguments)
        return Decision(self.verdict, "policy", "test")

    def ask(self, call, decision, context):
        return Verdict(True)


def denying(prepared):
    raise PermissionDeniedError("Permission denied: the runner", decision=Decision("deny", "the runner", "gate"))


def routes(executor, name="work"):
    """What one call comes to on every route: its kind, or the class of what was raised."""
    yield executor.call(ToolCall("1", name, {})).kind
    yield executor.submit(ToolCall("2", name, {})).result(SECONDS).kind
    yield executor.execute_many([ToolCall("3", name, {})])[0].kind
    yield executor.call(ToolCall("4", name, {}), timeout=SECONDS).kind
    yield executor.call(ToolCall("5", name, {}), background=True).kind
    yield "ok" if executor.execute(name)[0] else "denied"
    try:
        executor.start(ToolCall("6", name, {}))
    except PermissionDeniedError:
        yield "denied"
    try:
        executor.execute_chain([{"toolId": name}])
    except Exception as error:
        yield "denied" if isinstance(error.__cause__, PermissionDeniedError) else repr(error.__cause__)
    try:
        list(executor.execute_stream(name, adapt=True))
    except PermissionDeniedError:
        yield "denied"


def test_a_runners_gate_is_kept_under_an_executor_on_every_route():
    ran = []
    with Runner(gate=denying) as runner, ToolExecutor(runner=runner, permission_plugin=Policy("allow")) as executor:
        executor.register("work", ran.append)
        assert list(routes(executor)) == ["denied"] * 9
    assert ran == []


@pytest.mark.parametrize(("runners", "own", "kind"), [
    ("allow", "allow", "ok"), ("allow", "deny", "denied"), ("deny", "allow", "denied"), ("none", "deny", "denied"),
])  # fmt: skip
def test_both_gates_are_asked_and_a_deny_of_either_wins(runners, own, kind):
    asked = []

    def gate(prepared):
        asked.append(prepared.entry.name)
        if runners == "deny":
            return Verdict(False, None, {"reason": "no"})
        return None if runners == "none" else Verdict(True)

    policy = Policy(own)
    with Runner(gate=gate) as runner, ToolExecutor(runner=runner, permission_plugin=policy) as executor:
        executor.register("work", lambda a: 1)
        assert executor.call(ToolCall("1", "work", {})).kind == kind
        assert executor.submit(ToolCall("2", "work", {})).result(SECONDS).kind == kind
    assert asked == ["work", "work"]
    assert len(policy.asked) == (0 if runners == "deny" else 2)


def test_what_a_runners_gate_edits_is_validated_and_judged_by_both():
    seen = []

    def gate(prepared):
        seen.append(dict(prepared.arguments))
        return Verdict(True, {"path": "safe"}, {"reason": "edited", "method": "gate"})

    policy = Policy("allow")
    with Runner(gate=gate) as runner, ToolExecutor(runner=runner, permission_plugin=policy) as executor:
        executor.register("work", lambda a: a)
        result = executor.call(ToolCall("1", "work", {"path": "bad"}))
    assert result.value["path"] == "safe"
    assert seen == [{"path": "bad"}, {"path": "safe"}]
    assert policy.asked == [{"path": "safe"}]


def test_a_subclass_of_runner_with_its_own_way_of_being_made_works():
    class Mine(Runner):
        def __init__(self, secret):
            super().__init__(gate=denying)
            self.secret = secret

    with Mine("x") as runner, ToolExecutor(runner=runner) as executor:
        executor.register("work", lambda a: 1)
        assert executor.call(ToolCall("1", "work", {})).kind == "denied"
        assert type(runner) is Mine


@pytest.mark.parametrize("how", ["closed", "dropped"])
def test_a_runners_gate_is_asked_by_its_executor_when_the_runner_is_gone(how):
    def gate(prepared):
        return Verdict(True)

    runner = Runner(gate=gate)
    executor = ToolExecutor(runner=runner)
    executor.register("work", lambda a: 1)
    if how == "closed":
        runner.close()
    del runner
    gc.collect()
    with executor:
        assert executor.call(ToolCall("1", "work", {})).structured == 1
        assert executor.submit(ToolCall("2", "work", {})).result(SECONDS).structured == 1


@pytest.mark.parametrize("raised", [SystemExit, KeyboardInterrupt, GeneratorExit, ValueError, StopIteration])
def test_a_gate_that_raises_lets_nothing_run(raised):
    def gate(prepared):
        raise raised("x")

    ran = []
    with Runner(gate=gate) as runner, ToolExecutor(runner=runner) as executor:
        executor.register("work", ran.append)
        assert executor.call(ToolCall("1", "work", {})).is_error
        assert executor.submit(ToolCall("2", "work", {})).result(SECONDS).is_error
    assert ran == []


# The end of a call is not the tool's ---------------------------------------------------------------------------------


def reachable():
    """Every function that a tool reaches through public names of its call and token, without arguments."""
    call = current_call()
    for thing in (call, call.token):
        for name in dir(thing):
            if not name.startswith("_"):
                yield name, getattr(thing, name)


def test_a_tool_can_only_cancel_itself_and_not_end_its_time_limit(executor):
    release, seen = threading.Event(), []

    def work(args):
        for name, thing in reachable():
            if name in ("cancel", "wait", "host", "tool", "run_in_thread") or not callable(thing):
                continue
            seen.append(name)
            with contextlib.suppress(TypeError):
                thing()
        for name in ("end", "stop", "finish", "over", "fate"):
            assert not hasattr(current_call().token, name)
            assert not hasattr(current_call(), name)
        for name in ("deadline", "cancelled", "remaining", "token", "tool"):
            with pytest.raises(AttributeError):
                setattr(current_call(), name, None)
        for name in ("cancelled", "error"):
            with pytest.raises(AttributeError):
                setattr(current_call().token, name, None)
        release.wait(SECONDS)
        return "late"

    executor.register("work", work)
    result = executor.call(ToolCall("1", "work", {}), timeout=0.3)
    assert (result.kind, result.value["timed_out"]) == ("timed_out", True), result
    assert seen  # it has tried
    release.set()


def test_a_tool_can_forge_neither_what_was_decided_nor_what_was_asked():
    def work(args):
        with pytest.raises(TypeError):
            current_call().permission["rule"] = "forged"
        current_call().arguments["list"].append("forged")
        args["list"].append("its own copy")

    asked = {"list": [1]}
    with ToolExecutor(permission_plugin=Policy("allow")) as executor:
        executor.register("work", work)
        result = executor.call(ToolCall("1", "work", asked))
    assert result.success, result.error
    assert dict(result.permission) == {"decision": "allowed", "reason": "policy", "method": "test"}
    assert asked == {"list": [1]}


def test_a_tool_that_cancels_itself_is_cancelled(executor):
    executor.register("work", lambda a: current_call().token.cancel("enough"))
    assert executor.call(ToolCall("1", "work", {})).kind == "cancelled"


@pytest.mark.parametrize("name", ["max_workers", "max_background_tasks"])
@pytest.mark.parametrize("bad", [0, -1, True, False, 1.5, "3", None])
def test_numbers_that_cannot_be_meant_are_refused_when_the_executor_is_made(name, bad):
    with pytest.raises((ValueError, TypeError), match=name):
        ToolExecutor(**{name: bad})


# What was judged is what runs ----------------------------------------------------------------------------------------


def test_a_runners_gate_cannot_change_the_arguments_in_place():
    def gate(prepared):
        prepared.arguments["evil"] = prepared.arguments["nested"]["evil"] = 1
        return Verdict(True)

    with Runner(gate=gate) as runner, ToolExecutor(runner=runner) as executor:
        executor.register("give", lambda a: a)
        for result in (
            executor.call(ToolCall("1", "give", {"nested": {}})),
            executor.submit(ToolCall("1", "give", {"nested": {}})).result(SECONDS),
        ):
            assert result.structured["nested"] == {}
            assert "evil" not in result.structured


def test_what_tells_the_resources_cannot_change_the_arguments():
    with ToolExecutor() as executor:
        executor.register("give", lambda a: a, resources=lambda a: [a.pop("path")])
        assert executor.execute("give", {"path": "x"}) == (True, {"path": "x"})


def test_what_cannot_tell_the_resources_is_said_to_be_that():
    with ToolExecutor() as executor:
        executor.register("give", lambda a: a, resources=lambda a: a["path"])
        assert "Which resources give needs could not be told: KeyError" in executor.execute("give")[1]["error"]


class Odd(BaseException):
    pass


@pytest.mark.parametrize("raised", [Odd, SystemExit, ValueError])
def test_whatever_a_runners_gate_raises_is_a_denial(raised):
    def gate(prepared):
        raise raised("broke")

    with Runner(gate=gate) as runner, ToolExecutor(runner=runner) as executor:
        executor.register("work", lambda a: 1)
        for result in (
            executor.call(ToolCall("1", "work", {})),
            executor.submit(ToolCall("2", "work", {})).result(SECONDS),
        ):
            assert (result.kind, result.permission["decision"]) == ("denied", "denied")


# Numbers -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [10**400, float("inf"), 1e300])
def test_a_limit_that_no_clock_can_wait_for_is_none(limit):
    with ToolExecutor(default_timeout=limit) as executor:
        executor.register("give", lambda a: 1)
        executor.register("slow", lambda a: 1, timeout=60)
        assert executor.execute("give", timeout=limit) == (True, 1)
        assert executor.call(ToolCall("1", "slow", {}), timeout=limit).structured == 1
        assert executor.execute_many([ToolCall("1", "slow", {})], timeout=limit)[0].structured == 1
        with pytest.raises(ValueError, match="not a number of seconds"):
            executor.register("never", lambda a: 1, timeout=limit)


class Hook:
    """A plugin with this one opinion on every call."""

    def __init__(self, verdict):
        self.verdict = verdict

    @hookimpl
    def executor_check_permission(self, call, context):
        return Decision(self.verdict, f"a hook says {self.verdict}")


class Asking(Policy):
    """Does something while a person is asked, who says yes."""

    def __init__(self, act):
        super().__init__("ask")
        self.ask = lambda call, decision, context: act() or Verdict(True)


class OlderAsking:
    """The same, in the older form."""

    def __init__(self, act):
        self.check_permission = lambda name, arguments, context, call_id: (act() is None, {})


@pytest.mark.parametrize("later", ["deny", "allow", "ask"])
@pytest.mark.parametrize("by", [Asking, OlderAsking, "a hook"])
def test_a_guard_that_comes_while_a_person_is_asked_keeps_the_call_from_running(by, later):
    with PluginRegistry(bundled=False, entry_points=False) as registry:
        registry.register(Hook("ask"), "asks")
        registry.register(Hook(later), "guard")
        ended = []
        for call in (ToolExecutor.call, lambda *args: ToolExecutor.submit(*args).result(SECONDS)):
            registry.unexpose("guard")
            with ToolExecutor(registry=registry) as executor:
                executor.register("work", lambda args: "ran")
                if by == "a hook":
                    registry.expose("asks")

                    def answer(event, approval, executor=executor):
                        registry.expose("guard")
                        executor.approvals.decide(approval.id, "yes")

                    executor.approvals.subscribe(answer)
                else:
                    executor.set_permission_plugin(by(lambda: registry.expose("guard") and None))
                ended.append(call(executor, ToolCall("1", "work")))
    assert [each.error for each in ended] == [None if later != "deny" else "Permission denied: a hook says deny"] * 2
