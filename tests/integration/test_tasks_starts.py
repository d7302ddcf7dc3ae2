"""Processes that are killed in the very moment in which they start a command: it is found all the same, and ended."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from executor import TaskStatus
from executor.confine import Profile
from executor.confine import start as start_in_box
from executor.tasks import TaskManager, _processes
from executor.tasks._processes import MARK, birth, end_groups
from executor.tasks._spool import Group
from tests.confine.conftest import need

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 30.0
# The number of what was started is said by the process that starts it, the moment before it is killed.
OWNER = """
import os, signal, sys, threading, time
folder, moment, way = sys.argv[1], float(sys.argv[2]), sys.argv[3]
from executor import PluginRegistry, ToolCall, ToolExecutor
from executor.calls._state import CallState
from executor.tasks import TaskManager
from executor.tasks._manager import engine_of
from tests.integration import test_tasks_starts

inner_expect, inner_add = CallState.expect_process_group, CallState.add_process_group

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def expect(call):
    expected = inner_expect(call)
    if moment >= 0:
        threading.Thread(target=lambda: (time.sleep(moment), die())).start()
    return expected

def add(call, pid, expected):
    if moment < 0:
        begun.set()
        if way == "hand-over":
            handed_over.wait()
        if way == "cancelled":
            cancelled.wait()
        os.write(1, f"{pid}\\n".encode())
        die()
    inner_add(call, pid, expected)

CallState.expect_process_group, CallState.add_process_group = expect, add
registry = PluginRegistry(entry_points=False)
registry.expose("shell", {"threshold": 0.05})
executor = ToolExecutor(registry=registry, tasks=TaskManager.open(folder, host="starts"))
executor.register("apart", test_tasks_starts.stay, isolation="process")
begun, handed_over, cancelled = threading.Event(), threading.Event(), threading.Event()
asleep = {"command": "echo $$; exec sleep 1000"}
if way == "hand-over":
    os.write(1, (executor.execute("runCommand", asleep)[1]["task_id"] + "\\n").encode())
    handed_over.set()
elif way == "cancelled":
    task_id = executor.start(ToolCall("1", "runCommand", asleep)).task_id
    os.write(1, (task_id + "\\n").encode())
    begun.wait()
    executor.tasks.cancel(task_id)
    engine_of(executor.tasks).durable.place.thread.do(lambda connection: None, 30)  # its end is stored
    cancelled.set()
elif way == "apart":
    os.write(1, (executor.start(ToolCall("1", "apart", {})).task_id + "\\n").encode())
else:
    os.write(1, (executor.start(ToolCall("1", "runCommand", asleep)).task_id + "\\n").encode())
threading.Event().wait()
"""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are told apart by /proc")


def stay():
    """What an isolated tool does: its process ends only when it is made to."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        signal.pause()


def killed(folder, moment, way="start"):
    """Have a process killed so many seconds after it began to start a command. Returns the lines that it has said."""
    owner = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", OWNER, str(folder), str(moment), way],
        stdout=subprocess.PIPE, text=True, timeout=SECONDS, check=False,
        env={
            **os.environ, "STARTED_BY_TEST": str(folder),
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "plugins")]),
        },
    )  # fmt: skip
    assert owner.returncode == -signal.SIGKILL
    return owner.stdout.split()


def left(folder):
    """The processes that were started in a test, and still run."""
    mark = f"STARTED_BY_TEST={folder}".encode()
    found = []
    for pid in _processes._pids():
        try:
            if mark in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                found.append(Path(f"/proc/{pid}/cmdline").read_bytes())
        except OSError:
            continue
    return found


@pytest.mark.parametrize("way", ["start", "hand-over", "cancelled", "apart"])
def test_a_command_whose_owner_dies_before_it_is_recorded_is_ended(tmp_path, way):
    said = killed(tmp_path, -1, way)
    tasks = TaskManager.open(tmp_path, host="starts")
    (info,) = tasks.list()
    ended = TaskStatus.CANCELLED if way == "cancelled" else TaskStatus.INTERRUPTED
    assert tasks.wait(info.id, SECONDS).status is ended
    tasks.close()
    assert len(said) >= 1
    assert left(tmp_path) == []


@pytest.mark.parametrize("kills", [6, pytest.param(200, marks=[pytest.mark.long, pytest.mark.timeout(900)])])
def test_kills_within_milliseconds_of_a_start_leave_no_command(tmp_path, kills):
    chance = random.Random(kills)
    for number in range(kills):
        folder = tmp_path / str(number)
        killed(folder, chance.random() * 0.004)
        tasks = TaskManager.open(folder, host="starts")
        ids = [info.id for info in tasks.list()]
        assert {tasks.wait(task_id, SECONDS).status for task_id in ids} <= {TaskStatus.INTERRUPTED}
        tasks.close()
        assert left(folder) == [], f"after kill {number}"


@pytest.mark.parametrize(("name", "mechanism"), [("open", "none"), ("read", "landlock"), ("project", "bubblewrap")])
def test_what_was_started_in_a_box_is_found_by_its_mark(tmp_path, name, mechanism):
    if mechanism != "none":
        need(mechanism)
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "start_new_session": True}
    command = ["/bin/sh", "-c", "echo here; exec sleep 1000"]
    boxed = start_in_box(Profile(name, str(tmp_path)), command, marks={MARK: "mine"}, **streams)
    try:
        assert boxed.box.mechanism == mechanism
        assert boxed.process.stdout.readline() == b"here\n"
        assert birth(boxed.process.pid)
        assert end_groups([Group(0, "", "mine")]) == 1
        assert boxed.process.wait(SECONDS)
        assert boxed.process.stdout.read() == b"", "nothing of it is left"
    finally:
        boxed.process.kill()
        boxed.process.stdout.close()
        boxed.close()
