"""
What a hop to a worker costs, against `ThreadPoolExecutor`: on one core, and across two.

Where there are two, it depends on where the scheduler wakes the other thread whether a hop takes 16 µs or 48 µs; so the
threads are pinned. Not by pyperf, which would measure one after the other in processes of their own: the two take turns
here.
"""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import _common as common

from executor import ToolCall, ToolExecutor

PAIR = {"a": 1, "b": 2}
LOOPS = 500  # about 10 ms a round: short enough for turns, long enough for the clock
LIMIT = 1.3


def move(args: dict[str, Any]) -> bool:
    """A tool that has its thread go on on another core, and lets whoever waits for it fall asleep first."""
    os.sched_setaffinity(0, {args["core"]})
    time.sleep(0.01)
    return True


def ratio(executor: ToolExecutor, pool: ThreadPoolExecutor, times: int) -> tuple[float, str]:
    """What a hop costs, and beside what."""
    ours, theirs = common.medians(
        common.per_call(lambda: executor.execute("add", PAIR), LOOPS),
        common.per_call(lambda: pool.submit(common.add, PAIR).result(60), LOOPS),
        times=times,
    )
    against = f"`ThreadPoolExecutor.submit().result(timeout)`: {common.micro(theirs)}; whole: {common.micro(ours)}"
    return ours / theirs, against


def main() -> None:
    times = common.rounds(300, fast=60)
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_setaffinity") else []
    if cores:
        os.sched_setaffinity(0, {cores[0]})
    with ToolExecutor() as executor, ThreadPoolExecutor(1) as pool:
        executor.register("add", common.add, schema=common.PAIR_SCHEMA, timeout=60)
        executor.register("move", move, timeout=60)
        assert executor.execute("add", PAIR) == (True, {"sum": 3})
        found, against = ratio(executor, pool, times)
        holds = found <= LIMIT
        common.row("`execute` through a worker, one core", f"x {found:.2f}", against, f"x {LIMIT}", holds=holds)
        if len(cores) > 1:
            moves = [ToolCall(str(number), "move", {"core": cores[1]}) for number in range(8)]  # all workers there are
            assert all(result.success for result in executor.execute_many(moves))
            assert pool.submit(move, {"core": cores[1]}).result()
            found, against = ratio(executor, pool, times)
            common.row("`execute` through a worker, on another core", f"x {found:.2f}", against)


if __name__ == "__main__":
    main()
