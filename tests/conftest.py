"""Fixtures for the whole suite, and the check that no test leaves threads or processes behind."""

from __future__ import annotations

import gc
import multiprocessing
import os
import sys
import threading
import traceback
from pathlib import Path

import pytest

pytest_plugins = ["executor.testing"]


def pytest_collection_modifyitems(config, items):
    if "chaos" not in config.option.markexpr:
        for item in items:
            if item.get_closest_marker("chaos") is not None:
                item.add_marker(pytest.mark.skip(reason="long: run with -m chaos"))


def _ours() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("executor-")]


def _children() -> set[int]:
    try:
        return {
            int(pid)
            for thread in os.listdir("/proc/self/task")
            for pid in Path(f"/proc/self/task/{thread}/children").read_text(encoding="ascii").split()
        }
    except OSError:  # not Linux
        return {child.pid or 0 for child in multiprocessing.active_children()}


@pytest.fixture(autouse=True)
def nothing_left_behind():
    """Fails a test after which a thread of ours, or a child process, is still there."""
    before, children = set(_ours()), _children()
    yield
    gc.collect()
    left = []
    for thread in _ours():
        if thread not in before:
            thread.join(5)
            if thread.is_alive():
                frame = sys._current_frames().get(thread.ident)
                left.append(f"{thread.name}\n{''.join(traceback.format_stack(frame)) if frame else ''}")
    assert not left, "threads left behind:\n" + "\n".join(left)
    assert _children() <= children, "processes left behind"


@pytest.fixture(autouse=True)
def own_folders(tmp_path_factory, monkeypatch):
    """No test reads or writes the user's own configuration and state."""
    home = tmp_path_factory.mktemp("home")
    for variable, folder in (
        ("HOME", home),
        ("XDG_CONFIG_HOME", home / "config"),
        ("XDG_STATE_HOME", home / "state"),
        ("XDG_CACHE_HOME", home / "cache"),
        ("XDG_DATA_HOME", home / "data"),
    ):
        monkeypatch.setenv(variable, str(folder))
    for variable in [name for name in os.environ if name.startswith("TOOLEXEC_")]:
        monkeypatch.delenv(variable)
    return home
