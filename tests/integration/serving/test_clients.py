"""Clients that other people use: the TypeScript SDK's, and the official Inspector's command line."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
SERVER = [sys.executable, str(HERE.parents[1] / "serving" / "server.py")]
SECONDS = 120

pytestmark = pytest.mark.timeout(400)


@pytest.fixture
def node_modules(npm_folder):
    return npm_folder(HERE / "package.json") / "node_modules"


def test_the_typescript_client_lists_calls_and_answers(node_modules, node22, tmp_path):
    (tmp_path / "node_modules").symlink_to(node_modules)
    shutil.copy(HERE / "client.mjs", tmp_path)
    run = subprocess.run(
        [str(node22), "client.mjs", *SERVER], capture_output=True, text=True, cwd=tmp_path, timeout=SECONDS, check=False
    )
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert "add" in found.pop("tools")
    steps = found.pop("progress")  # it drops those that are read together with the result
    assert steps
    assert steps == sorted(set(steps))
    assert found == {
        "sum": {"sum": 3},
        "drawn": ["text", "image"],
        "talked": {"lines": 3},
        "guarded": "went in",
        "asked": ["Run guarded?\n  why you are asked: it is guarded"],
        "failed": True,
    }


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["--method", "tools/list"], '"add"'),
        (["--method", "tools/call", "--tool-name", "add", "--tool-arg", "a=1", "--tool-arg", "b=2"], '"3"'),
        (["--method", "resources/templates/list"], "task://"),
    ],
)
def test_the_inspectors_command_line_lists_and_calls(node_modules, node22, tmp_path, words, found):
    assert found in inspected(node_modules, node22, tmp_path, SERVER, *words)


def inspected(node_modules, node22, folder, server, *words):
    """What the Inspector says of a server that is started by these words."""
    inspector = node_modules / ".bin" / "mcp-inspector"
    path = f"{Path(node22).resolve().parent}{os.pathsep}{os.environ['PATH']}"
    # It passes few variables on, and takes none that is empty.
    given = [word for name in os.environ if _goes_on(name) for word in ("-e", f"{name}={os.environ[name]}")]
    run = subprocess.run(
        [str(node22), str(inspector.resolve()), "--cli", *given, *server, *words],
        capture_output=True, text=True, cwd=folder, timeout=SECONDS, check=False, env={**os.environ, "PATH": path},
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


def _goes_on(name):
    return bool(os.environ[name]) and name.startswith(("PYTHONPATH", "HOME", "XDG_"))


def test_fastmcps_client_lists_calls_and_answers(pip_folder, tmp_path):
    python = pip_folder(HERE.parent / "mcp" / "more" / "requirements.txt") / "bin" / "python"
    run = subprocess.run(
        [str(python), str(HERE / "client_fastmcp.py"), *SERVER],
        capture_output=True, text=True, cwd=tmp_path, timeout=SECONDS, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert "add" in found.pop("tools")
    question = "Run guarded?\n  why you are asked: it is guarded"
    assert found == {
        "sum": {"sum": 3},
        "drawn": ["text", "image"],
        "talked": {"lines": 3},
        "allowed": "went in",
        "denied": True,
        "failed": True,
        "left": True,
        "after": "2",
        "asked": [question, question],
        "progress": True,
    }


def readme_commands():
    """What the README says about serving, as words."""
    section = (ROOT / "README.md").read_text("utf-8").partition("## Give your assistant these tools")[2]
    lines = section.partition("\n## ")[0].partition("```console\n")[2].partition("```")[0].splitlines()
    return [line.removeprefix("$ toolexec ").split() for line in lines]


def test_the_commands_of_the_readme_give_an_assistant_the_tools(node_modules, node22, tmp_path, own_folders):
    work = own_folders / "work"
    work.mkdir()
    printed, installed = readme_commands()
    shown = toolexec(*printed)
    (entry,) = json.loads(shown)["mcpServers"].values()
    toolexec(*installed, "--yes")
    (other,) = json.loads((own_folders / ".cursor" / "mcp.json").read_text("utf-8"))["mcpServers"].values()
    for found in (entry, other):
        words = [found["command"], *found["args"]]
        (tmp_path / "node_modules").unlink(missing_ok=True)
        (tmp_path / "node_modules").symlink_to(node_modules)
        shutil.copy(HERE / "readme.mjs", tmp_path)
        called = subprocess.run(
            [str(node22), "readme.mjs", *words],
            capture_output=True, text=True, cwd=tmp_path, timeout=SECONDS, check=False,
        )  # fmt: skip
        assert called.returncode == 0, called.stderr
        assert json.loads(called.stdout)["text"] == "hello"
        listed = inspected(node_modules, node22, tmp_path, words, "--method", "tools/list")
        assert '"echo"' in listed


def toolexec(*words):
    command = [sys.executable, "-m", "executor", *words]
    run = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout
