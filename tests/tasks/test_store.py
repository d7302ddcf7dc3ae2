"""The store by itself, and what is done for owners that are gone: nothing here runs a task."""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import sqlite3
import stat
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from executor import TaskInfo, TaskStatus
from executor.errors import ExecutorUnavailableError, ToolExecutorError
from executor.tasks import _changes, _connection, _processes, _recovery
from executor.tasks._connection import unavailable
from executor.tasks._damage import set_aside
from executor.tasks._files import OutputFolder
from executor.tasks._owners import Notes, OwnerLock, is_alive, locked, notes, with_notes
from executor.tasks._owners import clean as clean_locks
from executor.tasks._processes import MARK, birth, birth_of_child, end_groups
from executor.tasks._recovery import KEEP, KEEP_UNREAD, Life, clean, clean_daily, forget, gone, life, sweep
from executor.tasks._results import StoredResults
from executor.tasks._rows import COLUMNS, TASKS, End, Entry, Row
from executor.tasks._spool import Group
from executor.tasks._store import Store
from executor.tasks._writer import OpenFiles, Writer

NEVER_A_PID = 2**22 + 1  # beyond what Linux gives


@pytest.fixture
def store(tmp_path):
    made = Store(tmp_path / "state" / "tasks.db")
    yield made
    made.close()


@pytest.fixture
def output(tmp_path):
    return OutputFolder(tmp_path / "output")


@pytest.fixture
def owners(tmp_path):
    folder = tmp_path / "owners"
    folder.mkdir()
    return folder


def writes(store):
    """Writes to the store as its thread does."""

    def write(apply):
        with store.writer.lock:
            connection = store.writer.get()
            connection.execute("BEGIN IMMEDIATE")
            try:
                result = apply(connection)
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")
            return result

    return write


def entry(task_id, **given):
    known = {
        "id": task_id, "status": TaskStatus.PENDING, "tool_name": "tool", "plugin_name": "local", "call_id": "c1",
        "created": time.time(), "started": None, "ended": None, "duration": 0.0, "error": None, "output_bytes": 3,
        "owner": str(os.getpid()), "progress": None, "abandoned": False, "conversation": None,
    }  # fmt: skip
    return Entry(TaskInfo(**{**known, **given}), 100)


def put(store, entry, owner="o1", host="h", *, output=None, filed=False, detached=False):
    values = entry.values(owner, host, detached=detached)
    return writes(store)(lambda c: _changes.put(c, entry, values, filed=filed, output=output))


def enter(store, task_id, owner="o1", *, host="h", groups=(), **given):
    put(store, replace(entry(task_id, **given), groups=groups), owner, host)


def end(store, task_id, ended=None, *, value=None):
    info = replace(store.get(task_id).info(3), status=TaskStatus.COMPLETED, ended=ended or time.time())
    return put(store, replace(entry(task_id), info=info, end=End.of((True, value), None)))


def mark(store, task_id, column, value):
    return writes(store)(lambda c: _changes.mark(c, task_id, column, value))


# Rows ----------------------------------------------------------------------------------------------------------------


def test_a_task_is_kept_as_it_was_entered(store):
    enter(store, "t1", created=1.0, groups=[(7, "born")], conversation="talk")
    row = store.get("t1")
    assert row.live
    assert (row.status, row.owner, row.output_cap, row.pid) == ("pending", "o1", 100, os.getpid())
    info = row.info(5, abandoned=True)
    assert (info.id, info.status, info.tool_name, info.plugin_name, info.call_id) == (
        "t1", TaskStatus.PENDING, "tool", "local", "c1",
    )  # fmt: skip
    assert (info.created, info.started, info.ended, info.duration) == (1.0, None, None, 0.0)
    assert (info.output_bytes, info.abandoned, info.conversation, info.owner) == (5, True, "talk", str(os.getpid()))
    assert store.live_of_others("other") == {"o1": [("t1", '[[7, "born"]]')]}
    assert store.live_of_others("o1") == {}
    assert store.get("t2") is None
    assert store.outcome("t1") is None


def test_the_duration_of_a_task_that_runs_goes_on_and_is_never_negative(store):
    enter(store, "t1", status=TaskStatus.RUNNING, started=time.time() - 50)
    assert store.get("t1").status == "running"
    assert 50 <= store.get("t1").info(0).duration < 60
    enter(store, "t2", started=time.time() + 50)
    assert store.get("t2").info(0).duration == 0.0


def test_a_state_changes_once_from_pending_to_running_to_the_end(store):
    enter(store, "t1")
    enter(store, "t1", status=TaskStatus.RUNNING, started=2.0)
    assert (store.get("t1").status, store.get("t1").started) == ("running", 2.0)
    assert end(store, "t1", 4.0, value={"a": 1}) is True
    assert end(store, "t1", 4.0, value={"a": 1}) is True, "it is the same end"
    late = replace(entry("t1", status=TaskStatus.FAILED, ended=5.0), end=End.of((False, "late"), None))
    assert put(store, late) is False
    enter(store, "t1", status=TaskStatus.RUNNING, started=6.0)
    assert (store.get("t1").status, store.get("t1").ended, store.get("t1").started) == ("completed", 4.0, 2.0)
    assert not store.get("t1").live
    assert store.outcome("t1") == (1, '{"a": 1}', None, 0)


