"""
The long form: ``python -m tests.plugins.permissions.shellfuzz --seed 1 --count 100000 --part 2/8``.

Prints how many scripts were judged, allowed and run, and every fault; its status is 1 if there was one.
"""

from __future__ import annotations

import argparse
import importlib
import shutil
import sys
import tempfile
import time
from pathlib import Path

from tests.plugins.permissions.shellfuzz.check import Checker, fuzz
from tests.plugins.permissions.shellfuzz.sandbox import Sandbox


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=10_000, help="scripts in all")
    parser.add_argument("--part", default="1/1", help="which part of them: 2/8 is the second of eight")
    parser.add_argument(
        "--reader", default="executor_permissions.judge.bash._shell", help="the module whose read() is checked"
    )
    parser.add_argument("--which", choices=["allowed", "understood"], default="allowed", help="which of them are run")
    parser.add_argument("--shell", default="bash", help="what runs them")
    options = parser.parse_args()
    part, parts = map(int, options.part.split("/"))
    start, stop = options.count * (part - 1) // parts, options.count * part // parts
    read = importlib.import_module(options.reader).read
    shell = shutil.which(options.shell)
    if shell is None:
        parser.error(f"{options.shell} is not installed")
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        checker = Checker(Sandbox(Path(folder).resolve(), shell), read)
        counts = fuzz(checker, options.which, options.seed, start, stop)
    for script, fault in counts.faults:
        sys.stdout.write(f"{script!r}\n    {fault}\n")
    sys.stdout.write(
        f"seed {options.seed}, scripts {start} to {stop}: {counts.judged} judged, {counts.run} {options.which} and run,"
        f" {counts.calls} calls, {len(counts.faults)} faults, {time.monotonic() - began:.0f} s\n"
    )
    return 1 if counts.faults else 0


if __name__ == "__main__":
    sys.exit(main())
