"""Tasks on disk: what is said once, what is done once, and what another reader of the same folder sees."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import sqlite3
import threading
import time
from types import SimpleNamespace

import pytest

from executor import TaskStatus
from executor.errors import ExecutorUnavailableError, TaskNotFoundError, ToolExecutorError
from executor.tasks import TaskManager, _durable, _elsewhere, _recovery, _watch
from executor.tasks._manager import engine_of
from executor.tasks._place import Place
from executor.tasks._store import Store
from executor.tasks._unstored import has_unstored, wait_until_stored


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


def flush(tasks):
    """Until what was to be written has been."""
    engine_of(tasks).durable.place.thread.do(lambda _: None, 10.0)


def test_a_relative_folder_is_that_of_the_folder_in_which_it_was_given(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    tasks = TaskManager.open("tasks")
    monkeypatch.chdir(tmp_path / "elsewhere")
    task_id = enter(tasks)
    finish(tasks, task_id)
    tasks.close()
    assert engine_of(tasks).place()[0] == str(tmp_path / "tasks")
    assert not list((tmp_path / "elsewhere").iterdir())
    monkeypatch.chdir(tmp_path)
    again = TaskManager.open("tasks")
    assert again.get(task_id).status is TaskStatus.COMPLETED
    again.close()


@contextlib.contextmanager
def held(folder):
    """The store is locked by somebody else."""
    connection = sqlite3.connect(folder / "tasks.db", isolation_level=None, timeout=10)
    connection.execute("BEGIN EXCLUSIVE")
    try:
        yield
    finally:
        connection.close()


def test_who_works_for_nobody_else_waits_for_a_store_that_is_away(opened, tmp_path):
    tasks = opened()
    task_id = enter(tasks)
    waits = threading.Thread(target=wait_until_stored, args=(tasks,))
    with held(tmp_path / "state"):
        finish(tasks, task_id)
        assert has_unstored(tasks)
        wait_until_stored(tasks, 0.05)
        waits.start()
    waits.join()
    assert not has_unstored(tasks)
    assert opened().get(task_id).status is TaskStatus.COMPLETED


def test_a_live_task_that_another_store_does_not_have_yet_is_away_and_not_unknown(opened, tmp_path, monkeypatch):
    tasks, other, clock = opened(), opened(), [0.0]
    task_id, ended = enter(tasks), enter(tasks)
    finish(tasks, ended)
    flush(tasks)
    monkeypatch.setattr(_elsewhere, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    assert [other.get(each).status.final for each in (task_id, ended)] == [False, True]
    # What another store would be to who looks: its own file is there, and has no such row.
    with contextlib.closing(sqlite3.connect(tmp_path / "state" / "tasks.db", timeout=10)) as connection:
        kept = connection.execute("SELECT * FROM task WHERE id = ?", (task_id,)).fetchone()
        connection.execute("DELETE FROM task")
        connection.commit()
        with pytest.raises(ExecutorUnavailableError, match="is not the one that had"):
            other.get(task_id)
        with pytest.raises(ExecutorUnavailableError, match="ask again"):
            other.output(task_id)
        with pytest.raises(TaskNotFoundError):
            other.get(ended)  # which may have been forgotten
        clock[0] = _elsewhere.LATELY + 1
        with pytest.raises(TaskNotFoundError):
            other.get(task_id)
        connection.execute(f"INSERT INTO task VALUES ({', '.join('?' * len(kept))})", kept)
        connection.commit()
    assert not other.get(task_id).status.final
    finish(tasks, task_id)
    flush(tasks)
    assert other.wait(task_id, 10).status is TaskStatus.COMPLETED


def test_where_nothing_can_be_stored_nobody_waits(opened):
    wait_until_stored(TaskManager.in_memory())
    tasks = opened()
    engine_of(tasks).durable._begin("it was forked in the middle of something")
    wait_until_stored(tasks)
    assert not has_unstored(tasks)


def test_a_store_that_fails_is_warned_of_once_however_many_tasks_it_fails(opened, tmp_path, caplog):
    tasks = opened()
    ids = [enter(tasks) for _ in range(3)]
    with held(tmp_path / "state"):
        for task_id in ids:
            assert finish(tasks, task_id).status is TaskStatus.COMPLETED
    assert caplog.text.count("cannot be stored yet") == 1
    tasks.close()
    assert {info.status for info in opened().list()} == {TaskStatus.COMPLETED}


@pytest.mark.parametrize(("last", "now", "claimed"), [(None, 0, 1), (1, 86_400, 0), (1, 86_401, 1), (1000, 500, 1)])
def test_old_tasks_are_looked_for_once_a_day_by_one_that_has_tasks(opened, monkeypatch, last, now, claimed):
    cleaned, turns, enough = [], [], threading.Event()
    requests = Store.requests

    def counted(store, owner):
        turns.append(owner)
        if len(turns) == 5:
            enough.set()
        return requests(store, owner)

    monkeypatch.setattr(_watch, "EVERY", 0.001)
    monkeypatch.setattr(Store, "cleaned", lambda store: None if last is None else time.time() - now + last - 0.001)
    monkeypatch.setattr(_recovery, "claim_cleaning", lambda connection, before: True)
    monkeypatch.setattr(_recovery, "clean", lambda *_: iter(cleaned.append(1) or ()))
    monkeypatch.setattr(Store, "requests", counted)
    tasks = opened()
    tasks.list()
    assert cleaned == [], "a process that only reads cleaned"
    task_id = enter(tasks)
    assert enough.wait(10)
    assert len(cleaned) == claimed
    finish(tasks, task_id)


def test_old_tasks_are_looked_for_every_day_that_a_process_lives(opened, monkeypatch):
    now, cleaned, several = [time.time()], [], threading.Event()

    def clean(*_):
        cleaned.append(now[0])
        now[0] += 90_000  # the next day has come
        if len(cleaned) == 3:
            several.set()
        return iter(())

    monkeypatch.setattr(_watch, "EVERY", 0.001)
    monkeypatch.setattr(_durable.time, "time", lambda: now[0])
    monkeypatch.setattr(_recovery, "clean", clean)
    tasks = opened()
    task_id = enter(tasks)
    assert several.wait(10)
    finish(tasks, task_id)


def test_a_long_cleaning_keeps_no_request_of_another_process_waiting(opened, monkeypatch):
    seen, enough = [], threading.Event()
    requests = Store.requests

    def looked(store, owner):
        seen.append("look")
        return requests(store, owner)

    def clean(*_):
        for _ in range(5):
            seen.append("turn")
            yield 1
        enough.set()

    monkeypatch.setattr(_watch, "EVERY", 0.001)
    monkeypatch.setattr(_recovery, "clean", clean)
    monkeypatch.setattr(Store, "requests", looked)
    tasks = opened()
    task_id = enter(tasks)
    assert enough.wait(10)
    finish(tasks, task_id)
    assert "turn turn" not in " ".join(seen)


def test_what_is_opened_again_while_all_is_closed_is_closed_too(opened, monkeypatch):
    begun, closed, freed = threading.Event(), threading.Event(), threading.Event()
    used = []

    def clean(store, *_):
        begun.set()
        assert closed.wait(10)
        used.extend([store, *store.ids()])
        yield 0

    def close(store, free=Store.close):
        free(store)
        if used:
            freed.set()

    monkeypatch.setattr(_watch, "EVERY", 0.001)
    monkeypatch.setattr(_recovery, "clean", clean)
    monkeypatch.setattr(Store, "close", close)
    tasks = opened()
    enter(tasks)
    assert begun.wait(10)
    tasks.close()
    closed.set()
    assert freed.wait(10)
    assert [each._made for each in (used[0]._reader, used[0].writer)] == [None, None]


def test_who_only_reads_looks_for_the_dead_once(opened, tmp_path, monkeypatch):
    looked = []
    sweep = Place.sweep
    monkeypatch.setattr(Place, "sweep", lambda place, among: looked.append(among) or sweep(place, among))
    finish(tasks := opened(), enter(tasks))
    flush(tasks)
    reader = opened()
    looked.clear()
    with held(tmp_path / "state"), pytest.raises(ExecutorUnavailableError):
        reader.list()
    assert looked == [None]
    engine_of(reader).durable.place.store.forget_failure()
    for _ in range(3):
        assert len(reader.list()) == 1
    assert looked == [None, None], "once when it could be done, and not again"


def test_whoever_reads_the_folder_sees_which_threads_have_not_come_back(opened):
    owner, reader = opened(), opened()
    task_id, stuck, late = (enter(owner) for _ in range(3))
    assert not reader.get(task_id).abandoned
    finish(owner, task_id)
    finish(owner, stuck, abandoned=True)
    finish(owner, late, abandoned=True)
    assert [reader.get(each).abandoned for each in (task_id, stuck, late)] == [False, True, True]
    engine_of(owner).came_back(late)
    flush(owner)
    assert [reader.get(each).abandoned for each in (task_id, stuck, late)] == [False, True, False]


def test_how_far_a_task_is_can_be_seen_by_others_and_stays_when_it_has_ended(opened, monkeypatch):
    monkeypatch.setattr(_watch, "EVERY", 0.001)
    owner, reader = opened(), opened()
    reached = [(1.0, 4.0, "first")]
    task_id = engine_of(owner).add(
        "tool", "local", "call", engine_of(owner).new_spool(), cancel=lambda _: True, reached=lambda: reached[0],
        started=time.monotonic(),
    )  # fmt: skip
    for expected in [(1.0, 4.0, "first"), (2.0, None, None)]:
        reached[0] = expected
        deadline = time.monotonic() + 10
        while reader.get(task_id).progress != expected and time.monotonic() < deadline:
            threading.Event().wait(0.01)  # another reader of the folder: there is no event
        assert reader.get(task_id).progress == expected
    finish(owner, task_id)
    assert reader.get(task_id).progress == (2.0, None, None)


def test_after_close_nobody_tries_any_more_to_store_an_end(opened, tmp_path, caplog):
    before = {*threading.enumerate()}
    tasks = opened()
    task_id = enter(tasks)
    threads = {*threading.enumerate()} - before
    assert {thread.name for thread in threads} == {"executor-tasks", "executor-store"}
    with held(tmp_path / "state"):
        assert finish(tasks, task_id).status is TaskStatus.COMPLETED
        assert all(thread.is_alive() for thread in threads), "the end is to be stored, and nobody tries"
        tasks.close()
        for thread in threads:
            thread.join(10)
        assert not any(thread.is_alive() for thread in threads)
        assert tasks.get(task_id).status is TaskStatus.COMPLETED
    assert "left to the next process" in caplog.text


def test_a_result_that_is_long_is_in_a_file_and_goes_with_its_task(opened, tmp_path):
    owner, reader = opened(), opened()
    task_id = enter(owner)
    value = {"text": "é" * 70_000}
    engine_of(owner).finish(task_id, TaskStatus.COMPLETED, (True, value))
    (path,) = (tmp_path / "state" / "output").glob("??/*.result")
    assert path.stat().st_mode & 0o777 == 0o600
    assert reader.result(task_id) == (True, value)
    path.write_text("[")
    with pytest.raises(ToolExecutorError, match="cannot be read any more"):
        reader.result(task_id)
    assert owner.prune() == 1
    assert not path.exists()


def test_a_store_that_is_locked_at_the_end_is_no_news_where_all_is_stored(opened, tmp_path, caplog):
    tasks = opened()
    task_id = enter(tasks)
    finish(tasks, task_id)
    flush(tasks)
    with held(tmp_path / "state"):
        tasks.close()
    assert caplog.text == ""
    assert opened().get(task_id).status is TaskStatus.COMPLETED


def test_an_output_that_is_small_takes_no_file_once_its_task_has_ended(opened, tmp_path):
    owner, reader = opened(), opened()
    output = tmp_path / "state" / "output"
    for text, files in (("", 0), ("é" * 2048, 0), ("é" * 2048 + "x", 1)):
        spool = engine_of(owner).new_spool()
        spool.append(text)
        task_id = engine_of(owner).add("t", "p", "c", spool, cancel=lambda _: False, reached=lambda: None)
        assert reader.output(task_id)[0] == text
        engine_of(owner).finish(task_id, TaskStatus.COMPLETED, (True, 1))
        flush(owner)
        assert len([*output.glob("??/*.log")]) == files
        for tasks in (owner, reader):
            assert tasks.output(task_id) == (text, len(text.encode()), 0)
            assert tasks.output(task_id, 1 if text == "" else 2, 3)[2] == 0
        assert reader.get(task_id).output_bytes == len(text.encode())


def test_an_id_of_what_has_ended_by_then_is_told_as_one_that_is_stored(opened):
    tasks = opened()
    task_id = enter(tasks)
    finish(tasks, task_id)
    flush(tasks)
    assert engine_of(tasks).durable.tell(task_id) is True


def test_process_groups_that_are_told_late_do_not_take_the_place_of_newer_ones(opened):
    tasks = opened()
    engine = engine_of(tasks)
    spool = engine.new_spool()
    task_id = engine.add("tool", "local", "call", spool, cancel=lambda _: True, reached=lambda: None)
    spool.add_process_group(os.getpid())
    engine.durable.own.set_groups(task_id, ())  # by a thread that was held up since before
    flush(tasks)
    with contextlib.closing(sqlite3.connect(engine.durable.folder() / "tasks.db")) as connection:
        ((stored,),) = connection.execute("SELECT groups FROM task").fetchall()
    assert [number for number, *_ in json.loads(stored)] == [os.getpid()]
    finish(tasks, task_id)


def test_what_is_read_after_the_end_is_freed_with_its_store(opened, tmp_path):
    tasks = opened()
    task_id = enter(tasks)
    finish(tasks, task_id)
    store = Store(tmp_path / "state" / "tasks.db")
    store.close()
    assert store.ids()
    connection = store._reader.get()
    del store
    gc.collect()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")


def test_an_id_that_is_no_text_is_of_no_task_and_is_no_sign_of_a_damaged_store(opened, caplog):
    tasks = opened()
    for look in (tasks.get, tasks.output, tasks.result, tasks.wait, tasks.cancel, tasks.ack):
        with pytest.raises(TaskNotFoundError):
            look("\udcff")  # as of a command line in another encoding
    assert not caplog.records