def test_a_task_that_is_stored_for_the_first_time_with_its_end_has_all_of_it(store):
    info = entry("t1", status=TaskStatus.FAILED, started=1.0, ended=2.0, duration=1.0, error="b\ud800d",
                 conversation="é", progress=(1.0, None, "half")).info  # fmt: skip
    whole = Entry(info, 100, [(7, "born")], End.of((False, {"error": "bad"}), None), told=True, acknowledged=True)
    assert put(store, whole, output=b"said", detached=True)
    row = store.get("t1")
    assert (row.status, row.error, row.duration, row.conversation, row.info(3).progress) == (
        "failed", "b?d", 1.0, "é", (1.0, None, "half"),
    )  # fmt: skip
    assert store.output("t1") == b"said"
    assert store.undelivered("h", None, 0) == []
    assert store.untold("h", None, 0, 9) == []
    writes(store)(lambda c: _changes.remove(c, ["t1"]))
    for table in ("task", "conversation", "output", "detached", "teller"):
        assert store.rows(f"SELECT * FROM {table}") == []


def test_a_speculative_row_is_seen_by_nobody_until_it_is_entered(store):
    values = entry("t1", conversation="a").values("o1", "h", detached=False)
    writes(store)(lambda c: _changes.speculate(c, values))
    assert store.get("t1") is None
    assert store.newest(None, None, None) == []
    assert store.live_of_others("") == {}
    assert [row[:2] for row in store.speculative()] == [("t1", "o1")]
    assert list(store.ids()) == ["t1"], "its output belongs to somebody"
    writes(store)(lambda c: _changes.enter(c, json.loads(store.speculative(task_id="t1")[0][2])))
    assert store.get("t1").conversation == "a"
    assert store.speculative() == []
    writes(store)(lambda c: _changes.speculate(c, {**values, "id": "t2"}))
    writes(store)(lambda c: _changes.withdraw(c, ["t2"]))
    assert list(store.ids()) == ["t1"]


def test_an_interrupted_task_says_why_and_its_owner_is_gone(store):
    writes(store)(lambda c: _changes.add_owner(c, "o1", os.getpid(), "born"))
    assert store.owner("o1") == (os.getpid(), "born")
    enter(store, "t1", status=TaskStatus.RUNNING, started=time.time() - 50)
    enter(store, "t2")
    enter(store, "t3", owner="o2")
    end(store, "t2")
    tasks = [("t1", 9), ("t2", 9), ("t3", 9)]
    assert writes(store)(lambda c: _changes.interrupt(c, tasks, "o1", "gone")) == 1
    row = store.get("t1")
    assert (row.status, row.error, row.output_bytes) == ("interrupted", "gone", 9)
    assert 50 <= row.duration < 60
    assert json.loads(store.outcome("t1")[1]) == {"error": "gone", "interrupted": True}
    assert store.get("t3").live
    writes(store)(lambda c: _changes.remove_owner(c, "o1"))
    assert store.owner("o1") is None


def test_a_mark_is_set_once_and_no_other_column_can_be(store):
    enter(store, "t1")
    for column in ("told", "acknowledged"):
        assert mark(store, "t1", column, 1) is True
        assert mark(store, "t1", column, 1) is False
    assert mark(store, "missing", "told", 1) is False
    with pytest.raises(AssertionError):
        mark(store, "t1", "status", "completed")


def test_the_first_who_asks_has_a_live_task_stopped(store):
    def ask(task_id, reason):
        return writes(store)(lambda c: _changes.request_cancel(c, task_id, reason))

    enter(store, "t1")
    enter(store, "t2")
    end(store, "t2")
    assert store.requests("o1") == []
    assert ask("t1", "enough") is True
    assert ask("t1", "again") is False
    assert ask("t2", "late") is False
    assert store.requests("o1") == [("t1", "enough")]
    assert store.requests("o2") == []
    end(store, "t1")
    assert store.requests("o1") == []


def test_the_end_of_a_task_is_claimed_by_one_owner_until_that_is_gone(store):
    def claim(owner, before=None):
        return writes(store)(lambda c: _changes.claim(c, "t1", owner, before))

    enter(store, "t1")
    end(store, "t1")
    assert claim("o2") is True
    assert claim("o3") is False
    assert [(row.id, teller, at) for row, teller, at in store.untold("h", None, 0, 9)] == [("t1", "o2", 1)]
    assert store.untold("h", None, 1, 9) == []
    assert claim("o3", "o2") is True, "o2 is gone"
    assert claim("o4", "o2") is False
    mark(store, "t1", "told", 1)
    assert claim("o4", "o3") is False


def test_tasks_are_listed_newest_first_and_can_be_narrowed(store):
    for number in range(4):
        enter(store, f"t{number}", tool_name=f"tool{number % 2}")
    end(store, "t0")
    assert [row.id for row in store.newest(None, None, None)] == ["t3", "t2", "t1", "t0"]
    assert [row.id for row in store.newest(None, None, 2)] == ["t3", "t2"]
    assert [row.id for row in store.newest("pending", "tool0", None)] == ["t2"]
    assert [row.id for row in store.newest("completed", None, None)] == ["t0"]
    assert store.newest(None, None, 0) == []


