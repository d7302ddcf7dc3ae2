"""Commands in boxes that go on in the background: their output, their ends, and that the box stays around them."""

from __future__ import annotations

import threading
import time

import pytest

from executor import PluginRegistry, TaskManager, TaskStatus, ToolCall, ToolExecutor
from executor.tools import ToolSettings
from executor_permissions import PermissionPlugin

pytestmark = pytest.mark.usefixtures("landlock", "bubblewrap")
SECONDS = 30.0
READ = "import sys; print('up', flush=True); sys.stdin.readline()"


@pytest.fixture
def project(tmp_path, monkeypatch):
    root = tmp_path.resolve() / "project"
    root.mkdir()
    monkeypatch.chdir(root)
    return root


@pytest.fixture(params=["read", "project", "network"])
def executor(request, project, tmp_path):
    """Runs every command unasked, in the box of this name."""
    policy = {
        "version": "1.2",
        "whitelist": {"tools": ["runCommand"]},
        "confine": {"default": request.param},
    }
    registry = PluginRegistry()
    assert registry.expose("shell")
    tasks = TaskManager.open(tmp_path / "state")
    plugin = PermissionPlugin(policy=policy, project_root=project, state_dir=tmp_path / "permissions")
    with ToolExecutor(tasks=tasks, registry=registry, permission_plugin=plugin) as made:
        made.profile = request.param
        yield made
    tasks.close()
    registry.close()


def in_background(executor, call):
    result = executor.call(call, background=True)
    assert result.task_id is not None, result.error
    return result.task_id


def detached(executor, call):
    return executor.detach(call)


def heard(tasks, task_id, text):
    """The output once *text* is in it."""
    deadline, said, offset = time.monotonic() + SECONDS, "", 0
    while text not in said and time.monotonic() < deadline:
        piece, offset, _ = tasks.output(task_id, offset)
        said += piece
        threading.Event().wait(0.02)  # another process writes it: there is no event
    return said


@pytest.mark.parametrize("start", [in_background, detached])
def test_it_is_read_and_cancelled_and_the_box_holds(executor, project, tmp_path, start):
    outside = tmp_path / "outside"
    line = f"touch {outside}; touch inside; echo up; sleep 1000 & wait"
    task_id = start(executor, ToolCall("1", "runCommand", {"command": line}))
    assert "up" in heard(executor.tasks, task_id, "up")
    assert not executor.tasks.get(task_id).status.final
    assert executor.tasks.cancel(task_id)
    assert executor.tasks.wait(task_id, SECONDS).status is TaskStatus.CANCELLED
    assert not outside.exists()
    assert (project / "inside").exists() is (executor.profile != "read")


@pytest.mark.parametrize("start", [in_background, detached])
def test_its_result_says_which_box_it_was(executor, start):
    task_id = start(executor, ToolCall("1", "runCommand", {"command": "echo 42"}))
    executor.tasks.wait(task_id, SECONDS)
    success, value = executor.tasks.result(task_id)
    assert success, value
    assert value["confined"]["profile"] == executor.profile
    assert value["stdout"] == "42\n"


def test_past_its_threshold_it_goes_on_in_its_box(executor):
    executor.registry.adjust("runCommand", ToolSettings(auto_background=0.1))
    result = executor.call(ToolCall("1", "runCommand", {"command": "echo up; sleep 0.6; echo down"}))
    assert result.task_id is not None
    assert executor.tasks.wait(result.task_id, SECONDS).status is TaskStatus.COMPLETED
    _, value = executor.tasks.result(result.task_id)
    assert (value["stdout"], value["confined"]["profile"]) == ("up\ndown\n", executor.profile)
