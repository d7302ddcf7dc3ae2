"""Chains: what reaches the next step, what stops them, and what is found out before anything runs."""

from __future__ import annotations

import copy
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from executor import CancelToken, ToolExecutor, current_call, errors
from executor.run import ChainResult, ChainStep, Parallel, ProgressEvent, Ref, Runner, Tool, ToolBackend
from executor.testing import Answer, StubBackend, StubIndex

ECHO = {"echo": lambda args: args}


def fail(args):
    raise ValueError("broken")


def test_an_empty_chain_comes_to_nothing_and_says_nothing(runner_of):
    told = []
    assert runner_of().run_chain_with_progress([], told.append) == ChainResult(None, [])
    assert told == []


def test_steps_run_in_their_order_and_the_last_result_is_the_chains(runner_of):
    order = []
    runner = runner_of({name: lambda args, name=name: order.append(name) or {"by": name} for name in "abc"})
    chain = runner.run_chain([ChainStep("a"), ChainStep("b"), ChainStep("c")])
    final, steps = chain.final, chain.steps
    assert order == ["a", "b", "c"]
    assert final is steps[2].result
    assert final.structured == {"by": "c"}
    assert [(step.tool_id, step.place, step.backend.kind, step.error) for step in steps] == [
        ("a", 0, "local", None),
        ("b", 1, "local", None),
        ("c", 2, "local", None),
    ]
    assert all(step.duration >= 0 for step in steps)


def test_the_previous_value_is_put_over_what_is_there_and_is_null_for_the_first(runner_of):
    runner = runner_of({"first": lambda args: "first-result", **ECHO})
    steps = [ChainStep("first"), ChainStep("echo", {"previous": "old", "n": 1}, use_previous=True)]
    assert runner.run_chain(steps).final.structured == {"previous": "first-result", "n": 1}
    assert runner.run_chain([ChainStep("echo", use_previous=True)]).final.structured == {"previous": None}


def test_a_step_that_does_not_look_back_is_still_looked_back_at(runner_of):
    runner = runner_of({"a": lambda args: 1, "b": lambda args: 2, **ECHO})
    chain = runner.run_chain([ChainStep("a"), ChainStep("b"), ChainStep("echo", use_previous=True)])
    final = chain.final
    assert final.structured == {"previous": 2}


def test_the_first_failure_ends_the_chain_and_says_which_step_it_was(runner_of):
    called = []
    runner = runner_of({"ok": lambda args: 1, "fail": fail, "never": called.append})
    with pytest.raises(errors.ChainError, match=r"step 1, 'fail', failed: broken") as caught:
        runner.run_chain([ChainStep("ok"), ChainStep("fail"), ChainStep("never")])
    error = caught.value
    assert (error.index, error.tool_id, error.backend.kind, error.op) == (1, "fail", "local", "chain")
    assert [(step.value, step.error is not None) for step in error.steps] == [(1, False), (None, True)]
    assert isinstance(error.__cause__, errors.ToolFailedError)
    assert error.caused_by(ValueError)
    assert called == []


def test_an_answer_that_says_error_fails_its_step():
    index = StubIndex([Tool("x")], {"x": [ToolBackend.mcp("s")]})
    runner = Runner(index, mcp=StubBackend(Answer.text("not today", is_error=True)))
    with pytest.raises(errors.ChainError, match="not today") as caught:
        runner.run_chain([ChainStep("x")])
    assert type(caught.value.__cause__) is errors.ToolFailedError


def test_a_tool_that_declares_no_previous_says_so(runner_of):
    strict = {"input_schema": {"type": "object", "additionalProperties": False}}
    runner = runner_of({"a": lambda args: 1, "strict": lambda args: 2}, options={"strict": strict})
    with pytest.raises(errors.ChainError) as caught:
        runner.run_chain([ChainStep("a"), ChainStep("strict", use_previous=True)])
    assert caught.value.__cause__.errors[0]["keyword"] == "additionalProperties"


# Named steps, references, conditions ---------------------------------------------------------------------------------