def test_many_are_read_in_pages_and_none_is_missed(store, monkeypatch):
    monkeypatch.setattr("executor.tasks._store.PAGE", 3)
    names = [f"t{number}" for number in range(10)]
    for name in names:
        enter(store, name)
        end(store, name)
    for limit in (None, 1, 3, 4, 9, 10, 11):
        assert [row.id for row in store.newest(None, None, limit)] == names[::-1][:limit]
    assert list(store.ids()) == names
    assert list(store.oldest_ended()) == names


def test_ended_tasks_are_undelivered_and_untold_in_the_order_of_their_ends(store):
    for number, talk in enumerate([None, "a", "b", "a"]):
        enter(store, f"t{number}", conversation=talk)
    enter(store, "other", host="h2")
    for task_id in ("t2", "t1", "t0", "other"):
        end(store, task_id)
    assert [row.id for row, *_ in store.undelivered("h", None, 0)] == ["t2", "t1", "t0"]
    assert [row.id for row, *_ in store.undelivered("h", None, 1)] == ["t1", "t0"]
    assert [row.id for row, *_ in store.undelivered("h", "a", 0)] == ["t1"]
    assert [row.id for row, *_ in store.untold("h", None, 0, 2)] == ["t2", "t1"]
    assert [row.id for row, *_ in store.untold("h", "a", 0, 2)] == ["t1"]
    mark(store, "t2", "acknowledged", 1)
    mark(store, "t1", "told", 1)
    assert [row.id for row, *_ in store.undelivered("h", None, 0)] == ["t1", "t0"]
    assert [row.id for row, *_ in store.untold("h", None, 0, 10)] == ["t2", "t0"]
    assert list(store.oldest_ended()) == ["t2", "t1", "t0", "other"]
    writes(store)(lambda c: _changes.remove(c, ["t2", "t0"]))
    assert sorted(store.ids()) == ["other", "t1", "t3"]


def test_what_ended_at_or_before_a_time_is_old(store):
    for number in range(3):
        enter(store, f"t{number}", created=0.0)
        end(store, f"t{number}", 10.0 + number)
    mark(store, "t0", "acknowledged", 1)
    assert sorted(store.ended_before(11.0)) == ["t0", "t1"]
    assert store.ended_before(11.0, acknowledged_only=True) == ["t0"]
    assert store.ended_before(9.0) == []


def test_a_cleaning_is_claimed_by_the_first(store):
    def claim(before):
        return writes(store)(lambda c: _changes.claim_cleaning(c, before))

    assert store.cleaned() is None
    assert claim(None) is True
    assert claim(None) is False
    last = store.cleaned()
    assert claim(last) is True
    assert claim(last) is False


# Damage --------------------------------------------------------------------------------------------------------------


def test_a_journal_goes_aside_with_its_store_and_never_one_of_the_store_after_it(store, monkeypatch):
    enter(store, "t1")
    store.path.write_bytes(b"no database" * 1000)
    moved = []

    def rename(path, to):
        moved.append(path.name)
        os.rename(path, to)

    monkeypatch.setattr(type(store.path), "rename", rename)
    assert set_aside(store) is True
    assert moved == ["tasks.db-journal", "tasks.db"]
    assert set_aside(store) is False, "there is nothing there"


def test_a_store_that_another_process_holds_is_not_taken_for_damaged(store):
    enter(store, "t1")
    with contextlib.closing(sqlite3.connect(store.path, isolation_level=None)) as holder:
        holder.execute("BEGIN EXCLUSIVE")
        assert set_aside(store) is False
    with contextlib.closing(sqlite3.connect(store.path)) as someone:
        someone.execute("DROP TABLE owner")
    assert set_aside(store) is True, "a table is missing"


# What is wrong with it -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "help_"),
    [
        ("database or disk is full", "free some space"),
        ("[Errno 28] No space left on device", "free some space"),
        ("database is locked", "another process holds it; it is tried again by itself"),
        ("it is slow", "its disk does not answer; it is tried again by itself"),
        ("disk I/O error", "see to its disk; it is tried again by itself"),
        ("can't start new thread", "the system has none left for this user; it is tried again by itself"),
        ("unable to open database file", "make its folder writable, or set XDG_STATE_HOME to one that is"),
    ],
)
def test_what_is_wrong_with_the_store_is_said_with_what_to_do(tmp_path, text, help_):
    error = unavailable(tmp_path / "tasks.db", sqlite3.OperationalError(text))
    assert str(error) == f"The task store {tmp_path / 'tasks.db'} cannot be used: {text}: {help_}"


@pytest.mark.parametrize(
    "make", [Path.mkdir, os.mkfifo, lambda path: path.symlink_to(path.name)], ids=["folder", "pipe", "circle"]
)
def test_what_stands_in_the_place_of_the_store_is_to_be_moved_away(tmp_path, make):
    make(tmp_path / "tasks.db")
    with pytest.raises(ExecutorUnavailableError, match=r"it is no file: move it away$"):
        list(Store(tmp_path / "tasks.db").ids())


def test_a_process_without_memory_or_descriptors_is_not_told_to_change_its_folder(tmp_path, monkeypatch):
    path = tmp_path / "tasks.db"
    assert str(unavailable(path, MemoryError())).endswith("has no memory left; it is tried again by itself")

    def refuse(*_):
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(_connection.os, "open", refuse)
    error = unavailable(path, sqlite3.OperationalError("unable to open database file"))
    assert str(error).endswith("has too many files open; it is tried again by itself")


