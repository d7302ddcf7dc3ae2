"""
What the run layer adds to a call, a chain and a stream; the cache of compiled schemas. Nothing waits.

Times are of this thread where only it works, so that a busy machine does not count.
"""

from __future__ import annotations

import time
from statistics import median
from typing import Any

import _common as common

from executor.run import ChainStep, Runner, Tool, ToolBackend
from executor.tools._schema import compiled

SCHEMA = {
    "type": "object",
    "properties": {f"p{number}": {"type": "integer"} for number in range(10)},
    "required": ["p0"],
    "additionalProperties": False,
}
ARGUMENTS = {f"p{number}": number for number in range(10)}
BACKENDS = [ToolBackend.local("noop")]
CALLS, CHAINS, EVENTS, SCHEMAS = 5000, 500, 10_000, 1000


def noop(args: dict[str, Any]) -> dict[str, Any]:
    """The tool that does nothing."""
    return args


def count(_: dict[str, Any]) -> Any:
    """The tool that does nothing, again and again."""
    yield from range(EVENTS)


def runner_of(tool: Tool, function: Any, **options: Any) -> Runner:
    """A runner of one local tool."""
    return Runner(
        tool_resolver=lambda _: tool, backends_resolver=lambda _: BACKENDS, local={"noop": function}, **options
    )


def own_time(fn: Any, loops: int) -> float:
    """Seconds of this thread for one call of *fn*, on average."""
    began = time.thread_time()
    for _ in range(loops):
        fn()
    return (time.thread_time() - began) / loops


def least(fn: Any, loops: int, times: int) -> float:
    """The least of several measurements: what disturbs only adds."""
    return min(own_time(fn, loops) for _ in range(times))


def main() -> None:
    times = common.rounds(15, 5)
    tool = Tool("noop", SCHEMA, SCHEMA)
    off = runner_of(tool, noop, validate_input=False, validate_output=False)
    on = runner_of(tool, noop)
    assert on.run("noop", ARGUMENTS).structured == ARGUMENTS

    bare = least(lambda: noop(ARGUMENTS), CALLS, times)
    plain = least(lambda: off.run("noop"), CALLS, times)
    full = least(lambda: on.run("noop", ARGUMENTS), CALLS, times)
    common.row_above("`Runner.run`, local no-op, validation off", plain, bare, "bare call", 3e-6)
    common.row_above("`Runner.run`, 10-property schema in and out", full, bare, "bare call", 8e-6)

    steps = [ChainStep("noop", {"a": 1})] * 10
    chain = least(lambda: off.run_chain(steps), CHAINS, times)
    common.row("chain of 10 local steps", common.micro(chain), "all of it", "60 µs", holds=chain <= 60e-6)

    with runner_of(tool, count, validate_input=False, validate_output=False) as streams:
        found = []
        for _ in range(times):
            began = time.perf_counter()
            read = sum(1 for _ in streams.run_stream("noop"))
            found.append((time.perf_counter() - began) / read)
    event = median(found)
    common.row("stream event, local generator to reader", common.micro(event), "median", "5 µs", holds=event <= 5e-6)

    schemas = [{**SCHEMA, "description": str(number)} for number in range(SCHEMAS)]
    began = time.perf_counter()
    for schema in schemas:
        compiled(schema, "noop")
    first = (time.perf_counter() - began) / SCHEMAS
    hit = least(lambda: [compiled(schema, "noop") for schema in schemas], 1, times) / SCHEMAS
    what = f"first use: {common.micro(first)}"
    common.row("compiled schema of 1,000, from the cache", common.micro(hit), what, "0.5 µs", holds=hit <= 0.5e-6)


if __name__ == "__main__":
    main()
