"""A process that may open no more files, before it has loaded what tasks need."""

from __future__ import annotations

import subprocess
import sys

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
