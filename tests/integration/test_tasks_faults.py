"""A disk, a folder, a file or a clock that is not as it should be: a clear message, no call lost, no crash."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from executor import TaskStatus, ToolCall, ToolExecutor
from executor.errors import ExecutorUnavailableError
from executor.tasks import TaskManager, _own, _place, _recovery, _schema, _table, _writer
from executor.tasks._files import FileSpool, OutputFolder
from executor.tasks._manager import engine_of
from executor.testing import HeldTool

SECONDS = 20.0


def enter(tasks, spool=None, **options):
    spool = spool or engine_of(tasks).new_spool()
    return engine_of(tasks).add("t", "p", "c", spool, cancel=lambda _: False, reached=lambda: None, **options)


def flush(tasks):
    """Until what was to be written has been, however slow the disk is."""
    thread, again, deadline = engine_of(tasks).durable.place.thread, threading.Event(), time.monotonic() + SECONDS
    while True:
        try:
            return thread.do(lambda _: None, SECONDS)
        except ExecutorUnavailableError:
            if time.monotonic() > deadline:
                raise
        again.wait(0.05)


def finish(tasks, task_id, value="done"):
    return engine_of(tasks).finish(task_id, TaskStatus.COMPLETED, (True, value))


def is_handed_over_from_memory(folder, caplog, *words):
    """A call past its threshold over this folder is a task in memory, and one warning has *words*."""
    tool = HeldTool("whole")
    with ToolExecutor(tasks=TaskManager.open(folder)) as executor:
        executor.register("slow", tool, auto_background=0.05)
        success, told = executor.execute("slow", {})
        assert success
        assert told["durable"] is False
        assert executor.tasks.get(told["task_id"]).status is TaskStatus.RUNNING
        started = executor.start(ToolCall("1", "slow"))
        assert started.value["durable"] is False
        with pytest.raises(ExecutorUnavailableError) as error:
            executor.tasks.list()
        tool.go_on()
        for task_id in (told["task_id"], started.task_id):
            assert executor.tasks.wait(task_id, SECONDS).status is TaskStatus.COMPLETED
            assert executor.tasks.result(task_id) == (True, "whole")
        assert {info.id for info in executor.tasks.undelivered()} == {told["task_id"], started.task_id}
        executor.tasks.ack(told["task_id"])
        assert [info.id for info in executor.tasks.undelivered()] == [started.task_id]
        executor.tasks.close()
    for word in words:
        assert word in caplog.text
        assert word in str(error.value)
    assert caplog.text.count("in memory only") == 1


def test_on_a_full_disk_a_call_is_handed_over_from_memory(small_disk, fill, caplog):
    fill(small_disk)
    is_handed_over_from_memory(small_disk / "state", caplog, "free some space")


def test_the_end_of_a_task_on_a_full_disk_is_stored_once_there_is_room(small_disk, fill, caplog, monkeypatch):
    monkeypatch.setattr(_writer, "beside", lambda fn, told: fn(told))  # so that it is said by the time of the look
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


KILLED = """
import os, signal, sys
sys.path.insert(0, sys.argv[2])
from executor import ToolCall, ToolExecutor, current_call
from executor.tasks import TaskManager
from conftest import fill_disk

tasks, folder = TaskManager.open(sys.argv[1]), __import__("pathlib").Path(sys.argv[1])
executor = ToolExecutor(tasks=tasks)
executor.register("hold", lambda args: current_call().wait(), auto_background=0.05)
print(executor.call(ToolCall("1", "hold")).task_id)
fill_disk(folder)
for number in "23":
    print(executor.call(ToolCall(number, "hold")).task_id)
