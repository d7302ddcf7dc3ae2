"""The mark by which a command knows that a running call has started it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from executor import TaskStatus
from executor.calls._above import Mark, _is_marked
from executor.tasks import TaskManager
from executor.tasks._manager import engine_of


@pytest.mark.skipif(sys.platform != "linux", reason="files of other processes are known on Linux only")
def test_the_mark_is_an_open_file_until_it_is_taken_back():
    mark = Mark()
    mark.remove()
    mark.make()
    descriptor = mark._made["toolexec-calls"]
    assert os.readlink(f"/proc/self/fd/{descriptor}") == "/memfd:toolexec-calls (deleted)"
    mark.make()
    assert mark._made["toolexec-calls"] == descriptor, "one will do"
    mark.remove()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)


FIRST = """
import subprocess, sys
from executor.calls._above import mark_caller
mark_caller()
below = "import os; from executor.calls._above import call_above; print(os.getppid(), call_above())"
sys.exit(subprocess.run([sys.executable, "-c", below]).returncode)
"""
OWN_PIDS = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc"]


@pytest.mark.skipif(shutil.which("unshare") is None, reason="there is no unshare")
def test_the_first_process_of_a_container_is_known_as_a_caller_too():
    if subprocess.run([*OWN_PIDS, "true"], capture_output=True, timeout=30, check=False).returncode != 0:
        pytest.skip("this system makes no namespaces for its users")
    done = subprocess.run(
        [*OWN_PIDS, sys.executable, "-c", FIRST],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.split() == [b"1", b"1"]


DEEP = """
import os, sys
from executor.calls._above import call_above, forget_caller, mark_caller
mark_caller()
first = os.getpid()
for _ in range(300):
    if (child := os.fork()) != 0:
        os.waitpid(child, 0)
        os._exit(0)
    forget_caller()
print(call_above() == first)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="files of other processes are known on Linux only")
def test_a_call_is_seen_however_many_processes_are_in_between():
    done = subprocess.run(
        [sys.executable, "-c", DEEP], cwd=Path(__file__).parents[2], capture_output=True, timeout=60, check=True
    )
    assert done.stdout == b"True\n"


LEFT = []


@pytest.mark.skipif(sys.platform != "linux", reason="as above")
@pytest.mark.parametrize("kind", ["of one test", "of the next"])
def test_what_has_tasks_is_above_what_it_starts_and_not_above_what_another_test_starts(kind):
    assert not _is_marked(os.getpid())
    tasks = TaskManager.open()
    engine = engine_of(tasks)
    task_id = engine.add("tool", "local", "call", engine.new_spool(), cancel=bool, reached=bool)
    engine.finish(task_id, TaskStatus.COMPLETED, (True, 1))
    assert _is_marked(os.getpid())
    LEFT.append(tasks)  # and nobody closes it
