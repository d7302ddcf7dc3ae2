"""
What importing the package and making an executor costs a process that did neither.

Two new processes a round, taking turns: pyperf's `bench_command` would give the time but not, from the same process,
its peak memory (VmHWM; ru_maxrss survives exec and tells the parent's) and the modules it has loaded.
"""

from __future__ import annotations

import json
import subprocess
import sys
from statistics import median
from time import perf_counter

import _common as common

BARE = "pass"
OURS = "import executor; executor.ToolExecutor()"
REPORT = """
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
import sys
print(peak.split()[1], *[name for name in %r if name in sys.modules])
"""
NOT_LOADED = ("mcp", "pydantic", "jsonschema", "jsonschema_rs", "click", "starlette", "tree_sitter")
MS, MB = 45, 18


def process(code: str) -> tuple[float, float]:
    """
    Seconds and peak megabytes of a new interpreter that runs *code*.

    Raises:
        SystemExit: It loaded what is to be loaded at first use only.
    """
    command = [
        sys.executable,
        "-c",
        f"import sys; sys.path[:0] = {json.dumps(sys.path[:2])}\n{code}{REPORT % (NOT_LOADED,)}",
    ]
    began = perf_counter()
    peak, *loaded = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    seconds = perf_counter() - began
    if loaded:
        raise SystemExit(f"{code!r} loads {', '.join(loaded)}: to be imported when first used")
    return seconds, int(peak) / 1024


def main() -> None:
    times = common.rounds(40, fast=15)
    process(OURS)  # writes the bytecode
    bare, ours = [], []
    for _ in range(times):
        bare.append(process(BARE))
        ours.append(process(OURS))
    (bare_time, bare_peak), (time, peak) = (
        [median(values) for values in zip(*found, strict=True)] for found in (bare, ours)
    )
    more, bigger = (time - bare_time) * 1e3, peak - bare_peak
    what = "`import executor; ToolExecutor()`"
    whole = f"bare Python: {common.milli(bare_time)}; whole: {common.milli(time)}"
    common.row(f"{what}, time", f"{more:+.1f} ms", whole, f"+{MS} ms", holds=more <= MS)
    whole = f"bare Python: {bare_peak:.1f} MB; whole: {peak:.1f} MB"
    common.row(f"{what}, peak memory", f"{bigger:+.1f} MB", whole, f"+{MB} MB", holds=bigger <= MB)


if __name__ == "__main__":
    main()
