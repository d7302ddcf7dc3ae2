"""Results of tasks, whole: in this process, in another one, after a restart, and from a store of version 0.1."""

from __future__ import annotations

import contextlib
import json
import re
import sqlite3
import time
from dataclasses import replace

import pytest

from executor import TaskStatus, ToolCall, ToolExecutor
from executor.calls import _outcome
from executor.calls._answer import answer
from executor.calls._content import LEAST_CONTENT, MAX_CONTENT, bounded
from executor.calls._kinds import STATUSES
from executor.errors import TaskNotFoundError, ToolExecutorError
from executor.tasks import TaskManager, _schema
from executor.tasks._manager import engine_of
from executor.values import Audio, Image, Link, Resource, ResultKind, Text

SECONDS = 20

IMAGE = Image(b"\x89PNG", "image/png")
ALLOWED = {"decision": "allowed", "reason": "r", "method": "m"}


def enter(tasks, **options):
    engine = engine_of(tasks)
    return engine.add(
        "tool", "local", "call 1", engine.new_spool(), cancel=lambda _: True, reached=lambda: None, **options
    )


def finish(tasks, task_id, result):
    outcome = result.success, result.value
    assert engine_of(tasks).finish(task_id, STATUSES[result.kind], outcome, result=replace(result, task_id=task_id))


RESULTS = {
    "a value": answer("call 1", (True, {"a": [1, "é"], "_permission": ALLOWED}), ResultKind.OK, permission=ALLOWED),
    "a text": answer("call 1", (True, "text"), ResultKind.OK, permission=ALLOWED),
    "nothing": answer("call 1", (True, None), ResultKind.OK),
    "an image": answer("call 1", (True, IMAGE), ResultKind.OK),
    "texts and images": answer("call 1", (True, ["see", IMAGE]), ResultKind.OK, permission=ALLOWED),
    "an image in a value": answer("call 1", (True, {"shots": [{"of": "a", "is": IMAGE}], "n": 1}), ResultKind.OK),
    "blocks of a server": answer(
        "call 1",
        (True, {"celsius": 21}),
        ResultKind.OK,
        blocks=(
            Text("21 °C", annotations={"audience": ["user"]}),
            Audio(b"beep", "audio/wav"),
            Resource("file:///x", "text/plain", text="x"),
            Link("https://example.org", "x"),
        ),
    ),
    "blocks that are the value": answer("call 1", (True, [IMAGE.to_dict()]), ResultKind.OK, blocks=(IMAGE,)),
    "a denial": answer(
        "call 1",
        (False, {"error": "Permission denied: no", "_permission": {"decision": "denied"}}),
        ResultKind.DENIED,
        permission={"decision": "denied"},
    ),
    "a server's error": answer("call 1", (False, {"error": "no"}), ResultKind.FAILED, blocks=(Text("no"), IMAGE)),
    "an unknown outcome": answer("call 1", (False, {"error": "perhaps"}), ResultKind.UNKNOWN_OUTCOME),
    "a long text": answer(
        "call 1",
        (True, {"text": "é" * 5000}),
        ResultKind.OK,
        bound=lambda text: bounded(text, 2000, lambda _: "res_1", lambda: True),
    ),
    "a text longer than usual": answer("call 1", (True, "x" * (MAX_CONTENT + 1)), ResultKind.OK),
}
PLAIN = [name for name in RESULTS if name not in ("an image", "texts and images", "an image in a value")]


@pytest.mark.parametrize("name", RESULTS)
def test_the_result_of_a_task_is_that_of_the_call_here_and_in_another_process(tmp_path, name):
    given = RESULTS[name]
    tasks = TaskManager.open(tmp_path)
    task_id = enter(tasks)
    finish(tasks, task_id, given)
    assert tasks.tool_result(task_id) == replace(given, task_id=task_id)
    assert tasks.result(task_id) == (given.success, given.value)
    tasks.close()
    other = TaskManager.open(tmp_path)
    read = other.tool_result(task_id)
    if name in PLAIN:
        assert read == replace(given, task_id=task_id)
    else:  # what JSON holds of it
        assert replace(read, value=None) == replace(given, task_id=task_id, value=None)
        in_json = str if name == "an image in a value" else Image.to_dict
        assert read.value == json.loads(json.dumps(given.value, default=in_json))
    assert other.tool_result(task_id) == read
    other.close()


