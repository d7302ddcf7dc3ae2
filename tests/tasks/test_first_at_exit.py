"""What is to be called first when the interpreter ends, and what that takes of it."""

from __future__ import annotations

import atexit
import subprocess
import sys

import pytest

from executor import ToolCall, ToolExecutor

FIRST = """
import atexit
from executor.tasks._exit import FirstAtExit
first = FirstAtExit(lambda: print("first"))
for name in "other", "another":
    atexit.register(print, name)
    first.renew()
    first.renew()
"""


def test_it_is_called_before_what_was_registered_after_it():
    ended = subprocess.run([sys.executable, "-c", FIRST], capture_output=True, text=True, check=True)
    assert ended.stdout.split() == ["first", "another", "other"]


@pytest.mark.skipif(not hasattr(atexit, "_ncallbacks"), reason="this Python does not tell how many there are")
def test_however_many_tasks_begin_the_interpreter_remembers_no_more():
    with ToolExecutor() as executor:
        executor.register("count", lambda args: 1, auto_background=0)
        seen = []
        for number in range(5):
            executor.tasks.wait(executor.start(ToolCall(str(number), "count")).task_id)
            seen.append(atexit._ncallbacks())
    assert seen[1:] == seen[:1] * 4
