"""The long form, from a shell; prints each command that changed anything, and the counts."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

from tests.plugins.permissions.optionfuzz.argv import Argv
from tests.plugins.permissions.optionfuzz.sandbox import Sandbox


def main() -> int:
    """Run one part of one seed; 1 if anything was changed."""
    parser = argparse.ArgumentParser(prog="optionfuzz", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=10_000, help="commands in all")
    parser.add_argument("--part", default="1/1", help="which part of them: 2/8 is the second of eight")
    options = parser.parse_args()
    part, parts = map(int, options.part.split("/"))
    start, stop = options.count * (part - 1) // parts, options.count * part // parts
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        commands = (Argv(random.Random(f"{options.seed}:{index}")).words() for index in range(start, stop))
        counts = Sandbox(Path(folder).resolve()).fuzz(commands)
    for words, changed in counts.faults:
        sys.stdout.write(f"{words} changed {changed}\n")
    sys.stdout.write(
        f"seed {options.seed}, commands {start} to {stop}: {counts.judged} judged, {counts.covered} covered and run,"
        f" {len(counts.faults)} faults, {time.monotonic() - began:.0f} s\n"
    )
    return 1 if counts.faults else 0


if __name__ == "__main__":
    sys.exit(main())
