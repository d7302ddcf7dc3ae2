"""The command below a running call, with real processes: what only a person may do refuses to be done."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from executor import ToolCall, ToolExecutor
from executor.approval import Approval, call_above
from executor.mcp._child import Program
from executor.mcp._tail import Tail
from executor.mcp._values import ServerConfig
from executor.registry import PluginRegistry

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="files of other processes are known on Linux only")

CHANGING = [
    ["console", "--print"],
    ["permissions", "trust", "."],
    ["permissions", "untrust", "."],
    ["permissions", "add", "rm *"],
    ["permissions", "remove", "rm *"],
    ["permissions", "grants", "revoke", "x"],
    ["permissions", "init"],
    ["permissions", "import", "/dev/null", "--write"],
    ["permissions", "session", "allow", "rm *"],
    ["permissions", "session", "deny", "rm *"],
    ["permissions", "session", "default", "allow"],
    ["permissions", "session", "suspend"],
    ["permissions", "session", "resume"],
    ["permissions", "session", "clear"],
    ["mcp", "add", "x", "--", "true"],
    ["mcp", "add-json", "x", "{}"],
    ["mcp", "import", "x"],
    ["mcp", "remove", "x"],
    ["call", "echo", "text=hi", "--yes"],
    ["chain", "x.json", "--yes"],
    ["tasks", "attach", "x"],
]
LOOKING = [["permissions", "show"], ["call", "echo", "text=hi"], ["doctor", "--json"], ["permissions", "add", "--help"]]


@pytest.fixture
def run_in_call(monkeypatch, tmp_path):
    """Runs commands by the shell tool, as a model's call would, and gives (exit code, stderr) of each."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), str(ROOT / "plugins")]))
    monkeypatch.chdir(tmp_path)
    with PluginRegistry() as registry:
        registry.expose("shell")
        with ToolExecutor(registry=registry) as executor:

            def run(*argv):
                ok, result = executor.execute("runCommand", {"argv": list(argv)})
                assert "exit_code" in result, (ok, result)
                return result["exit_code"], result["stderr"]

            run("true")
            yield run


@pytest.mark.parametrize("words", CHANGING, ids=" ".join)
def test_what_only_a_person_may_do_is_refused_below_a_call(run_in_call, words):
    code, told = run_in_call(sys.executable, "-m", "executor", *words)
    assert code == 3, told
    assert f"started by process {os.getpid()}, which makes a model's calls" in told
    assert "run it in a terminal of your own" in told


@pytest.mark.parametrize("words", LOOKING, ids=" ".join)
def test_what_only_looks_works_below_a_call(run_in_call, words):
    _, told = run_in_call(sys.executable, "-m", "executor", *words)
    assert "which makes a model's calls" not in told


def test_neither_wrappers_nor_another_environment_hide_the_call(run_in_call, tmp_path):
    command = [sys.executable, "-m", "executor", "permissions", "add", "rm *"]
    spelled = shlex.join(command)
    for wrapper in (
        ["env", f"XDG_STATE_HOME={tmp_path}", "TOOLEXEC_CALL="],
        ["sh", "-c", f"exec {spelled}"],
        ["sh", "-c", f"sh -c {shlex.quote(spelled + ' && true')} && true"],
        ["setsid", "--wait"],
        ["nohup"],
    ):
        words = wrapper if wrapper[0] == "sh" else [*wrapper, *command]
        code, told = run_in_call(*words)
        assert (code, "only a person" in told) == (3, True), (words, told)


def test_a_question_below_a_call_is_not_asked_on_a_terminal_of_the_tools_own(run_in_call):
    """A tool could make a terminal, and answer there itself."""
    words = [sys.executable, "-m", "executor", "call", "writeFile", "path=x", "content=y"]
    said = "stdin_read=lambda _: b'y\\n'"
    script = f"import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn({words!r}, {said})))"
    code, _ = run_in_call(sys.executable, "-c", script)
    assert code == 3
    assert not Path("x").exists()


def test_a_process_that_has_tasks_is_above_its_children(tmp_path):
    """The lock of an owner counts as a running call does."""
    script = "import sys; from executor.approval import call_above; print(call_above())"
    lock = tmp_path / "owners" / "0123456789abcdef.lock"
    lock.parent.mkdir()
    with lock.open("w"):
        done = subprocess.run(
            [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True, timeout=30
        )
    assert json.loads(done.stdout) == os.getpid()
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True, timeout=30
    )
    assert done.stdout.strip() == str(call_above())


LOOK = [sys.executable, "-c", "from executor.approval import call_above; print(call_above() or 0)"]


def looked():
    """What a program that is started here, by nothing of ours, knows of calls above it."""
    return json.loads(subprocess.run(LOOK, cwd=ROOT, capture_output=True, check=True, timeout=30).stdout)


async def looked_async():
    return looked()


def looked_in_pieces():
    yield str(looked())


CALLS = {
    "execute": lambda executor: executor.execute("look", {})[1],
    "submit": lambda executor: executor.submit(ToolCall("1", "look", {})).result().structured,
    "async": lambda executor: executor.execute("look_async", {})[1],
    "in pieces": lambda executor: int(executor.execute("look_in_pieces", {})[1][0]),
}


@pytest.mark.parametrize("way", CALLS)
def test_whatever_a_call_starts_is_below_it_in_whichever_way_it_does(way):
    before = looked()
    with ToolExecutor() as executor:
        executor.register("look", looked)
        executor.register("look_async", looked_async)
        executor.register("look_in_pieces", looked_in_pieces)
        executor.check(ToolCall("1", "look", {}))
        executor.approvals.ask(Approval("1", "look", {}))
        assert looked() == before, "who only asks makes no calls"
        assert CALLS[way](executor) == os.getpid()


def test_a_server_that_is_started_before_it_is_called_is_below_its_calls(tmp_path):
    async def run():
        config = ServerConfig("x", command=LOOK[0], args=(LOOK[1], LOOK[2]), cwd=str(ROOT))
        async with Program(config, Tail(), lambda: None) as program:
            return await asyncio.wait_for(program.child.next(), 30)

    assert json.loads(asyncio.run(run())) == os.getpid()


def test_a_function_that_runs_what_only_a_person_may_do_is_refused():
    words = [sys.executable, "-m", "executor", "permissions", "add", "rm *"]

    def add():
        done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False, timeout=30)
        return f"{done.returncode} {done.stderr}"

    with ToolExecutor() as executor:
        executor.register("add", add)
        assert executor.execute("add", {})[1].startswith("3 "), "it was done"
