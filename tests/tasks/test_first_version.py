"""A store that was made by version 0.1 (commit d0a6ccc), with a task of each end and two that lived when it died."""

from __future__ import annotations

import shutil
import sqlite3
import threading
from pathlib import Path

import pytest

from executor import TaskStatus
from executor.tasks import TaskManager, _schema
from executor.tasks._manager import engine_of

FIXTURE = Path(__file__).with_name("store-0.1.zip")
COMPLETED, FAILED, TIMEOUT, CANCELLED, LONG, LIVE, PENDING = (
    "local_3d6d3dc4334a4a410b43a3ef0d815f57", "local_9851c28b8dfcfaf88d296a602ec82d95",
    "local_b129058b88904988aa42911e45a0343a", "local_3e6fa52c1941102c0a66aecdba0a5686",
    "local_103342548c1a8880278871dd1fc33417", "local_96849ef222ce329a73e9b39359d8f677",
    "local_3009472fe463da4dc1cce20ee06d0290",
)  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    shutil.unpack_archive(FIXTURE, tmp_path / "state")
    return tmp_path / "state"


def test_every_task_is_found_as_it_was_and_those_that_lived_are_interrupted(folder):
    tasks = TaskManager.open(folder, host="test")
    assert [info.id for info in tasks.list()] == [PENDING, LIVE, LONG, CANCELLED, TIMEOUT, FAILED, COMPLETED]
    assert tasks.result(COMPLETED) == (True, {"a": [1, "é"]})
    assert tasks.result(FAILED) == (False, {"error": "bad", "traceback": "…"})
    assert tasks.result(LONG) == (True, "y" * 70_000)
    assert tasks.get(FAILED).error == "bad"
    kinds = {COMPLETED: "ok", FAILED: "failed", TIMEOUT: "timed_out", CANCELLED: "cancelled", LIVE: "interrupted",
             PENDING: "interrupted"}  # fmt: skip
    assert {task_id: tasks.tool_result(task_id).kind for task_id in kinds} == kinds
    assert tasks.output(COMPLETED) == ("output of completed é\n", 23, 0)
    assert tasks.output(LIVE) == ("live\n", 5, 0)
    assert tasks.get(LIVE).output_bytes == 5
    assert {info.id for info in tasks.undelivered()} == {*kinds, LONG} - {FAILED}, "that one was acknowledged"
    tasks.ack(COMPLETED)
    assert COMPLETED not in {info.id for info in tasks.undelivered()}
    assert list((folder / "owners").iterdir()) == []
    tasks.close()


def test_new_tasks_are_kept_beside_the_old_and_the_file_shrinks(folder):
    tasks = TaskManager.open(folder, host="test")
    engine = engine_of(tasks)
    new = engine.add("tool", "local", "c", engine.new_spool(), cancel=lambda _: True, reached=lambda: None)
    engine.finish(new, TaskStatus.COMPLETED, (True, "new"))
    assert tasks.list(limit=1)[0].id == new
    before = (folder / "tasks.db").stat().st_size
    assert tasks.prune() == 8
    assert (folder / "tasks.db").stat().st_size <= before
    assert list((folder / "output").glob("??/*")) == []
    tasks.close()
    with sqlite3.connect(folder / "tasks.db") as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (len(_schema.MIGRATIONS),)
        assert connection.execute("PRAGMA auto_vacuum").fetchone() == (2,)
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()


def test_many_that_open_it_at_once_bring_it_up_to_date_once(folder):
    found, begin = [], threading.Barrier(8)

    def open_it():
        tasks = TaskManager.open(folder, host="test")
        begin.wait(20)
        found.append(len(tasks.list()))
        tasks.close()

    threads = [threading.Thread(target=open_it) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert found == [7] * 8


def test_a_process_of_version_0_1_that_has_it_open_goes_on_beside_new_ones(folder):
    old = sqlite3.connect(folder / "tasks.db", isolation_level=None)
    tasks = TaskManager.open(folder, host="test")
    tasks.list()
    old.execute("INSERT INTO owner VALUES ('old', 1, 'birth')")
    old.execute(
        "INSERT INTO task (id, status, tool, plugin, call, owner, pid, host, created, output_cap, groups) "
        "VALUES ('local_new', 'running', 't', 'local', 'c', 'old', 1, 'test', 1, 100, '[]')"
    )
    old.execute("UPDATE task SET status = 'completed', success = 1, value = '1', ended = 2 WHERE id = 'local_new'")
    assert tasks.result("local_new") == (True, 1)
    old.execute("DELETE FROM task WHERE id = 'local_new'")
    assert "local_new" not in {info.id for info in tasks.list()}
    old.close()
    tasks.close()
