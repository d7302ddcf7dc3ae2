"""
Counts the instructions that a call takes, in this checkout and in another one.

    git worktree add ../before COMMIT
    python benchmarks/instructions.py ../before                     # needs valgrind; about five minutes
    python benchmarks/instructions.py ../before --only call,chain

Instructions are no times: what waits, or meets a cold cache, costs more than it shows here. But they are the same on a
busy machine and on a quiet one, to a few in a thousand, where times differ by a tenth from run to run; so this is what
says whether a change made a call longer. Each case is counted twice with different numbers of calls, and the difference
is what the calls took. Threads are counted together.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
FEW, MANY = 300, 1500
_COUNTED = re.compile(r"Collected : (\d+)")
_RUNNER = """
from executor.run import ChainStep, Runner, Tool, ToolBackend
schema = {"type": "object", "properties": {f"p{n}": {"type": "integer"} for n in range(10)}, "required": ["p0"]}
backends, tool = [ToolBackend.local("noop")], Tool("noop", schema, schema)
made = dict(tool_resolver=lambda _: tool, backends_resolver=lambda _: backends, local={"noop": lambda args: args})
"""
_EXECUTOR = """
from executor import ToolExecutor
pair = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a", "b"]}
made = ToolExecutor()
"""
_LARGE = """
schema = {
    "type": "object",
    "properties": {
        **{f"p{n}": {"type": "string"} for n in range(11)},
        "items": {"type": "array", "items": {"type": "object", "properties": {
            "id": {"type": "integer"}, "name": {"type": "string"}, "done": {"type": "boolean"}}}},
    },
}
args = {f"p{n}": f"value {n}" for n in range(11)}
args["items"] = [{"id": n, "name": f"item {n}", "done": False} for n in range(20)]
made.register("tool", lambda args: None, schema=schema)
"""
_GATE = """
class Gate:
    def check_permission(self, *_): return True, {"reason": "it may", "method": "whitelist"}