sys.stdout.flush()
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="it needs SIGKILL")
def test_on_a_full_disk_tasks_that_were_told_and_cannot_be_stored_are_listed(small_disk, monkeypatch):
    """Their owner is gone, and what it has left cannot be taken over: that is no reason to say that there is none."""
    words = [sys.executable, "-c", KILLED, str(small_disk), str(Path(__file__).parent)]
    told = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60).stdout.split()
    assert len(told) == 3
    (small_disk / "filler").unlink()
    tasks = TaskManager.open(small_disk)

    def sweep(*_):  # how much still goes onto a full disk is a matter of chance
        raise ExecutorUnavailableError("database or disk is full: free some space")

    with monkeypatch.context() as full:
        full.setattr(_place.Place, "sweep", sweep)
        assert [info.id for info in tasks.list()] == told[::-1]
        assert [info.id for info in tasks.list("running", "hold")] == told[::-1]
        assert tasks.list("completed") == tasks.list(tool="another") == []
        assert [info.id for info in tasks.list(limit=1)] == told[-1:]
        for task_id in told:
            with pytest.raises(ExecutorUnavailableError, match="free some space"):
                tasks.get(task_id)
    assert {info.id for info in tasks.list()} == set(told)
    assert {info.status for info in tasks.list()} == {TaskStatus.INTERRUPTED}
    tasks.close()


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
@pytest.mark.parametrize(
    "folder", ["file/state", "x" * 300, "/".join(["x" * 200] * 30)], ids=["no folder", "long", "deep"]
)
def test_in_a_folder_that_cannot_be_made_a_call_is_handed_over_from_memory(tmp_path, caplog, folder):
    (tmp_path / "file").write_text("no folder")
    is_handed_over_from_memory(tmp_path / folder, caplog, "XDG_STATE_HOME")


def test_on_a_read_only_disk_old_tasks_can_be_read_and_new_ones_are_in_memory(small_disk, caplog):
    before = TaskManager.open(small_disk)
    task_id = enter(before)
    finish(before, task_id)
    before.close()
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    tool = HeldTool("whole")
    with ToolExecutor(tasks=TaskManager.open(small_disk)) as executor:
        executor.register("slow", tool, auto_background=0.05)
        told = executor.execute("slow", {})[1]
        assert told["durable"] is False
        tool.go_on()
        assert executor.tasks.wait(told["task_id"], SECONDS).status is TaskStatus.COMPLETED
        assert executor.tasks.result(task_id) == (True, "done")
        assert [info.id for info in executor.tasks.list()] == [told["task_id"], task_id]
        assert executor.tasks.cancel(task_id) is False
        executor.tasks.close()
    assert "XDG_STATE_HOME" in caplog.text


FIRST_VERSION = Path(__file__).parents[1] / "tasks" / "store-0.1.zip"


def in_wal(folder):
    """A store in WAL, as version 0.1 made it with a new SQLite, of which a part is in the log."""
    file = open_store(folder / "tasks.db")
    file.execute("PRAGMA journal_mode = WAL")
    file.execute("UPDATE task SET tool = 'changed'")
    shutil.copytree(folder, folder.with_name("copied"))
    file.close()


def of_a_killed_writer(folder):
    """A store whose last writer has left a journal that is to be rolled back."""
    file = open_store(folder / "tasks.db")
    file.execute("PRAGMA cache_size = 1")
    file.execute("BEGIN")
    file.execute("UPDATE task SET tool = 'changed'")
    file.execute("CREATE TABLE filler AS SELECT zeroblob(20000) AS bytes FROM task")
    shutil.copytree(folder, folder.with_name("copied"))
    file.close()


def open_store(path):
    return sqlite3.connect(path, isolation_level=None)


@pytest.mark.parametrize(
    ("prepare", "tool"),
    [(lambda folder: shutil.copytree(folder, folder.with_name("copied")), "tool"), (in_wal, "changed"),
     (of_a_killed_writer, "tool")],
    ids=["made by version 0.1", "in WAL", "of a killed writer"],
)  # fmt: skip
def test_on_a_read_only_disk_a_store_that_would_have_to_be_written_can_be_read(
    small_disk, tmp_path, caplog, prepare, tool
):
    shutil.unpack_archive(FIRST_VERSION, tmp_path / "state")
    prepare(tmp_path / "state")
    shutil.copytree(tmp_path / "copied", small_disk / "state")
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    before = [(path.name, path.stat().st_mtime_ns) for path in (small_disk / "state").iterdir()]
    held = HeldTool("whole")
    with ToolExecutor(tasks=TaskManager.open(small_disk / "state", host="test")) as executor:
        tasks = executor.tasks
        assert len(tasks.list()) == 7
        assert len(tasks.list(state="running")) == 1, "nothing can be written of the task of a dead process"
        (live,) = tasks.list(state="running")
        assert tasks.output(live.id) == ("live\n", 5, 0)
        with pytest.raises(ExecutorUnavailableError, match="XDG_STATE_HOME"):
            tasks.get(live.id)
        (done,) = [info.id for info in tasks.list("completed") if tasks.output(info.id)[0] == "output of completed é\n"]
        assert tasks.result(done) == (True, {"a": [1, "é"]})
        assert {info.tool_name for info in tasks.list()} == {tool}
        executor.register("slow", held, auto_background=0.05)
        told = executor.execute("slow", {})[1]
        assert told["durable"] is False
        held.go_on()
        assert tasks.wait(told["task_id"], SECONDS).status is TaskStatus.COMPLETED
        with pytest.raises(ExecutorUnavailableError, match="XDG_STATE_HOME"):
            tasks.prune()
        tasks.close()
    assert [(path.name, path.stat().st_mtime_ns) for path in (small_disk / "state").iterdir()] == before


