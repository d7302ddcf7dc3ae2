"""
Background calls on a cluster of two worker processes on this machine, against what Dask itself takes.

Each value is one call, so it is taken as it is; pyperf's loops and calibration have nothing to add.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import tempfile
import threading
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Any

import _common as common

from executor import TaskManager, ToolCall, ToolExecutor, ToolResult
from executor.engines import DaskEngine

if TYPE_CHECKING:
    from collections.abc import Iterator

CLUSTER = """
import sys
from distributed import LocalCluster
if __name__ == "__main__":
    with LocalCluster(
        n_workers=int(sys.argv[1]), threads_per_worker=2, dashboard_address=":0", silence_logs=50
    ) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""
HERE = Path(__file__).resolve().parent
STARTS, HAND_OVER, LINE, CANCEL = 15e-3, 20e-3, 20e-3, 50e-3
RATE, MEMORY = 500, 8 * 1024
CALLERS = 8  # threads that start tiny tasks: an assistant with several agents


class Timed(DaskEngine):
    """Knows when it was last given a call, whose task is stored by then."""

    submitted = 0.0

    def submit(self, remote: Any) -> None:
        self.submitted = time.time()
        super().submit(remote)


def started(executor: ToolExecutor, engine: Timed) -> tuple[float, float]:
    """Seconds that a start takes, and seconds from the submission to the first line of the tool on the worker."""
    began = perf_counter()
    task_id = executor.start(ToolCall("1", "now")).task_id or ""
    took = perf_counter() - began
    executor.tasks.wait(task_id, 60)
    ok, at = executor.tasks.result(task_id)
    assert ok, at
    return took, at - engine.submitted


def bare(client: Any, number: int) -> tuple[float, float]:
    """The same of `Client.submit`."""
    import _cluster_tools as tools

    began, clock = perf_counter(), time.time()
    future = client.submit(tools.now, number, pure=False)
    took = perf_counter() - began
    return took, future.result(60) - clock


def tiny(executor: ToolExecutor, count: int) -> float:
    """Tiny tasks a second: started, carried out, stored, told."""
    done: SimpleQueue[ToolResult] = SimpleQueue()
    began = perf_counter()
    with ThreadPoolExecutor(CALLERS) as callers:
        list(callers.map(lambda _: executor.start(ToolCall("1", "now"), on_done=done.put), range(count)))
    assert all(done.get(timeout=60).success for _ in range(count))
    return count / (perf_counter() - began)


def bare_tiny(client: Any, count: int) -> float:
    import _cluster_tools as tools

    began = perf_counter()
    client.gather([client.submit(tools.now, number, pure=False) for number in range(count)])
    return count / (perf_counter() - began)


def lines(executor: ToolExecutor, count: int) -> float:
    """Seconds from a line on the worker to the callback here, the median."""
    late: list[float] = []
    call = ToolCall("1", "say", {"count": count})
    task_id = executor.start(call, on_output=lambda chunk: late.append(time.time() - float(chunk.split()[-1]))).task_id
    executor.tasks.wait(task_id or "", 60)
    return median(late)


def cancelled(executor: ToolExecutor) -> float:
    """Seconds to stop a call that listens."""
    begun = threading.Event()
    task_id = executor.start(ToolCall("1", "stay"), on_output=lambda _: begun.set()).task_id or ""
    assert begun.wait(60)
    began = perf_counter()
    assert executor.tasks.cancel(task_id)
    took = perf_counter() - began
    assert not executor.tasks.get(task_id).abandoned
    return took


def memory(executor: ToolExecutor, count: int) -> float:
    """
    Bytes of this process for each task that waits for a worker: of ten groups of them the median.

    In some group a table of the interpreter's own doubles: that of the strings of all paths has megabytes.
    """
    executor.start(ToolCall("1", "now"))
    each = max(1, count // 10)
    held = []
    tracemalloc.start()
    for group in range(min(10, count)):
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        for number in range(group * each, (group + 1) * each):
            executor.start(ToolCall(str(number), "now", {"number": number}))
        gc.collect()
        held.append((tracemalloc.get_traced_memory()[0] - before) / each)
    tracemalloc.stop()
    return median(held)


def executor_on(address: str, folder: str, name: str) -> tuple[ToolExecutor, Timed]:
    import _cluster_tools as tools

    engine = Timed(address)
    executor = ToolExecutor(engine=engine, tasks=TaskManager.open(Path(folder, name)), max_background_tasks=10_000)
    for fn in (tools.now, tools.say, tools.stay):
        executor.register(fn)
    return executor, engine


@contextmanager
def cluster_of(workers: int) -> Iterator[str]:
    """A scheduler, and so many workers, in processes of their own: its memory and its time are not this one's."""
    path = os.pathsep.join([str(HERE), str(common.ROOT), os.environ.get("PYTHONPATH", "")])
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "cluster.py")
        script.write_text(CLUSTER, encoding="utf-8")
        process = subprocess.Popen(
            [sys.executable, str(script), str(workers)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": path},
        )
        assert process.stdin is not None
        assert process.stdout is not None
        with process, process.stdin, process.stdout:
            yield process.stdout.readline().strip()


def main() -> None:
    times, many = common.rounds(50, fast=20), common.rounds(1000, fast=300)
    from distributed import Client

    with tempfile.TemporaryDirectory() as folder:
        with cluster_of(2) as address, Client(address) as client:
            executor, engine = executor_on(address, folder, "store")
            for number in range(8):  # both workers have made the tools
                started(executor, engine), bare(client, -number)
            ours = [started(executor, engine) for _ in range(times)]
            theirs = [bare(client, number) for number in range(times)]
            for what, at, limit in (("handed over", 0, HAND_OVER), ("begun after its submission", 1, STARTS)):
                mine, base = (median(each[at] for each in found) for found in (ours, theirs))
                above = at == 0
                common.row(
                    f"a call on a cluster is {what}",
                    common.milli(mine),
                    f"`Client.submit`: {common.milli(base)}",
                    f"{'+' if above else ''}{common.milli(limit)}",
                    holds=(mine - base if above else mine) <= limit,
                )
            rate = max(tiny(executor, many) for _ in range(1 if many == 1 else 3))
            against = f"`Client.submit`: {bare_tiny(client, many):.0f}/s"
            common.row("tiny tasks, stored", f"{rate:.0f}/s", against, f"{RATE}/s", holds=rate >= RATE)
            late = lines(executor, max(2, times))
            common.row("a line to its reader", common.milli(late), "no reader", common.milli(LINE), holds=late <= LINE)
            took = median(cancelled(executor) for _ in range(max(1, times // 5)))
            common.row("a call stopped", common.milli(took), "no stop", common.milli(CANCEL), holds=took <= CANCEL)
            executor.shutdown(timeout=10)
            engine.close()
            executor.tasks.close()
        with cluster_of(0) as address:
            executor, engine = executor_on(address, folder, "queued")
            held = memory(executor, many)
            common.row("memory of a task elsewhere", f"{held:.0f} B", "none", f"{MEMORY} B", holds=held <= MEMORY)
            engine.close()
            executor.shutdown(wait=False)
            executor.tasks.close()


if __name__ == "__main__":
    main()
