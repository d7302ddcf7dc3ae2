"""The seven tools by which a model handles background tasks and long results."""

from __future__ import annotations

import contextlib
import json
import queue
import threading
import time

import pytest

from executor import Decision, PluginRegistry, TaskStatus, ToolCall, ToolExecutor, current_call, hookimpl
from executor.tasks import TaskManager
from executor.tasks._manager import engine_of
from executor.testing import HeldTool, check_plugin
from executor.values import Image


@contextlib.contextmanager
def executor_with(**options):
    registry = PluginRegistry(entry_points=False)
    registry.expose("background")
    with ToolExecutor(registry=registry, **options) as executor:
        yield executor


@pytest.fixture
def executor():
    with executor_with() as executor:
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
        ({"tool_name": "work", "timeout_seconds": 0}, "Invalid arguments for startBackgroundTask"),
    ],
)
def test_what_cannot_be_started_says_why(executor, held, arguments, error):
    executor.register("strict", lambda args: 1, schema={"properties": {"n": {"type": "integer"}}}, auto_background=5)
    success, value = executor.execute("startBackgroundTask", arguments)
    assert not success
    assert error in value["error"]
    assert held.calls == 0


def test_any_tool_can_be_started_when_that_is_asked_for(executor):
    executor.register("quick", lambda args: 1)
    task_id = ask(executor, "startBackgroundTask", tool_name="quick", arguments={})["task_id"]
    assert ask(executor, "getBackgroundOutput", task_id=task_id, wait_seconds=20)["result"] == 1


def test_a_start_within_a_start_is_judged_all_the_same(executor, held):
    class Plugin:
        def check_permission(self, name, args, context, call_id):
            return name != "work", {"reason": "r", "method": "m"}

    executor.set_permission_plugin(Plugin())
    inner = {"tool_name": "work", "arguments": {}}
    task_id = ask(executor, "startBackgroundTask", tool_name="startBackgroundTask", arguments=inner)["task_id"]
    told = ask(executor, "getBackgroundOutput", task_id=task_id, wait_seconds=20)
    assert (told["status"], told["error"]) == ("failed", "Permission denied: r")
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


# What it waits for ---------------------------------------------------------------------------------------------------


def in_another_process(task_id, expected):
    """What another manager sees of it, once that is *expected*: it looks at the store, where there is no event."""
    other, rest, deadline = TaskManager.open(), threading.Event(), time.monotonic() + 20
    while (found := other.get(task_id).waiting_for) != expected and time.monotonic() < deadline:
        rest.wait(0.05)
    other.close()
    return found


def test_a_task_says_for_which_resource_it_waits(executor, held):
    executor.register("second", lambda args: 1, resources=lambda args: ["the database"], auto_background=10)
    executor.register("first", held, resources=lambda args: ["the database"], auto_background=10)
    executor.start(ToolCall("1", "first"))
    assert held.started.wait(20)
    task_id = executor.start(ToolCall("2", "second")).task_id
    told = ask(executor, "checkBackgroundTask", task_id=task_id)
    assert (told["status"], told["waiting_for"]) == ("pending", "the database, held by 1 (first)")
    assert in_another_process(task_id, told["waiting_for"]) == told["waiting_for"]
    held.go_on()
    assert executor.tasks.wait(task_id, 20).waiting_for is None
    assert "waiting_for" not in ask(executor, "checkBackgroundTask", task_id=task_id)
    assert in_another_process(task_id, None) is None


def test_a_task_says_that_it_waits_for_a_person_where_a_call_of_its_tool_is_asked_about(executor):
    asked, go_on = queue.SimpleQueue(), threading.Event()

    class Asks:
        @hookimpl
        def executor_check_permission(self, call):
            return Decision("ask", "it depends") if call.name == "inner" else None

    class Channel:
        def ask(self, approval, answer):
            asked.put((approval, answer))

        def withdraw(self, approval_id):
            pass

    def outer(args):
        current_call().host.call(ToolCall("2", "inner"))
        assert go_on.wait(20)

    executor.registry.register(Asks(), "asks")
    executor.registry.expose("asks")
    executor.approvals.add_channel("test", Channel())
    executor.register("inner", lambda args: 1)
    executor.register("outer", outer, auto_background=10)
    task_id = executor.start(ToolCall("1", "outer")).task_id
    _, answer = asked.get(timeout=20)
    told = executor.tasks.get(task_id).waiting_for
    assert told == "2 (inner), which waits for the answer of a person"
    assert in_another_process(task_id, told) == told
    answer("yes")
    assert in_another_process(task_id, None) is None
    assert executor.tasks.get(task_id).waiting_for is None
    go_on.set()
    assert executor.tasks.wait(task_id, 20).status is TaskStatus.COMPLETED


# What has been read is delivered ------------------------------------------------------------------------------------


def done(executor, value, **options):
    """A task that has ended with *value*."""
    executor.register("quick", lambda args: value, auto_background=20)
    task_id = executor.start(ToolCall("1", "quick")).task_id
    executor.tasks.wait(task_id, 20)
    return task_id


@pytest.mark.parametrize("tool", ["checkBackgroundTask", "getBackgroundOutput"])
def test_an_end_that_the_model_has_read_is_not_delivered_again(executor, held, tool):
    task_id = start(executor)
    ask(executor, tool, task_id=task_id)
    held.go_on()
    executor.tasks.wait(task_id, 20)
    assert executor.tasks.next_undelivered(0).id == task_id, "what it read before was not the end"
    ask(executor, tool, task_id=task_id)
    assert executor.tasks.next_undelivered(0) is None
    ask(executor, tool, task_id=task_id)


