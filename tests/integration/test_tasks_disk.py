"""A disk that fails now and then, or hangs: a shim under SQLite fails in its place."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from executor import TaskStatus
from executor.tasks import TaskManager

ROOT = Path(__file__).resolve().parents[2]
COMPILER = shutil.which("cc")
SECONDS = 60.0
# What the store's files are read, written, forced to the disk and locked by. The file DISK_FAULT names says what
# becomes of it: "<call> <errno, or 0> <milliseconds that it takes> <of a hundred calls, how many>".
SHIM = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int fails(const char *call, int fd) {
    int before = errno, code = 0, took = 0, percent = 0, result = 0;
    char link[64], path[512], which[16], fault[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    int control = length > 0 ? syscall(SYS_open, getenv("DISK_FAULT"), O_RDONLY) : -1;
    if (control >= 0) {
        path[length] = 0;
        ssize_t size = syscall(SYS_read, control, fault, sizeof fault - 1);
        syscall(SYS_close, control);
        fault[size > 0 ? size : 0] = 0;
        if (strstr(path, "tasks.db") && sscanf(fault, "%15s %d %d %d", which, &code, &took, &percent) == 4
            && !strcmp(which, call) && rand() % 100 < percent) {
            struct timespec pause = {took / 1000, took % 1000 * 1000000L};
            nanosleep(&pause, NULL);
            result = code;
        }
    }
    errno = result ? result : before;
    return result;
}

ssize_t pread64(int fd, void *to, size_t size, off64_t at) {
    return fails("read", fd) ? -1 : syscall(SYS_pread64, fd, to, size, at);
}
ssize_t pwrite64(int fd, const void *from, size_t size, off64_t at) {
    return fails("write", fd) ? -1 : syscall(SYS_pwrite64, fd, from, size, at);
}
int fdatasync(int fd) { return fails("sync", fd) ? -1 : syscall(SYS_fdatasync, fd); }
int fsync(int fd) { return fails("sync", fd) ? -1 : syscall(SYS_fsync, fd); }
int fcntl64(int fd, int command, ...) {
    va_list more;
    va_start(more, command);
    void *given = va_arg(more, void *);
    va_end(more);
    return command == F_SETLK && fails("lock", fd) ? -1 : syscall(SYS_fcntl, fd, command, given);
}
"""
HOST = """
import json, os, sys, threading, time
from executor import ToolCall, ToolExecutor, current_call
from executor.errors import ToolExecutorError
from executor.tasks import TaskManager

folder, fault, *words = sys.argv[1:]
longest, ids, durable = {}, [], 0

def timed(what, ask, past=0.0):
    began = time.monotonic()
    try:
        return ask()
    except ToolExecutorError:
        return None
    finally:
        longest[what] = max(longest.get(what, 0.0), time.monotonic() - began - past)

def work(args):
    call = current_call()
    for number in range(20):
        call.emit(f"line {number}\\n")
        call.wait(0.05)
    return "y" * args["length"]

def a_round(length):
    global durable
    for told in (
        timed("hand-over", lambda: executor.execute("work", {"length": length})[1], past=0.1),
        timed("start", lambda: executor.start(ToolCall("1", "work", {"length": length})).value),
    ):
        ids.append(told["task_id"])
        durable += told.get("durable", True)
    for what, ask in {"list": tasks.list, "undelivered": tasks.undelivered, "ack": lambda: tasks.ack(ids[-1])}.items():
        timed(what, ask)
    timed("the machine", lambda: threading.Event().wait(0.2), past=0.2)  # how late it is by itself
    timed("limit", lambda: executor.execute("plain", {"length": 1}, timeout=0.2), past=0.2)

tasks = TaskManager.open(folder, host="test")
with ToolExecutor(tasks=tasks) as executor:
    executor.register("work", work, auto_background=0.1)
    executor.register("plain", work)
    a_round(10)
    longest.clear()  # until here all was made, on a disk as busy as it is
    with open(fault, "w") as file:
        file.write(" ".join(words))
    for length in (10, 100_000, 10):
        a_round(length)
    ends = {task_id: tasks.wait(task_id, 20).status for task_id in ids}
    if words[2] == "0":  # else it hangs until the end
        os.unlink(fault)
    shutdown = executor.shutdown(timeout=20)
    timed("close", tasks.close)
print(json.dumps([ends, longest, durable, shutdown]))
os._exit(0)
"""

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the shim is for Linux"),
    pytest.mark.skipif(COMPILER is None, reason="there is no C compiler to make the shim with"),
]


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    made = tmp_path_factory.mktemp("shim") / "shim.so"
    (source := made.with_suffix(".c")).write_text(SHIM)
    subprocess.run([COMPILER, "-O1", "-shared", "-fPIC", "-w", "-o", made, source], check=True, timeout=SECONDS)
    return made


def host(folder, shim, fault):
    """What became of the tasks of a process whose disk failed, how long it waited, and how many were in the store."""
    env = {
        **os.environ, "LD_PRELOAD": str(shim), "DISK_FAULT": str(folder / "fault"),
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "plugins")]),
    }  # fmt: skip
    command = [sys.executable, "-W", "ignore", "-c", HOST, str(folder / "state"), str(folder / "fault"), *fault.split()]
    done = subprocess.run(command, env=env, capture_output=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


def check(longest):
    late, close = longest.pop("the machine"), longest.pop("close")
    assert {what: took for what, took in longest.items() if took > 0.5 + late} == {}
    assert close < 7, "it tries for five seconds"


@pytest.mark.parametrize(
    "fault",
    [
        "read 5 0 10", "write 5 0 10", "sync 5 0 20", "lock 5 0 10",  # now and then
        "read 5 0 100", "write 5 0 100", "write 28 0 100", "sync 5 0 100", "lock 37 0 100", "read 116 0 100",  # always
    ],
)  # fmt: skip
def test_a_disk_that_fails_loses_nothing_and_keeps_nobody_waiting(tmp_path, shim, fault):
    ends, longest, durable, shutdown = host(tmp_path, shim, fault)
    assert set(ends.values()) == {TaskStatus.COMPLETED}
    assert durable < len(ends) or not fault.endswith("100")
    assert shutdown is True
    check(longest)
    assert list((tmp_path / "state").glob("*damaged*")) == [], "it is as good as before"
    other = TaskManager.open(tmp_path / "state", host="test")
    assert {task_id: other.get(task_id).status for task_id in ends} == ends
    assert {len(other.result(task_id)[1]) for task_id in ends} == {10, 100_000}
    assert {other.output(task_id)[0].count("line") for task_id in ends} == {20}
    other.close()


@pytest.mark.parametrize("call", ["sync", "write"])
def test_a_disk_that_hangs_keeps_nobody_waiting_and_lets_the_process_end(tmp_path, shim, call):
    ends, longest, _, shutdown = host(tmp_path, shim, f"{call} 0 60000 100")
    assert set(ends.values()) == {TaskStatus.COMPLETED}
    assert shutdown is True
    check(longest)
    other = TaskManager.open(tmp_path / "state", host="test")
    assert {task_id: other.get(task_id).status for task_id in ends} == ends, "noted beside the store, for the next"
    other.close()