def test_a_reference_leads_to_any_earlier_value(runner_of):
    runner = runner_of({"fetch": lambda args: {"items": [{"id": 7}, {"id": 8}]}, "noise": lambda args: 1, **ECHO})
    chain = runner.run_chain(
        [
            ChainStep("fetch", name="fetch"),
            ChainStep("noise"),
            ChainStep(
                "echo", {"id": Ref("fetch.items.1.id"), "deep": [{"all": Ref("fetch.items")}], "last": Ref("previous")}
            ),
        ]
    )
    final = chain.final
    assert final.structured == {"id": 8, "deep": [{"all": [{"id": 7}, {"id": 8}]}], "last": 1}


def test_a_reference_that_leads_nowhere_says_how_far_it_led(runner_of):
    runner = runner_of({"fetch": lambda args: {"items": []}, **ECHO})
    with pytest.raises(errors.ChainError, match=r"fetch\.items has no '0'") as caught:
        runner.run_chain([ChainStep("fetch", name="fetch"), ChainStep("echo", {"x": Ref("fetch.items.0.id")})])
    assert isinstance(caught.value.__cause__, errors.InvalidArgumentsError)
    steps = [ChainStep("fetch", name="fetch"), ChainStep("echo", {"x": Ref("fetch.items.0", default="none")})]
    assert runner.run_chain(steps).final.structured == {"x": "none"}


@pytest.mark.parametrize(
    ("steps", "text"),
    [
        ([ChainStep("echo", {"x": Ref("nobody.x")})], "leads to no step"),
        ([ChainStep("echo", {"x": [{"y": Ref("me")}]}, name="me")], "a circle"),
        ([ChainStep("echo", {"x": Ref("later")}), ChainStep("echo", name="later")], "has not ended"),
        ([Parallel((ChainStep("echo", name="a"), ChainStep("echo", {"x": Ref("a")})))], "has not ended"),
        ([ChainStep("echo", when=Ref("nobody"))], "leads to no step"),
        ([ChainStep("echo", name="a"), ChainStep("echo", name="a")], "two steps are named 'a'"),
        ([ChainStep("echo", name="previous")], "'previous'"),
        ([ChainStep("echo", name="a.b")], "'a.b'"),
        ([ChainStep("echo", on_error="ignore")], "on_error is 'ignore'"),
        ([ChainStep("echo", [1])], "no object"),
        ([ChainStep("echo", timeout=0)], "timeout is 0"),
        ([ChainStep("echo", when="yes")], "neither a reference nor a function"),
        ([[ChainStep("echo"), [ChainStep("echo")]]], "no further group"),
        ([7], "step 1: 7 is not a step"),
        ([Parallel((ChainStep("echo"),), max_concurrency=0)], "max_concurrency is 0"),
        ([{"parallel": [], "maxConcurrency": "2"}], "max_concurrency is '2'"),
        ([ChainStep("echo", retry="often")], "retry is 'often'"),
        ([{"tool": "echo"}], "unknown key 'tool'"),
        ([{"args": {}}], "toolId"),
        ([ChainStep("a:b:c:d")], "Invalid tool id"),
    ],
)
def test_what_is_wrong_with_a_chain_is_found_before_anything_runs(runner_of, steps, text):
    ran = []
    runner = runner_of({"first": ran.append, "echo": ran.append})
    with pytest.raises(errors.ChainError, match=text) as caught:
        runner.run_chain([ChainStep("first"), *steps])
    assert ran == []
    (refused,) = caught.value.steps
    assert refused.place == caught.value.index >= 1
    assert refused.error is not None
    assert refused.tool_id == (caught.value.tool_id or "")


def test_a_refused_step_is_told_with_its_tool_name_and_place(runner_of):
    group = Parallel((ChainStep("echo"), ChainStep("other", timeout=-1, name="bad")))
    with pytest.raises(errors.ChainError) as caught:
        runner_of({}).run_chain([ChainStep("echo"), group])
    (refused,) = caught.value.steps
    assert (caught.value.index, caught.value.tool_id) == (2, "other")
    assert (refused.place, refused.tool_id, refused.name) == (2, "other", "bad")
    assert "timeout" in str(refused.error)