def test_an_end_that_was_only_listed_is_still_to_be_delivered(executor):
    task_id = done(executor, 1)
    ask(executor, "listBackgroundTasks")
    executor.tasks.tool_result(task_id)
    assert [info.id for info in executor.tasks.undelivered()] == [task_id]


def test_the_task_of_another_conversation_is_still_that_ones_to_be_told_of():
    with executor_with(conversation="a") as executor:
        another_conversation(executor)


def another_conversation(executor):
    engine = engine_of(executor.tasks)
    ids = {}
    for name in ("a", "b"):
        ids[name] = engine.add(
            "t", "p", "c", engine.new_spool(), cancel=lambda _: True, reached=lambda: None, conversation=name
        )
        engine.finish(ids[name], TaskStatus.COMPLETED, (True, 1))
    for task_id in ids.values():
        assert ask(executor, "getBackgroundOutput", task_id=task_id)["result"] == 1
    assert executor.tasks.undelivered() == []
    assert [info.id for info in executor.tasks.undelivered("b")] == [ids["b"]]


def test_the_task_of_another_host_is_still_that_ones_to_be_told_of(executor):
    other = TaskManager.open(host="another")
    engine = engine_of(other)
    task_id = engine.add("t", "p", "c", engine.new_spool(), cancel=lambda _: True, reached=lambda: None)
    engine.finish(task_id, TaskStatus.COMPLETED, (True, 1))
    assert ask(executor, "getBackgroundOutput", task_id=task_id)["result"] == 1
    assert [info.id for info in other.undelivered()] == [task_id]
    other.close()


def test_an_image_is_described_and_still_to_be_delivered(executor):
    image = Image(b"1234", "image/png")
    task_id = done(executor, ["see:", image])
    told = ask(executor, "getBackgroundOutput", task_id=task_id)
    assert told["result"] == "see:\n[image: image/png, 4 bytes]"
    assert executor.tasks.tool_result(executor.tasks.next_undelivered(0).id).blocks[1] == image


# Long results --------------------------------------------------------------------------------------------------------


def read_on(executor, content):
    """What stands behind the words about what was left out, read piece by piece."""
    name = content.split('readResult(id="')[1].split('"')[0]
    pieces, offset = [], 0
    while True:
        result = executor.call(ToolCall("r", "readResult", {"id": name, "offset": offset}))
        assert result.success, result.error
        assert len(result.content.encode()) <= executor.max_content
        assert json.loads(result.content) == result.value, "it had to be cut itself"
        pieces.append(result.value["text"])
        offset = result.value["next_offset"]
        if not result.value["has_more"]:
            assert offset == result.value["size_bytes"]
            return "".join(pieces)


@pytest.mark.parametrize("limit", [1024, 64 * 1024])
@pytest.mark.parametrize("text", ["é" * 100_000, '\x00\n"' * 50_000, "😀x" * 30_000])
def test_a_long_content_is_read_on_to_its_last_byte(limit, text):
    text = text[: limit * 2]
    with executor_with(max_content=limit) as executor:
        executor.register("long", lambda args: text)
        result = executor.call(ToolCall("1", "long"))
        assert len(result.content.encode()) <= limit
        assert result.value == text, "what a program is given is whole"
        assert executor.execute("long") == (True, text)
        assert read_on(executor, result.content) == text


def test_long_output_and_a_long_result_of_a_task_leave_room_for_each_other(executor):
    value = {"lines": ["é" * 100] * 1000}

    def talk(args):
        current_call().emit("out " * 50_000)
        return value

    executor.register("work", talk, auto_background=20)
    task_id = start(executor)
    executor.tasks.wait(task_id, 20)
    result = executor.call(ToolCall("1", "getBackgroundOutput", {"task_id": task_id}))
    told = json.loads(result.content)
    assert len(told["output"]) > 30_000
    assert told["has_more"] is True
    assert json.loads(read_on(executor, told["result"])) == value


def test_a_short_result_stands_whole_beside_the_output(executor):
    task_id = done(executor, {"a": "x" * 10_000})
    assert ask(executor, "getBackgroundOutput", task_id=task_id)["result"] == {"a": "x" * 10_000}


def test_a_long_error_is_told_by_its_beginning(executor):
    def fails(args):
        raise ValueError("x" * 100_000)

    executor.register("work", fails, auto_background=20)
    task_id = start(executor)
    executor.tasks.wait(task_id, 20)
    for tool in ("checkBackgroundTask", "getBackgroundOutput"):
        error = ask(executor, tool, task_id=task_id)["error"]
        assert len(error) <= 4096
    assert read_on(executor, error) == "x" * 100_000


def test_a_limit_is_kept_and_an_unknown_id_helps(executor):
    executor.register("long", lambda args: "0123456789" * 10_000)
    name = executor.call(ToolCall("1", "long")).content.split('id="')[1].split('"')[0]
    told = ask(executor, "readResult", id=name, offset=10, limit=5)
    assert told == {"id": name, "text": "01234", "next_offset": 15, "size_bytes": 100_000, "has_more": True}
    assert ask(executor, "readResult", id=name, offset=999_999)["text"] == ""
    success, value = executor.execute("readResult", {"id": "res_unknown"})
    assert not success
    assert "call the tool again" in value["error"]
