"""What was decided about calls, and what came of them, from the ledger's file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from executor.paths import regular_only

MOST_BYTES = 4 * 1024 * 1024  # of the newest records that are read
_LATEST = 8.64e12  # seconds since the epoch that a browser has a date for
_JUDGED = ("permission-check", "permission-error")


def records(path: Path) -> list[dict[str, Any]]:
    """
    The newest records of a ledger, oldest first. What is damaged is left out; a ledger that is not there has none.

    Raises:
        OSError: It cannot be read.
    """
    found: list[dict[str, Any]] = []
    left = MOST_BYTES
    for each in (path, Path(f"{path}.1")):  # the file before, where this one is new
        if left <= 0 or not each.exists():
            break
        data = _end_of(each, left)
        left -= len(data)
        found = [*_read(data), *found]
    return found


def _end_of(path: Path, size: int) -> bytes:
    """The last lines of a file, whole."""
    with open(path, "rb", opener=regular_only) as file:
        start = max(0, file.seek(0, 2) - size)
        file.seek(start)
        data = file.read(size)
    return data.partition(b"\n")[2] if start else data


def _read(data: bytes) -> list[dict[str, Any]]:
    found = []
    for line in data.splitlines():
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict):
            found.append(record)
    return found


def rows(found: list[dict[str, Any]], limit: int) -> list[dict[str, Any]]:
    """The newest *limit* calls, newest first: each what was decided about it, and its end as far as that is known."""
    made: list[dict[str, Any]] = []
    calls: dict[str, dict[str, Any]] = {}
    ends: dict[str, dict[str, Any]] = {}  # of tasks: a quick one has ended before its call is answered
    for record in found:
        # Keys are texts: in a record that is damaged anything may stand.
        stage, key = record.get("stage"), repr((record.get("pid"), record.get("call_id")))
        if stage in _JUDGED:
            calls[key] = _judged(record)
            made.append(calls[key])
        elif stage == "call-end" and key in calls:
            calls[key] |= {name: record[name] for name in ("outcome", "duration", "error") if name in record}
        elif stage == "auto-background" and key in calls:
            calls[key]["task_id"] = record.get("task_id")
        elif stage == "task-end":
            end = {"outcome": record.get("status")} | {k: record[k] for k in ("duration", "error") if k in record}
            ends[repr(record.get("task_id"))] = end
    newest = made[: -limit - 1 : -1]
    for row in newest:
        if "task_id" in row:
            row.update(ends.get(repr(row["task_id"]), {}))
    return newest


def _judged(record: dict[str, Any]) -> dict[str, Any]:
    time = record.get("ts")
    return {
        "time": time if isinstance(time, int | float) and 0 < time < _LATEST else None,
        "tool": str(record.get("tool")),
        "arguments": record.get("args") if isinstance(record.get("args"), dict) else {},
        "allowed": record.get("allowed") is True,
        "reason": str(record.get("reason") or record.get("error") or ""),
        "method": str(record.get("method") or "error"),
        "confine": record.get("confine"),
        "call_id": record.get("call_id"),
        "pid": record.get("pid"),
    }
