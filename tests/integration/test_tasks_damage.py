"""Files of the store with random bytes changed or cut: every task ends, `shutdown` returns, and work goes on."""

from __future__ import annotations

import contextlib
import os
import random
import shutil

import pytest

from executor import TaskStatus, ToolCall, ToolExecutor
from executor.errors import ToolExecutorError
from executor.tasks import TaskManager
from executor.tasks._manager import engine_of
from executor.testing import HeldTool

SECONDS = 30.0
FILES = int(os.environ.get("TOOLEXEC_TEST_FILES", "500"))  # read here: tests run without such variables


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """A store with tasks of every kind, closed in order."""
    folder = tmp_path_factory.mktemp("good") / "state"
    tasks = TaskManager.open(folder, host="test")
    engine = engine_of(tasks)
    for number in range(30):
        spool = engine.new_spool()
        spool.append("é" * 100 * number)
        task_id = engine.add(
            "tool", "local", "c", spool, cancel=lambda _: False, reached=lambda: (1.0, None, None),
            conversation="a" if number % 3 else None,
        )  # fmt: skip
        engine.finish(task_id, [*TaskStatus][2 + number % 4], (number % 4 == 0, {"number": number, "x": "é" * 200}))
    tasks.close()
    return folder


def damage(path, chance):
    """Change some bytes of a file, or cut it, or write over all of it."""
    data = bytearray(path.read_bytes())
    way = chance.randrange(4)
    if way == 0:
        del data[chance.randrange(len(data) + 1) :]
    elif way == 1:
        data[:] = chance.randbytes(chance.randrange(20_000))
    elif data:  # it may have been cut before
        for _ in range(chance.choice([1, 3, 20, 300])):
            data[chance.randrange(min(100, len(data)) if way == 2 else len(data))] = chance.randrange(256)
    path.write_bytes(data)


def use(folder, chance):
    """What a host does; only errors of the library may come, and no task may be left without an end."""
    before = chance.random() < 0.5
    with HeldTool("whole") as tool, ToolExecutor(tasks=TaskManager.open(folder, host="test")) as executor:
        executor.register("slow", tool, auto_background=0.02)
        ids = [executor.execute("slow", {})[1]["task_id"]] if before else []
        if before:
            damage(folder / "tasks.db", chance)
        for ask in (executor.tasks.list, executor.tasks.undelivered, lambda: executor.tasks.list("running"), look):
            with contextlib.suppress(ToolExecutorError):
                ask(executor.tasks) if ask is look else ask()
        ids += [executor.execute("slow", {})[1]["task_id"], executor.start(ToolCall("1", "slow")).task_id]
        tool.go_on()
        for task_id in ids:
            assert executor.tasks.wait(task_id, SECONDS).status is TaskStatus.COMPLETED
            assert executor.tasks.result(task_id) == (True, "whole")
        assert executor.shutdown(timeout=SECONDS)
        executor.tasks.close()
    return ids


def look(tasks):
    for info in tasks.list():
        tasks.output(info.id)
        tasks.result(info.id)


def damaged(good, tmp_path, files, seed):
    """How many stores were set aside, and in how many every new task was found afterwards."""
    chance, aside, found = random.Random(seed), 0, 0
    for number in range(files):
        folder = tmp_path / str(number)
        shutil.copytree(good, folder)
        damage(folder / "tasks.db", chance)
        ids = use(folder, chance)
        aside += bool([*folder.glob("*.damaged-*")])
        other = TaskManager.open(folder, host="test")
        with contextlib.suppress(ToolExecutorError):
            found += {other.get(task_id).status for task_id in ids} == {TaskStatus.COMPLETED}
        other.close()
        shutil.rmtree(folder)
    return aside, found


def test_random_damage_ends_no_work(good, tmp_path, caplog):
    aside, found = damaged(good, tmp_path, 12, seed=5)
    assert aside > 0
    assert found > 6


@pytest.mark.long
@pytest.mark.timeout(600)
def test_500_damaged_files_end_no_work(good, tmp_path, caplog):
    seed = random.randrange(10**9)
    aside, found = damaged(good, tmp_path, FILES, seed)
    print(
        f"\nseed {seed}: of {FILES} damaged stores {aside} were set aside; in {found} new tasks were found afterwards"
    )
