"""
A pytest plugin (`-p calls_seen`) that writes down which test calls which function, and how long each test takes.

It writes one JSON file for each process into the folder $CALLS_SEEN: functions (`path:first line`) to tests, tests to
seconds. Only functions in files below $CALLS_ROOT are noted, of all threads; other processes are not followed.
"""

import json
import os
import sys
import threading
from pathlib import Path

import pytest

_ROOT = os.environ["CALLS_ROOT"].rstrip("/") + "/"
_current = ""
_seen: dict[int, tuple[object, set[str] | None]] = {}  # the code object is kept, so that its id stays its own
_seconds: dict[str, float] = {}
_failed: set[str] = set()


def _note(frame, event, arg):
    code = frame.f_code
    entry = _seen.get(id(code))
    if entry is None:
        entry = _seen[id(code)] = (code, set() if code.co_filename.startswith(_ROOT) else None)
    if entry[1] is not None:
        entry[1].add(_current)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    global _current  # noqa: PLW0603 -- threads that a test starts belong to it
    _current = item.nodeid
    sys.settrace(_note)
    threading.settrace(_note)
    try:
        return (yield)
    finally:
        sys.settrace(None)
        threading.settrace(None)
        _current = ""


def pytest_runtest_logreport(report):
    _seconds[report.nodeid] = _seconds.get(report.nodeid, 0.0) + report.duration
    if report.failed:
        _failed.add(report.nodeid)


def pytest_sessionfinish(session):
    functions = {}
    for code, tests in _seen.values():
        if tests:
            place = f"{code.co_filename.removeprefix(_ROOT)}:{code.co_firstlineno}"
            functions.setdefault(place, set()).update(tests - {""})
    found = {
        "functions": {place: sorted(tests) for place, tests in functions.items()},
        "seconds": _seconds,
        "failed": sorted(_failed),
    }
    Path(os.environ["CALLS_SEEN"], f"{os.getpid()}.json").write_text(json.dumps(found), encoding="utf-8")
