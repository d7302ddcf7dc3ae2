"""The same call in the foreground, in the background, and read by another process: one result."""

from __future__ import annotations

import os
import pickle
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from executor import ToolCall, ToolExecutor
from executor.errors import BackendUnavailableError
from executor.run import Runner, Tool, ToolBackend
from executor.tasks import TaskManager
from executor.testing import Answer, HeldTool, StubBackend, StubIndex
from executor.values import Image

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 30.0
IMAGE = Image(b"\x89PNG", "image/png")


class Plugin:
    """Allows everything but `denied`."""

    def check_permission(self, name, args, context, call_id):
        return name != "denied", {"reason": "because", "method": "m"}


def fails(args):
    raise ValueError("bad")


def down(args):
    raise BackendUnavailableError("it is down")


def interrupts(args):
    raise KeyboardInterrupt


TOOLS = {
    "value": (lambda args: {"a": [1, "é"]}, "ok"),
    "text": (lambda args: "text", "ok"),
    "image": (lambda args: IMAGE, "ok"),
    "mixed": (lambda args: ["see:", IMAGE], "ok"),
    "long": (lambda args: "é" * 100_000, "ok"),
    "fails": (fails, "failed"),
    "down": (down, "unavailable"),
    "interrupts": (interrupts, "interrupted"),
    "wrong": (lambda args: "text", "invalid_result"),
    "picture": (None, "ok"),
    "refusal": (None, "failed"),
}


@pytest.fixture
def executor(tmp_path):
    blocks = [{"type": "text", "text": "a picture"}, IMAGE.to_dict()]
    server = StubBackend(lambda arguments: Answer(blocks, is_error=arguments.get("refuse", False)))
    tools = [Tool(name) for name, (fn, _) in TOOLS.items() if fn is None]
    runner = Runner(StubIndex(tools, {tool.id: [ToolBackend.mcp("s")] for tool in tools}), mcp=server)
    tasks = TaskManager.open(tmp_path, host="test")
    with ToolExecutor(tasks=tasks, permission_plugin=Plugin(), runner=runner) as made:
        for name, (fn, _) in TOOLS.items():
            if fn is not None:
                schema = {"type": "object"} if name == "wrong" else None
                made.register(name, fn, auto_background=SECONDS, output_schema=schema)
        yield made
        tasks.close()


def whole(tasks, result):
    """The result, without what differs from call to call: the rest of a long content, read on, and tracebacks."""
    content = result.content
    if left_out := re.search(r"bytes are left out here: the program has kept them as (res_\w+)", content):
        content = tasks.read_result(left_out[1])[0]
    value = result.value
    if isinstance(value, dict):
        value = {key: item for key, item in value.items() if key != "traceback"}
    return replace(result, content=content, value=value, task_id=None)


READ = """
import pickle, sys
from executor.tasks import TaskManager
tasks = TaskManager.open(sys.argv[1], host="test")
sys.stdout.buffer.write(pickle.dumps(tasks.tool_result(sys.argv[2])))
tasks.close()
"""


@pytest.mark.parametrize("name", TOOLS)
def test_a_call_has_one_result_in_the_foreground_in_the_background_and_afterwards(executor, tmp_path, name):
    call, tasks = ToolCall("c", name, {"refuse": True} if name == "refusal" else {}), executor.tasks
    at_once = executor.call(call)
    assert at_once.kind == TOOLS[name][1]
    assert at_once.permission["reason"] == "because"
    task_id = executor.start(call).task_id
    tasks.wait(task_id, SECONDS)
    later = tasks.tool_result(task_id)
    assert whole(tasks, later) == whole(tasks, at_once)
    assert (later.task_id, later.backgrounded) == (task_id, False)
    tasks.close()
    again = TaskManager.open(tmp_path, host="test")
    stored = whole(again, again.tool_result(task_id))
    again.close()
    given = whole(tasks, at_once)
    assert replace(stored, value=None) == replace(given, value=None)
    assert stored.value == (given.value if name not in ("image", "mixed") else stored.value)


def test_another_process_reads_the_same_result(executor, tmp_path):
    task_id = executor.start(ToolCall("c", "picture")).task_id
    executor.tasks.wait(task_id, SECONDS)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "plugins")])}
    done = subprocess.run(
        [sys.executable, "-c", READ, str(tmp_path), task_id], env=environment, capture_output=True, check=True
    )
    assert pickle.loads(done.stdout) == executor.tasks.tool_result(task_id)
    assert executor.tasks.tool_result(task_id).blocks[1] == IMAGE


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (ToolCall("c", "nothing"), "not_found"),
        (ToolCall("c", "::"), "not_found"),
        (ToolCall("c", "value", "[1]"), "invalid_arguments"),
        (ToolCall("c", "denied"), "denied"),
    ],
)
def test_what_never_ran_says_why(executor, call, kind):
    executor.register("denied", lambda args: 1)
    result = executor.call(call)
    assert (result.kind, result.success, result.structured, result.blocks) == (kind, False, None, ())
    assert (result.permission is not None) == (kind == "denied")


def test_a_stopped_call_says_by_what(executor):
    with HeldTool() as tool:
        executor.register("slow", tool, timeout=0.05)
        assert executor.call(ToolCall("c", "slow")).kind == "timed_out"
        executor.register("slow", tool, auto_background=0)
        result = executor.call(ToolCall("c", "slow"))
        assert (result.kind, result.backgrounded, result.structured["task_id"]) == (
            "backgrounded", True, result.task_id,
        )  # fmt: skip
        assert executor.tasks.cancel(result.task_id)
        assert executor.tasks.tool_result(result.task_id).kind == "cancelled"
