"""What a chunk of live output costs on its way from a tool to a callback. Time per chunk, by pyperf."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import _common as common

from executor import ToolExecutor, get_current_tool_output_callback

if TYPE_CHECKING:
    from collections.abc import Callable

CHUNKS = 10_000
CHUNK = "x" * 100


def listen(_: str) -> None:
    """The smallest callback there can be."""


def say(to: Callable[[str], object]) -> None:
    for _ in range(CHUNKS):
        to(CHUNK)


def speak(_: dict[str, Any]) -> int:
    """The tool."""
    emit = get_current_tool_output_callback()
    assert emit is not None
    say(emit)
    return CHUNKS


def main() -> None:
    executor = ToolExecutor()
    executor.register("speak", speak)
    executor.register("speakLong", speak, auto_background=60)  # its output is kept, in case it becomes a task
    for name in ("speak", "speakLong"):
        assert executor.execute(name, {}, listen) == (True, CHUNKS), "what would be measured is the failure"
    runner = common.runner()
    found = [
        runner.bench_func("callback itself", say, listen, inner_loops=CHUNKS),
        runner.bench_func("through a call", executor.execute, "speak", {}, listen, inner_loops=CHUNKS),
        runner.bench_func("through a call, kept", executor.execute, "speakLong", {}, listen, inner_loops=CHUNKS),
    ]
    if runner.args.worker:
        return
    direct, through, kept = (bench.median() for bench in found)
    name = f"{CHUNKS:,} chunks of {len(CHUNK)} bytes"
    common.row_above(f"{name}, each", through, direct, "callback itself", 0.3e-6)
    against = f"callback itself: {common.micro(direct)}; whole: {common.micro(kept)}"
    common.row("the same, kept for a task as well", f"{(kept - direct) * 1e6:+.2f} µs", against)


if __name__ == "__main__":
    main()
