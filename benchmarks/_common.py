"""
What the benchmarks share: how they measure, and the one form in which they print what they found.

To be imported before `executor`: it sees to it that this checkout is measured, installed or not.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Any

import pyperf  # type: ignore[import-untyped]  # it ships no types

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable
    from concurrent.futures import ThreadPoolExecutor

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "plugins")]

PAIR_SCHEMA = {
    "type": "object",
    "properties": {
        "a": {"type": "integer", "description": "The first number"},
        "b": {"type": "integer", "description": "The second number"},
    },
    "required": ["a", "b"],
    "additionalProperties": False,
}


def add(args: dict[str, Any]) -> dict[str, int]:
    """The tool that does next to nothing."""
    return {"sum": args["a"] + args["b"]}


def row(what: str, measured: str, against: str, limit: str = "", *, holds: bool | None = None) -> None:
    """Print one finding as a line of the table; *holds* is None where there is no limit."""
    verdict = "" if holds is None else "yes" if holds else "**NO**"
    print(f"| {what} | {measured} | {against} | {limit} | {verdict} |", flush=True)


def row_above(what: str, measured: float, base: float, base_name: str, limit: float) -> None:
    """One finding of a time per call (seconds) that may exceed another one by so much."""
    excess = measured - base
    against = f"{base_name}: {micro(base)}; whole: {micro(measured)}"
    row(what, f"{excess * 1e6:+.2f} µs", against, f"+{limit * 1e6:g} µs", holds=excess <= limit)


def micro(seconds: float) -> str:
    """Microseconds, to three digits or so."""
    value = seconds * 1e6
    return f"{value:.3f} µs" if value < 1 else f"{value:.2f} µs"


def milli(seconds: float) -> str:
    """Milliseconds, to three digits or so."""
    value = seconds * 1e3
    return f"{value:.3f} ms" if value < 1 else f"{value:.1f} ms"


def runner() -> pyperf.Runner:
    """Pyperf's runner, with ``--minimal`` for its ``--debug-single-value``."""
    made = pyperf.Runner()
    made.parse_args(["--debug-single-value" if argument == "--minimal" else argument for argument in sys.argv[1:]])
    return made


def rounds(usual: int, fast: int) -> int:
    """How often a plain loop goes round: *usual*, *fast* with ``--fast``, once with ``--minimal``."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--fast", action="store_true", help="a rough answer soon")
    parser.add_argument("--minimal", action="store_true", help="one round: only to see that it runs")
    chosen = parser.parse_args()
    return 1 if chosen.minimal else fast if chosen.fast else usual


def medians(*measures: Callable[[], float], times: int) -> list[float]:
    """The median of what each of *measures* returns; they take turns, so that a busy moment meets all alike."""
    found: list[list[float]] = [[] for _ in measures]
    for _ in range(times):
        for values, measure in zip(found, measures, strict=True):
            values.append(measure())
    return [median(values) for values in found]


def per_call(fn: Callable[[], object], loops: int = 1) -> Callable[[], float]:
    """A measure: the seconds that one call of *fn* takes, averaged over *loops* calls."""

    def measure() -> float:
        began = perf_counter()
        for _ in range(loops):
            fn()
        return (perf_counter() - began) / loops

    return measure


def late_future(pool: ThreadPoolExecutor, threshold: float, release: threading.Event) -> float:
    """Seconds past its time at which a future's `result(timeout)` gave up."""
    release.clear()
    future = pool.submit(release.wait, 60)
    began = perf_counter()
    try:
        future.result(threshold)
    except TimeoutError:
        delay = perf_counter() - began - threshold
    release.set()
    future.result()
    return delay
