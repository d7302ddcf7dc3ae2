"""What the page shows of a ledger in which something is damaged."""

from __future__ import annotations

import os

import pytest

from executor_console import _history


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
