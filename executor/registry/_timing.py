"""The import of a plugin in a process of its own: for its author, not for those who use it."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

from executor.interpreter import interpreter
from executor.registry._plugin import told_of_import

LIMIT = 60.0  # seconds
# What a plugin finds there in any case costs it nothing. The time is the last line: a module may print while it starts.
_MEASURE = """
import sys, time
from executor import PluginRegistry, hookimpl
began = time.perf_counter()
__import__(sys.argv[1])
print("", time.perf_counter() - began, sep="\\n", flush=True)
"""


def check_import(module: str) -> list[str]:
    """
    Import *module* in a new process, where nothing that it needs is there already.

    Returns:
        What is wrong: that it fails, or takes long, one text; nothing for a module that cannot be found by its name,
        and where there is no other process to be had.
    """
    python = interpreter()
    if python is None or not _is_found(module):
        return []
    try:
        found = told_of_import(_seconds(python, module), module)
        # The first time may have compiled it, or read it from a slow disk.
        return found and told_of_import(_seconds(python, module), module)
    except subprocess.TimeoutExpired:
        return [f"its import does not end within {LIMIT:g} s: it must only define, and do nothing"]
    except subprocess.CalledProcessError as error:
        last = (error.stderr.strip().splitlines() or [""])[-1]
        return [f"its import fails in a new process (exit code {error.returncode}): {last}"]


def _is_found(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):  # ValueError: it was made in memory
        return False


def _seconds(python: str, module: str) -> float:
    """Raises CalledProcessError, TimeoutExpired."""
    where = os.pathsep.join(entry or str(Path.cwd()) for entry in sys.path)
    done = subprocess.run(
        [python, "-c", _MEASURE, module],
        env={**os.environ, "PYTHONPATH": where},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=LIMIT,
        check=True,
    )
    return float(done.stdout.rsplit(maxsplit=1)[-1])
