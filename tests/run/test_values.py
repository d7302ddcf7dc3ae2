"""What goes into chains and comes out of streams and chains, and its JSON form."""

from __future__ import annotations

import pytest

from executor.run import ChainResult, ChainStep, Parallel, ProgressEvent, Ref, StepResult, StreamEvent
from executor.run._backends import RunResult
from executor.run._values import StreamEventKind, to_step
from executor.values import Tool, ToolBackend

VALUES = {"fetch": {"items": [{"id": 7}, {"id": None}], "n": 0}}


# References ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "value"),
    [("fetch", VALUES["fetch"]), ("fetch.items.0.id", 7), ("fetch.items.-1.id", None), ("fetch.n", 0)],
)
def test_a_reference_leads_through_keys_and_positions(path, value):
    assert Ref(path).of(VALUES) == value
    assert Ref(path, "default").of(VALUES) == value
    assert Ref(path).step == "fetch"


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("other.items", "the step 'other' has no value: it did not run"),
        ("fetch.missing", "fetch has no 'missing'"),
        ("fetch.items.2.id", "fetch.items has no '2'"),
        ("fetch.items.first", "fetch.items has no 'first'"),
        ("fetch.n.deeper", "fetch.n has no 'deeper'"),
    ],
)
def test_a_reference_that_leads_nowhere_says_up_to_where(path, reason):
    with pytest.raises(LookupError) as error:
        Ref(path).of(VALUES)
    assert str(error.value) == f"the reference {path!r} leads nowhere: {reason}"
    assert Ref(path, None).of(VALUES) is None
    assert Ref(path, 3).of(VALUES) == 3


# Steps ---------------------------------------------------------------------------------------------------------------

FULL = {
    "toolId": "send",
    "args": {"to": {"$step": "fetch.items.0", "default": None}, "list": [{"$step": "fetch"}, 1]},
    "usePrevious": True,
    "name": "sending",
    "when": {"$step": "fetch.n", "default": 1},
    "onError": "continue",
    "timeout": 2.5,
    "retry": 3,
}


def test_a_step_and_its_json_form_are_the_same():
    step = ChainStep.from_dict(FULL)
    assert step == ChainStep(
        "send",
        {"to": Ref("fetch.items.0", None), "list": [Ref("fetch"), 1]},
        use_previous=True,
        name="sending",
        when=Ref("fetch.n", 1),
        on_error="continue",
        timeout=2.5,
        retry=3,
    )
    assert step.to_dict() == FULL
    assert ChainStep("x", {"t": (Ref("a"),)}).to_dict() == {"toolId": "x", "args": {"t": [{"$step": "a"}]}}
    assert ChainStep("x", {}).to_dict() == {"toolId": "x"}


def test_what_a_json_form_does_not_say_is_as_usual():
    assert ChainStep.from_dict({"toolId": "x", "name": None, "args": None}) == ChainStep("x")


def test_what_only_looks_like_a_reference_is_a_value():
    args = {"a": {"$step": 3}, "b": {"$step": "x", "other": 1}, "c": "$step"}
    assert ChainStep.from_dict({"toolId": "x", "args": args}).args == args


def test_what_json_cannot_say_is_refused():
    with pytest.raises(ValueError, match="condition of the step 'x' is a function"):
        ChainStep("x", when=lambda values: True).to_dict()
    for retry in (True, "3", object()):
        with pytest.raises(ValueError, match=r"retries of the step 'a' \(x\) are no number"):
            ChainStep("x", name="a", retry=retry).to_dict()


def test_a_step_is_called_by_its_name_and_its_tool():
    assert ChainStep("x").label == "'x'"
    assert ChainStep("x", name="a").label == "'a' (x)"


def test_groups_and_lists_of_steps_are_groups():
    step = ChainStep("x")
    assert to_step(step) is step
    assert to_step({"toolId": "x"}) == step
    assert to_step([step, {"toolId": "x"}]) == Parallel((step, step))
    assert to_step((step,)) == Parallel((step,))
    group = Parallel((step,), 2)
    assert to_step(group) == group
    assert group.to_dict() == {"parallel": [{"toolId": "x"}], "maxConcurrency": 2}
    assert to_step(group.to_dict()) == group
    assert Parallel((step,)).to_dict() == {"parallel": [{"toolId": "x"}]}


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (3, "3 is not a step: give a ChainStep, a Parallel or a list of steps"),
        ({"tool": "x"}, "a step has the unknown key 'tool'"),
        ({"toolId": 3}, 'a step has no "toolId"'),
        ({"parallel": "x"}, '"parallel" is not a list of steps'),
        ({"parallel": [], "most": 1}, "a group has the unknown key 'most': use parallel, maxConcurrency"),
        ([[ChainStep("x")]], "a group holds steps only, no further group"),
        ([Parallel((ChainStep("x"),))], "a group holds steps only, no further group"),
        ([3], "3 is not a step"),
    ],
)
def test_what_is_not_a_step_is_refused_with_what_to_write(value, says):
    with pytest.raises(ValueError, match=r"step|group|parallel") as error:
        to_step(value)
    assert says in str(error.value)


# Results -------------------------------------------------------------------------------------------------------------


def test_results_of_a_chain_have_a_json_form():
    tool, backend = Tool("x"), ToolBackend.local("x")
    result = RunResult(tool, backend, {"a": 1})
    ran = StepResult("x", backend, result, duration=0.5, name="n", place=1)
    assert ran.value == {"a": 1}
    assert ran.to_dict() == {
        "toolId": "x", "backend": backend.to_dict(), "result": result.to_dict(), "name": "n", "duration": 0.5,
    }  # fmt: skip
    skipped = StepResult("y", skipped=True)
    assert skipped.value is None
    assert skipped.to_dict() == {"toolId": "y", "skipped": True, "duration": 0.0}
    assert ChainResult(result, (ran, skipped)).to_dict() == {
        "final": result.to_dict(), "steps": [ran.to_dict(), skipped.to_dict()],
    }  # fmt: skip
    assert ChainResult(None, ()).to_dict() == {"final": None, "steps": []}


# Events --------------------------------------------------------------------------------------------------------------


def test_the_last_event_of_a_stream_is_known_by_its_kind():
    assert [kind for kind in StreamEventKind if StreamEvent(kind).terminal] == ["done", "error"]


def test_events_have_a_json_form():
    progress = StreamEvent(StreamEventKind.PROGRESS, "x", ProgressEvent(1, 2, "m"))
    assert progress.to_dict() == {
        "kind": "progress", "toolId": "x", "data": {"progress": 1, "total": 2, "message": "m"},
    }  # fmt: skip
    done = StreamEvent(StreamEventKind.DONE, None, 0)
    assert done.to_dict() == {"kind": "done", "data": 0}
    assert StreamEvent.from_dict(done.to_dict()) == done
    with pytest.raises(ValueError, match="nonsense"):
        StreamEvent.from_dict({"kind": "nonsense"})
    assert ProgressEvent(3, 0, "").to_dict() == {"progress": 3}
    assert ProgressEvent.from_dict({}) == ProgressEvent(0)
    assert ProgressEvent.from_dict({"progress": 1, "total": 2, "message": "m"}) == ProgressEvent(1, 2, "m")
