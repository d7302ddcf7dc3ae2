"""Whoever writes first: the folders of tasks are for this user only, whatever the umask."""

from __future__ import annotations

import os
import stat
import sys

import pytest

from executor import TaskStatus
from executor.ownfolders import make_private
from executor.tasks import TaskManager
from executor.tasks._manager import engine_of

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="modes are another thing there")


@pytest.fixture(params=[0o000, 0o022, 0o077, 0o777], ids=oct)
def umask(request):
    before = os.umask(request.param)
    yield
    os.umask(before)


def emit(tasks):
    spool = engine_of(tasks).new_spool()
    spool.append("x" * (1 << 20))
    spool.append("y" * 10)  # past what is kept in memory: a file, before there is any task


def save(tasks):
    engine_of(tasks).save_result("a long text")


def enter(tasks):
    spool = engine_of(tasks).new_spool()
    spool.append("x" * 5000)
    task_id = engine_of(tasks).add("t", "p", "c", spool, cancel=lambda _: False, reached=lambda: None)
    engine_of(tasks).finish(task_id, TaskStatus.COMPLETED, (True, "y" * 100_000))


def read(tasks):
    assert tasks.list() == []


@pytest.mark.parametrize("first", [emit, save, enter, read])
def test_all_that_is_made_is_for_this_user_only(tmp_path, umask, first):
    folder = tmp_path / "a" / "state"
    tasks = TaskManager.open(folder)
    try:
        first(tasks)
        enter(tasks)
    finally:
        tasks.close()
    made = [folder.parent, folder, *folder.rglob("*")]
    assert len(made) > 5
    modes = {path.relative_to(tmp_path): stat.S_IMODE(path.stat().st_mode) for path in made}
    assert {path: oct(mode) for path, mode in modes.items() if mode & 0o077} == {}
    assert {oct(mode) for path, mode in modes.items() if (tmp_path / path).is_dir()} == {"0o700"}


def test_a_folder_that_somebody_makes_at_the_same_time_is_no_error(tmp_path, monkeypatch):
    folder = tmp_path / "a"
    mkdir = type(folder).mkdir

    def slow(path, *args, **options):
        mkdir(path)
        mkdir(path, *args, **options)

    monkeypatch.setattr(type(folder), "mkdir", slow)
    make_private(folder)
    assert folder.is_dir()
    monkeypatch.undo()
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"):
        make_private(tmp_path / "file" / "below")