def test_a_file_that_is_no_database_is_set_aside_and_work_goes_on(tmp_path, caplog):
    (tmp_path / "tasks.db").write_bytes(b"this is no database, but longer than a header of one" * 100)
    tool = HeldTool("whole")
    with ToolExecutor(tasks=TaskManager.open(tmp_path)) as executor:
        executor.register("slow", tool, auto_background=0.2)
        told = executor.execute("slow", {})[1]
        assert "durable" not in told
        tool.go_on()
        assert executor.tasks.wait(told["task_id"], SECONDS).status is TaskStatus.COMPLETED
        executor.tasks.close()
    again = TaskManager.open(tmp_path)
    assert again.result(told["task_id"]) == (True, "whole")
    again.close()
    (aside,) = tmp_path.glob("tasks.db.damaged-*")
    assert aside.read_bytes().startswith(b"this is no database")
    assert str(aside) in caplog.text


def test_a_database_that_is_damaged_while_it_is_in_use_loses_no_task_of_this_process(tmp_path, caplog):
    tasks = TaskManager.open(tmp_path)
    ended, live = (enter(tasks, started=time.monotonic()) for _ in range(2))
    (tmp_path / "tasks.db").write_bytes(b"\0" * 8192)
    assert finish(tasks, ended).status is TaskStatus.COMPLETED
    assert tasks.result(ended) == (True, "done")
    assert "is set aside" in caplog.text
    flush(tasks)
    other = TaskManager.open(tmp_path)
    assert other.get(live).status is TaskStatus.RUNNING
    assert other.result(ended) == (True, "done")
    other.close()
    tasks.close()


def test_damage_that_only_a_reader_meets_is_set_aside_too(tmp_path, caplog):
    TaskManager.open(tmp_path).list()
    (tmp_path / "tasks.db").write_bytes(b"\0" * 8192)
    reader = TaskManager.open(tmp_path)
    with contextlib.suppress(ExecutorUnavailableError):  # unless it is set aside by then
        reader.list()
    flush(reader)
    assert reader.list() == []
    reader.close()
    assert "is set aside" in caplog.text


def test_a_database_that_is_deleted_while_it_is_in_use_is_made_anew(tmp_path):
    tasks = TaskManager.open(tmp_path)
    first = enter(tasks)
    (tmp_path / "tasks.db").unlink()
    second = enter(tasks)
    flush(tasks)
    other = TaskManager.open(tmp_path)
    assert {info.id: info.status for info in other.list()} == dict.fromkeys([first, second], TaskStatus.PENDING)
    other.close()
    tasks.close()


def test_a_folder_that_is_removed_under_a_living_host_is_made_anew_and_its_work_goes_on(tmp_path):
    folder = tmp_path / "state"
    tasks, woken = TaskManager.open(folder), threading.Event()
    spool = engine_of(tasks).new_spool()
    spool.append("before\n" * 1000)
    first = enter(tasks, spool, started=time.monotonic())
    shutil.rmtree(folder)
    place = engine_of(tasks).durable.place
    deadline = time.monotonic() + SECONDS
    while not (place.intact and (folder / "tasks.db").exists()) and time.monotonic() < deadline:
        woken.wait(0.05)  # the watch looks every 0.2 s whether its files are there
    flush(tasks)
    second = enter(tasks, started=time.monotonic())
    other = TaskManager.open(folder)
    spool.append("after\n")
    assert other.output(first) == tasks.output(first) == ("after\n", 7006, 7000)
    assert [other.get(task_id).status for task_id in (first, second)] == [TaskStatus.RUNNING] * 2
    finish(tasks, first)
    assert other.result(first) == (True, "done")
    shutil.rmtree(folder / "owners")
    assert other.get(second).status is TaskStatus.RUNNING, "its owner is known by its process"
    other.close()
    tasks.close()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.parametrize("rested", [False, True])
