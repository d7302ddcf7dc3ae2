"""What is told of calls and tasks, word for word, and to whom."""

from __future__ import annotations

import json
import os
import pickle
import stat
import threading

import pytest

from executor import JsonLinesLedger, TaskStatus, TokenLedger, ToolCall, ToolExecutor
from executor.calls._state import CallState
from executor.errors import ExecutorUnavailableError
from executor.records._report import UNTOLD, Reports
from executor.tasks import TaskManager
from executor.values import TaskInfo

SECONDS = 20.0


class Kept:
    """A ledger that keeps what it is given, as it is given."""

    def __init__(self):
        self.events = []

    def record(self, stage, payload):
        self.events.append((stage, dict(payload)))

    def of(self, stage):
        return [payload for name, payload in self.events if name == stage]


@pytest.fixture
def kept():
    return Kept()


@pytest.fixture
def executor(kept):
    with ToolExecutor(kept, tasks=TaskManager.in_memory()) as made:
        made.register("give", lambda args: 1)
        made.register("fail", lambda args: 1 / 0)
        yield made


def call():
    return CallState("c1", "tool", {}, None)


def info(status=TaskStatus.COMPLETED, error=None):
    return TaskInfo(
        id="t1",
        status=status,
        tool_name="tool",
        plugin_name="local",
        call_id="c1",
        created=1.0,
        started=2.0,
        ended=3.0,
        duration=1.5,
        error=error,
        output_bytes=0,
        owner="1",
    )


class Table:
    """Tasks that know of whose end somebody was told."""

    def __init__(self, infos=(), error=None):
        self.infos, self.error, self.claimed, self.asked = list(infos), error, [], 0
        self.said, self.put_off = [], []

    def claim(self, task_id):
        self.claimed.append(task_id)
        return self.claimed.count(task_id) == 1

    def claim_untold(self, conversation):
        assert conversation is None
        self.asked += 1
        if self.error is not None:
            raise self.error
        while self.infos:
            yield self.infos.pop(0)

    def later(self, do):
        self.put_off.append(do)

    def told(self, task_id):
        self.said.append(task_id)


# To the ledger -------------------------------------------------------------------------------------------------------


def test_a_call_is_recorded_with_its_start_and_its_end(executor, kept):
    executor.execute("give", {"a": 1}, call_id="c1")
    (start,), (end,) = kept.of("call-start"), kept.of("call-end")
    assert len(start.pop("args_sha256")) == 64
    assert start == {"tool": "give", "call_id": "c1", "args": {"a": 1}}
    assert 0 <= end.pop("duration") < SECONDS
    assert end == {"tool": "give", "call_id": "c1", "outcome": "completed"}


def test_a_failure_is_recorded_with_its_error(executor, kept):
    executor.execute("fail", call_id="c1")
    (end,) = kept.of("call-end")
    assert end["outcome"] == "failed"
    assert end["error"] == "division by zero"


def test_a_start_in_the_background_is_recorded_without_a_threshold_and_followed_to_its_end(executor, kept):
    task_id = executor.start(ToolCall("c1", "fail", {})).task_id
    executor.tasks.wait(task_id, SECONDS)
    executor.shutdown(timeout=SECONDS)
    assert kept.of("auto-background") == [{"tool": "fail", "call_id": "c1", "task_id": task_id, "threshold": 0.0}]
    (end,), (over,) = kept.of("call-end"), kept.of("task-end")
    assert end["outcome"] == "backgrounded"
    assert "error" not in end
    assert over["duration"] == executor.tasks.get(task_id).duration
    assert over["error"] == "division by zero"
    assert (over["tool"], over["task_id"], over["status"]) == ("fail", task_id, "failed")


def test_the_threshold_of_a_call_that_was_handed_over_is_recorded(executor, kept):
    release = threading.Event()
    executor.register("wait", lambda args: release.wait(SECONDS), auto_background=0.01)
    executor.execute("wait")
    release.set()
    executor.shutdown(timeout=SECONDS)
    assert kept.of("auto-background")[0]["threshold"] == 0.01


def test_a_task_that_completed_is_recorded_without_an_error(kept):
    reports = Reports(Table)
    reports.to_ledger(kept)
    reports.task_ended(call(), info())
    assert kept.of("task-end") == [{"tool": "tool", "task_id": "t1", "status": "completed", "duration": 1.5}]


def test_without_anybody_who_listens_nothing_is_made(kept):
    reports = Reports(Table)
    assert not reports.wanted
    reports.to_ledger(kept)
    assert reports.wanted
    reports.to_ledger(None)
    assert not reports.wanted
    assert reports.record is None


# To the callback for ended tasks --------------------------------------------------------------------------------------


def test_a_done_callback_is_told_once_of_each_end_how_it_came_out():
    told, table = [], Table()
    reports = Reports(lambda: table)
    reports.task_ended(call(), info())  # nobody is there to be told
    assert table.claimed == []
    reports.to_task_done(lambda *said: told.append(said))
    reports.task_ended(call(), info())
    reports.task_ended(call(), info())
    assert told == [("t1", True, None, 1.5)]
    assert table.claimed == ["t1", "t1"]
    assert table.said == ["t1"]


def test_a_new_done_callback_is_told_of_ends_that_nobody_was_told_of(caplog):
    told, table = [], Table([info(TaskStatus.FAILED, "no"), info(TaskStatus.CANCELLED, "stopped")])
    reports = Reports(lambda: table)

    def callback(*said):
        told.append(said)
        assert table.said == ["t1"] * (len(told) - 1), "each is claimed, told and marked before the next"
        raise ValueError("broken")

    reports.to_task_done(callback)
    assert table.put_off == []
    assert table.said == ["t1", "t1"]
    assert told == [("t1", False, "no", 1.5), ("t1", False, "stopped", 1.5)]
    assert caplog.text.count("A done-callback for the task t1 raised") == 2


