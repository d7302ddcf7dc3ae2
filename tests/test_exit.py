"""The interpreter ends soon after the end of the main program, whatever is stuck. Real processes."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from executor._executor import LEAVING

BOUND = 1.0  # seconds from the last line of the program to the end of the process
ROOT = Path(__file__).parents[1]

HEAD = """
import asyncio, os, sys, threading, time
sys.path.insert(0, {root!r})
from executor import ToolCall, ToolExecutor, current_call
executor = ToolExecutor()
started = threading.Event()
def stuck(args):
    started.set()
    threading.Event().wait(60)
async def stuck_coroutine(args):
    started.set()
    await asyncio.Event().wait()
async def stuck_loop(args):
    started.set()
    time.sleep(60)
async def stuck_aside(args):
    await asyncio.to_thread(stuck, args)
def busy(args):
    started.set()
    while True: pass
"""
TAIL = """
assert started.wait(10)
sys.stdout.write(repr(time.time()) + "\\n")
sys.stdout.flush()
"""

PROGRAMS = {
    "nothing ran": "started.set()",
    "an idle worker": "executor.register('t', lambda a: 1, timeout=5); executor.execute('t', {}); started.set()",
    "a stuck task": "executor.register('t', stuck, auto_background=0); executor.execute('t', {})",
    "a busy task": "executor.register('t', busy, auto_background=0); executor.execute('t', {})",
    "a task with a time limit": (
        "executor.register('t', stuck, auto_background=0, timeout=50); executor.execute('t', {})"
    ),
    "a started task": "executor.register('t', stuck, auto_background=9); executor.start(ToolCall('1', 't'))",
    "a foreground call given up": "executor.register('t', stuck, timeout=0.1); executor.execute('t', {})",
    "a foreground call in a thread": (
        "executor.register('t', stuck, timeout=50)\n"
        "threading.Thread(target=executor.execute, args=('t', {}), daemon=True).start()"
    ),
    "a batch in a thread": (
        "executor.register('t', stuck)\n"
        "threading.Thread(target=executor.execute_many, args=([ToolCall('1', 't')],), daemon=True).start()"
    ),
    "a call when all is gone": (
        "executor.register('t', lambda a: 1, timeout=50)\n"
        "class Last:\n    __del__ = lambda self: executor.execute('t')\n"
        "last = Last(); started.set()"
    ),
    "a call when all is gone, and there were workers": (
        "executor.register('t', lambda a: 1, timeout=50); executor.execute('t')\n"
        "class Last:\n    __del__ = lambda self: executor.execute('t')\n"
        "last = Last(); started.set()"
    ),
    "a coroutine when all is gone": (
        "executor.register('t', lambda a: asyncio.sleep(0)); executor.execute('t')\n"
        "class Last:\n    __del__ = lambda self: executor.execute('t')\n"
        "last = Last(); started.set()"
    ),
    "an async tool": "executor.register('t', stuck_coroutine, auto_background=0); executor.execute('t', {})",
    "an async tool that blocks its loop": (
        "executor.register('t', stuck_loop, auto_background=0); executor.execute('t', {})"
    ),
    "an async tool that waits for a thread": (
        "executor.register('t', stuck_aside, auto_background=0); executor.execute('t', {})"
    ),
    "a thread of a tool": (
        "executor.register('t', lambda a: current_call().run_in_thread(lambda: stuck(a)) and None)\n"
        "executor.execute('t', {})"
    ),
    "shutdown with cancel": (
        "executor.register('t', stuck, auto_background=0); executor.execute('t', {})\n"
        "assert started.wait(10)\nexecutor.shutdown(cancel=True)"
    ),
    "shutdown without waiting": (
        "executor.register('t', stuck, auto_background=0); executor.execute('t', {})\n"
        "assert started.wait(10)\nexecutor.shutdown(wait=False)"
    ),
}


def seconds_to_exit(program: str) -> tuple[float, subprocess.CompletedProcess[str]]:
    """How long the process lived on after its last line: from its own note of the time to the end of its stdout."""
    source = HEAD.format(root=str(ROOT)) + program + TAIL
    process = subprocess.Popen(
        [sys.executable, "-c", source], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        out, err = process.communicate(timeout=30)
    finally:
        process.kill()
    ended = time.time()
    return ended - float(out or "nan"), subprocess.CompletedProcess(process.args, process.returncode, out, err)


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_the_process_ends_soon_after_its_program(program):
    took, process = seconds_to_exit(program)
    assert process.returncode == 0, process.stderr
    assert took < BOUND, process.stderr
    assert process.stderr == ""


STUCK = {  # calls of `t`, which does not heed a stop, and of `around`, which makes one and waits for it
    "a task": "executor.start(ToolCall('1', 't'))",
    "submitted": "executor.submit(ToolCall('1', 't'))",
    "a thread waits": "threading.Thread(target=executor.execute, args=('t', {}), daemon=True).start()",
    "within a task": "executor.start(ToolCall('1', 'around'))",
    "within one submitted": "executor.submit(ToolCall('1', 'around'))",
    "within one given up": "executor.execute('around', {}, timeout=0.1)",
}


@pytest.mark.parametrize("call", STUCK.values(), ids=STUCK.keys())
def test_an_exit_out_of_the_with_block_does_not_wait_for_a_stuck_tool(call):
    took, process = seconds_to_exit(
        "with executor:\n"
        "    executor.register('t', stuck)\n"
        "    executor.register('around', lambda args: executor.execute('t', {}))\n"
        f"    {call}\n"
        "    assert started.wait(10)\n"
        "    sys.stdout.write(repr(time.time()) + '\\n'); sys.stdout.flush()\n"
        "    sys.exit(3)\n"
    )
    assert process.returncode == 3, process.stderr
    assert took < BOUND + (LEAVING if "Thread" in call else 0)
    assert process.stderr == ""


AT_EXIT = """
import atexit, sys
sys.path.insert(0, {root!r})
atexit.register(lambda: print(call(5), call(None)))
from executor import Tool, ToolExecutor
from executor.run import Runner
from executor.testing import StubIndex
async def tool(args):
    return "late"
"""
CALLERS = {
    "a runner": (
        "runner = Runner(StubIndex([Tool('x')]), local={'x': tool})\n"
        "call = lambda timeout: runner.run('x', timeout=timeout).structured\n"
    ),
    "an executor": (
        "executor = ToolExecutor()\n"
        "executor.register('x', tool)\n"
        "call = lambda timeout: executor.execute('x', {}, timeout=timeout)[1]\n"
    ),
}


@pytest.mark.parametrize("name", CALLERS)
def test_a_call_may_be_made_while_the_interpreter_exits(name):
    code = AT_EXIT.format(root=str(ROOT)) + CALLERS[name] + "call(5)\n"
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("late late\n", "")
