"""The commands about background tasks, from a terminal that is not the one of the process that runs them."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from executor import TaskStatus, ToolCall, ToolExecutor
from executor.cli import _tasks
from executor.errors import ExecutorUnavailableError
from executor.tasks import TaskManager, _connection, _store
from executor.tasks._elsewhere import AllTasks
from executor.tasks._manager import engine_of
from executor.testing import HeldTool

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 30.0


@pytest.fixture
def tasks():
    made = TaskManager.open()
    yield made
    made.close()


def enter(tasks, text="", name="tool"):
    spool = engine_of(tasks).new_spool()
    spool.append(text)
    started = time.monotonic()
    return engine_of(tasks).add(
        name, "local", "1", spool, cancel=lambda _: False, reached=lambda: None, started=started
    )


@pytest.fixture
def command():
    """The command in a process of its own: ``command("call", …)``."""

    def run(*words, code=0):
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "plugins")])}
        done = subprocess.run(
            [sys.executable, "-m", "executor", *words],
            env=environment, capture_output=True, text=True, timeout=SECONDS, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert done.returncode == code, done.stderr
        return done.stdout

    return run


def test_a_store_that_another_process_holds_for_seconds_is_waited_for(run, tasks, monkeypatch):
    task_id = enter(tasks)
    tasks.close()
    path = engine_of(tasks).durable.folder() / "tasks.db"
    holder = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    holder.execute("BEGIN EXCLUSIVE")
    clock, until = [0.0], 3.0

    def sleep(seconds):
        clock[0] += seconds
        if clock[0] > until and holder.in_transaction:
            holder.rollback()

    fake = SimpleNamespace(monotonic=lambda: clock[0], sleep=sleep)
    for module in (_connection, _store):
        monkeypatch.setattr(module, "time", fake)
    assert task_id in run("tasks", "list").stdout
    assert clock[0] > until
    holder.execute("BEGIN EXCLUSIVE")
    until = clock[0] + 1000.0
    given_up = run("tasks", "show", task_id)
    assert given_up.exit_code == 4
    assert "another process holds it" in given_up.output
    holder.close()


def test_list_shows_the_tasks_newest_first_and_can_be_narrowed(run, tasks):
    first, second = enter(tasks, name="one"), enter(tasks, "héllo", name="two")
    engine_of(tasks).finish(first, TaskStatus.COMPLETED, (True, 1))
    shown = run("tasks", "list").stdout
    assert shown.index(second) < shown.index(first)
    listed = json.loads(run("tasks", "list", "--json", "--state", "running").stdout)
    assert [(task["task_id"], task["output_bytes"]) for task in listed] == [(second, 6)]
    assert [task["task_id"] for task in json.loads(run("tasks", "list", "--json", "--tool", "one").stdout)] == [first]


def test_list_says_that_a_thread_is_still_at_work(run):
    with HeldTool() as tool, ToolExecutor() as executor:
        executor.register("stuck", tool, auto_background=5)
        task_id = executor.start(ToolCall("1", "stuck")).task_id
        assert tool.started.wait(SECONDS)
        executor.tasks.cancel(task_id)
        engine_of(executor.tasks).durable.place.thread.do(lambda _: None, SECONDS)
        assert "cancelled (thread still at work)" in run("tasks", "list").stdout
        tool.go_on()
        executor._way.threads.workers.close(SECONDS)
        engine_of(executor.tasks).durable.place.thread.do(lambda _: None, SECONDS)  # until that is stored
        assert "still at work" not in run("tasks", "list").stdout
        executor.tasks.close()


def test_show_has_the_result_and_takes_the_beginning_of_an_id(run, tasks):
    task_id = enter(tasks)
    assert "result" not in json.loads(run("tasks", "show", task_id[:12], "--json").stdout)
    engine_of(tasks).finish(task_id, TaskStatus.COMPLETED, (True, {"answer": 42}))
    shown = json.loads(run("tasks", "show", task_id[:12], "--json").stdout)
    assert (shown["task_id"], shown["status"], shown["result"]) == (task_id, "completed", {"answer": 42})
    assert "answer" in run("tasks", "show", task_id).stdout


def test_an_id_that_is_none_or_stands_for_several_is_a_usage_error(run, tasks):
    enter(tasks)
    enter(tasks)
    assert run("tasks", "show", "nothing_1").exit_code == 2
    several = run("tasks", "show", "local_")
    assert several.exit_code == 2
    assert "2 tasks" in several.stderr


def test_output_is_written_as_it_is_from_an_offset_and_followed_to_the_end(run, tasks):
    spool = engine_of(tasks).new_spool()
    task_id = engine_of(tasks).add("t", "local", "1", spool, cancel=lambda _: False, reached=lambda: None)
    spool.append("één\n")
    assert run("tasks", "output", task_id).stdout == "één\n"
    assert run("tasks", "output", task_id, "--offset", "2").stdout == "én\n"
    following = []
    thread = threading.Thread(target=lambda: following.append(run("tasks", "output", task_id, "-f").stdout))
    thread.start()
    spool.append("two\n")
    engine_of(tasks).finish(task_id, TaskStatus.COMPLETED, (True, 1))
    thread.join(SECONDS)
    assert following == ["één\ntwo\n"]


def test_output_is_followed_past_a_store_that_is_away_for_a_moment_and_each_byte_is_written_once(
    run, tasks, monkeypatch
):
    task_id = enter(tasks, "first\n")
    engine_of(tasks).durable.place.thread.do(lambda _: None, SECONDS)
    read, looks = AllTasks.read, []

    def away_once(every, *asked):
        looks.append(asked)
        if len(looks) == 2:
            raise ExecutorUnavailableError("it is away")
        if len(looks) == 3:  # another store, in which there is nothing yet
            return "", 0, 0
        if len(looks) == 4:
            tasks_spool.append("second\n")
            engine_of(tasks).finish(task_id, TaskStatus.COMPLETED, (True, 1))
        return read(every, *asked)

    tasks_spool = engine_of(tasks).tasks[task_id].spool
    monkeypatch.setattr(AllTasks, "read", away_once)
    followed = run("tasks", "output", task_id, "-f")
    assert (followed.exit_code, followed.stdout) == (0, "first\nsecond\n")
    monkeypatch.setattr(_tasks, "AWAY", -1.0)
    looks[:] = [None]
    assert run("tasks", "output", task_id, "-f").exit_code == 4


def test_output_that_nobody_reads_any_more_is_not_followed(tasks):
    spool = engine_of(tasks).new_spool()
    task_id = engine_of(tasks).add("t", "local", "1", spool, cancel=lambda _: False, reached=lambda: None)
    spool.append("one\n")
    words = [sys.executable, "-m", "executor", "tasks", "output", "-f", task_id]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "plugins")])}
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as following:
        try:
            assert following.stdout.readline() == b"one\n"
            following.stdout.close()
            spool.append("two\n")
            assert following.wait(SECONDS) == 0, "the task goes on"
            assert following.stderr.read() == b""
        finally:
            following.kill()
    engine_of(tasks).finish(task_id, TaskStatus.COMPLETED, (True, 1))


@pytest.mark.parametrize(
    ("status", "outcome", "code"),
    [
        (TaskStatus.COMPLETED, (True, {"exit_code": 0, "stdout": "", "stderr": ""}), 0),
        (TaskStatus.COMPLETED, (True, {"exit_code": 3, "stdout": "", "stderr": ""}), 5),
        (TaskStatus.FAILED, (False, {"error": "bad"}), 5),
        (TaskStatus.TIMEOUT, (False, {"error": "late", "timed_out": True}), 6),
        (TaskStatus.CANCELLED, (False, {"error": "no", "cancelled": True}), 5),
    ],
)
def test_wait_ends_as_the_call_would_have(run, tasks, status, outcome, code):
    task_id = enter(tasks)
    engine_of(tasks).finish(task_id, status, outcome)
    assert run("tasks", "wait", task_id).exit_code == code


@pytest.mark.parametrize(
    ("value", "code", "stdout", "stderr"),
    [
        ({"exit_code": 3, "stdout": "one\n", "stderr": "two\n"}, 5, "one\n", "two\nexit code 3\n"),
        ({"exit_code": 3, "rows": 2}, 0, '{\n  "exit_code": 3,\n  "rows": 2\n}\n', ""),
        ("text", 0, "text\n", ""),
    ],
)
def test_wait_writes_a_result_where_the_call_would_have(run, tasks, value, code, stdout, stderr):
    task_id = enter(tasks)
    engine_of(tasks).finish(task_id, TaskStatus.COMPLETED, (True, value))
    ended = run("tasks", "wait", task_id)
    assert (ended.exit_code, ended.stdout, ended.stderr) == (code, stdout, stderr)


def test_what_is_read_at_a_terminal_is_still_to_be_delivered_to_its_host(run, tasks):
    task_id = enter(tasks)
    engine_of(tasks).finish(task_id, TaskStatus.COMPLETED, (True, 1))
    for words in (("wait", task_id), ("show", task_id), ("output", task_id), ("list",)):
        assert run("tasks", *words).exit_code == 0
    assert [info.id for info in tasks.undelivered()] == [task_id]


def test_wait_with_a_limit_says_that_the_task_goes_on(run, tasks):
    ended = run("tasks", "wait", enter(tasks), "--timeout", "0.05")
    assert ended.exit_code == 7
    assert "still running" in ended.stderr


def test_prune_forgets_what_is_old_enough(run, tasks):
    task_id = enter(tasks)
    engine_of(tasks).finish(task_id, TaskStatus.COMPLETED, (True, 1))
    assert json.loads(run("tasks", "prune", "--json").stdout) == {"pruned": 0}
    assert json.loads(run("tasks", "prune", "--older-than", "0s", "--json").stdout) == {"pruned": 1}
    assert run("tasks", "prune", "--older-than", "soon").exit_code == 2
    assert json.loads(run("tasks", "list", "--json").stdout) == []


def test_a_detached_call_goes_on_and_is_read_and_waited_for_by_its_id(command, tasks, tmp_path):
    go_on = tmp_path / "go on"
    line = f"echo begun; while [ ! -e '{go_on}' ]; do sleep 0.05; done; echo ended; exit 3"
    task_id = command("call", "runCommand", f"command={line}", "--yes", "--detach", code=7).strip()
    assert tasks.get(task_id).status is TaskStatus.RUNNING
    assert json.loads(command("tasks", "list", "--json"))[0]["task_id"] == task_id
    go_on.touch()
    assert command("tasks", "output", task_id, "-f") == "begun\nended\n"
    assert command("tasks", "wait", task_id, code=5) == "begun\nended\n"


def test_a_detached_call_can_be_cancelled_from_another_terminal(command, tasks):
    task_id = command("call", "runCommand", "command=sleep 300", "--yes", "--no-wait", "--json", code=7)
    task_id = json.loads(task_id)["task_id"]
    assert "was cancelled" in command("tasks", "cancel", task_id)
    assert tasks.get(task_id).status is TaskStatus.CANCELLED
    assert "had ended before" in command("tasks", "cancel", task_id)


def test_the_runner_of_a_detached_call_may_be_killed_and_told_to_end(command, tasks):
    for number, status in ((9, TaskStatus.INTERRUPTED), (15, TaskStatus.CANCELLED)):
        line = "echo begun; exec sleep 300"
        task_id = command("call", "runCommand", f"command={line}", "--yes", "--detach", code=7).strip()
        deadline, rest = time.monotonic() + SECONDS, threading.Event()
        while not tasks.output(task_id)[0] and time.monotonic() < deadline:
            rest.wait(0.05)  # another process's output: there is no event
        os.kill(int(tasks.get(task_id).owner), number)
        assert tasks.wait(task_id, SECONDS).status is status


def test_without_a_terminal_a_detached_call_needs_yes_as_every_call_does(command, tasks):
    command("call", "runCommand", "command=true", "--detach", code=3)
    assert tasks.list() == []


def test_a_call_that_is_interrupted_stops_its_own_task_and_no_other(tasks, policy, tmp_path_factory):
    other, begun = enter(tasks), tmp_path_factory.mktemp("elsewhere") / "begun"  # a policy's folder is closed to tools
    policy({"whitelist": {"tools": ["runCommand"]}})  # below a process that has tasks --yes is not for people
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "plugins")])}
    words = ["call", "runCommand", f"command=touch '{begun}'; sleep 300", "--threshold", "0"]
    process = subprocess.Popen(
        [sys.executable, "-m", "executor", *words],
        env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    deadline, rest = time.monotonic() + SECONDS, threading.Event()
    while not begun.exists() and time.monotonic() < deadline:
        rest.wait(0.05)  # a file that another process makes: there is no event
    process.send_signal(2)
    said = process.communicate(timeout=SECONDS)[1]
    assert process.returncode == 130, said
    assert tasks.get(other).status is TaskStatus.RUNNING
    (mine,) = [info for info in tasks.list() if info.id != other]
    assert mine.status is TaskStatus.CANCELLED


def test_what_cannot_be_detached_says_why(command, tasks):
    command("call", "runCommand", "nonsense=1", "--yes", "--detach", code=2)
    command("call", "runCommand", "command=true", "cwd=/does/not/exist", "--yes", "--detach", code=7)
    assert tasks.wait(tasks.list()[0].id, SECONDS).status is TaskStatus.FAILED


def test_doctor_tells_of_tasks_and_of_threads_that_are_still_at_work(run, own_folders):
    def finding():
        (found,) = [one for one in json.loads(run("doctor", "--json").stdout)["findings"] if one["check"] == "tasks"]
        return found

    assert (finding()["status"], finding()["found"]) == ("ok", "there is none")
    assert not (own_folders / "state" / "toolexec" / "tasks.db").exists(), "looking made a store"
    with HeldTool() as tool, ToolExecutor() as executor:
        executor.register("stuck", tool, auto_background=5)
        task_id = executor.start(ToolCall("1", "stuck")).task_id
        assert tool.started.wait(SECONDS)
        assert finding()["found"] == "1 running"
        executor.tasks.cancel(task_id)
        assert finding()["status"] == "warning"
        assert task_id in finding()["found"]
        tool.go_on()
        executor._way.threads.workers.close(SECONDS)
        executor.tasks.close()
    (own_folders / "state" / "toolexec" / "tasks.db").write_text("no database " * 100)
    assert finding()["status"] in ("broken", "ok")  # whoever writes first sets it aside
    assert finding()["status"] == "ok"
    assert list((own_folders / "state" / "toolexec").glob("tasks.db.damaged-*"))


def test_the_beginning_of_an_id_is_looked_up_and_not_all_tasks_read(run, tasks, monkeypatch):
    one, other = enter(tasks), enter(tasks, name="another")
    monkeypatch.setattr(_store.Store, "newest", lambda *_: pytest.fail("all tasks were read"))
    assert one in run("tasks", "show", one[:-4]).stdout
    assert other in run("tasks", "show", other[:-4]).stdout
    assert "2 tasks have an id that begins with 'local'" in run("tasks", "show", "local").output
    assert "there is no task 'local%'" in run("tasks", "show", "local%").output
