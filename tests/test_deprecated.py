"""Old names: they work, they say what to use now and until when, and they blame whoever uses them."""

import pytest

from executor import Decision, TaskManager, ToolCall, ToolExecutor, Verdict, current_call
from executor._deprecated import renamed_parameters, takes, warn_deprecated
from executor.calls._current import CurrentCall
from executor.calls._state import CallState
from executor.run import (
    ChainResult,
    ChainStep,
    ProgressEvent,
    RunResult,
    StepResult,
    StreamEvent,
    StreamEventKind,
    Tool,
    ToolBackend,
    ToolId,
)

TOOL, BACKEND = Tool("tool"), ToolBackend.local("tool")


def warned(text):
    return pytest.warns(DeprecationWarning, match=text)


def test_a_warning_names_the_new_name_and_the_version_and_blames_the_caller():
    def old():
        warn_deprecated("old()", "new()", removed="9.0")

    with warned(r"^old\(\) is deprecated and goes in 9\.0: use new\(\)$") as caught:
        old()
    assert caught[0].filename == __file__


@renamed_parameters(args="arguments")
def call(name, arguments=None, *, timeout=1):
    """Docs."""
    return name, arguments, timeout


def test_a_parameter_is_taken_under_its_old_name():
    with warned(r"call\(args=\) is deprecated .* use arguments="):
        assert call("x", args=1, timeout=2) == ("x", 1, 2)
    assert call("x", 1) == call("x", arguments=1) == ("x", 1, 1)
    assert (call.__name__, call.__doc__) == ("call", "Docs.")


def test_both_names_of_a_parameter_are_an_error():
    with pytest.raises(TypeError, match="both 'arguments' and its old name 'args'"):
        call("x", arguments=1, args=2)


@pytest.mark.parametrize(
    ("value", "parts"),
    [
        (ChainResult(None, []), (None, [])),
        (ProgressEvent(1, 2, "m"), (1, 2, "m")),
        (RunResult(TOOL, BACKEND, 1), (TOOL, BACKEND, 1, (), None, False, None)),
        (StepResult("x"), ("x", None, None, None, 0.0, None, 0, False)),
        (StreamEvent(StreamEventKind.DONE), (StreamEventKind.DONE, None, None, None)),
        (ToolId("a", "b"), ("a", "b", None)),
    ],
)
def test_what_was_a_named_tuple_can_still_be_read_as_one(value, parts):
    name = type(value).__name__
    with warned(f"using a {name} as a tuple is deprecated and goes in") as caught:
        first, *rest = value
    assert (first, *rest) == parts
    assert caught[0].filename == __file__
    with warned(name):
        assert value[0] == parts[0]


def ended_tool(args):
    return {"said": args.get("word")}


def test_a_done_callback_of_four_is_told_of_tasks_only():
    told = []

    def done(task_id, success, error, duration):
        told.append((task_id, success, error, duration >= 0))

    with ToolExecutor(tasks=TaskManager.in_memory()) as executor:
        executor.register("tool", ended_tool, auto_background=10)
        with warned(r"on_done\(task_id, success, error, duration\) is deprecated .* use on_done\(result\)") as caught:
            assert executor.call(ToolCall("1", "tool"), on_done=done).success
        assert caught[0].filename == __file__
        assert told == []
        with warned("on_done") as caught:
            task_id = executor.start(ToolCall("2", "tool"), on_done=done).task_id
        assert caught[0].filename == __file__
    assert told == [(task_id, True, None, True)]


def test_a_done_callback_that_takes_a_result_is_left_alone():
    told = []
    with ToolExecutor() as executor:
        executor.register("tool", ended_tool)
        executor.call(ToolCall("1", "tool"), on_done=told.append)
        executor.call(ToolCall("2", "tool"), on_done=lambda result, into=told, *_: into.append(result))
    assert [result.call_id for result in told] == ["1", "2"]


class AsksWithoutContext:
    """A permission plugin of 0.1."""

    def __init__(self):
        self.asked = []
        self.settled = []

    def decide(self, call, context):
        return Decision("ask" if call.arguments else "allow", "who knows", details="a grant")

    def ask(self, call, decision):
        self.asked.append((call.name, decision.reason))
        return Verdict(True, None, {"reason": "a person said yes", "method": "user_approved"})

    def settle(self, decision):
        self.settled.append(decision.verdict)
        return True


def test_a_permission_plugin_whose_ask_takes_no_context_goes_on_asking():
    plugin = AsksWithoutContext()
    with ToolExecutor() as executor:
        with warned(
            r"AsksWithoutContext\.ask\(call, decision\) is deprecated .* use ask\(call, decision, context\)"
        ) as w:
            executor.set_permission_plugin(plugin, {"who": "me"})
        assert w[0].filename == __file__
        executor.register("tool", ended_tool)
        ok, value = executor.execute("tool", {"word": "hello"})
        assert (ok, value["said"], value["_permission"]["method"]) == (True, "hello", "user_approved")
        assert executor.execute("tool")[0]
    assert plugin.asked == [("tool", "who knows")]
    assert plugin.settled == ["allow"]


def test_chains_and_streams_take_the_older_names_of_their_parameters():
    shown = []

    def count(args):
        current_call().emit("counting")
        yield from range(args["to"])

    with ToolExecutor() as executor:
        executor.register("count", count)
        with warned(r"execute_stream\(tool_output_callback=\) is deprecated .* use on_output="):
            events = list(executor.execute_stream("count", {"to": 2}, tool_output_callback=shown.append))
        assert events[-1].data == [0, 1]
        with warned(r"execute_stream\(args=\) is deprecated .* use arguments="):
            assert list(executor.execute_stream("count", args={"to": 1}))[-1].data == [0]
        executor.register("say", lambda args: current_call().emit("hello"))
        with warned(r"execute_chain\(tool_output_callback=\) is deprecated .* use on_output="):
            executor.execute_chain([ChainStep("say")], tool_output_callback=shown.append)
    assert shown == ["counting", "hello"]


def test_the_older_face_of_tasks():
    with warned(r"TaskManager\(output_cap=\) is deprecated .* use TaskManager\.in_memory\(output_cap=\)") as caught:
        tasks = TaskManager(output_cap=1000)
    assert caught[0].filename == __file__
    with warned(r"TaskManager\.running is deprecated .* use TaskManager\.open_count\(\)") as caught:
        assert tasks.running == tasks.open_count() == 0
    assert caught[0].filename == __file__


def test_a_call_takes_process_groups_by_the_older_name():
    groups = []

    class Sink:
        append = staticmethod(lambda text: None)
        add_process_group = staticmethod(lambda pid, mark: groups.append(pid))

    state = CallState("1", "work", {}, None)
    state.sink = Sink()
    with warned(r"CurrentCall\.own_group is deprecated .* use CurrentCall\.add_process_group") as caught:
        CurrentCall(state).own_group(7)
    assert (groups, caught[0].filename) == ([7], __file__)


def test_what_cannot_be_asked_for_its_parameters_is_taken_to_fit():
    assert takes(dict.update, 3)
    assert not takes(lambda: None, 1)
