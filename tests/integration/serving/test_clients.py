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
    inspector = node_modules / ".bin" / "mcp-inspector"
    path = f"{Path(node22).resolve().parent}{os.pathsep}{os.environ['PATH']}"
    # It passes no other variable on, and takes none that is empty.
    found_here = ["-e", f"PYTHONPATH={os.environ['PYTHONPATH']}"] if os.environ.get("PYTHONPATH") else []
    run = subprocess.run(
        [str(node22), str(inspector.resolve()), "--cli", *found_here, *SERVER, *words],
        capture_output=True, text=True, cwd=tmp_path, timeout=SECONDS, check=False, env={**os.environ, "PATH": path},
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
    assert found in run.stdout
