"""Run every benchmark and print one table. Options are handed on: ``--fast``, ``--minimal``."""

from __future__ import annotations

import datetime as dt
import os
import platform
import subprocess
import sys
from pathlib import Path

SCRIPTS = sorted(Path(__file__).resolve().parent.glob("bench_*.py"))
HEAD = "| what | measured | against | limit | ok? |\n|---|--:|---|--:|---|"


def rows_of(script: Path, options: list[str]) -> list[str]:
    """The lines of the table that *script* prints. Raises CalledProcessError when it fails."""
    command = [sys.executable, str(script), *options]
    shown = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return [line for line in shown.splitlines() if line.startswith("|")]


def main() -> None:
    load = os.getloadavg()[0]
    rows = []
    for script in SCRIPTS:
        print(script.name, file=sys.stderr, flush=True)
        rows += rows_of(script, sys.argv[1:])
    print(HEAD, *rows, sep="\n")
    print(
        f"\n{dt.datetime.now(tz=dt.UTC):%Y-%m-%d %H:%M} UTC, {platform.python_implementation()} "
        f"{platform.python_version()}, {os.cpu_count()} cores, {platform.machine()}, {platform.system()}; "
        f"load {load:.1f} before, {os.getloadavg()[0]:.1f} after"
    )


if __name__ == "__main__":
    main()
