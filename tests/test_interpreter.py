"""A frozen program, which stands where Python would: it is not started a second time."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from executor import PluginRegistry, TaskManager, ToolCall, ToolExecutor
from executor.confine._choose import Trials
from executor.confine._launch import launcher
from executor.errors import ConfinementError, ExecutionError
from executor.interpreter import interpreter
from executor.values._profile import Profile

ROOT = Path(__file__).parent.parent


@pytest.fixture(params=["frozen", "embedded"])
def program(request, monkeypatch, tmp_path):
    """This process as that program; whoever starts it leaves the file that is returned."""
    trace, itself = tmp_path / "started", tmp_path / "program"
    itself.write_text(f"#!/bin/sh\n: > '{trace}'\n")
    itself.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(itself) if request.param == "frozen" else "")
    monkeypatch.setattr(sys, "frozen", request.param == "frozen", raising=False)
    yield trace
    assert not trace.exists(), "the program was started a second time"


def add(a: int, b: int) -> int:
    return a + b


def test_the_interpreter_is_the_one_that_runs_this():
    assert interpreter() == sys.executable


def test_an_isolated_tool_is_refused_where_no_other_process_can_run_it(program):
    with ToolExecutor() as executor:
        with pytest.raises(ValueError, match=r"frozen, or embeds Python.*Leave isolation out"):
            executor.register("add", add, isolation="process")
        executor.register("add", add)
        assert executor.execute("add", {"a": 1, "b": 2}) == (True, 3)


def test_a_call_cannot_be_left_to_another_process(program, tmp_path):
    registry = PluginRegistry(entry_points=False)
    registry.expose("echo")
    with ToolExecutor(registry=registry, tasks=TaskManager.open(tmp_path / "tasks")) as executor:
        with pytest.raises(ExecutionError, match="cannot be left to another process: this program is frozen"):
            executor.detach(ToolCall("1", "echo", {"text": "hello"}))


@pytest.mark.skipif(sys.platform != "linux", reason="there are boxes on Linux only")
def test_no_box_is_looked_for_that_needs_python(program):
    tried = []
    trials = Trials(lambda mechanism, command: tried.append(mechanism) or b"runs\n")
    assert "this program is frozen" in trials.problem("landlock")
    assert tried == []
    with pytest.raises(ConfinementError, match="this program is frozen"):
        launcher(Profile("read", "/"))


def test_whoever_starts_python_asks_which():
    asking = {"executor/interpreter.py", "executor/cli/_doctor.py"}  # the second only shows it
    sources = [path for place in ("executor", "plugins") for path in (ROOT / place).rglob("*.py")]
    found = {str(path.relative_to(ROOT)) for path in sources if "sys.executable" in path.read_text(encoding="utf-8")}
    assert found == asking
