"""
What background tasks cost on the disk: a chunk of output, the hand-over, finding one of many, opening after a crash.

The store is made in the folder for temporary files; what it costs depends on how soon its disk says "written".
"""

from __future__ import annotations

import math
import os
import sqlite3
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from time import perf_counter

import _common as common

from executor import TaskStatus, ToolCall, ToolExecutor
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
    assert told.get("durable", True), "the store could not take it"
    release.set()
    executor.tasks.wait(told["task_id"], 10)
    return delay


def handover_cost(folder: Path, times: int) -> None:
    """How late a call is handed over that is in the store by then, and how late a future says that time is up."""
    release = threading.Event()
    with ToolExecutor(tasks=TaskManager.open(folder)) as durable, ThreadPoolExecutor(2) as pool:
        durable.register("stay", lambda _: release.wait(60), auto_background=THRESHOLD)
        late(durable, release)
        ours, theirs = [], []
        for _ in range(times):
            ours.append(late(durable, release))
            theirs.append(common.late_future(pool, THRESHOLD, release))
        durable.tasks.close()
    against = f"`Future.result({THRESHOLD})`"
    for what, limit, of in (("median", 0.35e-3, median), ("p99", 2e-3, p99)):
        excess = of(ours) - of(theirs)
        common.row(
            f"durable hand-over, {what}", f"{excess * 1e3:+.3f} ms", f"{against}: {common.milli(of(theirs))}",
            f"+{limit * 1e3:g} ms", holds=excess <= limit,
        )  # fmt: skip


def p99(values: list[float]) -> float:
    """The value that 99 of 100 do not exceed."""
    return sorted(values)[max(0, math.ceil(len(values) * 0.99) - 1)]


def many_cost(folder: Path, live: int, times: int) -> None:
    """How late calls are handed over while many tasks live."""
    release, stay = threading.Event(), threading.Event()
    with ToolExecutor(
        tasks=TaskManager.open(folder), max_background_tasks=live + times + 1, max_workers=live + times + 10
    ) as durable:
        durable.register("live", lambda _: stay.wait(60), auto_background=0)
        durable.register("stay", lambda _: release.wait(60), auto_background=THRESHOLD)
        for number in range(live):
            durable.start(ToolCall(str(number), "live"))
        delays = [late(durable, release) for _ in range(times)]
        stay.set()
        durable.shutdown()
        durable.tasks.close()
    common.row(
        f"durable hand-over with {live:,} live tasks, p99", common.milli(p99(delays)),
        f"median: {common.milli(median(delays))}", "10 ms", holds=p99(delays) <= 0.01,
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
    with store.writer.lock:  # one transaction: this is not what is measured
        connection = store.writer.get()
        connection.execute("BEGIN IMMEDIATE")
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
        connection.execute("COMMIT")
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
        handover_cost(folder / "handover", 4 * times if times > 1 else 1)
        many_cost(folder / "many", 1000 if times > 1 else 10, 2 * times)
        foreground_cost(folder / "foreground", times)
        finding_cost(folder / "finding", 100_000 if times > 1 else 1000, times)
        opening_cost(folder, 1000, min(times, 10))


if __name__ == "__main__":
    main()