@pytest.mark.parametrize(
    "error", [UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"), TypeError("no"), ValueError("no")]
)
def test_whatever_reading_raises_is_an_error_of_the_store(store, error):
    def look(connection):
        raise error

    with pytest.raises(ExecutorUnavailableError, match="seems to be damaged"):
        store.read(look)
    assert list(store.ids()) == []


def test_a_write_that_fails_is_taken_back_and_the_store_goes_on(store):
    def bad(connection):
        connection.execute("DELETE FROM task")
        raise RuntimeError

    enter(store, "t1")
    with pytest.raises(RuntimeError):
        writes(store)(bad)
    enter(store, "t2")
    assert list(store.ids()) == ["t1", "t2"]


def test_a_file_that_was_replaced_is_opened_anew(store):
    enter(store, "t1")
    assert list(store.ids()) == ["t1"]
    store.path.rename(store.path.with_name("away"))
    assert list(store.ids()) == []
    enter(store, "t3")
    assert list(store.ids()) == ["t3"]
    assert store.writer.opened == 2


def test_texts_that_are_damaged_are_read_as_well_as_they_can_be(store):
    enter(store, "t1")
    writes(store)(lambda c: c.execute("UPDATE task SET tool = CAST(x'ff41' AS TEXT), status = 'runnXng', groups = '['"))
    row = store.get("t1")
    assert (row.tool, row.info(0).status) == ("\ufffdA", TaskStatus.RUNNING)
    assert _recovery.sweep(store, writes(store), OutputFolder(store.path.parent), store.path.parent, "own") == 1
    assert store.get("t1").info(0).status is TaskStatus.INTERRUPTED


@pytest.mark.parametrize(("column", "nonsense"), [("id", None), ("created", "x"), ("pid", None), ("host", b"x")])
def test_a_row_that_damage_has_made_nonsense_of_is_left_out(store, monkeypatch, column, nonsense):
    for task_id in ("t1", "t2"):
        enter(store, task_id)
    rows = [list(row) for row in store.rows(f"SELECT {COLUMNS}, number FROM {TASKS} ORDER BY number DESC")]
    rows[1][Row._fields.index(column)] = nonsense
    monkeypatch.setattr(store, "rows", lambda *_: rows)
    assert [row.id for row in store.newest(None, None, None)] == ["t2"]
    assert Row.of(rows[1]) is None


def test_a_row_without_a_name_is_neither_listed_nor_removed(store):
    enter(store, "t1")
    writes(store)(lambda c: c.execute("PRAGMA ignore_check_constraints = 1"))
    writes(store)(lambda c: c.execute("PRAGMA writable_schema = 1"))
    writes(store)(lambda c: c.execute("UPDATE sqlite_master SET sql = replace(sql, 'id TEXT NOT NULL', 'id TEXT')"))
    store.close()
    writes(store)(lambda c: c.execute("UPDATE task SET id = NULL, ended = 1, ending = 1"))
    assert store.newest(None, None, None) == list(store.ids()) == list(store.oldest_ended()) == []
    assert store.ended_before(2.0) == []


def test_every_process_writes_in_the_same_safe_way(store):
    for look in (store.read, writes(store)):
        modes = look(
            lambda c: [
                c.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous", "auto_vacuum")
            ]
        )
        assert modes == ["persist", 2, 2]


def test_folders_are_made_as_deep_as_they_are(tmp_path):
    store = Store(tmp_path / "a" / "b" / "tasks.db")
    assert list(store.ids()) == []
    store.close()


@pytest.mark.parametrize("which", ["_reader", "writer"])
def test_a_store_is_closed_though_its_disk_does_not_answer(store, which):
    enter(store, "t1")
    store.read(lambda connection: connection.execute("SELECT 1").fetchone())
    with getattr(store, which).lock:  # as whoever hangs holds it
        store.close()
    other, same = {"_reader": (store.writer, store._reader), "writer": (store._reader, store.writer)}[which]
    assert (other._made is None, same._made is None) == (True, False)


def test_a_closed_store_opens_again_and_is_for_this_user_only(store):
    enter(store, "t1")
    store.close()
    store.close()
    assert list(store.ids()) == ["t1"]
    assert stat.S_IMODE(store.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(store.path.parent.stat().st_mode) == 0o700


# Owners --------------------------------------------------------------------------------------------------------------


def test_an_owner_lives_as_long_as_its_lock_is_held(owners):
    lock = OwnerLock(owners)
    path = owners / f"{lock.id}.lock"
    assert is_alive(owners, lock.id) is True
    assert [each.name for each in owners.iterdir()] == [path.name]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    lock.release()
    lock.release()
    assert is_alive(owners, lock.id) is None
    path.touch()
    assert is_alive(owners, lock.id) is False
    (owners / "odd.lock").symlink_to("odd.lock")
    assert is_alive(owners, "odd") is True, "nothing can be told, so nothing is done to it"


@pytest.fixture
def no_input():
    """A process that was started without an input: the next file that it opens has the number 0."""
    kept = os.dup(0)
    os.close(0)
    yield
    os.dup2(kept, 0)
    os.close(kept)


def test_a_lock_may_be_the_first_file_of_a_process(owners, no_input):
    lock = OwnerLock(owners)
    path = owners / f"{lock.id}.lock"
    assert os.path.samestat(os.fstat(0), path.stat())
    assert lock.intact
    assert lock.note("t1")
    lock.forget()
    assert lock.note("t2")
    assert notes(owners, lock.id).told == {"t2"}
    lock.renew()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(0)
    lock.release()
    again = OwnerLock(owners)
    again.leave()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(0)
    assert is_alive(owners, again.id) is False


@pytest.mark.skipif(sys.platform == "win32", reason="files have no limit there")
def test_what_is_noted_after_a_note_that_the_full_disk_has_cut_is_whole(owners):
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    lock = OwnerLock(owners)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8, before[1]))
    try:
        assert not lock.note('{"values": {"groups": "[]"}}')
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert lock.note("t1")
    assert lock.note('{"groups": []}')
    assert notes(owners, lock.id) == Notes({"t1"}, [], ["[]"])
    lock.release()


