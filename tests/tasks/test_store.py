"""The store by itself, and what is done for owners that are gone: nothing here runs a task."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from executor import TaskStatus
from executor.errors import ExecutorUnavailableError
from executor.tasks import _processes, _recovery
from executor.tasks._files import OutputFolder
from executor.tasks._owners import OwnerLock, is_alive
from executor.tasks._owners import clean as clean_locks
from executor.tasks._processes import birth, end_groups
from executor.tasks._recovery import KEEP, KEEP_UNREAD, clean, forget, gone, lives, sweep
from executor.tasks._store import BUSY, Store, _unavailable

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


def enter(store, task_id, owner="o1", **given):
    known = {
        "tool": "tool", "plugin": "local", "call": "c1", "host": "h", "created": time.time(), "started": None,
        "output_cap": 100,
    }  # fmt: skip
    store.add(task_id, owner=owner, **{**known, **given})


def end(store, task_id, ended=None, *, value=None):
    info = replace(store.get(task_id).info(3), status=TaskStatus.COMPLETED, ended=ended or time.time())
    return store.finish(info, (True, value))


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
    enter(store, "t1", started=time.time() - 50)
    assert store.get("t1").status == "running"
    assert 50 <= store.get("t1").info(0).duration < 60
    enter(store, "t2", started=time.time() + 50)
    assert store.get("t2").info(0).duration == 0.0


def test_a_state_changes_once_from_pending_to_running_to_the_end(store):
    enter(store, "t1")
    assert store.start("t1", 2.0) is True
    assert store.start("t1", 3.0) is False
    assert end(store, "t1", 4.0, value={"a": 1}) is True
    assert end(store, "t1", 5.0) is False
    assert store.get("t1").ended == 4.0
    assert not store.get("t1").live
    assert store.outcome("t1") == ((True, {"a": 1}), None)
    assert store.start("missing", 2.0) is False


def test_an_interrupted_task_says_why_and_its_owner_is_gone(store):
    store.add_owner("o1", "born")
    assert store.owner("o1") == (os.getpid(), "born")
    enter(store, "t1", started=time.time() - 50)
    enter(store, "t2")
    enter(store, "t3", owner="o2")
    end(store, "t2")
    assert store.interrupt([("t1", 9), ("t2", 9), ("t3", 9)], "o1", "gone") == 1
    row = store.get("t1")
    assert (row.status, row.error, row.output_bytes) == ("interrupted", "gone", 9)
    assert 50 <= row.duration < 60
    assert store.outcome("t1").outcome == (False, {"error": "gone", "interrupted": True})
    assert store.get("t3").live
    assert store.owner("o1") is None


def test_a_mark_is_set_once_and_no_other_column_can_be(store):
    enter(store, "t1")
    for column in ("told", "acknowledged"):
        assert store.set("t1", column, 1) is True
        assert store.set("t1", column, 1) is False
    assert store.set("missing", "told", 1) is False
    with pytest.raises(AssertionError):
        store.set("t1", "status", "completed")


def test_the_first_who_asks_has_a_live_task_stopped(store):
    enter(store, "t1")
    enter(store, "t2")
    end(store, "t2")
    assert store.requests("o1") == []
    assert store.request_cancel("t1", "enough") is True
    assert store.request_cancel("t1", "again") is False
    assert store.request_cancel("t2", "late") is False
    assert store.requests("o1") == [("t1", "enough")]
    assert store.requests("o2") == []
    end(store, "t1")
    assert store.requests("o1") == []


def test_tasks_are_listed_newest_first_and_can_be_narrowed(store):
    for number in range(4):
        enter(store, f"t{number}", tool=f"tool{number % 2}")
    end(store, "t0")
    assert [row.id for row in store.newest(None, None, None)] == ["t3", "t2", "t1", "t0"]
    assert [row.id for row in store.newest(None, None, 2)] == ["t3", "t2"]
    assert [row.id for row in store.newest("pending", "tool0", None)] == ["t2"]
    assert [row.id for row in store.newest("completed", None, None)] == ["t0"]
    assert store.newest(None, None, 0) == []


def test_ended_tasks_are_undelivered_and_untold_in_the_order_of_their_ends(store):
    for number, talk in enumerate([None, "a", "b", "a"]):
        enter(store, f"t{number}", conversation=talk)
    enter(store, "other", host="h2")
    for task_id in ("t2", "t1", "t0", "other"):
        end(store, task_id)
    assert [row.id for row in store.undelivered("h", None)] == ["t2", "t1", "t0"]
    assert [row.id for row in store.undelivered("h", "a")] == ["t1"]
    assert [row.id for row in store.unreported("h", 2)] == ["t2", "t1"]
    store.set("t2", "acknowledged", 1)
    store.set("t1", "told", 1)
    assert [row.id for row in store.undelivered("h", None)] == ["t1", "t0"]
    assert [row.id for row in store.unreported("h", 10)] == ["t2", "t0"]
    assert store.oldest_ended() == ["t2", "t1", "t0", "other"]
    store.remove(["t2", "t0"])
    assert sorted(store.ids()) == ["other", "t1", "t3"]


def test_what_ended_at_or_before_a_time_is_old(store):
    for number in range(3):
        enter(store, f"t{number}", created=0.0)
        end(store, f"t{number}", 10.0 + number)
    store.set("t0", "acknowledged", 1)
    assert sorted(store.ended_before(11.0)) == ["t0", "t1"]
    assert store.ended_before(11.0, acknowledged_only=True) == ["t0"]
    assert store.ended_before(9.0) == []


def test_cleaning_is_claimed_once_in_its_time_whatever_the_clock_does(store, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(time, "time", lambda: now[0])
    assert store.claim_cleaning(100) is True
    assert store.claim_cleaning(100) is False
    now[0] = 1099.0
    assert store.claim_cleaning(100) is False
    now[0] = 1100.0
    assert store.claim_cleaning(100) is True
    now[0] = 500.0
    assert store.claim_cleaning(100) is True, "a clock that was ahead is no reason to wait"
    assert store.claim_cleaning(100) is False


# What is wrong with it -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "help_"),
    [
        ("database or disk is full", "free some space"),
        ("[Errno 28] No space left on device", "free some space"),
        ("database disk image is malformed", "move the file away, and a new one is made"),
        ("file is not a database", "move the file away, and a new one is made"),
        ("database is locked", f"another process has held it for {BUSY:g} s: end that one"),
        ("unable to open database file", "make its folder writable, or set XDG_STATE_HOME to one that is"),
    ],
)
def test_what_is_wrong_with_the_store_is_said_with_what_to_do(tmp_path, text, help_):
    error = _unavailable(tmp_path / "tasks.db", sqlite3.OperationalError(text))
    assert str(error) == f"The task store {tmp_path / 'tasks.db'} cannot be used: {text}: {help_}"


def test_a_write_that_fails_is_taken_back_and_the_store_goes_on(store):
    enter(store, "t1")
    with pytest.raises(ExecutorUnavailableError):
        enter(store, "t1")
    enter(store, "t2")
    assert store.ids() == ["t1", "t2"]
    with pytest.raises(RuntimeError), store._writing() as connection:
        connection.execute("DELETE FROM task")
        raise RuntimeError
    assert store.ids() == ["t1", "t2"]


def test_after_an_error_the_file_is_opened_anew(store):
    enter(store, "t1")
    store.path.write_bytes(b"\0" * 8192)
    with pytest.raises(ExecutorUnavailableError):
        enter(store, "t2")
    store.path.unlink()
    assert store.ids() == []
    enter(store, "t3")
    assert store.ids() == ["t3"]


def test_every_process_writes_in_the_same_safe_way(store):
    with store._reading() as connection:
        modes = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")]
    assert modes == ["persist", 2]


def test_folders_are_made_as_deep_as_they_are(tmp_path):
    store = Store(tmp_path / "a" / "b" / "tasks.db")
    assert store.ids() == []
    store.close()


def test_a_closed_store_opens_again_and_is_for_this_user_only(store):
    enter(store, "t1")
    store.close()
    store.close()
    assert store.ids() == ["t1"]
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
    (owners / "odd.lock").mkdir()
    assert is_alive(owners, "odd") is True, "nothing can be told, so nothing is done to it"


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
    ("known", "alive"),
    [(None, False), ((os.getpid(), birth(os.getpid())), True), ((os.getpid(), "another"), False),
     ((os.getpid(), None), False), ((NEVER_A_PID, None), False)],
)  # fmt: skip
def test_an_owner_whose_file_is_gone_is_known_by_its_process(owners, known, alive):
    class Known:
        def owner(self, owner):
            return known

    assert lives(Known(), owners, "o1") is alive


def test_only_the_lock_counts_where_there_is_one(store, owners):
    lock = OwnerLock(owners)
    assert lives(store, owners, lock.id)
    (owners / "dead.lock").touch()
    store.add_owner("dead", birth(os.getpid()))
    assert not lives(store, owners, "dead")
    lock.release()


# The dead ------------------------------------------------------------------------------------------------------------


def test_the_tasks_of_dead_owners_are_interrupted_and_their_groups_ended(store, output, owners, monkeypatch):
    ended = []
    monkeypatch.setattr(_recovery, "end_groups", ended.append)
    lock = OwnerLock(owners)
    store.add_owner("dead", "another")
    enter(store, "t1", owner="dead", groups=[(7, "born")])
    enter(store, "t2", owner="dead", groups=[(8, "born")])
    enter(store, "t3", owner=lock.id, groups=[(9, "born")])
    enter(store, "t4", owner="unknown")
    log = output.log("t1")
    log.parent.mkdir(parents=True)
    log.write_bytes(b"12345")
    assert sweep(store, output, owners, "own", among=["other"]) == 0
    assert sweep(store, output, owners, "own") == 3
    assert [store.get(f"t{number}").status for number in (1, 2, 3, 4)] == ["interrupted"] * 2 + [
        "pending",
        "interrupted",
    ]
    assert store.get("t1").output_bytes == 5
    assert store.get("t1").error == gone(os.getpid())
    assert store.get("t4").error == gone(0)
    assert [sorted(group for group, _ in groups) for groups in ended] == [[7, 8]]
    assert sweep(store, output, owners, "own") == 0
    assert len(ended) == 1, "there was nothing to end"
    lock.release()


def test_what_is_said_of_an_interrupted_task_names_the_process():
    assert gone(77).startswith("Interrupted: the process 77 that ran this task ended before it did.")


def test_old_tasks_go_sooner_when_they_were_acknowledged(store, output, owners):
    now = time.time()
    ages = {"new": 10, "read": KEEP + 10, "unread": KEEP + 10, "ancient": KEEP_UNREAD + 10, "fresh": KEEP - 1000}
    for task_id, age in ages.items():
        enter(store, task_id, created=now - age)
        end(store, task_id, now - age)
    for task_id in ("read", "fresh"):
        store.set(task_id, "acknowledged", 1)
    enter(store, "live", created=now - KEEP_UNREAD - 10)
    assert clean(store, output, owners) == 2
    assert sorted(store.ids()) == ["fresh", "live", "new", "unread"]


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
    assert clean(store, output, owners) == 3
    assert sorted(store.ids()) == ["silent", "t_00", "t_04"]
    assert output.log("t_00").exists()
    assert not output.log("t_02").exists()
    assert stray.exists(), "it may be of a call that is about to become a task"
    assert not old.exists()
    monkeypatch.setattr(_recovery, "MOST_OUTPUT", 200)
    assert clean(store, output, owners) == 0
    end(store, "t_04")
    monkeypatch.setattr(_recovery, "MOST_OUTPUT", 199)
    assert clean(store, output, owners) == 1


def test_a_forgotten_task_leaves_no_file(store, output):
    enter(store, "t_1")
    log = output.log("t_1")
    log.with_suffix(".tail").mkdir(parents=True)
    log.write_bytes(b"x")
    (log.with_suffix(".tail") / "5").write_bytes(b"yy")
    assert output.size("t_1") == 7
    forget(store, output, ["t_1"])
    assert [*output.path.rglob("*.*")] == []
    assert store.ids() == []


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
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert birth(process.pid) is None, "a zombie is no process any more"


@linux
@pytest.mark.parametrize(("program", "number"), [(ORDINARY, 15), (STUBBORN, 9)])
def test_a_group_is_asked_to_end_and_then_made_to(started, program, number):
    process = started(program)
    assert end_groups([(process.pid, birth(process.pid))]) == 1
    assert process.wait(10) == -number


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
    assert end_groups([*others, (os.getpgrp(), own or "")]) == 0
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
    assert end_groups([(leader.pid, f"{boot}:{int(tick) + 10**9}")]) == 0, "it began before this group did"
    assert end_groups([(leader.pid, f"another boot:{tick}")]) == 0
    assert end_groups([(leader.pid, born)]) == 1
    assert leader.stdout.read() == b"", "its member still has the pipe"
    assert end_groups([(leader.pid, born)]) == 0


def test_rows_are_json_where_they_hold_more_than_a_word(store):
    enter(store, "t1", groups=[(1, "a"), (2, "b")])
    ((_, groups),) = store.live_of_others("")["o1"]
    assert json.loads(groups) == [[1, "a"], [2, "b"]]
    store.set("t1", "groups", json.dumps([]))
    assert store.live_of_others("")["o1"] == [("t1", "[]")]
