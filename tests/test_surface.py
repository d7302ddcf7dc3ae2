"""What is public: pinned here, documented, and light to import."""

from __future__ import annotations

import ast
import compileall
import importlib
import inspect
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import executor
import executor.models
import executor.run
from executor import hookspecs

ROOT = Path(__file__).parent.parent
HEAVY = ("mcp", "pydantic", "jsonschema", "jsonschema_rs", "click", "starlette", "tree_sitter", "logging", "asyncio")


def test_the_public_names_are_these():
    assert executor.__all__ == sorted(executor.__all__)
    assert executor.__all__ == [
        "Approval",
        "Audio",
        "BackgroundCapable",
        "CancelToken",
        "Channel",
        "Check",
        "CurrentCall",
        "Decision",
        "Host",
        "Image",
        "JsonLinesLedger",
        "Ledger",
        "Link",
        "OutputCallback",
        "OutputChunk",
        "PermissionPlugin",
        "PluginFailure",
        "PluginRegistry",
        "ProgressCallback",
        "Resource",
        "ResultKind",
        "Shared",
        "TaskDoneCallback",
        "TaskInfo",
        "TaskManager",
        "TaskStatus",
        "Text",
        "TokenLedger",
        "Tool",
        "ToolAnnotations",
        "ToolBackend",
        "ToolCall",
        "ToolDefinition",
        "ToolExecutor",
        "ToolExecutorPort",
        "ToolOptions",
        "ToolOutputCallback",
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
    for package in (executor, executor.run):
        with pytest.raises(AttributeError, match=f"module '{package.__name__}' has no attribute 'nonsense'"):
            package.nonsense
    assert executor.__version__


@pytest.mark.parametrize("package", [executor, executor.models, executor.run])
def test_type_checkers_and_python_find_the_same_names_in_the_same_modules(package):
    tree = ast.parse(Path(package.__file__).read_text(encoding="utf-8"))
    told = {
        alias.asname: getattr(importlib.import_module(node.module), alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module != "executor"
        for alias in node.names
        if alias.asname
    }
    assert sorted({*told, "errors"} if package is executor else told) == package.__all__
    assert all(getattr(package, name) is thing for name, thing in told.items())
    assert set(package.__all__) <= set(dir(package))


def test_every_module_that_is_promised_lists_its_names():
    page = (ROOT / "docs/stability.md").read_text(encoding="utf-8")
    row = page.partition("\n| names |")[2].partition("\n")[0].partition("; of ")[0]
    promised = re.findall(r"`(executor\.[a-z]+)`", row)
    assert len(promised) > 15
    for module in map(importlib.import_module, promised):
        assert all(hasattr(module, name) for name in module.__all__), module
    listed = {"hookimpl", "hookspec", "CallScope", "RegisterTool", *HOOKS}
    assert (set(hookspecs.__all__), hookspecs.__all__) == (listed, sorted(listed))


def test_the_package_works_without_its_sources(tmp_path):
    shutil.copytree(ROOT / "executor", tmp_path / "executor", ignore=shutil.ignore_patterns("__pycache__"))
    assert compileall.compile_dir(tmp_path, quiet=1, legacy=True)
    for source in tmp_path.rglob("*.py"):
        source.unlink()
    program = (
        "import executor, executor.run\n"
        "from executor import *\n"
        "from executor.run import *\n"
        "assert executor.__file__.endswith('.pyc')\n"
        "print(ToolExecutor.__name__, Runner.__name__, TokenLedger.__name__)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=50, check=False
    )
    assert done.stdout.split() == ["ToolExecutor", "Runner", "TokenLedger"], done.stderr


def test_importing_the_package_alone_imports_none_of_its_rooms():
    program = "import sys, executor; print(*sorted(name for name in sys.modules if name.startswith('executor.')))"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["executor._lazy", "executor.errors"]


def test_every_public_thing_says_what_it_is():
    for name in executor.__all__:
        if name.endswith("Callback"):
            continue  # an alias of a type, which takes no docstring
        thing = getattr(executor, name)
        assert inspect.getdoc(thing), name
        for method, member in vars(thing).items() if inspect.isclass(thing) else ():
            if not method.startswith("_") and inspect.isfunction(member):
                assert inspect.getdoc(member), f"{name}.{method}"


HOOKS = [name for name in vars(hookspecs) if name.startswith("executor_")]


def test_every_hook_has_one_line_of_documentation_and_a_test():
    tests = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    assert len(HOOKS) == 13
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
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not any(name.startswith("executor_") for name in names), path
