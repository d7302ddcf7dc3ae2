"""A disk, a folder, a file or a clock that is not as it should be: a clear message, no call lost, no crash."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import subprocess
import sys
import time

import pytest

from executor import TaskStatus, ToolCall, ToolExecutor
from executor.errors import ExecutorUnavailableError
from executor.tasks import TaskManager, _durable, _recovery, _schema, _table
from executor.tasks._files import FileSpool, OutputFolder
from executor.tasks._manager import engine_of
from executor.testing import HeldTool

SECONDS = 20.0


def enter(tasks, spool=None, **options):
    spool = spool or engine_of(tasks).new_spool()
    return engine_of(tasks).add("t", "p", "c", spool, cancel=lambda _: False, reached=lambda: None, **options)


def finish(tasks, task_id, value="done"):
    return engine_of(tasks).finish(task_id, TaskStatus.COMPLETED, (True, value))


def stays_in_the_foreground(folder, caplog, *words):
    """A call past its threshold over this folder is answered with its result, and one warning that has *words*."""
    tool = HeldTool("whole")
    with ToolExecutor(tasks=TaskManager.open(folder)) as executor:
        executor._hand_over._warn_once = lambda reason, warn=executor._hand_over._warn_once: (
            warn(reason),
            tool.go_on(),
        )
        executor.register("slow", tool, auto_background=0.01)
        assert executor.execute("slow", {}) == (True, "whole")
        with pytest.raises(ExecutorUnavailableError) as error:
            executor.start(ToolCall("1", "slow"))
        with pytest.raises(ExecutorUnavailableError):
            executor.tasks.list()
    for word in words:
        assert word in caplog.text
        assert word in str(error.value)


def test_on_a_full_disk_a_call_stays_in_the_foreground(small_disk, fill, caplog):
    fill(small_disk)
    stays_in_the_foreground(small_disk / "state", caplog, "free some space")


def test_the_end_of_a_task_on_a_full_disk_is_stored_once_there_is_room(small_disk, fill, caplog):
    tasks = TaskManager.open(small_disk)
    spool = engine_of(tasks).new_spool()
    task_id = enter(tasks, spool, started=time.monotonic())
    spool.append("before\n")
    filler = fill(small_disk)
    for _ in range(300):
        spool.append("é" * 1000)
    assert finish(tasks, task_id, "x" * 100_000).status is TaskStatus.COMPLETED
    assert tasks.result(task_id) == (True, "x" * 100_000)
    text, following, dropped = tasks.output(task_id)
    assert text.startswith("before\n")
    assert following == 7 + 300 * 2000 == dropped + len(text.encode())
    assert "is being lost" in caplog.text
    assert "cannot be stored yet" in caplog.text
    filler.unlink()
    tasks.close()
    again = TaskManager.open(small_disk)
    assert again.result(task_id) == (True, "x" * 100_000)
    again.close()


def test_output_comes_back_when_the_disk_does(small_disk, fill, monkeypatch):
    from executor.tasks import _writer

    monkeypatch.setattr(_writer, "TRY_AGAIN", 0.0)
    folder = OutputFolder(small_disk)
    spool = FileSpool(lambda: folder, 1 << 20)
    spool.keep("local_" + "0" * 32)
    spool.append("before\n")
    filler = fill(small_disk)
    for _ in range(20):
        spool.append("lost " * 1000)
    filler.unlink()
    spool.append("after\n")
    text, following, dropped = spool.read(0)
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert dropped > 0
    assert following == spool.size == dropped + len(text.encode())
    spool.finish()


@pytest.mark.skipif(sys.platform == "win32", reason="modes are another thing there")
def test_in_a_folder_that_cannot_be_written_a_call_stays_in_the_foreground(tmp_path, caplog):
    (tmp_path / "file").write_text("no folder")
    stays_in_the_foreground(tmp_path / "file" / "state", caplog, "XDG_STATE_HOME")


def test_on_a_read_only_disk_a_call_stays_in_the_foreground_and_old_tasks_can_be_read(small_disk, caplog):
    before = TaskManager.open(small_disk)
    task_id = enter(before)
    finish(before, task_id)
    before.close()
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    tool = HeldTool("whole")
    with ToolExecutor(tasks=TaskManager.open(small_disk)) as executor:
        monitor = executor._hand_over._warn_once
        executor._hand_over._warn_once = lambda reason: (monitor(reason), tool.go_on())
        executor.register("slow", tool, auto_background=0.01)
        assert executor.execute("slow", {}) == (True, "whole")
        assert executor.tasks.result(task_id) == (True, "done")
        assert executor.tasks.cancel(task_id) is False
    assert "XDG_STATE_HOME" in caplog.text
    assert caplog.text.count("stays in the foreground") == 1


def test_a_file_that_is_no_database_is_told_of_and_left_alone(tmp_path, caplog):
    (tmp_path / "tasks.db").write_bytes(b"this is no database, but longer than a header of one" * 100)
    stays_in_the_foreground(tmp_path, caplog, "move the file away", "tasks.db")
    assert (tmp_path / "tasks.db").read_bytes().startswith(b"this is no database")


def test_a_database_that_is_damaged_while_it_is_in_use_loses_no_result(tmp_path, caplog):
    tasks = TaskManager.open(tmp_path)
    task_id = enter(tasks, started=time.monotonic())
    (tmp_path / "tasks.db").write_bytes(b"\0" * 8192)
    assert finish(tasks, task_id).status is TaskStatus.COMPLETED
    assert tasks.result(task_id) == (True, "done")
    assert "cannot be stored yet" in caplog.text
    tasks.close()


def test_a_database_that_is_deleted_while_it_is_in_use_is_made_anew(tmp_path):
    tasks = TaskManager.open(tmp_path)
    enter(tasks)
    (tmp_path / "tasks.db").unlink()
    tasks.close()
    again = TaskManager.open(tmp_path)
    task_id = enter(again)
    assert [info.id for info in again.list()] == [task_id]
    again.close()


def test_a_store_of_a_later_version_is_left_alone(tmp_path, caplog):
    TaskManager.open(tmp_path).list()
    with contextlib.closing(sqlite3.connect(tmp_path / "tasks.db")) as connection, connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    stays_in_the_foreground(tmp_path, caplog, "version 99", "update toolexec")


def test_a_store_of_an_earlier_version_is_brought_up_to_date_and_keeps_its_tasks(tmp_path, monkeypatch):
    old = TaskManager.open(tmp_path)
    task_id = enter(old)
    finish(old, task_id)
    steps = (*_schema.MIGRATIONS, "ALTER TABLE task ADD COLUMN engine TEXT;\nCREATE INDEX engines ON task (engine);\n")
    monkeypatch.setattr(_schema, "MIGRATIONS", steps)
    new = TaskManager.open(tmp_path)
    assert new.result(task_id) == (True, "done")
    later = enter(old)  # the process that opened it before goes on
    assert new.get(later).status is TaskStatus.PENDING
    with contextlib.closing(sqlite3.connect(tmp_path / "tasks.db")) as connection, connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (len(steps),)
        assert connection.execute("SELECT engine FROM task").fetchall() == [(None,), (None,)]
    connection.close()
    old.close()
    new.close()


def test_a_clock_that_goes_back_changes_no_order_and_makes_no_negative_times(tmp_path, monkeypatch):
    tasks, now = TaskManager.open(tmp_path), time.time()
    first = enter(tasks, started=time.monotonic())
    for module in (_table, _durable, _recovery):
        monkeypatch.setattr(module.time, "time", lambda: now - 86400)
    second = enter(tasks, started=time.monotonic())
    infos = [finish(tasks, second), finish(tasks, first)]
    assert [info.id for info in tasks.list()] == [second, first]
    assert [info.id for info in tasks.undelivered()] == [second, first]
    assert all(info.duration >= 0 for info in infos)
    tasks.close()
    again = TaskManager.open(tmp_path)
    assert all(info.duration >= 0 for info in again.list())
    assert again.prune() == 2
    again.close()


def test_a_half_written_log_is_read_up_to_where_it_goes(tmp_path):
    tasks = TaskManager.open(tmp_path)
    spool = engine_of(tasks).new_spool()
    spool.append("whole €")
    task_id = enter(tasks, spool)
    log = OutputFolder(tmp_path / "output").log(task_id)
    log.write_bytes("whole €".encode()[:-1])
    other = TaskManager.open(tmp_path)
    assert other.output(task_id) == ("whole ", 6, 0), "a cut character is held back as long as the task may go on"
    tasks.close()
    assert other.output(task_id) == ("whole \ufffd", 8, 0)
    other.close()


def test_cleaning_forgets_old_tasks_and_output_that_belongs_to_none(tmp_path, monkeypatch):
    tasks = TaskManager.open(tmp_path)
    spools = [engine_of(tasks).new_spool() for _ in range(3)]
    ids = [enter(tasks, spool) for spool in spools]
    for spool, task_id in zip(spools, ids, strict=True):
        spool.append("x" * 1000)
        finish(tasks, task_id)
    tasks.ack(ids[0])
    folder = OutputFolder(tmp_path / "output")
    stray = folder.log("call_" + "0" * 32)
    stray.parent.mkdir(parents=True, exist_ok=True)
    stray.write_text("of a call whose process was killed")
    os.utime(stray, (0, 0))
    store, now = engine_of(tasks).durable.store(), time.time()
    _recovery.clean(store, folder, tmp_path / "owners")
    assert {info.id for info in tasks.list()} == set(ids)
    assert not stray.exists()
    monkeypatch.setattr(_recovery.time, "time", lambda: now + _recovery.KEEP + 60)
    _recovery.clean(store, folder, tmp_path / "owners")
    assert {info.id for info in tasks.list()} == set(ids[1:])
    monkeypatch.setattr(_recovery, "MOST_OUTPUT", 1500)
    _recovery.clean(store, folder, tmp_path / "owners")
    assert [info.id for info in tasks.list()] == [ids[2]]
    assert len(list(folder.logs())) == 1
    tasks.close()
