"""A process that may open no more files, before it has loaded what tasks need."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import os, resource
from executor import ToolCall, ToolExecutor
from executor.errors import ToolExecutorError

resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
with ToolExecutor() as executor:
    executor.register("long", lambda args: "z" * 200_000)
    executor.register("slow", lambda args: "done", auto_background=10, max_concurrent=1)
    executor.execute("long")
    held = []
    try:
        while True:
            held.append(os.open(os.devnull, os.O_RDONLY))
    except OSError:
        pass
    success, told = executor.execute("slow")
    assert (success, "Too many open files" in told["error"]) == (False, True), told
    assert not executor.call(ToolCall("1", "slow"), background=True).success
    try:
        executor.start(ToolCall("2", "slow"))
    except ToolExecutorError:
        print("refused")
    assert executor.call(ToolCall("3", "long")).success
    for each in held:
        os.close(each)
    print(executor.execute("slow", timeout=10))
    print(executor.tasks.wait(executor.start(ToolCall("4", "slow")).task_id, 10).status)
"""


MAY_READ_NONE = """
import sys
from executor import ToolCall, ToolExecutor


class Unreadable:
    def find_spec(self, name, path=None, target=None):
        raise ERROR


with ToolExecutor() as executor:
    executor.register("long", lambda args: "z" * 200_000)
    executor.register("slow", lambda args: "done", auto_background=10)

    async def beside(args):
        return "done"

    executor.register("beside", beside)
    executor.execute("long")
    sys.meta_path.insert(0, Unreadable())
    for name in ("slow", "beside"):
        success, told = executor.execute(name)
        assert (success, told["unavailable"]) == (False, True), told
    long = executor.call(ToolCall("1", "long"))
    print(long.kind, "could not be saved" in long.content, len(long.value))
    del sys.meta_path[0]
    print(*(executor.execute(name) for name in ("slow", "beside")))
"""


@pytest.mark.parametrize("error", ["ImportError(name)", "MemoryError()"])
def test_who_may_read_no_module_any_more_is_refused_in_words_and_loses_no_result(tmp_path, error):
    told = subprocess.run(
        [sys.executable, "-c", MAY_READ_NONE.replace("ERROR", error)],
        env={"XDG_STATE_HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "PYTHONPATH": ".:plugins"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert told.stdout.splitlines() == ["ok True 200000", "(True, 'done') (True, 'done')"], told.stderr


def test_who_can_open_no_file_is_refused_tasks_in_words_and_loses_no_place(tmp_path):
    told = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={"XDG_STATE_HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "PYTHONPATH": ".:plugins"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert told.stdout.splitlines() == ["refused", "(True, 'done')", "completed"], told.stderr