def test_a_step_after_a_group_is_counted_as_the_groups_steps_are(runner_of):
    with pytest.raises(errors.ChainError, match="step 2: ") as caught:
        runner_of({}).run_chain([[ChainStep("echo"), ChainStep("echo")], {"toolId": "x", "tool": 1}])
    assert (caught.value.index, caught.value.tool_id) == (2, "x")


def test_a_malformed_id_in_a_chain_is_matched_by_its_class(runner_of):
    with pytest.raises(errors.ChainError) as caught:
        runner_of().run_chain([ChainStep(":a")])
    assert caught.value.caused_by(errors.InvalidToolIdError)


def test_a_step_runs_only_when_its_condition_holds(runner_of):
    runner = runner_of({"check": lambda args: {"ok": args["ok"]}, "act": lambda args: "acted", **ECHO})

    def chain(ok, condition):
        return [
            ChainStep("check", {"ok": ok}, name="check"),
            ChainStep("act", name="act", when=condition),
            ChainStep("echo", {"act": Ref("act", default=None)}, use_previous=True),
        ]

    for condition in (Ref("check.ok"), lambda values: values["check"]["ok"]):
        result = runner.run_chain(chain(True, condition))
        assert result.final.structured == {"act": "acted", "previous": "acted"}
        result = runner.run_chain(chain(False, condition))
        assert result.final.structured == {"act": None, "previous": {"ok": False}}  # what is left out is looked past
        assert [step.skipped for step in result.steps] == [False, True, False]


def test_a_failure_may_be_passed_over(runner_of):
    runner = runner_of({"ok": lambda args: 1, "fail": fail, **ECHO})
    chain = runner.run_chain(
        [ChainStep("ok"), ChainStep("fail", on_error="continue"), ChainStep("echo", use_previous=True)]
    )
    final, steps = chain.final, chain.steps
    assert final.structured == {"previous": None}
    assert isinstance(steps[1].error, errors.ToolFailedError)
    assert runner.run_chain([ChainStep("ok"), ChainStep("fail", on_error="continue")]).final.structured == 1


# Groups --------------------------------------------------------------------------------------------------------------


def test_a_group_runs_side_by_side_and_its_values_are_the_next_steps_previous(runner_of):
    meeting = threading.Barrier(3)
    functions = {name: lambda args, name=name: meeting.wait(10) is None or name for name in "abc"}
    runner = runner_of({**functions, **ECHO})
    steps = [
        [ChainStep("a", name="a"), ChainStep("b"), ChainStep("c")],
        ChainStep("echo", {"a": Ref("a")}, use_previous=True),
    ]
    chain = runner.run_chain(steps)
    final, records = chain.final, chain.steps
    assert final.structured == {"a": "a", "previous": ["a", "b", "c"]}
    assert [record.place for record in records] == [0, 1, 2, 3]


def test_a_group_keeps_to_its_bound(runner_of):
    lock, now, most = threading.Lock(), [], []
    pair = threading.Barrier(2)

    def work(args):
        with lock:
            now.append(1)
            most.append(len(now))
        pair.wait(10)
        with lock:
            now.pop()

    runner = runner_of({"work": work})
    runner.run_chain([Parallel(tuple(ChainStep("work") for _ in range(6)), max_concurrency=2)])
    assert max(most) == 2


def test_a_failure_in_a_group_stops_the_others(runner_of):
    started, stopped = threading.Event(), threading.Event()

    def patient(args):
        started.set()
        if current_call().wait(30):
            stopped.set()

    runner = runner_of({"patient": patient, "fail": lambda args: started.wait(10) and fail(args)})
    with pytest.raises(errors.ChainError, match="step 1, 'fail'") as caught:
        runner.run_chain([[ChainStep("patient"), ChainStep("fail")]])
    assert stopped.wait(10)
    assert caught.value.index == 1


# Isolation -----------------------------------------------------------------------------------------------------------

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