def test_a_new_done_callback_is_told_of_some_ends_at_once_and_of_the_others_later():
    told, table = [], Table([info()] * (UNTOLD + 5))
    reports = Reports(lambda: table)
    reports.to_task_done(lambda *said: told.append(said))
    assert len(told) == UNTOLD
    (do,) = table.put_off
    assert do() is True
    assert len(told) == UNTOLD + 5
    table.infos = [info()]
    reports.to_task_done(None)
    assert do() is True
    assert len(told) == UNTOLD + 5, "nobody wants to be told any more"


def test_without_a_done_callback_nobody_is_looked_for():
    table = Table([info()])
    reports = Reports(lambda: table)
    reports.to_task_done(print)
    reports.to_task_done(None)
    reports.task_ended(call(), info())
    assert table.asked == 1
    assert table.claimed == []


def test_a_store_that_cannot_say_who_was_told_is_warned_about_and_asked_again(caplog):
    told, table = [], Table([info()], error=ExecutorUnavailableError("no disk"))
    reports = Reports(lambda: table)
    reports.to_task_done(lambda *said: told.append(said))
    assert "no disk" in caplog.text
    table.error = None
    assert table.put_off[0]() is True
    assert told == [("t1", True, None, 1.5)]


# The file ------------------------------------------------------------------------------------------------------------


def sizes(path):
    return {each.name: each.stat().st_size for each in path.parent.iterdir()}


def test_a_ledger_is_required_only_where_that_is_said(tmp_path):
    for made in (TokenLedger(), JsonLinesLedger(tmp_path / "log")):
        assert made.required is False
    assert TokenLedger(required=True).required
    assert JsonLinesLedger(tmp_path / "log", required=True).required


def test_a_file_may_be_exactly_as_long_as_it_may_be(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(b"\n")
    JsonLinesLedger(path, max_bytes=100)._write(b"y" * 99)
    assert path.stat().st_size == 100
    JsonLinesLedger(path, max_bytes=100)._write(b"z")
    assert path.read_bytes() == b"z"


def test_a_ledger_goes_to_another_process_as_it_is(tmp_path):
    ledger = JsonLinesLedger(tmp_path / "log", max_bytes=300, backups=1, required=True, secrets=["hush-hush"])
    copy = pickle.loads(pickle.dumps(ledger))
    assert (copy.path, copy.required) == (ledger.path, True)
    for letter in "abc":
        copy.record("s", {"text": letter * 250 + "hush-hush"})
    assert sorted(sizes(ledger.path)) == ["log", "log.1"]
    assert "hush" not in ledger.path.read_text()


def test_a_file_is_rotated_before_it_would_be_too_long_and_not_earlier(tmp_path):
    path = tmp_path / "log"
    JsonLinesLedger(path).record("s", {"a": 1.0})
    line = path.stat().st_size
    path.unlink()
    exact = JsonLinesLedger(path, max_bytes=line + 40, backups=2)
    path.write_bytes(b"x" * 10)
    exact.record("s", {})
    assert not (tmp_path / "log.1").exists()
    exact.record("s", {"long": "y" * 400})  # longer than a file may be: it has one of its own
    assert (tmp_path / "log.1").read_bytes().startswith(b"x" * 10)
    assert b"yyy" in path.read_bytes()
    exact.record("s", {"long": "z" * 400})
    exact.record("s", {"long": "w" * 400})
    assert sorted(sizes(path)) == ["log", "log.1", "log.2"]
    assert b"www" in path.read_bytes()
    assert b"zzz" in (tmp_path / "log.1").read_bytes()
    assert b"yyy" in (tmp_path / "log.2").read_bytes()


def test_a_file_without_backups_begins_anew(tmp_path):
    path = tmp_path / "log"
    ledger = JsonLinesLedger(path, max_bytes=100, backups=0)
    for letter in "abc":
        ledger.record("s", {"long": letter * 200})
    assert sorted(sizes(path)) == ["log"]
    assert b"ccc" in path.read_bytes()
    assert b"bbb" not in path.read_bytes()
    path.unlink()
    ledger._rotate()  # another process was there first


def test_a_record_says_which_process_wrote_it_and_how_many_it_wrote_before(tmp_path):
    ledger = JsonLinesLedger(tmp_path / "log")
    for _ in range(2):
        ledger.record("s", {})
    records = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert [(record["seq"], record["pid"]) for record in records] == [(1, os.getpid()), (2, os.getpid())]


def test_a_record_that_is_longer_than_the_file_may_be_leaves_no_empty_file_behind(tmp_path):
    path = tmp_path / "new" / "folder" / "log"
    JsonLinesLedger(path, max_bytes=10).record("s", {})
    assert sorted(sizes(path)) == ["log"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_record_that_the_disk_cuts_short_is_an_error_and_the_file_is_closed(tmp_path, monkeypatch):
    descriptors = []

    def short(descriptor, line):
        descriptors.append(descriptor)
        return len(line) - 1

    monkeypatch.setattr(os, "write", short)
    with pytest.raises(OSError, match="bytes of a record could be written"):
        JsonLinesLedger(tmp_path / "log").record("s", {})
    monkeypatch.undo()
    with pytest.raises(OSError):
        os.fstat(descriptors[0])
