"""Tools that the workers of `bench_engine` find by name."""

from __future__ import annotations

import time

from executor import current_call


def now(number: int = 0) -> float:
    """When it began."""
    del number
    return time.time()


def say(count: int) -> int:
    """Say the time, again and again."""
    call = current_call()
    assert call is not None
    for _ in range(count):
        call.emit(f"{time.time()}\n")
        call.wait(0.01)
    return count


def stay() -> None:
    """Until it is stopped."""
    call = current_call()
    assert call is not None
    call.emit("begun\n")
    call.wait(60)
