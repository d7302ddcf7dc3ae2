"""
What background tasks cost on the disk: a chunk of output, the hand-over, finding one of many, opening after a crash.

The store is made in the folder for temporary files; what it costs depends on how soon its disk says "written".
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
import threading
import time
from pathlib import Path
from time import perf_counter

import _common as common

from executor import TaskStatus, ToolExecutor
from executor.tasks import TaskManager
from executor.tasks._live import LiveTask
from executor.tasks._manager import engine_of
from executor.tasks._store import Store

CHUNK = "x" * 1023 + "\n"
THRESHOLD = 0.05


def enter(tasks: TaskManager) -> tuple[str, object]:
    """A running task, and its spool."""
    spool = engine_of(tasks).new_spool()
    task_id = engine_of(tasks).add(
        "tool", "local", "call", spool, cancel=lambda _: False, reached=lambda: None, started=time.monotonic()
    )
    return task_id, spool


def chunk_cost(folder: Path, times: int) -> None:
    """A chunk of 1 KB into a running task."""
    tasks, memory = TaskManager.open(folder), TaskManager.in_memory()
    _, spool = enter(tasks)
    _, other = enter(memory)
    ours, theirs = common.medians(
        common.per_call(lambda: spool.append(CHUNK), 1000),
        common.per_call(lambda: other.append(CHUNK), 1000),
        times=times,
    )
    tasks.close()
    common.row(
        "1 KB of output into a task on disk", common.micro(ours), f"in memory: {common.micro(theirs)}", "3 µs",
        holds=ours <= 3e-6,
    )  # fmt: skip


def late(executor: ToolExecutor, release: threading.Event) -> float:
    """Seconds past its threshold at which a call was handed over."""
    release.clear()
    began = perf_counter()
    _, told = executor.execute("stay")
    delay = perf_counter() - began - THRESHOLD
    release.set()
    executor.tasks.wait(told["task_id"], 10)
    return delay


def handover_cost(folder: Path, times: int) -> None:
    """How late a call is handed over, with the commit."""
    release = threading.Event()
    with (
        ToolExecutor(tasks=TaskManager.open(folder)) as durable,
        ToolExecutor(tasks=TaskManager.in_memory()) as memory,
    ):
        for executor in (durable, memory):
            executor.register("stay", lambda _: release.wait(60), auto_background=THRESHOLD)
            late(executor, release)
        ours, theirs = common.medians(lambda: late(durable, release), lambda: late(memory, release), times=times)
        durable.tasks.close()
    common.row(
        "hand-over with the durable commit", common.milli(ours), f"in memory: {common.milli(theirs)}", "2 ms",
        holds=ours <= 2e-3,
    )  # fmt: skip


def foreground_cost(folder: Path, times: int) -> None:
    """A call that ends before its threshold."""
    with (
        ToolExecutor(tasks=TaskManager.open(folder)) as durable,
        ToolExecutor(tasks=TaskManager.in_memory()) as memory,
    ):
        for executor in (durable, memory):
            executor.register("add", common.add, auto_background=60)
        arguments = {"a": 1, "b": 2}
        allowed = os.sched_getaffinity(0) if hasattr(os, "sched_setaffinity") else None
        if allowed:
            os.sched_setaffinity(0, {min(allowed)})  # on two cores the system's choice of one decides, not the store
        ours, theirs = common.medians(
            common.per_call(lambda: durable.execute("add", arguments), 200),
            common.per_call(lambda: memory.execute("add", arguments), 200),
            times=times,
        )
        if allowed:
            os.sched_setaffinity(0, allowed)
    common.row("a call that stays in the foreground", common.micro(ours), f"in memory: {common.micro(theirs)}")


def fill(path: Path, ended: int, dead: int) -> list[str]:
    """A store with so many tasks, of a process that is gone; returns their ids."""
    store, ids = Store(path), []
    memory = TaskManager.in_memory()
    with store._writing() as connection:  # one transaction: this is not what is measured
        for number in range(ended + dead):
            task = LiveTask(f"local_{number:032x}", "tool", "local", "call", engine_of(memory).new_spool())
            end = (time.time(), number, 1, '"done"') if number < ended else (None, None, None, None)
            status = TaskStatus.COMPLETED if number < ended else TaskStatus.RUNNING
            connection.execute(
                "INSERT INTO task (id, status, tool, plugin, call, owner, pid, host, created, output_cap, ended, "
                "ending, success, value, output_bytes, duration) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,0,0)",
                (task.id, status, "tool", "local", "call", "gone", 1, "host", time.time(), 1 << 24, *end),
            )
            ids.append(task.id)
    store.close()
    return ids


def finding_cost(folder: Path, stored: int, times: int) -> None:
    """One of many, and the newest of many."""
    folder.mkdir()
    ids = fill(folder / "tasks.db", stored, 0)
    tasks = TaskManager.open(folder)
    tasks.list(limit=1)
    one, newest = common.medians(
        common.per_call(lambda: tasks.get(ids[stored // 3]), 10),
        common.per_call(lambda: tasks.list(limit=50)),
        times=times,
    )
    tasks.close()
    what = f"{stored:,} tasks on disk"
    common.row("`get` of one", common.micro(one), what, "300 µs", holds=one <= 3e-4)
    common.row("`list` of the newest 50", common.milli(newest), what, "2 ms", holds=newest <= 2e-3)


def opening_cost(folder: Path, dead: int, times: int) -> None:
    """Opening a store and sweeping the tasks of a dead process."""

    def measure() -> float:
        with tempfile.TemporaryDirectory(dir=folder) as made:
            fill(Path(made) / "tasks.db", 0, dead)
            tasks = TaskManager.open(made)
            began = perf_counter()
            swept = tasks.list("interrupted", limit=1)
            took = perf_counter() - began
            assert swept, "nothing was swept"
            tasks.close()
            return took

    (took,) = common.medians(measure, times=times)
    common.row(
        f"opening and sweeping {dead:,} dead tasks", common.milli(took), f"SQLite {sqlite3.sqlite_version}", "150 ms",
        holds=took <= 0.15,
    )  # fmt: skip


def main() -> None:
    times = common.rounds(50, fast=15)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        chunk_cost(folder / "chunk", times)
        handover_cost(folder / "handover", min(times, 30))
        foreground_cost(folder / "foreground", times)
        finding_cost(folder / "finding", 100_000 if times > 1 else 1000, times)
        opening_cost(folder, 1000, min(times, 10))


if __name__ == "__main__":
    main()
