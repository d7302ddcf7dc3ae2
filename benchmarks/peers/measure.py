"""
How every peer is measured: in a process of its own, in calls that follow one another, by the time that its threads have
worked, to which a busy machine adds little.
"""

from __future__ import annotations

import asyncio
import json
import sys
from statistics import median
from time import process_time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

WARM, CALLS, TIMES = 200, 300, 7


def of(call: Callable[[], object]) -> float:
    """Seconds for one call: the median of several measurements."""
    for _ in range(WARM):
        call()
    measured = []
    for _ in range(TIMES):
        began = process_time()
        for _ in range(CALLS):
            call()
        measured.append((process_time() - began) / CALLS)
    return median(measured)


async def of_async(call: Callable[[], Awaitable[object]]) -> float:
    """`of`, awaited one after the other in the loop that runs."""
    for _ in range(WARM):
        await call()
    measured = []
    for _ in range(TIMES):
        began = process_time()
        for _ in range(CALLS):
            await call()
        measured.append((process_time() - began) / CALLS)
    return median(measured)


def report(version: str, **seconds: float) -> None:
    """Tell `peers.py`."""
    json.dump({"version": version, **seconds}, sys.stdout)


def run(coroutine: Awaitable[None]) -> None:
    """Run an adapter of an async peer."""
    asyncio.run(coroutine)  # type: ignore[arg-type]  # each is a coroutine