def spoil(value):
    """Writes to everything that can be written to in a JSON tree."""
    for inner in list(value.values()) if isinstance(value, dict) else list(value) if isinstance(value, list) else []:
        spoil(inner)
    if isinstance(value, dict):
        value.clear()
        value["spoilt"] = True
    elif isinstance(value, list):
        value.append("spoilt")


@settings(deadline=None)  # machines have other things to do
@given(args=st.dictionaries(st.text(max_size=5), JSON, max_size=3), result=JSON)
def test_a_chain_never_changes_its_callers_objects_or_an_earlier_value(args, result):
    seen = []

    def spoiler(given_args):
        seen.append(copy.deepcopy(given_args.get("first")))
        spoil(given_args)
        return 1

    runner = Runner(
        StubIndex([Tool("give"), Tool("spoil")]), local={"give": lambda a: copy.deepcopy(result), "spoil": spoiler}
    )
    spoiled = ChainStep("spoil", {**args, "first": Ref("first")}, use_previous=True)
    steps = [ChainStep("give", args, name="first"), spoiled, spoiled]
    before = copy.deepcopy((args, spoiled.args))
    chain = runner.run_chain(steps)
    records = chain.steps
    assert (args, spoiled.args) == before
    assert seen == [result, result]
    assert records[0].value == result


def test_what_a_tool_does_to_what_it_returned_does_not_reach_later_steps(runner_of):
    kept = {"list": []}

    def give(args):
        kept["list"].append(1)
        return kept

    runner = runner_of({"give": give, **ECHO})
    steps = [ChainStep("give", name="first"), ChainStep("give"), ChainStep("echo", {"first": Ref("first")})]
    assert runner.run_chain(steps).final.structured == {"first": {"list": [1]}}


# Stops ---------------------------------------------------------------------------------------------------------------


def test_a_chain_that_is_cancelled_says_so_with_its_own_class(runner_of):
    token, called = CancelToken(), []
    runner = runner_of({"cancel": lambda args: token.cancel("enough"), "never": called.append})
    with pytest.raises(errors.ToolCancelledError, match="enough") as caught:
        runner.run_chain([ChainStep("cancel"), ChainStep("never")], cancel=token)
    assert called == []
    assert [step.tool_id for step in caught.value.result.steps] == ["cancel"]
    with pytest.raises(errors.ToolCancelledError) as caught:
        runner.run_chain([ChainStep("never")], cancel=token)
    assert caught.value.result == ChainResult(None, [])


def test_a_step_that_runs_out_of_time_ends_the_chain_unless_it_may_be_passed_over(runner_of):
    runner = runner_of({"slow": lambda args: current_call().wait(30), "ok": lambda args: 1})
    with pytest.raises(errors.ToolTimeoutError) as caught:
        runner.run_chain([ChainStep("ok"), ChainStep("slow", timeout=0.01)])
    assert [step.tool_id for step in caught.value.result.steps] == ["ok", "slow"]
    chain = runner.run_chain([ChainStep("slow", timeout=0.01, on_error="continue"), ChainStep("ok")])
    final, steps = chain.final, chain.steps
    assert final.structured == 1
    assert isinstance(steps[0].error, errors.ToolTimeoutError)


def test_the_time_of_a_chain_is_the_time_of_all_its_steps(runner_of):
    left = []

    def look(args):
        left.append(current_call().remaining)
        return current_call().wait(0.02)

    runner = runner_of({"look": look})
    with pytest.raises(errors.ToolTimeoutError):
        runner.run_chain([ChainStep("look")] * 20, timeout=0.1)
    assert left == sorted(left, reverse=True)
    assert len(left) < 20


def test_a_step_may_have_retries_of_its_own(runner_of):
    from executor import ToolAnnotations
    from executor.run import ExponentialRetry

    tries = []

    def flaky(args):
        tries.append(1)
        if len(tries) < 3:
            raise ConnectionError("not yet")
        return "there"

    runner = runner_of({"flaky": flaky}, options={"flaky": {"annotations": ToolAnnotations(idempotent=True)}})
    step = ChainStep("flaky", retry=ExponentialRetry(5, initial=0))
    assert runner.run_chain([step]).final.structured == "there"


