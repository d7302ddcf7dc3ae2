"""The six tools by which a model handles background tasks."""

from __future__ import annotations

import pytest

from executor import PluginRegistry, ToolExecutor, current_call
from executor.testing import HeldTool, check_plugin


@pytest.fixture
def executor():
    registry = PluginRegistry(entry_points=False)
    registry.expose("background")
    with ToolExecutor(registry=registry) as executor:
        yield executor


@pytest.fixture
def held(executor):
    with HeldTool({"answer": 42}) as held:

        def work(args):
            current_call().emit("begun ✓\n")
            current_call().progress(1, 2, "half")
            return held(args)

        executor.register("work", work, auto_background=20)
        yield held


def start(executor, **more):
    success, value = executor.execute("startBackgroundTask", {"tool_name": "work", "arguments": {}, **more})
    assert success, value
    return value["task_id"]


def ask(executor, tool, **arguments):
    success, value = executor.execute(tool, arguments)
    assert success, value
    return value


def test_the_plugin_is_one_a_model_can_use():
    import executor_background

    findings = check_plugin(executor_background)
    assert [finding for finding in findings if "bundled" not in finding] == []


def test_a_task_is_started_polled_read_and_listed(executor, held):
    task_id = start(executor)
    assert held.started.wait(10)
    told = ask(executor, "checkBackgroundTask", task_id=task_id)
    assert (told["status"], told["tool_name"], told["plugin_name"]) == ("running", "work", "local")
    assert told["elapsed_seconds"] >= 0
    assert told["progress"] == {"done": 1, "total": 2, "message": "half"}
    first = ask(executor, "getBackgroundOutput", task_id=task_id)
    assert (first["output"], first["has_more"], first["next_offset"]) == ("begun ✓\n", True, 10)
    assert "result" not in first
    assert ask(executor, "listBackgroundTasks", status="running")["tasks"][0]["task_id"] == task_id
    held.go_on()
    last = ask(executor, "getBackgroundOutput", task_id=task_id, offset=10, wait_seconds=20)
    assert (last["status"], last["output"], last["has_more"]) == ("completed", "", False)
    assert last["result"] == {"answer": 42}
    assert ask(executor, "listBackgroundTasks", status="running") == {"tasks": [], "count": 0}
    assert ask(executor, "listBackgroundTasks")["count"] == 1


def test_a_task_can_be_cancelled_once(executor, held):
    task_id = start(executor)
    assert held.started.wait(10)
    told = {"task_id": task_id, "status": "cancelled"}
    assert ask(executor, "cancelBackgroundTask", task_id=task_id) == {**told, "cancelled": True}
    assert ask(executor, "cancelBackgroundTask", task_id=task_id) == {**told, "cancelled": False}
    final = ask(executor, "getBackgroundOutput", task_id=task_id)
    assert final["error"] == "The task was cancelled"
    assert final["abandoned"] is True


def test_a_time_limit_ends_a_task(executor, held):
    task_id = start(executor, timeout_seconds=0.05)
    told = ask(executor, "getBackgroundOutput", task_id=task_id, wait_seconds=20)
    assert (told["status"], told["error"]) == ("timeout", "work timed out after 0.05 s")


def test_an_unknown_id_is_an_error_that_lists_what_runs(executor, held):
    for tool in ("checkBackgroundTask", "getBackgroundOutput", "cancelBackgroundTask"):
        success, value = executor.execute(tool, {"task_id": "work_1"})
        assert not success
        assert "no task is running" in value["error"]
    task_id = start(executor)
    assert task_id in executor.execute("checkBackgroundTask", {"task_id": "work_1"})[1]["error"]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"tool_name": "missing"}, "No executor registered for missing"),
        ({"tool_name": "strict", "arguments": {"n": "x"}}, "Invalid arguments for strict"),
        ({"tool_name": "startBackgroundTask", "arguments": {"tool_name": "work"}}, "cannot run in the background"),
        ({"tool_name": "quick"}, "cannot run in the background"),
        ({"tool_name": "work", "timeout_seconds": 0}, "Invalid arguments for startBackgroundTask"),
    ],
)
def test_what_cannot_be_started_says_why(executor, held, arguments, error):
    executor.register("quick", lambda args: 1)
    executor.register("strict", lambda args: 1, schema={"properties": {"n": {"type": "integer"}}}, auto_background=5)
    success, value = executor.execute("startBackgroundTask", arguments)
    assert not success
    assert error in value["error"]
    assert held.calls == 0


def test_the_inner_call_is_judged_and_its_decision_is_the_carriers(executor, held):
    asked = []

    class Plugin:
        def check_permission(self, name, args, context, call_id):
            asked.append(name)
            return name != "work" or args == {}, {"reason": "r", "method": "m"}

    executor.set_permission_plugin(Plugin())
    success, value = executor.execute("startBackgroundTask", {"tool_name": "work", "arguments": {"a": 1}})
    assert not success
    assert value["_permission"] == {"decision": "denied", "reason": "r", "method": "m"}
    success, value = executor.execute("startBackgroundTask", {"tool_name": "work", "arguments": {}})
    assert success
    assert value["_permission"] == {"decision": "allowed", "reason": "r", "method": "m"}
    assert asked == ["work", "work"]


def test_the_tools_that_can_go_to_the_background_are_listed(executor, held):
    assert ask(executor, "listBackgroundCapableTools") == {
        "tools": [{"tool_name": "work", "plugin_name": "local", "auto_background_threshold_seconds": 20}],
        "count": 1,
    }


def test_long_output_comes_in_pieces_that_cut_no_character(executor):
    def talk(args):
        for _ in range(50):
            current_call().emit("é" * 1000)

    executor.register("work", talk, auto_background=20)
    task_id = start(executor)
    executor.tasks.wait(task_id, 20)
    pieces, offset = [], 0
    while True:
        told = ask(executor, "getBackgroundOutput", task_id=task_id, offset=offset)
        pieces.append(told["output"])
        offset = told["next_offset"]
        if not told["has_more"]:
            break
    assert "".join(pieces) == "é" * 50_000
    assert len(pieces) == 2


def test_waiting_for_a_task_ends_when_the_call_is_stopped(executor, held):
    import threading

    task_id = start(executor)
    results = []
    waiting = threading.Thread(
        target=lambda: results.append(
            executor.execute("getBackgroundOutput", {"task_id": task_id, "wait_seconds": 30}, call_id="w")
        )
    )
    waiting.start()
    stop = threading.Event()
    while not executor.cancel("w") and not stop.wait(0.01):
        assert waiting.is_alive()
    waiting.join(10)
    assert results[0][1]["cancelled"] is True
