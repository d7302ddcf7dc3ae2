"""
How late a call goes to the background, and whether a threshold slows a call that stays below it.

Each value is one wait of a given length, so it is taken as it is; pyperf's loops and calibration have nothing to add.
"""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter

import _common as common

from executor import ToolExecutor
from executor.tasks import TaskManager

THRESHOLDS = (0.2, 0.25)  # the second is no multiple of a tenth, which is where something that polls shows
SHORT = 0.02
LIMIT = 0.5e-3


def late(executor: ToolExecutor, threshold: float, release: threading.Event) -> float:
    """Seconds past its threshold at which a call that does not end was handed over. The call is ended, too."""
    release.clear()
    began = perf_counter()
    _, told = executor.execute(f"stay{threshold}")
    delay = perf_counter() - began - threshold
    assert told["auto_backgrounded"], f"the call was not handed over: {told}"
    release.set()
    executor.tasks.wait(told["task_id"], 10)
    return delay


def main() -> None:
    times = common.rounds(20, fast=10)
    release = threading.Event()
    with ToolExecutor(tasks=TaskManager.in_memory()) as executor, ThreadPoolExecutor(2) as pool:
        executor.register("short", lambda _: time.sleep(SHORT), auto_background=THRESHOLDS[0])
        executor.execute("short")
        for threshold in THRESHOLDS:
            executor.register(f"stay{threshold}", lambda _: release.wait(60), auto_background=threshold)
            ours, theirs = common.medians(
                lambda: late(executor, threshold, release),  # noqa: B023 -- called in this round of the loop
                lambda: common.late_future(pool, threshold, release),  # noqa: B023 -- as above
                times=times,
            )
            against = f"`Future.result({threshold})`: {common.milli(theirs)}"
            common.row(
                f"handed over past a threshold of {threshold} s",
                f"{ours * 1e3:+.3f} ms",
                against,
                f"+{LIMIT * 1e3:g} ms",
                holds=ours <= LIMIT,
            )
        ours, theirs = common.medians(
            common.per_call(lambda: executor.execute("short")),
            common.per_call(lambda: time.sleep(SHORT)),
            times=times,
        )
    common.row(
        "a 20 ms tool under a threshold of 0.2 s", common.milli(ours), f"`time.sleep(0.02)`: {common.milli(theirs)}"
    )


if __name__ == "__main__":
    main()
