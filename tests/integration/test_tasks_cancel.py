"""Tasks that are cancelled at any moment: the state and the truth agree, and nothing is left running."""

from __future__ import annotations

import os
import random
import threading
from collections import Counter

import pytest

from executor import PluginRegistry, TaskStatus, ToolCall, ToolExecutor, current_call
from executor.tasks import TaskManager
from executor.tasks._manager import engine_of
from executor_shell._group import session_members

SECONDS = 30.0


class Python:
    """A Python tool; knows which of its calls came to their end."""

    def __init__(self):
        self.ended = set()

    def __call__(self, args):
        call = current_call()
        for _ in range(args["steps"]):
            call.emit("step\n")
            if call.wait(0.001) and args["heeds"]:
                return "stopped"
        self.ended.add(args["n"])
        return args["n"]


def cancel_at_random_moments(tmp_path, times, seed):
    """Start and cancel shell and Python tasks; returns how many ended how."""
    chance, found, finals, groups, tool = random.Random(seed), Counter(), {}, set(), Python()
    registry = PluginRegistry(entry_points=False)
    registry.expose("shell")
    executor = ToolExecutor(registry=registry, tasks=TaskManager.open(tmp_path), max_background_tasks=times)
    executor.register("python", tool, auto_background=60)
    for number in range(times):
        if number % 2:
            steps, heeds = chance.randrange(1, 8), chance.random() < 0.5
            call = ToolCall(str(number), "python", {"n": number, "steps": steps, "heeds": heeds})
        else:
            rest = f"sleep {chance.random() * 0.02:.4f}"
            command = chance.choice([rest, f"sleep 60 & {rest}; echo out", f"trap '' TERM; {rest}; echo out"])
            call = ToolCall(str(number), "runCommand", {"command": command})
        task_id = executor.start(call).task_id
        spool = engine_of(executor.tasks).tasks[task_id].spool
        threading.Event().wait(chance.random() * 0.012)
        cancelled = executor.tasks.cancel(task_id, "enough")
        info = executor.tasks.wait(task_id, SECONDS)
        assert cancelled is (info.status is TaskStatus.CANCELLED), info
        assert executor.tasks.cancel(task_id) is False
        finals[task_id] = info.status, executor.tasks.result(task_id), spool
        found[f"{call.name} {info.status}"] += 1
        if info.status is TaskStatus.COMPLETED and number % 2:
            assert number in tool.ended
    assert executor.shutdown(timeout=SECONDS)
    assert executor._way.threads.workers.close(SECONDS), "a thread has not come back"
    assert executor.abandoned == 0
    for task_id, (status, outcome, spool) in finals.items():
        info = executor.tasks.get(task_id)
        assert (info.status, executor.tasks.result(task_id)) == (status, outcome), "a late end changed a final state"
        assert not info.abandoned
        groups |= {group.number for group in spool.groups if group.number}
    for group in groups:
        assert not session_members(group), "a process of a command is left"
    executor.tasks.close()
    again = TaskManager.open(tmp_path)
    assert {info.id: info.status for info in again.list()} == {key: status for key, (status, _, _) in finals.items()}
    again.close()
    return found


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="looks at process groups")
def test_state_and_truth_agree_after_a_cancel_at_any_moment(tmp_path):
    found = cancel_at_random_moments(tmp_path, 60, seed=3)
    assert found["runCommand cancelled"]
    assert found["python cancelled"]


@pytest.mark.long
@pytest.mark.timeout(400)
def test_500_cancels_at_random_moments(tmp_path):
    print(f"\n500 cancels: {dict(cancel_at_random_moments(tmp_path, 500, seed=random.randrange(10**9)))}")
