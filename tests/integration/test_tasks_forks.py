"""The child of a process that is at work on the store: it has nothing of its parent's, and waits for nothing."""

from __future__ import annotations

import os
import time
import warnings

import pytest

from executor import TaskStatus, ToolCall, ToolExecutor, current_call
from executor.tasks import TaskManager
from executor.tasks._manager import engine_of

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here"),
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]
SECONDS = 30.0


def in_child(do):
    """What *do* says in a forked child, and how long that took; the child must end by itself."""
    read, write = os.pipe()
    began = time.monotonic()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        try:
            os.write(write, do().encode())
        except BaseException as error:
            os.write(write, repr(error).encode())
        finally:
            os._exit(0)
    os.close(write)
    with open(read, "rb") as file:
        said = file.read().decode()
    os.waitpid(pid, 0)
    return said, time.monotonic() - began


def wait(args):
    current_call().emit("said\n")
    current_call().wait(30)


def enter(tasks, text=""):
    spool = engine_of(tasks).new_spool()
    spool.append(text)
    return engine_of(tasks).add("t", "p", "c", spool, cancel=lambda _: False, reached=lambda: None)


def test_a_child_uses_the_store_though_its_parent_was_in_the_middle_of_writing(tmp_path):
    tasks = TaskManager.open(tmp_path, host="test", patience=SECONDS)
    for _ in range(10):
        for _ in range(5):  # the thread that writes is at work on these
            engine_of(tasks).start(enter(tasks))

        def hand_over():
            told = enter(tasks)
            engine_of(tasks).tell(told)  # on a busy machine from memory; closing stores what is not stored yet
            engine_of(tasks).finish(told, TaskStatus.COMPLETED, (True, 1))
            tasks.close()
            return told

        told, _ = in_child(hand_over)
        assert tasks.get(told).status is TaskStatus.COMPLETED
    tasks.close()


def test_a_child_of_a_process_with_live_tasks_ends_at_once_and_owns_none(tmp_path):
    with ToolExecutor(tasks=TaskManager.open(tmp_path, host="test")) as executor:
        executor.register("wait", wait, auto_background=0.05)
        task_id = executor.start(ToolCall("1", "wait")).task_id

        def shut_down():
            live = executor.tasks.open_count()
            ended = executor.shutdown(timeout=SECONDS)
            executor.tasks.close()
            return f"{live} {ended}"

        said, _ = in_child(shut_down)
        assert said == "0 True"
        other = TaskManager.open(tmp_path)
        assert not other.get(task_id).status.final
        other.close()
        executor.shutdown(cancel=True)
        executor.tasks.close()
    assert list((tmp_path / "owners").iterdir()) == []


def test_what_a_tool_says_in_a_child_that_it_made_is_not_in_its_output(tmp_path):
    def fork(args):
        call = current_call()
        call.emit("before\n")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
        call.emit("after\n")
        if pid:
            os.waitpid(pid, 0)
        return "done"

    with ToolExecutor(tasks=TaskManager.open(tmp_path, host="test")) as executor:
        executor.register("fork", fork, auto_background=0)
        task_id = executor.execute("fork")[1]["task_id"]
        assert executor.tasks.wait(task_id, SECONDS).status is TaskStatus.COMPLETED
        assert executor.tasks.output(task_id)[0] == "before\nafter\n"
        executor.tasks.close()
