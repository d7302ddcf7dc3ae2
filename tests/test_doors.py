"""What callers hand in by mistake is refused where it comes in, by its name, and not when it is first used."""

from __future__ import annotations

import sys

import pytest

from executor import JsonLinesLedger, PluginRegistry, TaskManager, TokenLedger, ToolCall, ToolExecutor
from executor.engines import DaskEngine
from executor.errors import PluginError, TaskNotFoundError
from executor.mcp import ServeOptions

CALL = ToolCall("1", "ok")
NO_FUNCTION = [0, 7, "print", ["a"], {}]


@pytest.fixture
def executor():
    with ToolExecutor(tasks=TaskManager.in_memory()) as made:
        made.register("ok", lambda args: "ran")
        yield made


WAYS = {
    "execute": lambda e, **given: e.execute("ok", {}, given["on_output"]),
    "call": lambda e, **given: e.call(CALL, **given),
    "submit": lambda e, **given: e.submit(CALL, **given),
    "start": lambda e, **given: e.start(CALL, **given),
    "many": lambda e, **given: e.execute_many([CALL], **given),
    "completed": lambda e, **given: e.as_completed([CALL], **given),
    "chain": lambda e, **given: e.execute_chain([{"toolId": "ok"}], **given),
    "stream": lambda e, **given: e.execute_stream("ok", {}, adapt=True, **given),
}
TAKEN = {
    "on_output": list(WAYS),
    "on_progress": ["call", "submit", "many", "completed", "chain"],
    "on_done": ["call", "submit", "start", "many", "completed"],
}


@pytest.mark.parametrize(("callback", "way"), [(name, way) for name, ways in TAKEN.items() for way in ways])
def test_a_callback_that_is_no_function_is_refused_before_anything_runs(executor, callback, way):
    ran = []
    executor.register("ok", lambda args: ran.append(1))
    for wrong in NO_FUNCTION:
        with pytest.raises(TypeError, match="give a function"):
            WAYS[way](executor, **{callback: wrong})
    assert ran == []


@pytest.mark.parametrize("name", ["set_tool_output_callback", "set_output_callback", "set_task_done_callback"])
@pytest.mark.parametrize("wrong", NO_FUNCTION)
def test_a_callback_for_all_calls_is_a_function(executor, name, wrong):
    with pytest.raises(TypeError, match=r"callback is .*give a function, or None"):
        getattr(executor, name)(wrong)
    getattr(executor, name)(None)


@pytest.mark.parametrize(("name", "wanted"), [("runner", "a Runner"), ("pool", r"a concurrent\.futures\.Executor")])
@pytest.mark.parametrize("wrong", [0, 7, "", [], object(), int])
def test_what_an_executor_is_made_of_is_looked_at(name, wanted, wrong):
    with pytest.raises(TypeError, match=f"{name} is .*give {wanted}"):
        ToolExecutor(**{name: wrong})


def test_calls_are_several(executor):
    for wrong in (None, 7, CALL):
        with pytest.raises(TypeError, match=r"calls is .*give a list of requests"):
            executor.execute_many(wrong)


def test_more_calls_at_once_than_can_be_counted_are_no_limit(executor):
    executor.register("many", lambda args: "ran", max_concurrent=sys.maxsize + 1)
    assert executor.execute("many") == (True, "ran")


@pytest.mark.parametrize(
    "make",
    [
        lambda given, path: PluginRegistry(blocked=given),
        lambda given, path: TokenLedger(secrets=given),
        lambda given, path: JsonLinesLedger(path, secrets=given),
        lambda given, path: ServeOptions(tools=given),
    ],
    ids=["blocked", "secrets", "secrets of a file", "tools"],
)
def test_one_text_alone_is_not_taken_for_its_letters(make, tmp_path):
    for wrong in ("read*", "", b"x", 7, None, [7], ["a", None]):
        with pytest.raises(TypeError, match="give a list of texts"):
            make(wrong, tmp_path / "ledger")
    for right in ([], ("a",), {"a", "b"}):
        make(right, tmp_path / "ledger")


