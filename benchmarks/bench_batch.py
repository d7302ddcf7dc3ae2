"""
200 calls of 50 ms side by side, against a `ThreadPoolExecutor` that has a warm thread for each; of async tools, against
`asyncio.gather`.

One batch is one value; the two take turns, so that a busy moment meets both.
"""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import _common as common

from executor import ToolCall, ToolExecutor

CALLS = 200
SECONDS = 0.05
LIMIT = 1.15


def sleep(_: dict[str, Any]) -> int:
    """The tool."""
    time.sleep(SECONDS)
    return 1


async def nap(_: dict[str, Any]) -> int:
    """The async tool."""
    await asyncio.sleep(SECONDS)
    return 1


def ours(executor: ToolExecutor) -> float:
    """Seconds for the batch by `execute_many`."""
    calls = [ToolCall(f"call{number}", "sleep", {}) for number in range(CALLS)]
    return common.per_call(lambda: executor.execute_many(calls))()


def theirs(pool: ThreadPoolExecutor) -> float:
    """Seconds for the batch by a pool."""
    arguments: list[dict[str, Any]] = [{} for _ in range(CALLS)]
    return common.per_call(lambda: list(pool.map(sleep, arguments)))()


def new_executor() -> ToolExecutor:
    executor = ToolExecutor()
    executor.register("sleep", sleep)
    executor.register("nap", nap)
    return executor


async def gathered() -> None:
    await asyncio.gather(*(nap({}) for _ in range(CALLS)))


def ours_cold() -> float:
    with new_executor() as executor:
        return ours(executor)


def theirs_cold() -> float:
    with ThreadPoolExecutor(CALLS) as pool:
        return theirs(pool)


def main() -> None:
    times = common.rounds(40, fast=15)
    with new_executor() as executor, ThreadPoolExecutor(CALLS) as pool:
        answers = executor.execute_many([ToolCall(f"call{number}", "sleep", {}) for number in range(CALLS)])
        assert all(answer.success for answer in answers), "what would be measured is the failure"
        theirs(pool)  # both have their threads now
        warm, warm_pool = common.medians(lambda: ours(executor), lambda: theirs(pool), times=times)
        naps = [ToolCall(f"call{number}", "nap", {}) for number in range(CALLS)]
        assert all(answer.success for answer in executor.execute_many(naps)), "what would be measured is the failure"
        asynchronous, bare = common.medians(
            common.per_call(lambda: executor.execute_many(naps)),
            common.per_call(lambda: asyncio.run(gathered())),
            times=times,
        )
    cold, cold_pool = common.medians(ours_cold, theirs_cold, times=times)
    ratio = warm / warm_pool
    common.row(
        f"{CALLS} x 50 ms by `execute_many`",
        f"x {ratio:.2f}",
        f"warm `ThreadPoolExecutor({CALLS})`: {common.milli(warm_pool)}; whole: {common.milli(warm)}",
        f"x {LIMIT}",
        holds=ratio <= LIMIT,
    )
    common.row(
        "the same, threads started for it",
        f"x {cold / cold_pool:.2f}",
        f"new `ThreadPoolExecutor({CALLS})`: {common.milli(cold_pool)}; whole: {common.milli(cold)}",
    )
    common.row(
        "the same, async tools",
        f"x {asynchronous / bare:.2f}",
        f"`asyncio.gather`: {common.milli(bare)}; whole: {common.milli(asynchronous)}",
    )


if __name__ == "__main__":
    main()
