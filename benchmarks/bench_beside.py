"""
What a call of one MCP server costs while another one of the same bridge floods, hangs, or answers with far too much.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING

import _common as common

from executor.errors import ToolExecutorError
from executor.mcp import MCPBridge

if TYPE_CHECKING:
    from collections.abc import Callable

RAW = {"command": sys.executable, "args": ["-S", str(common.ROOT / "tests" / "mcp" / "raw_server.py")]}
LIMIT = 2.0
MEGABYTES = 1_000_000
TROUBLE = {
    "a flood of messages": ("flood", ""),
    "a call that hangs": ("hang", ""),
    "an answer of 60 MB": ("huge", str(60 * MEGABYTES)),
    "an answer of 70 MB": ("huge", str(70 * MEGABYTES)),
    "a line without end": ("endless", ""),
}


def quick(bridge: MCPBridge, times: list[float]) -> None:
    """One call of the server that behaves."""
    began = perf_counter()
    bridge.call_tool("quiet", "echo", {"text": "x"}, timeout=60)
    times.append(perf_counter() - began)


def beside(bridge: MCPBridge, tool: str, text: str, calls: int) -> list[float]:
    """The times of calls while the other server is at work on *tool*: until that is over, or so many."""
    over, times = threading.Event(), list[float]()

    def work() -> None:
        with contextlib.suppress(ToolExecutorError):  # it is ended, or its answer is too long
            bridge.call_tool("loud", tool, {"text": text or "/dev/null"}, timeout=60)
        if tool != "flood":
            over.set()

    thread = threading.Thread(target=work)
    thread.start()
    most = calls if tool != "huge" else 100 * calls  # it takes a while until it comes
    while len(times) < most and not over.is_set():
        quick(bridge, times)
    bridge.stop("loud")
    thread.join()
    return times


def measure(bridge: MCPBridge, run: Callable[[], list[float]], rounds: int, calls: int) -> tuple[float, float, float]:
    """Medians of a call by itself and beside the trouble, taking turns, and the slowest beside it; seconds."""
    idle, busy = list[float](), list[float]()
    for _ in range(rounds):
        bridge.call_tool("loud", "echo", {"text": "it runs"}, timeout=60)
        for _ in range(calls):
            quick(bridge, idle)
        busy += run()
    return median(idle), median(busy), max(busy)


def main() -> None:
    rounds = common.rounds(7, 3)
    calls = 5 if rounds == 1 else 100
    with MCPBridge({"quiet": RAW, "loud": RAW}, cache=None) as bridge:
        for what, (tool, text) in TROUBLE.items():
            idle, busy, worst = measure(bridge, lambda t=tool, x=text: beside(bridge, t, x, calls), rounds, calls)  # type: ignore[misc]
            ratio = busy / idle
            against = f"by itself: {common.milli(idle)}; slowest: {common.milli(worst)}"
            common.row(f"a call beside {what}", f"{ratio:.2f} x", against, f"{LIMIT:g} x", holds=ratio <= LIMIT)


if __name__ == "__main__":
    main()