made = ToolExecutor(permission_plugin=Gate())
made.register("tool", lambda args: None, schema=pair)
"""
_POLICY = """
from executor_permissions import Policy
rules = {"whitelist": {"tools": ["tool"], "patterns": ["git *"], "arguments": {"readFile": {"path": ["${project}/"]}}}}
made = Policy.from_dict(rules, project_root=".")
"""


class Case(NamedTuple):
    """What is done once, and what is counted."""

    before: str
    call: str
    times: int = 1  # how often a case that takes long is done less


CASES = {
    "a runner's call, validation off": Case(
        _RUNNER + "made = Runner(**made, validate_input=False, validate_output=False)", "made.run('noop')"
    ),
    "a runner's call, 10 properties in and out": Case(
        _RUNNER + "made, args = Runner(**made), {f'p{n}': n for n in range(10)}", "made.run('noop', args)"
    ),
    "a chain of 10 steps": Case(
        _RUNNER + "made = Runner(**made, validate_input=False, validate_output=False)\n"
        "steps = [ChainStep('noop', {'a': 1})] * 10",
        "made.run_chain(steps)",
        10,
    ),
    "execute, two numbers": Case(
        _EXECUTOR + "made.register('tool', lambda args: None, schema=pair)", "made.execute('tool', {'a': 1, 'b': 2})"
    ),
    "execute, a typed function": Case(
        _EXECUTOR + "def tool(a: int, b: int) -> int: return a + b\nmade.register('tool', tool)",
        "made.execute('tool', {'a': 1, 'b': 2})",
    ),
    "execute, 20 objects of three": Case(_EXECUTOR + _LARGE, "made.execute('tool', args)"),
    "execute, a trivial permission plugin": Case(_EXECUTOR + _GATE, "made.execute('tool', {'a': 1, 'b': 2})"),
    "execute, a typed function, the permission plugin": Case(
        "from executor import ToolExecutor\nfrom executor_permissions import PermissionPlugin\n"
        "made = ToolExecutor(permission_plugin=PermissionPlugin(policy={'whitelist': {'tools': ['tool']}}))\n"
        "def tool(a: int, b: int) -> int: return a + b\nmade.register('tool', tool)",
        "made.execute('tool', {'a': 1, 'b': 2})",
    ),
    "execute, through a worker": Case(
        _EXECUTOR + "made.register('tool', lambda args: None, schema=pair, timeout=30)",
        "made.execute('tool', {'a': 1, 'b': 2})",
    ),
    "execute, below a threshold": Case(
        _EXECUTOR + "from executor.tasks import TaskManager\nmade = ToolExecutor(tasks=TaskManager.in_memory())\n"
        "made.register('tool', lambda args: None, schema=pair, auto_background=30)",
        "made.execute('tool', {'a': 1, 'b': 2})",
    ),
    "a call becomes a task, and ends": Case(
        _EXECUTOR + "import threading\nfrom executor.tasks import TaskManager\n"
        "made, go = ToolExecutor(tasks=TaskManager.in_memory()), threading.Event()\n"
        "made.register('tool', lambda args: go.wait(), auto_background=0.01)",
        "go.clear(); told = made.execute('tool')[1]; go.set(); made.tasks.wait(told['task_id'])",
        10,
    ),
    "a tool is registered": Case(
        _EXECUTOR + "def add(args): return 0", "made.register('tool', add, schema=pair, description='Add two numbers')"
    ),
    "1,000 tools are listed after a change": Case(
        _EXECUTOR + "for n in range(1000): made.register(f'tool{n}', lambda args: None, schema=pair)\n"
        "entry = made.get_tool('tool1')",
        "made._catalogue.add(entry); made.list_tools()",
        10,
    ),
    "a decision about a plain tool": Case(_POLICY, "made.decide('tool', {'a': 1})"),
    "a decision about git status": Case(_POLICY, "made.decide('runCommand', {'command': 'git status'})"),
    "a decision about a git log never seen": Case(
        _POLICY + "import itertools\nnumber = itertools.count(1000)",
        "made.decide('runCommand', {'command': f'git log --oneline -{next(number)}'})",
    ),
    "import executor; ToolExecutor()": Case("", ""),
}


def environment_of(tree: Path) -> dict[str, str]:
    """For a Python that finds the packages of *tree*, and keeps what it has compiled of them."""
    environment = {**os.environ, "PYTHONPATH": f"{tree}:{tree / 'plugins'}", "PYTHONHASHSEED": "0"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return environment


def counted(tree: Path, source: str) -> int:
    """How many instructions a Python takes that runs *source* with the packages of *tree*."""
    words = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", sys.executable, "-c", source]
    done = subprocess.run(words, cwd=tree, env=environment_of(tree), capture_output=True, text=True, check=False)
    found = _COUNTED.search(done.stderr)
    if done.returncode or found is None:
        raise SystemExit(f"valgrind did not count {tree}: {done.stderr[-2000:]}")
    return int(found[1])


def each(tree: Path, case: Case) -> float:
    """How many a call takes."""
    if not case.call:
        started = "import executor; executor.ToolExecutor()"
        # Once without being counted: what is imported is compiled then.
        subprocess.run([sys.executable, "-c", started], cwd=tree, check=True, env=environment_of(tree))
        return counted(tree, started) - counted(tree, "pass")
    few, many = FEW // case.times, MANY // case.times
    source = "{0}\nfor _ in range({2}): {1}\nimport os; os._exit(0)"
    first, second = (counted(tree, source.format(case.before, case.call, calls)) for calls in (few, many))
    return (second - first) / (many - few)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path, help="the root of the other checkout")
    parser.add_argument("--only", default="", help="parts of the names of cases, with commas")
    given = parser.parse_args()
    print("| what | there | here | here / there |\n|---|--:|--:|--:|")
    for name, case in CASES.items():
        if any(part in name for part in given.only.split(",")):
            there, here = each(given.other.resolve(), case), each(ROOT, case)
            print(f"| {name} | {there:,.0f} | {here:,.0f} | {here / there:.3f} |", flush=True)


if __name__ == "__main__":
    main()
