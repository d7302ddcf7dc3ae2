"""The folders that boxes are given, where several are made and removed at a time."""

from __future__ import annotations

import os
import sys
import threading

import pytest

if sys.platform == "win32":
    pytest.skip("there are no boxes", allow_module_level=True)

from executor.confine import _folders

MOMENT = 0.2  # seconds in which a thread that nothing keeps waiting has long ended


def test_a_folder_that_is_just_made_is_not_tidied_away(tmp_path, monkeypatch):
    parent = str(tmp_path / "runs")
    lock, tidying = _folders._lock, threading.Thread(target=_folders.remove_unheld, args=(parent,))

    def lock_late(folder, flags=0):
        if tidying.ident is None:
            tidying.start()
            tidying.join(MOMENT)
        return lock(folder, flags)

    monkeypatch.setattr(_folders, "_lock", lock_late)
    made = _folders.Temporary(parent)
    tidying.join()
    assert os.path.isdir(made.path)
    made.close()
    assert os.listdir(parent) == []
