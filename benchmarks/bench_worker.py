"""
What a hop to a worker costs, against `ThreadPoolExecutor`.

Pinned to one core: where there are two, a hop takes 16 µs or 48 µs depending on where the scheduler wakes the other
thread. Not by pyperf, which would measure one after the other in processes of their own: the two take turns here.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import _common as common

from executor import ToolExecutor

PAIR = {"a": 1, "b": 2}
LOOPS = 500  # about 10 ms a round: short enough for turns, long enough for the clock
LIMIT = 1.3


def main() -> None:
    times = common.rounds(300, fast=60)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    with ToolExecutor() as executor, ThreadPoolExecutor(1) as pool:
        executor.register("add", common.add, schema=common.PAIR_SCHEMA, timeout=60)
        assert executor.execute("add", PAIR) == (True, {"sum": 3})
        ours, theirs = common.medians(
            common.per_call(lambda: executor.execute("add", PAIR), LOOPS),
            common.per_call(lambda: pool.submit(common.add, PAIR).result(60), LOOPS),
            times=times,
        )
    against = f"`ThreadPoolExecutor.submit().result(timeout)`: {common.micro(theirs)}; whole: {common.micro(ours)}"
    ratio = ours / theirs
    common.row("`execute` through a worker, one core", f"x {ratio:.2f}", against, f"x {LIMIT}", holds=ratio <= LIMIT)


if __name__ == "__main__":
    main()