@pytest.mark.parametrize("value", [b"\xff\x00", range(3), {(1, 2): 3}, 1j], ids=repr)
@pytest.mark.parametrize("permission", [None, ALLOWED], ids=["unasked", "allowed"])
def test_a_model_reads_the_same_of_what_json_can_hold_a_text_of_only(tmp_path, value, permission):
    outcome = _outcome.success(value, None, permission)
    given = answer("call 1", outcome, ResultKind.OK, permission=permission)
    tasks = TaskManager.open(tmp_path)
    task_id = enter(tasks)
    finish(tasks, task_id, given)
    tasks.close()
    other = TaskManager.open(tmp_path)
    assert other.tool_result(task_id).content == given.content
    other.close()


def test_an_image_is_stored_once(tmp_path):
    tasks = TaskManager.open(tmp_path)
    picture = Image(b"unmistakable" * 100, "image/png")
    for value in (picture, ["see", picture], [picture.to_dict()], {"shot": picture}):
        blocks = () if isinstance(value, dict) else (picture,)
        task_id = enter(tasks)
        finish(tasks, task_id, answer("1", (True, value), ResultKind.OK, blocks=blocks))
        with contextlib.closing(sqlite3.connect(tmp_path / "tasks.db")) as connection, connection:
            (row,) = connection.execute("SELECT value || more FROM task WHERE id = ?", (task_id,))
        connection.close()
        assert row[0].count(picture.data) == 1
    tasks.close()


@pytest.mark.parametrize("make", [TaskManager.in_memory, TaskManager.open])
def test_the_result_of_what_has_not_ended_or_is_unknown_is_an_error(make):
    tasks = make()
    with pytest.raises(TaskNotFoundError):
        tasks.tool_result("nothing_1")
    task_id = enter(tasks)
    with pytest.raises(ToolExecutorError, match="pending"):
        tasks.tool_result(task_id)
    with pytest.raises(ValueError, match="1024"):
        tasks.tool_result(task_id, 1023)
    tasks.close()


@pytest.mark.parametrize("make", [TaskManager.in_memory, TaskManager.open])
def test_a_shorter_content_can_be_asked_for_and_is_saved_once(make):
    tasks = make()
    task_id, text = enter(tasks), "é€😀\n" * 5000
    finish(
        tasks,
        task_id,
        answer("1", (True, text), ResultKind.OK, bound=lambda t: bounded(t, 2000, lambda _: "res_1", lambda: True)),
    )
    contents = [tasks.tool_result(task_id, LEAST_CONTENT).content for _ in range(2)]
    assert contents[0] == contents[1]
    assert len(contents[0].encode()) <= LEAST_CONTENT
    name = re.search(r"res_\w+", contents[0])[0]
    assert tasks.read_result(name)[0] == text
    assert tasks.tool_result(task_id, 2000).content.count("res_1") == 1
    tasks.prune()
    with pytest.raises(ToolExecutorError):
        tasks.read_result(name)
    tasks.close()


def test_a_content_that_was_cleaned_away_is_saved_anew():
    tasks = TaskManager.in_memory()
    task_id = enter(tasks)
    finish(tasks, task_id, answer("1", (True, "x" * 5000), ResultKind.OK))
    first = tasks.tool_result(task_id, LEAST_CONTENT).content
    engine_of(tasks).results.prune(time.time() + 1)
    second = tasks.tool_result(task_id, LEAST_CONTENT).content
    assert first != second
    assert tasks.read_result(re.search(r"res_\w+", second)[0])[0] == "x" * 5000


@pytest.mark.parametrize("bad", [-1, 1.0, "1", True])
def test_an_offset_or_limit_of_a_result_that_is_no_whole_number_is_an_error(bad):
    tasks = TaskManager.in_memory()
    name = engine_of(tasks).save_result("text")
    with pytest.raises(ValueError, match="offset"):
        tasks.read_result(name, bad)
    with pytest.raises(ValueError, match="limit"):
        tasks.read_result(name, 0, bad)


def test_a_result_is_read_on_by_another_process(tmp_path):
    tasks, other = TaskManager.open(tmp_path), TaskManager.open(tmp_path)
    name = engine_of(tasks).save_result("früh und spät")
    assert other.read_result(name, 7, 6) == ("nd sp", 12, 15)
    assert not (tmp_path / "tasks.db").exists(), "a long result needs no task"