def test_a_lock_for_which_the_disk_has_no_room_says_what_to_do(owners, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(ExecutorUnavailableError, match=r"No space left on device\. Free some space$"):
        OwnerLock(owners)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_nobody_waits_at_a_pipe_in_the_place_of_a_file(owners, output):
    os.mkfifo(owners / "o1.lock")
    assert is_alive(owners, "o1") is False
    assert notes(owners, "o1") == Notes(set(), [], [])
    log = output.log("t1")
    log.parent.mkdir(parents=True)
    os.mkfifo(log)
    assert output.read("t1", 0, None, 100, total=3, complete=True) == ("", 3, 3)
    writer = Writer(log, 100, OpenFiles())
    writer.write(b"lost")
    assert writer.total == 4
    writer.finish()
    os.mkfifo(log.with_suffix(".result"))
    assert output.load_result("t1") == ""
    results = StoredResults(lambda: owners)
    os.mkfifo(owners / f"res_{'0' * 32}.txt")
    with pytest.raises(ToolExecutorError, match="cannot be read"):
        results.read(f"res_{'0' * 32}", 0, None)


def test_files_of_dead_owners_are_deleted_and_no_others(owners):
    lock = OwnerLock(owners)
    (owners / "dead.lock").touch()
    (owners / "being.born").touch()
    clean_locks(owners)
    assert sorted(each.name for each in owners.iterdir()) == sorted([f"{lock.id}.lock", "being.born"])
    lock.release()
    clean_locks(owners / "missing")


def test_a_lock_that_cannot_be_made_says_what_to_do(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ExecutorUnavailableError, match="make it writable, or set XDG_STATE_HOME"):
        OwnerLock(tmp_path / "file")


@pytest.mark.parametrize(
    ("known", "expected"),
    [(None, Life.LOST), ((os.getpid(), birth(os.getpid())), Life.ALIVE), ((os.getpid(), "another"), Life.GONE),
     ((os.getpid(), None), Life.LOST), ((NEVER_A_PID, None), Life.LOST)],
)  # fmt: skip
def test_an_owner_whose_file_is_gone_is_known_by_its_process(owners, known, expected):
    class Known:
        def owner(self, owner):
            return known

    assert life(Known(), owners, "o1") is expected


def test_only_the_lock_counts_where_there_is_one(store, owners):
    lock = OwnerLock(owners)
    assert life(store, owners, lock.id) is Life.ALIVE
    (owners / "dead.lock").touch()
    writes(store)(lambda c: _changes.add_owner(c, "dead", os.getpid(), birth(os.getpid())))
    assert life(store, owners, "dead") is Life.GONE
    lock.release()


def test_what_an_owner_has_noted_is_known_after_its_death_and_forgotten_when_nobody_needs_it(owners):
    lock = OwnerLock(owners)
    assert with_notes(owners) == set()
    assert lock.note("t1")
    assert lock.note('{"values": 1}')
    assert lock.note('{"groups": [[7, "born"]]}')
    assert lock.note('{"broken')
    assert with_notes(owners) == {lock.id}
    assert notes(owners, lock.id) == ({"t1"}, [{"values": 1}], ['[[7, "born"]]'])
    lock.forget()
    assert lock.note("t3")
    os.write(lock._descriptor, b"cut")
    lock.leave()
    assert notes(owners, lock.id).told == {"t3"}
    assert is_alive(owners, lock.id) is False
    assert not lock.note("t4")
    assert notes(owners, "missing") is None


def test_a_lock_whose_file_was_taken_away_is_made_anew_under_the_same_name(owners):
    lock = OwnerLock(owners)
    (owners / f"{lock.id}.lock").unlink()
    assert not lock.intact
    assert not lock.note("t1"), "nobody would find it"
    lock.renew()
    assert lock.intact
    assert lock.note("t1")
    assert is_alive(owners, lock.id) is True
    lock.release()
    assert list(owners.iterdir()) == []


def test_the_lock_of_a_file_is_held_by_one_at_a_time(tmp_path):
    with locked(tmp_path / "x.lock") as first, locked(tmp_path / "x.lock") as second:
        assert (first, second) == (True, False)
    with locked(tmp_path / "x.lock") as third, locked(tmp_path / "missing" / "x.lock") as fourth:
        assert (third, fourth) == (True, False)


# The dead ------------------------------------------------------------------------------------------------------------


def test_the_tasks_of_dead_owners_are_interrupted_and_their_groups_ended(store, output, owners, monkeypatch):
    ended = []
    monkeypatch.setattr(_recovery, "end_groups", ended.append)
    lock = OwnerLock(owners)
    writes(store)(lambda c: _changes.add_owner(c, "dead", os.getpid(), "another"))
    (owners / "dead.lock").touch()
    enter(store, "t1", owner="dead", groups=[(7, "born")])
    enter(store, "t2", owner="dead", groups=[(8, "born")])
    enter(store, "t3", owner=lock.id, groups=[(9, "born")])
    enter(store, "t4", owner="unknown", groups=[(10, "born")])
    stopped = entry("t5", status=TaskStatus.CANCELLED, ended=1.0, abandoned=True)
    put(store, replace(stopped, groups=[(11, "born")], end=End.of((False, "stopped"), None)), "dead")
    log = output.log("t1")
    log.parent.mkdir(parents=True)
    log.write_bytes(b"12345")
    assert sweep(store, writes(store), output, owners, "own", among=["other"]) == 0
    assert sweep(store, writes(store), output, owners, "own") == 3
    assert [store.get(f"t{number}").status for number in (1, 2, 3, 4)] == ["interrupted"] * 2 + [
        "pending",
        "interrupted",
    ]
    assert store.get("t1").output_bytes == 5
    assert store.get("t1").error == gone(os.getpid())
    assert store.get("t4").error == gone(os.getpid())
    assert [sorted(group.number for group in groups) for groups in ended] == [[7, 8, 11]], (
        "of one that is unknown none is"
    )
    assert store.owner("dead") is None
    assert not (owners / "dead.lock").exists()
    assert sweep(store, writes(store), output, owners, "own") == 0
    assert len(ended) == 1, "there was nothing to end"
    lock.release()


@pytest.mark.parametrize(
    ("marks", "born", "kept"),
    [(["told"], "now", ["told"]), ([], "now", []), (None, "now", ["kept back", "told"]),
     ([], "boot before:1", ["kept back", "told"])],
    ids=["told", "not told", "its file is gone", "the power was cut"],
)  # fmt: skip
def test_of_a_dead_owners_speculative_rows_those_that_were_told_are_tasks(store, output, owners, marks, born, kept):
    lock = OwnerLock(owners)
    born = (birth(os.getpid()) or "").partition(":")[0] + ":1" if born == "now" else born
    writes(store)(lambda c: _changes.add_owner(c, lock.id, NEVER_A_PID, born))
    for task_id in ("told", "kept back"):
        values = entry(task_id).values(lock.id, "h", detached=False)
        writes(store)(lambda c, values=values: _changes.speculate(c, values))
        log = output.log(task_id)
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_bytes(b"12345")
    for task_id in marks or ():
        assert lock.note(task_id)
    lock.leave()
    if marks is None:
        (owners / f"{lock.id}.lock").unlink()
    assert sweep(store, writes(store), output, owners, "own") == len(kept)
    assert sorted(row.id for row in store.newest("interrupted", None, None)) == kept
    assert store.speculative() == []
    assert sorted(path.stem for path in output.path.glob("??/*.log")) == [name.replace(" ", "_") for name in kept]
    assert all(row.output_bytes == 5 for row in store.newest(None, None, None))


def test_what_is_said_of_an_interrupted_task_names_the_process():
    assert gone(77).startswith("Interrupted: the process 77 that ran this task ended before it did.")


def test_old_tasks_go_sooner_when_they_were_acknowledged(store, output, owners):
    now = time.time()
    ages = {"new": 10, "read": KEEP + 10, "unread": KEEP + 10, "ancient": KEEP_UNREAD + 10, "fresh": KEEP - 1000}
    for task_id, age in ages.items():
        enter(store, task_id, created=now - age)
        end(store, task_id, now - age)
    for task_id in ("read", "fresh"):
        mark(store, task_id, "acknowledged", 1)
    enter(store, "live", created=now - KEEP_UNREAD - 10)
    assert sum(clean(store, writes(store), output, owners)) == 2
    assert sorted(store.ids()) == ["fresh", "live", "new", "unread"]


@pytest.mark.parametrize("before", [True, False], ids=["cleaned before", "new"])
def test_a_clock_that_is_ahead_makes_nothing_old_before_another_day(store, output, owners, monkeypatch, before):
    now = time.time()
    enter(store, "unread", created=now - 10)
    end(store, "unread", now - 10)
    begun = output.log("call_99")
    begun.parent.mkdir(parents=True, exist_ok=True)
    begun.write_text("of a call that runs")

    def cleaned():
        return sum(clean_daily(store, writes(store), output, owners))

    if before:
        assert cleaned() == 0
    monkeypatch.setattr(_recovery.time, "time", lambda: now + 365 * 24 * 3600)
    assert cleaned() == 0
    assert begun.exists()
    monkeypatch.setattr(_recovery.time, "time", lambda: now + 1)  # it was set right
    assert cleaned() == 0
    assert list(store.ids()) == ["unread"]
    for day in (1, 2, 91, 92):
        monkeypatch.setattr(_recovery.time, "time", lambda: now + 2 + day * 24 * 3600)
        assert cleaned() == (day == 92)
    assert not begun.exists()


def test_of_too_much_output_the_oldest_ended_goes(store, output, owners, monkeypatch):
    monkeypatch.setattr(_recovery, "MOST_OUTPUT", 250)
    for number in range(5):
        enter(store, f"t_0{number}", created=0.0)
        log = output.log(f"t_0{number}")
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_bytes(b"x" * 100)
    for number in (3, 1, 2):
        end(store, f"t_0{number}")
    enter(store, "silent")
    end(store, "silent")
    stray, old = output.log("stray_99"), output.log("stray_88")
    for path in (stray, old):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * 1000)
    os.utime(old, (time.time() - 90_000,) * 2)
    assert sum(clean(store, writes(store), output, owners)) == 3
    assert sorted(store.ids()) == ["silent", "t_00", "t_04"]
    assert output.log("t_00").exists()
    assert not output.log("t_02").exists()
    assert stray.exists(), "it may be of a call that is about to become a task"
    assert not old.exists()
    monkeypatch.setattr(_recovery, "MOST_OUTPUT", 200)
    assert sum(clean(store, writes(store), output, owners)) == 0
    end(store, "t_04")
    monkeypatch.setattr(_recovery, "MOST_OUTPUT", 199)
    assert sum(clean(store, writes(store), output, owners)) == 1


