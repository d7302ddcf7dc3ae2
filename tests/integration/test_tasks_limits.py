"""A process that may open no more files, or start no more threads, for a while."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from executor import TaskStatus
from executor.tasks import TaskManager

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 60.0
HOST = """
import contextlib, json, os, resource, sys, threading, time
from executor import ToolCall, ToolExecutor, current_call
from executor.errors import ExecutorUnavailableError
from executor.tasks import TaskManager

folder, limit, when = sys.argv[1:]
real, ids, lost, longest = threading.Thread.start, {}, [], {}

@contextlib.contextmanager
def limited():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit == "files":
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    else:
        threading.Thread.start = refuse
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        threading.Thread.start = real

def refuse(thread):
    if thread.name in ("executor-store", "executor-tasks"):
        raise RuntimeError("can't start new thread")
    real(thread)

def work(args):
    for number in range(20):
        current_call().emit(f"line {number}\\n")
        current_call().wait(0.03)
    return "y" * args["length"]

def a_round(length):
    for told in (
        executor.execute("work", {"length": length})[1],
        executor.start(ToolCall("1", "work", {"length": length})).value,
    ):
        ids[told["task_id"]] = told.get("durable", True)
    for ask in (tasks.list, tasks.undelivered):
        with contextlib.suppress(ExecutorUnavailableError):
            ask()

tasks = TaskManager.open(folder, host="test")
with ToolExecutor(tasks=tasks) as executor:
    executor.register("work", work, auto_background=0.1)
    if when == "later":
        a_round(10)
    with limited():
        a_round(10)
        a_round(100_000)
    a_round(10)
    ends = {task_id: tasks.wait(task_id, 20).status for task_id in ids}
    assert executor.shutdown(timeout=20)
    tasks.close()
print(json.dumps([ends, ids]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such limits")
@pytest.mark.parametrize("when", ["later", "from the first task on"])
@pytest.mark.parametrize("limit", ["files", "threads"])
def test_without_files_or_threads_work_goes_on_and_its_ends_are_stored_when_there_are_some_again(tmp_path, limit, when):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "plugins")])}
    command = [sys.executable, "-W", "ignore", "-c", HOST, str(tmp_path / "state"), limit, when]
    done = subprocess.run(command, env=env, capture_output=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stderr.decode()
    ends, durable = json.loads(done.stdout)
    assert set(ends.values()) == {TaskStatus.COMPLETED}
    other = TaskManager.open(tmp_path / "state", host="test")
    found = {info.id: info.status for info in other.list()}
    if (limit, when) == ("files", "from the first task on"):  # not even the code of the store can be loaded
        assert found.items() <= ends.items()
        assert {task_id for task_id, stored in durable.items() if stored} <= found.keys()
    else:
        assert found == ends
    other.close()
