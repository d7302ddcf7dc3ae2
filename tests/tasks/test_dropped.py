"""Tasks and executors that nobody has any more, and the garbage collector finds wherever it comes."""

from __future__ import annotations

import gc
import threading
import time

import pytest

from executor import ToolCall, ToolExecutor
from executor.tasks import TaskManager
from executor.tasks._manager import engine_of

SECONDS = 10.0


def collected_by_a_thread_that_holds(lock):
    """Has the collector come in such a thread. Returns whether that thread went on."""
    went_on = threading.Event()

    def hold():
        with lock:
            gc.collect()
        went_on.set()

    threading.Thread(target=hold, daemon=True).start()
    return went_on.wait(SECONDS)


def until(true):
    """Waits for that. Returns whether it is."""
    end, gate = time.monotonic() + SECONDS, threading.Event()
    while not true() and time.monotonic() < end:
        gate.wait(0.005)
    return true()


def ended(before, *names):
    """Waits for threads to end whose names begin so, but for those of *before*: what other tests have left."""
    return until(lambda: not any(thread.name.startswith(names) for thread in {*threading.enumerate()} - before))


def dropped(tmp_path):
    """An executor in a circle, with a task that lives; the locks of what goes on without it."""
    executor = ToolExecutor(tasks=TaskManager.open(tmp_path))
    executor.register("tool", lambda args: executor is not None)
    executor.tasks.wait(executor.start(ToolCall("1", "tool")).task_id, SECONDS)
    table = engine_of(executor.tasks)
    table.add("tool", "local", "2", table.new_spool(), cancel=lambda reason: True, reached=lambda: None)
    workers = executor._way.threads.workers
    assert until(lambda: workers._idle)  # nobody but the circle has it now
    return table.durable.own._lock, workers._lock


@pytest.mark.parametrize("which", [0, 1], ids=["tasks", "workers"])
def test_what_is_dropped_while_a_thread_holds_its_lock_keeps_it_from_nothing(tmp_path, which):
    before = {*threading.enumerate()}
    gc.disable()
    try:
        lock = dropped(tmp_path)[which]
        assert collected_by_a_thread_that_holds(lock)
    finally:
        gc.enable()
    assert ended(before, "executor-store", "executor-tasks", "executor-worker", "executor-beside", "Dummy")