def test_output_whose_file_was_taken_away_goes_on_in_another_at_its_place(tmp_path, rested):
    folder = OutputFolder(tmp_path / "output")
    spool = FileSpool(lambda: folder, 1 << 20)
    spool.keep("local_" + "0" * 32)
    spool.append("before\n")
    if rested:
        spool._writer.rest()
    shutil.rmtree(tmp_path / "output")
    for said in ("then\n", "after\n"):
        spool.renew()
        spool.append(said)
    assert spool.read(0) == ("then\nafter\n", 18, 7)
    assert folder.read("local_" + "0" * 32, 0, None, 1 << 20, complete=False) == ("then\nafter\n", 18, 7)
    spool.finish()
    spool.sync("local_" + "0" * 32)


def test_a_task_that_ended_while_the_clock_was_ahead_is_forgotten_with_the_others(tmp_path, monkeypatch):
    tasks, now = TaskManager.open(tmp_path), time.time()
    monkeypatch.setattr(_table.time, "time", lambda: now + 86400)
    finish(tasks, enter(tasks))
    monkeypatch.undo()
    finish(tasks, enter(tasks))
    assert tasks.prune(60) == 0
    assert tasks.prune() == 2
    tasks.close()


def test_a_store_of_a_later_version_is_left_alone(tmp_path, caplog):
    TaskManager.open(tmp_path).list()
    with contextlib.closing(sqlite3.connect(tmp_path / "tasks.db")) as connection, connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    is_handed_over_from_memory(tmp_path, caplog, "version 99", "update toolexec")
    assert list(tmp_path.glob("*damaged*")) == []


def test_a_store_of_an_earlier_version_is_brought_up_to_date_and_keeps_its_tasks(tmp_path, monkeypatch):
    old = TaskManager.open(tmp_path)
    task_id = enter(old)
    finish(old, task_id)
    steps = (*_schema.MIGRATIONS, "ALTER TABLE task ADD COLUMN engine TEXT;\nCREATE INDEX engines ON task (engine);\n")
    monkeypatch.setattr(_schema, "MIGRATIONS", steps)
    new = TaskManager.open(tmp_path)
    assert new.result(task_id) == (True, "done")
    later = enter(old)  # the process that opened it before goes on
    flush(old)
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
    for module in (_table, _own, _recovery):
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
    spool.append("x" * 5000 + "whole €")
    task_id = enter(tasks, spool)
    log = OutputFolder(tmp_path / "output").log(task_id)
    log.write_bytes(b"x" * 5000 + "whole €".encode()[:-1])
    other = TaskManager.open(tmp_path)
    told = "a cut character is held back as long as the task may go on"
    assert other.output(task_id, 5000) == ("whole ", 5006, 0), told
    engine_of(tasks).durable.own._kept.clear()  # as if its process were gone
    engine_of(tasks).durable.place.owner.leave()
    assert other.output(task_id, 5000) == ("whole \ufffd", 5008, 0)
    tasks.close()
    other.close()


def test_cleaning_forgets_old_tasks_and_output_that_belongs_to_none(tmp_path, monkeypatch):
    tasks = TaskManager.open(tmp_path)
    spools = [engine_of(tasks).new_spool() for _ in range(3)]
    ids = [enter(tasks, spool) for spool in spools]
    for spool, task_id in zip(spools, ids, strict=True):
        spool.append("x" * 5000)
        finish(tasks, task_id)
    tasks.ack(ids[0])
    folder = OutputFolder(tmp_path / "output")
    stray = folder.log("call_" + "0" * 32)
    stray.parent.mkdir(parents=True, exist_ok=True)
    stray.write_text("of a call whose process was killed")
    os.utime(stray, (0, 0))
    place, now = engine_of(tasks).durable.place, time.time()

    def clean():
        list(_recovery.clean(place.store, place.write, place.output, place.owners))

    clean()
    assert {info.id for info in tasks.list()} == set(ids)
    assert not stray.exists()
    monkeypatch.setattr(_recovery.time, "time", lambda: now + _recovery.KEEP + 60)
    clean()
    assert {info.id for info in tasks.list()} == set(ids[1:])
    monkeypatch.setattr(_recovery, "MOST_OUTPUT", 7500)
    clean()
    assert [info.id for info in tasks.list()] == [ids[2]]
    assert len(folder.stems()) == 1
    tasks.close()
