"""What each way of making a call hands on: output, progress, limits, tokens, contexts, ids, and who is told."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import threading
import weakref

import pytest

from executor import CancelToken, PluginRegistry, Tool, ToolCall, ToolExecutor, Verdict, current_call
from executor.errors import ToolExecutorError, ToolNotFoundError
from executor.run import Runner
from executor.tasks import TaskManager
from executor.values import Decision

SECONDS = 20.0
CALL = ToolCall("id", "say", {"a": 1})


@pytest.fixture
def executor():
    with ToolExecutor(tasks=TaskManager.in_memory()) as made:

        def say(args):
            call = current_call()
            call.emit("said")
            call.progress(1, 2, "half")
            return {"id": call.id, "limit": call.deadline is not None, "context": call.context, **args}

        def pieces(args):
            yield say(args)

        made.register("say", say)
        made.register("pieces", pieces)
        made.register("wait", lambda args: current_call().wait(SECONDS))
        yield made


def final(executor, result):
    """A result, or that of the task that it stands for."""
    if result.backgrounded:
        executor.tasks.wait(result.task_id, SECONDS)
        return executor.tasks.tool_result(result.task_id)
    return result


WAYS = {
    "call": lambda ex, call=CALL, **given: ex.call(call, **given),
    "background": lambda ex, call=CALL, **given: final(ex, ex.call(call, background=True, **given)),
    "submit": lambda ex, call=CALL, **given: ex.submit(call, **given).result(SECONDS),
    "acall": lambda ex, call=CALL, **given: asyncio.run(ex.acall(call, **given)),
}
SEVERAL = {
    "many": lambda ex, call=CALL, **given: ex.execute_many([call], **given)[0],
    "completed": lambda ex, call=CALL, **given: next(iter(ex.as_completed([call], **given))),
}


@pytest.mark.parametrize("way", WAYS)
def test_one_call_hands_on_whatever_it_is_given(executor, way):
    shown, reached, done = [], [], []
    result = WAYS[way](
        executor,
        on_output=shown.append,
        on_progress=lambda *said: reached.append(said),
        on_done=done.append,
        timeout=SECONDS,
        context={"who": "me"},
    )
    assert result.value == {"id": "id", "limit": True, "context": {"who": "me"}, "a": 1}
    assert (shown, reached) == (["said"], [(1, 2, "half")])
    executor.shutdown(timeout=SECONDS)
    assert [each.value for each in done] == [result.value]
    assert [each.backgrounded for each in done] == [False]


@pytest.mark.parametrize("way", [*WAYS, *SEVERAL])
def test_a_token_and_a_limit_stop_it(executor, way):
    make = {**WAYS, **SEVERAL}[way]
    token = CancelToken()
    token.cancel("enough")
    call = ToolCall("id", "wait")
    stopped = None
    try:
        stopped = make(executor, call, cancel=token)
    except ToolExecutorError:
        assert way == "background"
    assert stopped is None or (stopped.kind, stopped.error) == ("cancelled", "enough")
    assert make(executor, call, timeout=0.01).kind == "timed_out"
    with pytest.raises(ValueError, match="timeout is 0"):
        make(executor, call, timeout=0)


@pytest.mark.parametrize("way", ["call", "submit", "acall"])
def test_false_keeps_it_in_the_foreground(executor, way):
    executor.register("slow", lambda args: 1, auto_background=0)
    call = ToolCall("id", "slow")
    assert WAYS[way](executor, call).backgrounded
    assert not WAYS[way](executor, call, background=False).backgrounded


@pytest.mark.parametrize("way", SEVERAL)
def test_several_calls_tell_which_of_them_it_was(executor, way):
    shown, reached, done = [], [], []
    result = SEVERAL[way](
        executor,
        on_output=lambda *said: shown.append(said),
        on_progress=lambda *said: reached.append(said),
        on_done=done.append,
        timeout=SECONDS,
        max_concurrency=1,
    )
    assert shown == [(CALL, "said")]
    assert reached == [(CALL, 1, 2, "half")]
    assert done == [result]
    assert result.value["limit"]
    for bad in (0, -1, 1.5, True):
        with pytest.raises(ValueError, match="max_concurrency"):
            SEVERAL[way](executor, max_concurrency=bad)
    assert SEVERAL[way](executor, on_done=lambda result: 1 / 0).success


def test_execute_hands_on_output_id_limit_and_token(executor):
    shown, token = [], CancelToken()
    value = executor.execute("say", {"a": 1}, shown.append, "mine", timeout=SECONDS, cancel=token)[1]
    assert (value["id"], value["limit"], shown) == ("mine", True, ["said"])
    assert executor.execute("say", {}, None, "mine", cancel=token)[1]["limit"] is False
    ids = {executor.execute("say")[1]["id"] for _ in range(3)}
    assert len(ids) == 3
    assert all(each.startswith("call_") and each[5:].isdecimal() for each in ids)


def test_start_hands_on_output_limit_and_who_is_told(executor):
    shown, done = [], []
    started = executor.start(CALL, SECONDS, on_output=shown.append, on_done=done.append)
    result = final(executor, started)
    executor.shutdown(timeout=SECONDS)
    assert started.backgrounded
    assert "Started in the background" in started.content
    assert result.value["limit"]
    assert shown == ["said"]
    assert [each.value for each in done] == [result.value]
    with pytest.raises(ToolExecutorError):
        executor.start(CALL)


@pytest.mark.parametrize("name", ["pieces", "say"])
def test_a_stream_hands_on_output_id_limit_and_token(executor, name):
    shown, token = [], CancelToken()
    events = [*executor.execute_stream(name, {"a": 1}, shown.append, "mine", timeout=SECONDS, cancel=token, adapt=True)]
    chunk = next(event.data for event in events if event.kind == "chunk")
    assert (chunk["id"], chunk["limit"], shown) == ("mine", True, ["said"])
    token.cancel()
    with pytest.raises(ToolExecutorError):
        executor.execute_stream(name, cancel=token, adapt=True)
    with pytest.raises(ValueError, match="timeout"):
        executor.execute_stream(name, timeout=-1, adapt=True)


def test_a_chain_hands_on_output_progress_and_the_steps_own_limit_and_retries(executor):
    shown, reached, tries = [], [], []

    def flaky(args):
        tries.append(1)
        raise ValueError("again")

    executor.register("flaky", flaky, annotations={"idempotent": True})
    steps = [{"toolId": "say", "timeout": SECONDS}, {"toolId": "flaky", "retry": 1, "onError": "continue"}]
    executor.register("slow", lambda args: 1, auto_background=0)
    made = executor.execute_chain(
        [*steps, {"toolId": "slow"}], on_output=shown.append, on_progress=reached.append, timeout=SECONDS
    )
    assert made.steps[0].value["limit"]
    assert made.final.structured == 1, "a step went to the background"
    assert len(tries) == 2
    assert shown == ["said"]
    assert reached[-1].progress == 3


def test_calls_without_a_listener_use_that_of_the_executor_or_of_the_call_around_them(executor):
    usual, inner = [], []
    executor.set_tool_output_callback(usual.append)
    assert executor.get_tool_output_callback() == usual.append
    executor.execute("say")
    assert usual == ["said"]
    executor.register("outer", lambda args: executor.execute("say"))
    executor.execute("outer", {}, inner.append)
    assert (usual, inner) == (["said"], ["said"])
    executor.set_tool_output_callback(None)
    executor.execute("say")
    assert usual == ["said"]


def test_a_running_call_is_stopped_by_its_id_and_others_are_not(executor):
    started = threading.Event()

    def wait(args):
        started.set()
        return current_call().wait(SECONDS)

    executor.register("held", wait)
    future = executor.submit(ToolCall("one", "held"))
    assert started.wait(SECONDS)
    assert executor.cancel("another") is False
    assert executor.cancel("one") is True
    assert executor.cancel("one") is False
    assert future.result(SECONDS).kind == "cancelled"


class Asking:
    def decide(self, call, context):
        return Decision("ask", str(context), "test")

    def ask(self, call, decision, context):
        return Verdict(True, {"a": context["n"]} if call.arguments == {"a": 1} else None, {"method": "user_approved"})


def test_a_rehearsal_and_a_judgement_use_the_calls_context_and_run_nothing(executor):
    executor.set_permission_plugin(Asking(), {"n": 1})
    assert executor.check(CALL).decision.reason == "{'n': 1}"
    assert executor.check(CALL, context={"n": 5}).decision.reason == "{'n': 5}"
    assert executor.judged(CALL, context={"n": 5}) == (True, {"a": 5})
    assert executor.judged(ToolCall("id", "missing"))[1]["error"] == "No executor registered for missing"
    assert executor.cancel("id") is False, "it is still held for a running one"


# The executor's own settings -----------------------------------------------------------------------------------------


def test_tools_of_the_executor_are_listed_found_and_taken_away(executor):
    changes = []
    end = executor.on_tools_changed(lambda: changes.append(1))
    assert isinstance(executor.register("x", lambda args: 1, auto_background=2.5), Tool)
    assert executor.get_tool("x").plugin_name == "local"
    assert ("x", "local", 2.5) in executor.background_tools()
    assert "say" not in [name for name, _, _ in executor.background_tools()]
    assert executor.unregister("x") is True
    assert executor.unregister("x") is False
    assert len(changes) == 2
    end()
    with pytest.raises(ToolNotFoundError, match="No executor registered for x") as error:
        executor.get_tool("x")
    assert error.value.tool_id == "x"
    executor.clear_executors()
    assert executor.list_tools() == []
    assert len(changes) == 2


def test_a_toolbox_is_registered_under_its_prefix(executor):
    class Box:
        def one(self, a: int) -> int:
            """First."""
            return a

        def _hidden(self):
            return 0

    assert [tool.name for tool in executor.register_toolbox(Box(), prefix="box_")] == ["box_one"]
    assert executor.execute("box_one", {"a": 3}) == (True, 3)


def test_settings_are_as_they_were_given():
    tasks = TaskManager.in_memory()
    registry = PluginRegistry(bundled=False, entry_points=False)
    with ToolExecutor(tasks=tasks, registry=registry, max_content=2048, conversation="talk") as executor:
        assert executor.registry is registry
        assert (executor.max_content, executor.conversation, executor.abandoned) == (2048, "talk", 0)
        assert executor.approvals is executor.approvals
        assert executor.get_output_callback() is None
        executor.set_output_callback(print)
        assert executor.get_output_callback() is print
        executor.register("x", lambda args: 1)
        task = executor.start(ToolCall("id", "x"))
        assert tasks.get(task.task_id).conversation == "talk"
    with ToolExecutor(tasks=tasks) as executor:
        assert executor.tasks is tasks


@pytest.mark.parametrize(
    "bad", [{"auto_background_pool_size": -1}, {"max_workers": 0}, {"max_background_tasks": -1}, {"max_content": 1023},
            {"default_timeout": 0}],
)  # fmt: skip
def test_settings_that_cannot_be_meant_are_refused_by_name(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        ToolExecutor(**bad)


def test_the_permission_plugin_takes_the_output_callback_or_says_why_not(executor, caplog):
    class Taking(Asking):
        taken = None

        def set_output_callback(self, callback):
            self.taken = callback

    class Refusing(Asking):
        def set_output_callback(self, callback):
            raise ValueError("no")

    plugin = Taking()
    executor.set_permission_plugin(plugin)
    executor.set_output_callback(print)
    assert plugin.taken is print
    executor.set_permission_plugin(Refusing())
    executor.set_output_callback(print)
    assert "The permission plugin did not take the output callback" in caplog.text
    executor.set_permission_plugin(None)
    executor.set_output_callback(None)


def test_a_registry_that_is_replaced_tells_the_executor_nothing_more(executor):
    first, changes = PluginRegistry(bundled=False, entry_points=False), []
    executor.set_registry(first)
    executor.on_tools_changed(lambda: changes.append(1))
    executor.set_registry(None)
    assert executor.registry is None
    seen = len(changes)

    class Plugin:
        pass

    first.register(Plugin(), "late")
    first.expose("late")
    assert len(changes) == seen


def test_a_runners_tools_are_asked_for_after_the_executors_own():
    with Runner(sources=()) as runner, ToolExecutor(runner=runner) as executor:
        executor.register("x", lambda args: "own")
        assert executor.execute("x") == (True, "own")


# The end -------------------------------------------------------------------------------------------------------------


def test_leaving_the_block_stops_what_runs_only_where_nobody_wants_it_any_more():
    for error, kind in ((KeyboardInterrupt, "cancelled"), (SystemExit, "cancelled"), (ValueError, "ok"), (None, "ok")):
        release, started = threading.Event(), threading.Event()

        def hold(args, release=release, started=started):
            started.set()
            return release.wait(0.05) or current_call().cancelled

        future = None
        with contextlib.suppress(KeyboardInterrupt, SystemExit, ValueError), ToolExecutor() as executor:
            executor.register("hold", hold)
            future = executor.submit(ToolCall("id", "hold"))
            assert started.wait(SECONDS)
            if error is not None:
                raise error
        assert future.result(SECONDS).kind == kind


def test_shutdown_says_whether_everything_had_ended():
    release, started = threading.Event(), threading.Event()
    executor = ToolExecutor()
    executor.register("hold", lambda args: (started.set(), release.wait(SECONDS)))
    future = executor.submit(ToolCall("id", "hold"))
    assert started.wait(SECONDS)
    assert executor.shutdown(wait=False) is False
    assert executor.shutdown(timeout=0.01) is False
    release.set()
    assert executor.shutdown(timeout=SECONDS) is True
    assert future.result(SECONDS).success


def test_an_executor_that_is_dropped_can_be_freed():
    executor = ToolExecutor()
    executor.register("x", lambda args: 1)
    executor.execute("x", timeout=SECONDS)
    found = weakref.ref(executor)
    del executor
    gc.collect()
    assert found() is None