def test_a_prune_that_has_begun_goes_on_when_others_are_in_its_way_for_a_while(store, output, monkeypatch):
    monkeypatch.setattr(_recovery, "BATCH", 2)
    for number in range(5):
        enter(store, f"t{number}")
        end(store, f"t{number}")
    tries, write = [], writes(store)

    def contended(apply):
        tries.append(apply)
        if len(tries) in failing:
            raise ExecutorUnavailableError("locked")
        return write(apply)

    failing = {1}
    with pytest.raises(ExecutorUnavailableError):
        forget(contended, output, lambda: store.ended_before(math.inf))
    failing = {3, 4, 6}
    assert len(forget(contended, output, lambda: store.ended_before(math.inf))) == 5
    assert list(store.ids()) == []
    monkeypatch.setattr(_recovery, "INSIST", 0.0)
    for number in range(5):
        enter(store, f"u{number}")
        end(store, f"u{number}")
    failing = {len(tries) + 2}
    with pytest.raises(ExecutorUnavailableError):
        forget(contended, output, lambda: store.ended_before(math.inf))


def test_a_prune_takes_more_at_once_the_faster_it_goes_but_never_for_long(store, output, monkeypatch):
    clock, sizes = [0.0], []
    monkeypatch.setattr(_recovery, "time", SimpleNamespace(monotonic=lambda: clock[0], time=time.time))
    monkeypatch.setattr(_recovery, "_remove", lambda batch, _: sizes.append(len(batch)))
    monkeypatch.setattr(_recovery.threading, "Event", lambda: SimpleNamespace(wait=waits.append))
    waits, left = [], [f"t{number}" for number in range(10_000)]

    def write(apply):
        apply(None)
        clock[0] += sizes[-1] * each

    def find():
        some = left[:2000]
        del left[:2000]
        return some

    each = 0.0001
    assert len(forget(write, output, find)) == 10_000
    assert max(sizes) > _recovery.BATCH
    assert all(size * each <= 2 * _recovery.BATCH_SECONDS for size in sizes)
    assert waits == pytest.approx([size * each for size in sizes]), "others have as much time"
    sizes.clear()
    each, left = 0.01, [f"t{number}" for number in range(2000)]
    forget(write, output, find)
    assert max(sizes) == _recovery.BATCH


