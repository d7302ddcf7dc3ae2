"""Tasks on disk: what is said once, what is done once, and what another reader of the same folder sees."""

from __future__ import annotations

import threading
import time

import pytest

from executor import TaskStatus
from executor.tasks import TaskManager, _watch
from executor.tasks._manager import engine_of
from executor.tasks._store import Store


@pytest.fixture
def opened(tmp_path):
    """Opens the tasks of one folder, as often as is wanted."""
    made = []

    def opened():
        made.append(TaskManager.open(tmp_path / "state"))
        return made[-1]

    yield opened
    for tasks in made:
        tasks.close()


def enter(tasks):
    return engine_of(tasks).add(
        "tool",
        "local",
        "call",
        engine_of(tasks).new_spool(),
        cancel=lambda reason: True,
        reached=lambda: None,
        started=time.monotonic(),
    )


def finish(tasks, task_id, *, abandoned=False):
    status = TaskStatus.TIMEOUT if abandoned else TaskStatus.COMPLETED
    return engine_of(tasks).finish(task_id, status, (not abandoned, {}), abandoned=abandoned)


def test_a_store_that_fails_is_warned_of_once_however_many_tasks_it_fails(tmp_path, caplog):
    tasks = TaskManager.open(tmp_path / "state")
    ids = [enter(tasks) for _ in range(3)]
    (tmp_path / "state" / "tasks.db").write_bytes(b"\0" * 8192)
    for task_id in ids:
        assert finish(tasks, task_id).status is TaskStatus.COMPLETED
    tasks.close()
    assert caplog.text.count("(said once)") == 1
    assert caplog.text.count("cannot be stored yet") == 1


def test_old_tasks_are_looked_for_once_in_a_process_that_has_tasks(opened, monkeypatch):
    claims, turns, enough = [], [], threading.Event()
    requests = Store.requests

    def counted(store, owner):
        turns.append(owner)
        if len(turns) == 5:
            enough.set()
        return requests(store, owner)

    monkeypatch.setattr(_watch, "EVERY", 0.001)
    monkeypatch.setattr(Store, "claim_cleaning", lambda store, every: bool(claims.append(every)))
    monkeypatch.setattr(Store, "requests", counted)
    tasks = opened()
    tasks.list()
    assert claims == [], "a process that only reads cleaned"
    task_id = enter(tasks)
    assert enough.wait(10)
    assert claims == [24 * 3600.0]
    finish(tasks, task_id)


def test_whoever_reads_the_folder_sees_which_threads_have_not_come_back(opened):
    owner, reader = opened(), opened()
    task_id, stuck, late = (enter(owner) for _ in range(3))
    assert not reader.get(task_id).abandoned
    finish(owner, task_id)
    finish(owner, stuck, abandoned=True)
    finish(owner, late, abandoned=True)
    assert [reader.get(each).abandoned for each in (task_id, stuck, late)] == [False, True, True]
    engine_of(owner).came_back(late)
    assert [reader.get(each).abandoned for each in (task_id, stuck, late)] == [False, True, False]


def test_after_close_nobody_tries_any_more_to_store_an_end(tmp_path, caplog):
    before = {*threading.enumerate()}
    tasks = TaskManager.open(tmp_path / "state")
    task_id = enter(tasks)
    (watching,) = {*threading.enumerate()} - before
    assert watching.name == "executor-tasks"
    (tmp_path / "state" / "tasks.db").write_bytes(b"\0" * 8192)
    assert finish(tasks, task_id).status is TaskStatus.COMPLETED
    assert watching.is_alive(), "the end is to be stored, and nobody tries"
    tasks.close()
    watching.join(10)
    assert not watching.is_alive()
    assert tasks.get(task_id).status is TaskStatus.COMPLETED
    assert "left for the next process" in caplog.text
