"""What the page shows of a ledger in which something is damaged."""

from __future__ import annotations

import os
import threading

import pytest

from executor import JsonLinesLedger, ToolCall, ToolExecutor
from executor_console import _history
from executor_permissions import PermissionPlugin


@pytest.mark.parametrize("odd", [[1], {"a": 1}, None])
def test_a_record_that_is_damaged_hides_no_other_one(odd):
    whole = {"stage": "permission-check", "tool": "act", "args": {}, "allowed": True, "pid": 1, "call_id": "1"}
    damaged = [
        {**whole, "pid": odd, "call_id": odd},
        {"stage": "auto-background", "pid": odd, "call_id": odd, "task_id": odd},
        {"stage": "task-end", "task_id": odd, "status": "completed"},
    ]
    rows = _history.rows([*damaged, whole, {"stage": "call-end", "pid": 1, "call_id": "1", "outcome": "ok"}], 9)
    assert [(row["tool"], row.get("outcome")) for row in rows] == [("act", "ok"), ("act", "completed")]


@pytest.mark.parametrize(("time", "shown"), [(1.5, 1.5), ("x", None), (1e300, None), (float("nan"), None), ([1], None)])
def test_a_time_that_no_browser_has_a_date_for_is_none(time, shown):
    record = {"stage": "permission-check", "tool": "act", "args": {}, "allowed": True, "ts": time}
    assert _history.rows([record], 9)[0]["time"] == shown


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no such pipes")
def test_a_pipe_in_the_place_of_the_ledger_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "calls.jsonl")
    with pytest.raises(OSError, match="no regular file"):
        _history.records(tmp_path / "calls.jsonl")


def test_what_became_of_a_call_in_the_background_is_told(tmp_path):
    done = threading.Event()
    with ToolExecutor(JsonLinesLedger(tmp_path / "calls.jsonl"), permission_plugin=allowing()) as executor:
        executor.set_task_done_callback(lambda *_: done.set())  # it is in the ledger by then
        executor.register("give", lambda args: 1)
        task_id = executor.start(ToolCall("1", "give", {})).task_id
        assert done.wait(30)
    records = _history.records(tmp_path / "calls.jsonl")
    records.sort(key=lambda record: record["stage"] == "task-end")
    for order in (records, [records[-1], *records[:-1]]):  # a quick task has ended before its call is answered
        assert [(row["outcome"], row["task_id"]) for row in _history.rows(order, 9)] == [("completed", task_id)]


def allowing():
    return PermissionPlugin(policy={"defaultPolicy": "allow"})