def first_version(folder, monkeypatch):
    """A store as version 0.1 made it, with a task of each end; returns their ids by state."""
    with monkeypatch.context() as patch:
        patch.setattr(_schema, "MIGRATIONS", _schema.MIGRATIONS[:1])
        folder.mkdir(exist_ok=True)
        connection = sqlite3.connect(folder / "tasks.db", isolation_level=None)
        _schema.migrate(connection, folder)
    values = {
        "completed": (1, {"a": 1, "_permission": ALLOWED}),
        "failed": (0, {"error": "bad", "traceback": "…"}),
        "timeout": (0, {"error": "late", "timed_out": True}),
        "cancelled": (0, {"error": "stop", "cancelled": True}),
        "interrupted": (0, {"error": "gone", "interrupted": True}),
    }
    for number, (status, (success, value)) in enumerate(values.items()):
        connection.execute(
            "INSERT INTO task (id, status, tool, plugin, call, owner, pid, host, created, started, ended, ending, "
            "duration, output_bytes, output_cap, error, success, value) "
            "VALUES (?, ?, 'tool', 'local', 'call 1', 'o', 1, 'test', 1, 1, 2, ?, 1, 0, 100, ?, ?, ?)",
            (f"local_{status}", status, number, value.get("error"), success, json.dumps(value)),
        )
    connection.execute("INSERT INTO task (id, status, tool, plugin, call, owner, pid, host, created, output_cap) "
                       "VALUES ('local_live', 'running', 'tool', 'local', 'c', 'gone', 1, 'test', 1, 100)")  # fmt: skip
    connection.close()
    return [*values, "live"]


def test_tasks_of_the_first_version_are_read_and_their_kind_is_told(tmp_path, monkeypatch):
    first_version(tmp_path, monkeypatch)
    tasks = TaskManager.open(tmp_path, host="test")
    kinds = {
        "completed": "ok", "failed": "failed", "timeout": "timed_out", "cancelled": "cancelled",
        "interrupted": "interrupted", "live": "interrupted",
    }  # fmt: skip
    for state, kind in kinds.items():
        result = tasks.tool_result(f"local_{state}")
        assert (result.kind, result.success, result.task_id) == (kind, kind == "ok", f"local_{state}")
    completed = tasks.tool_result("local_completed")
    assert (completed.structured, completed.content, completed.permission) == ({"a": 1}, '{"a":1}', ALLOWED)
    assert {info.id for info in tasks.undelivered()} == {f"local_{state}" for state in kinds}
    assert tasks.undelivered("a conversation") == []
    new = enter(tasks, conversation="a")
    assert tasks.get(new).conversation == "a"
    tasks.close()


def test_a_process_of_the_first_version_that_has_the_store_open_goes_on(tmp_path, monkeypatch):
    first_version(tmp_path, monkeypatch)
    old = sqlite3.connect(tmp_path / "tasks.db", isolation_level=None)
    tasks = TaskManager.open(tmp_path, host="test")
    mine = enter(tasks, conversation="a")
    old.execute("INSERT INTO task (id, status, tool, plugin, call, owner, pid, host, created, output_cap) "
                "VALUES ('local_new', 'pending', 'tool', 'local', 'c', 'gone', 1, 'test', 1, 100)")  # fmt: skip
    old.execute("UPDATE task SET status = 'failed', ended = 2, success = 0, value = '\"x\"' WHERE id = 'local_new'")
    assert tasks.get("local_new").status is TaskStatus.FAILED
    old.execute("DELETE FROM task WHERE id = ?", (mine,))
    assert old.execute("SELECT count(*) FROM conversation").fetchone() == (0,)
    old.close()
    tasks.close()


def test_a_result_beyond_the_usual_length_that_nobody_made_shorter_is_bounded(tmp_path):
    tasks = TaskManager.open(tmp_path)
    task_id = enter(tasks)
    engine_of(tasks).finish(task_id, TaskStatus.COMPLETED, (True, "x" * (MAX_CONTENT + 1)))
    tasks.close()
    for manager in (tasks, TaskManager.open(tmp_path)):
        content = manager.tool_result(task_id).content
        assert len(content.encode()) <= MAX_CONTENT
        assert "the program has kept them as res_" in content, "no model of it has a tool to read them"
        manager.close()


def test_a_model_is_told_of_the_tool_that_reads_on_where_it_has_one(tmp_path):
    tasks = TaskManager.open(tmp_path)
    with ToolExecutor(tasks=tasks, max_content=1024) as executor:
        executor.register("long", lambda args: "x" * 5000, auto_background=SECONDS)
        for has_reader in (False, True):
            if has_reader:
                executor.register("readResult", lambda args: "")
            task_id = executor.start(ToolCall("1", "long")).task_id
            executor.tasks.wait(task_id, SECONDS)
            contents = [
                executor.call(ToolCall("2", "long")).content,
                executor.tasks.tool_result(task_id).content,
                executor.tasks.tool_result(task_id, 1100).content,
            ]
            assert ["readResult" in content for content in contents] == [has_reader] * 3
            assert ["kept them as res_" in content for content in contents] == [not has_reader] * 3
        tasks.close()
