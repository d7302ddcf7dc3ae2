"""
10,000 tools: what each takes in memory, and what finding and listing them costs, against a dict.

Memory is what Python's allocator was asked for (tracemalloc). The compiled validators are not in it: they are made at a
tool's first call, outside Python's allocator, about 3 KB each, and the newest 4,096 are kept.
"""

from __future__ import annotations

import copy
import gc
import tracemalloc
from time import perf_counter

import _common as common

from executor import ToolExecutor

KB_EACH, LOOKUP, LIST = 2.0, 0.3e-6, 2e-3


def fill(executor: ToolExecutor, names: list[str]) -> tuple[float, float]:
    """Kilobytes beyond the caller's own name and schema, and seconds, that each tool took."""
    own = [(name, copy.deepcopy(common.PAIR_SCHEMA)) for name in names]
    executor.register("first", common.add, schema=common.PAIR_SCHEMA)  # imports what the first schema needs
    gc.collect()
    tracemalloc.start()
    for name, schema in own:
        executor.register(name, common.add, schema=schema, description="Add two numbers")
    gc.collect()
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    began = perf_counter()
    for name, schema in own:
        executor.register(name, common.add, schema=schema, description="Add two numbers")
    return taken / 1024 / len(own), (perf_counter() - began) / len(own)


def main() -> None:
    times = common.rounds(50, fast=20)
    tools = 500 if times == 1 else 10_000
    names = [f"tool{number}" for number in range(tools)]
    executor = ToolExecutor()
    each, seconds = fill(executor, names)
    wanted = names[::7]
    entries = {name: executor.get_tool(name) for name in names}

    def register_one() -> None:
        executor.register("tool0", common.add, schema=common.PAIR_SCHEMA)

    def first_list() -> float:
        register_one()
        return common.per_call(executor.list_tools)()

    found, in_dict = common.medians(
        common.per_call(lambda: [executor.get_tool(name) for name in wanted]),
        common.per_call(lambda: [entries.get(name) for name in wanted]),
        times=times,
    )
    first, again, plain = common.medians(
        first_list, common.per_call(executor.list_tools), common.per_call(lambda: list(entries.values())), times=times
    )
    lookup, lookup_dict = found / len(wanted), in_dict / len(wanted)
    against = f"the caller's own names and schemas; registering one: {common.micro(seconds)}"
    what = f"one of {tools:,} tools"
    common.row(f"{what}: memory", f"+{each:.2f} KB", against, f"+{KB_EACH:g} KB", holds=each <= KB_EACH)
    against = f"`dict.get`: {common.micro(lookup_dict)}"
    common.row(f"{what}: `get_tool`", common.micro(lookup), against, common.micro(LOOKUP), holds=lookup <= LOOKUP)
    against = f"`list(dict.values())`: {common.milli(plain)}"
    what = f"`list_tools` of {tools:,}"
    common.row(f"{what} after a change", common.milli(first), against, common.milli(LIST), holds=first <= LIST)
    common.row(f"{what} again", common.milli(again), against, common.milli(LIST), holds=again <= LIST)


if __name__ == "__main__":
    main()