def test_others_could_write_while_a_prune_deletes_files_and_it_rests_no_more_for_that(store, output, monkeypatch):
    clock, waits = [0.0], []
    monkeypatch.setattr(_recovery, "time", SimpleNamespace(monotonic=lambda: clock[0], time=time.time))
    monkeypatch.setattr(_recovery.threading, "Event", lambda: SimpleNamespace(wait=waits.append))
    enter(store, "t1")
    end(store, "t1")
    monkeypatch.setattr(output, "remove", lambda _: clock.__setitem__(0, clock[0] + 5.0))
    forget(writes(store), output, lambda: store.ended_before(math.inf))
    assert waits == [0.0]


def test_ids_are_found_by_how_they_begin(store):
    for name in ("a_1", "a_12", "a_2", "a%", "b"):
        enter(store, name)
    assert store.beginning("a_1", 10) == ["a_1", "a_12"]
    assert store.beginning("a_1", 1) == ["a_1"]
    assert store.beginning("a_", 10)[-1] == "a_2"
    assert store.beginning("\udcff", 10) == []
    plan = store.rows("EXPLAIN QUERY PLAN SELECT id FROM task WHERE id >= 'a' AND id < 'b' ORDER BY id LIMIT 1")
    assert "INDEX" in plan[0][-1]


def _made_by_another(path, *statements):
    path.parent.mkdir(exist_ok=True)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        for statement in ("CREATE TABLE recipe (title)", "INSERT INTO recipe VALUES ('soup')", *statements):
            connection.execute(statement)
        connection.commit()


@pytest.mark.parametrize("version", [0, 2, 4, 99])
def test_a_database_of_another_program_gets_no_tables_and_is_not_moved(store, version):
    _made_by_another(store.path, f"PRAGMA user_version = {version}")
    before = store.path.read_bytes()
    with pytest.raises(ExecutorUnavailableError, match="of another program"):
        store.get("t1")
    assert not set_aside(store)
    assert store.path.read_bytes() == before


@pytest.mark.parametrize("statement", ["PRAGMA application_id = 7", "DROP TABLE cleaning"])
def test_a_store_that_lost_one_of_its_two_marks_is_ours_all_the_same(store, statement):
    enter(store, "t1")
    with store.writer.lock:
        store.writer.get().execute(statement)
    store.close()
    assert store.get("t1").id == "t1"