# Progress, JSON, executors -------------------------------------------------------------------------------------------


def test_progress_is_told_after_each_step(runner_of):
    told = []
    runner = runner_of({"ok": lambda args: 1, "fail": fail})
    runner.run_chain_with_progress([ChainStep("ok"), ChainStep("ok")], told.append)
    assert told == [
        ProgressEvent(0, 2, "started"),
        ProgressEvent(1, 2, "step_completed"),
        ProgressEvent(2, 2, "step_completed"),
    ]
    told.clear()
    with pytest.raises(errors.ChainError):
        runner.run_chain_with_progress([ChainStep("ok"), ChainStep("fail"), ChainStep("ok")], told.append)
    events = [(event.progress, event.total, event.message) for event in told]
    assert events == [
        (0, 3, "started"),
        (1, 3, "step_completed"),
        (2, 3, "step_error"),
    ]


def test_a_progress_callback_that_raises_ends_nothing(runner_of, caplog):
    def broken(event):
        raise RuntimeError("no screen")

    assert runner_of({"ok": lambda args: 1}).run_chain_with_progress([ChainStep("ok")], broken).final.structured == 1
    assert "no screen" in caplog.text


STEPS = [
    {"toolId": "fetch", "args": {"n": 1}, "name": "fetch"},
    {"parallel": [{"toolId": "echo", "usePrevious": True}, {"toolId": "echo"}], "maxConcurrency": 2},
    {
        "toolId": "echo",
        "args": {"n": {"$step": "fetch.n"}, "z": {"$step": "fetch.z", "default": 0}},
        "when": {"$step": "fetch.n"},
        "onError": "continue",
        "timeout": 5,
        "retry": 2,
    },
]


def test_a_chain_has_a_json_form(runner_of):
    from executor.run._values import to_step

    steps = [to_step(step) for step in STEPS]
    assert [step.to_dict() for step in steps] == STEPS
    result = runner_of({"fetch": lambda args: args, **ECHO}).run_chain(STEPS)
    assert result.final.structured == {"n": 1, "z": 0}
    assert result.to_dict()["steps"][0]["toolId"] == "fetch"
    with pytest.raises(ValueError, match="function"):
        ChainStep("x", when=lambda values: True).to_dict()


def test_a_schema_in_arguments_is_no_reference(runner_of):
    schema = {"$ref": "#/$defs/a", "$step": {"not": "text"}}
    assert runner_of(ECHO).run_chain([{"toolId": "echo", "args": {"s": schema}}]).final.structured == {"s": schema}


def test_each_step_of_an_executors_chain_is_judged_recorded_and_shown():
    asked, shown = [], []

    class Keeper:
        def check_permission(self, name, args, context, call_id):
            asked.append((name, args))
            return name != "rm", {"reason": "rule", "method": "whitelist"}

    records = []

    class Book:
        def record(self, stage, payload):
            records.append(stage)

    with ToolExecutor(Book(), permission_plugin=Keeper()) as executor:
        executor.register("say", lambda args: current_call().emit("hello") or {"n": 1}, auto_background=0)
        executor.register("slow", lambda args: args, timeout=30)
        executor.register("rm", lambda args: 1)
        chain = executor.execute_chain(
            [ChainStep("say"), [ChainStep("slow", use_previous=True)]], on_output=shown.append
        )
        final = chain.final
        assert final.structured == {"previous": {"n": 1}}
        with pytest.raises(errors.ChainError) as caught:
            executor.execute_chain([ChainStep("say"), ChainStep("rm")])
        assert caught.value.caused_by(errors.PermissionDeniedError)
        with pytest.raises(errors.ToolTimeoutError):
            executor.register("wait", lambda args: current_call().wait(30))
            executor.execute_chain([ChainStep("wait", timeout=0.01)])
        assert len(executor.tasks.list()) == 0
    assert asked[:2] == [("say", {}), ("slow", {"previous": {"n": 1}})]
    assert shown == ["hello"]
    assert records.count("call-start") == records.count("call-end") == 5