def test_how_a_served_executor_asks_is_one_of_four():
    for wrong in ("nver", "", 7):
        with pytest.raises(ValueError, match=r"ask is .*use one of client, console, both, never, or None"):
            ServeOptions(ask=wrong)
    with pytest.raises(TypeError, match="principal is of the type int: give a text"):
        ServeOptions(principal=7)
    assert ServeOptions(tools=["a"], ask="never").tools == ("a",)


def test_plugins_are_configured_by_tables_and_named_by_texts():
    with PluginRegistry(entry_points=False) as registry:
        for wrong in (7, "echo", ["echo"]):
            with pytest.raises(TypeError, match=r"configs is .*give a dict"):
                registry.expose_all(wrong)
            with pytest.raises(TypeError, match=r"the configuration of echo is .*give a dict"):
                registry.expose("echo", wrong)
        with pytest.raises(TypeError, match="name is of the type int: give a text"):
            registry.register(object(), name=7)
        with pytest.raises(TypeError, match="callback is 7: give a function"):
            registry.set_output_callback(7)
        assert registry.expose("echo")


@pytest.mark.parametrize(
    "make",
    [
        lambda given, path: ToolExecutor(auto_background_enabled=given),
        lambda given, path: PluginRegistry(bundled=given),
        lambda given, path: PluginRegistry(entry_points=given),
        lambda given, path: TokenLedger(required=given),
        lambda given, path: JsonLinesLedger(path, required=given),
        lambda given, path: DaskEngine("tcp://192.0.2.1:8786", insecure=given),
    ],
    ids=["auto_background_enabled", "bundled", "entry_points", "required", "required of a file", "insecure"],
)
def test_a_text_is_no_yes(make, tmp_path):
    for wrong in ("no", "", 1, None):
        with pytest.raises(TypeError, match="give True or False"):
            make(wrong, tmp_path / "ledger")
    make(True, tmp_path / "ledger")


def test_the_configuration_of_a_plugin_that_is_not_there_is_a_failure(monkeypatch):
    with PluginRegistry(entry_points=False, blocked=["mcp"]) as registry:
        for _ in range(2):
            assert "permissions" in registry.expose_all({"permisions": {}, "mcp": {}})
        (failure,) = registry.failures()
        assert failure.plugin == "permisions"
        assert "There is no plugin 'permisions'; available: " in failure.error
    monkeypatch.setenv("TOOLEXEC_STRICT", "1")
    with PluginRegistry(entry_points=False) as registry, pytest.raises(PluginError, match="There is no plugin 'shel'"):
        registry.expose_all({"shel": {}})


@pytest.mark.parametrize("kept", [TaskManager.in_memory, TaskManager.open])
def test_what_is_no_id_is_of_no_task(kept):
    tasks = kept()
    for wrong in (None, 7, 1.5, b"x"):
        for look in (tasks.get, tasks.output, tasks.result, tasks.cancel, tasks.ack):
            with pytest.raises(TaskNotFoundError, match="No background task has the id"):
                look(wrong)


def test_a_wrong_question_about_tasks_is_no_sign_of_a_damaged_store(executor, tmp_path):
    tasks = TaskManager.open(tmp_path)
    with ToolExecutor(tasks=tasks) as durable:
        durable.register("ok", lambda args: "ran", auto_background=0)
        tasks.wait(durable.execute("ok")[1]["task_id"])
        for wrong in (1.5, "5", -1, True):
            with pytest.raises(ValueError, match=r"limit is .*, not a whole number from 0 on"):
                tasks.list(limit=wrong)
        assert tasks.list(tool="\ud800") == tasks.list(tool=["ok"]) == []
        assert [task.tool_name for task in tasks.list(tool="ok", limit=5)] == ["ok"]