def test_a_forgotten_task_leaves_no_file(store, output):
    enter(store, "t_1")
    log = output.log("t_1")
    log.with_suffix(".tail").mkdir(parents=True)
    log.write_bytes(b"x")
    (log.with_suffix(".tail") / "5").write_bytes(b"yy")
    assert output.size("t_1") == 7
    output.save_result("t_1", "long")
    end(store, "t_1")
    assert output.disk_use(log.with_suffix("")) == 7
    assert forget(writes(store), output, lambda: store.ended_before(time.time())) == ["t_1"]
    assert [*output.path.rglob("*.*")] == []
    assert list(store.ids()) == []


# Processes -----------------------------------------------------------------------------------------------------------

linux = pytest.mark.skipif(sys.platform != "linux", reason="processes are told apart by /proc")
STUBBORN = "import signal, sys; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); sys.stdin.read()"
ORDINARY = "import sys; print(1, flush=True); sys.stdin.read()"


@pytest.fixture
def started():
    """Starts a process with a group of its own, and waits until it is there."""
    made = []

    def started(program=ORDINARY):
        process = subprocess.Popen(
            [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )
        made.append(process)
        assert process.stdout.readline()
        return process

    yield started
    for process in made:
        process.kill()
        process.stdin.close()
        process.stdout.close()
        process.wait()


@linux
def test_a_process_is_known_by_when_it_began(started):
    process = started()
    boot, _, tick = birth(process.pid).partition(":")
    assert boot == birth(os.getpid()).partition(":")[0]
    assert int(tick) >= int(birth(os.getpid()).partition(":")[2])
    assert birth(process.pid) == birth(process.pid)
    assert birth(NEVER_A_PID) is None
    born = birth(process.pid)
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert birth(process.pid) is None, "a zombie is no process any more"
    assert birth_of_child(process.pid) == born, "but its group may have other members"


@linux
@pytest.mark.parametrize(("program", "number"), [(ORDINARY, 15), (STUBBORN, 9)])
def test_a_group_is_asked_to_end_and_then_made_to(started, program, number):
    process = started(program)
    assert end_groups([Group(process.pid, birth(process.pid))]) == 1
    assert process.wait(10) == -number


@linux
def test_a_group_that_was_only_expected_is_found_by_its_mark(started, monkeypatch):
    monkeypatch.setenv(MARK, "one")
    first = started(
        "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import sys; print(1, flush=True); "
        "sys.stdin.read()'], stdin=0).wait()"
    )
    monkeypatch.setenv(MARK, "two")
    other = started(ORDINARY)
    monkeypatch.delenv(MARK)
    monkeypatch.setattr(_processes, "LOOK_AGAIN", 0.0)
    known = Group(first.pid, birth(first.pid), "one")
    assert end_groups([Group(0, "", "one"), known._replace(born="another")]) == 0, "it is known which it was"
    assert end_groups([Group(0, "", "three")]) == 0
    assert end_groups([Group(0, "", "one"), Group(0, "", "three")]) == 1
    assert first.wait(10) == -15
    assert first.stdout.read() == b"", "what it has started has ended, too"
    assert other.poll() is None


@linux
def test_nobody_waits_longer_than_the_grace(started):
    process = started()
    began = time.monotonic()
    _processes._wait(process.pid, began - 1)
    _processes._wait(process.pid, began + 0.01)
    assert 0.01 <= time.monotonic() - began < 5
    process.kill()
    _processes._wait(process.pid, time.monotonic() + 100)
    assert process.wait(0) == -9


@linux
def test_a_group_that_only_has_the_number_is_left_alone(started, monkeypatch):
    process = started()
    sent = []
    monkeypatch.setattr(_processes, "_send", lambda *what: sent.append(what))
    born, own = birth(process.pid), birth(os.getpgrp())
    others = [
        (process.pid, born + "1"),
        (NEVER_A_PID, born),
        (NEVER_A_PID, "no boot:1"),
        (0, born),
        (1, birth(1) or ""),
    ]
    assert end_groups([Group(*other) for other in [*others, (os.getpgrp(), own or "")]]) == 0
    assert end_groups([]) == 0
    assert sent == []


@linux
def test_what_is_left_of_a_group_whose_leader_is_gone_is_ended(started):
    leader = started(
        "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import sys; print(1, flush=True); "
        "sys.stdin.read()']).wait()"
    )
    born = birth(leader.pid)
    os.kill(leader.pid, 9)
    leader.wait(10)
    assert birth(leader.pid) is None
    boot, _, tick = born.partition(":")
    assert end_groups([Group(leader.pid, f"{boot}:{int(tick) + 10**9}")]) == 0, "it began before this group did"
    assert end_groups([Group(leader.pid, f"another boot:{tick}")]) == 0
    assert end_groups([Group(leader.pid, born)]) == 1
    assert leader.stdout.read() == b"", "its member still has the pipe"
    assert end_groups([Group(leader.pid, born)]) == 0


def test_rows_are_json_where_they_hold_more_than_a_word(store):
    enter(store, "t1", groups=[(1, "a"), (2, "b")])
    ((_, groups),) = store.live_of_others("")["o1"]
    assert json.loads(groups) == [[1, "a"], [2, "b"]]
    enter(store, "t1")
    assert store.live_of_others("")["o1"] == [("t1", "[]")]
