"""What is public: pinned here, documented, and light to import."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from pathlib import Path

import executor
from executor import hookspecs

ROOT = Path(__file__).parent.parent
HEAVY = ("mcp", "pydantic", "jsonschema", "jsonschema_rs", "click", "starlette", "tree_sitter", "logging", "asyncio")


def test_the_public_names_are_these():
    assert executor.__all__ == sorted(executor.__all__)
    assert executor.__all__ == [
        "Approval",
        "BackgroundCapable",
        "CancelToken",
        "Channel",
        "Decision",
        "JsonLinesLedger",
        "PluginRegistry",
        "TaskInfo",
        "TaskManager",
        "TaskStatus",
        "TokenLedger",
        "Tool",
        "ToolAnnotations",
        "ToolCall",
        "ToolDefinition",
        "ToolExecutor",
        "ToolExecutorPort",
        "ToolResult",
        "Verdict",
        "current_call",
        "errors",
        "get_current_tool_output_callback",
        "hookimpl",
        "hookspec",
        "tool",
    ]
    for name in executor.__all__:
        assert getattr(executor, name) is not None
        assert name in dir(executor)


def test_a_name_that_is_not_public_is_an_attribute_error():
    assert not hasattr(executor, "nonsense")


def test_every_public_thing_says_what_it_is():
    for name in executor.__all__:
        thing = getattr(executor, name)
        assert inspect.getdoc(thing), name
        for method, member in vars(thing).items() if inspect.isclass(thing) else ():
            if not method.startswith("_") and inspect.isfunction(member):
                assert inspect.getdoc(member), f"{name}.{method}"


HOOKS = [name for name in vars(hookspecs) if name.startswith("executor_")]


def test_every_hook_has_one_line_of_documentation_and_a_test():
    tests = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    assert len(HOOKS) == 11
    for hook in HOOKS:
        assert len(inspect.getdoc(getattr(hookspecs, hook)).splitlines()) == 1
        assert f"def {hook}(" in tests or f'"{hook}"' in tests, f"no test implements {hook}"


def test_importing_and_building_an_executor_imports_nothing_heavy_and_scans_nothing():
    program = (
        "import json, sys, importlib.metadata as metadata\n"
        "def scan(*a, **k): raise AssertionError('entry points were scanned')\n"
        "metadata.entry_points = scan\n"
        "from executor import ToolExecutor\n"
        "executor = ToolExecutor()\n"
        "executor.register('x', lambda args: 1)\n"
        "assert executor.execute('x') == (True, 1)\n"
        "print(json.dumps(sorted(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, timeout=30, check=True
    )
    imported = {name.partition(".")[0] for name in json.loads(done.stdout)}
    assert imported.isdisjoint(HEAVY)


def test_nothing_names_a_bundled_plugin_in_an_import():
    for path in (ROOT / "executor").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert "import executor_" not in text, path
        assert "from executor_" not in text, path
