"""What boxes make in a project, so that something can be put over it, and remove again whatever comes between."""

from __future__ import annotations

import errno
import os

import pytest

from executor.confine import _claims, _kernel, _records
from executor.confine._claims import Claims
from executor.confine._placeholders import Placeholders
from executor.confine._repositories import Repositories

NAMES = ("folder", "commondir", "config.worktree")


@pytest.fixture
def boxes(tmp_path):
    (tmp_path / "boxes").mkdir()
    return str(tmp_path / "boxes")


@pytest.fixture
def project(tmp_path):
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


def make(boxes, project, *names):
    Placeholders(boxes).make([str(project / name) for name in names])


def make_empty(boxes, project, name):
    Placeholders(boxes).make([str(project / name)], [str(project / name)])


def left(project):
    return sorted(path.name for path in project.iterdir())


def test_what_was_made_is_removed(boxes, project):
    make(boxes, project, *NAMES)
    assert left(project) == sorted(NAMES)
    Placeholders(boxes).remove()
    assert left(project) == []
    assert os.listdir(boxes) == []


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("step", ["utime", "write_all"])
def test_an_interrupt_before_one_is_dated_leaves_none(boxes, project, monkeypatch, name, step):
    def interrupted(*_, **__):
        if left(project):
            raise KeyboardInterrupt
        real(*_, **__)

    module = os if step == "utime" else _records
    real = getattr(module, step)
    monkeypatch.setattr(module, step, interrupted)
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(os, "utime", interrupted)  # a folder says nothing
        make(boxes, project, name)
    assert left(project) == [name]
    Placeholders(boxes).remove()
    assert left(project) == []


@pytest.mark.parametrize("fails", ["at once", "in the middle"])
def test_a_full_disk_loses_none_of_those_that_were_there(boxes, project, monkeypatch, fails):
    def full(descriptor, data):
        if fails == "in the middle":
            real(descriptor, data[:5])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    make(boxes, project, "first")
    real = os.write
    with monkeypatch.context() as patched, pytest.raises(OSError, match="No space"):
        patched.setattr(os, "write", full)
        make(boxes, project, "second")
    Placeholders(boxes).remove()
    assert left(project) == []
    assert os.listdir(boxes) == []


def test_what_cannot_be_looked_at_now_is_removed_the_next_time(boxes, project, monkeypatch):
    def too_many(*_):
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    make(boxes, project, *NAMES)
    with monkeypatch.context() as patched:
        patched.setattr(_kernel, "open_plain", too_many)
        Placeholders(boxes).remove()
    assert left(project) == sorted(NAMES)
    Placeholders(boxes).remove()
    assert left(project) == []


def test_what_somebody_has_filled_or_replaced_is_theirs(boxes, project):
    make(boxes, project, *NAMES, "other")
    (project / "folder" / "file").touch()
    (project / "commondir").write_text("..\n")
    (project / "other").rmdir()
    (project / "other").mkdir()
    Placeholders(boxes).remove()
    assert left(project) == ["commondir", "folder", "other"]
    assert os.listdir(boxes) == []


def test_what_has_two_names_is_made_once(boxes, project):
    make(boxes, project, *NAMES, *NAMES)  # as in a folder that is mounted twice
    assert left(project) == sorted(NAMES)
    Placeholders(boxes).remove()
    assert left(project) == []


def test_what_somebody_makes_meanwhile_is_theirs(boxes, project, monkeypatch):
    monkeypatch.setattr("executor.confine._placeholders.os.path.lexists", lambda _: False)
    (project / "folder").mkdir()
    make(boxes, project, "folder")
    Placeholders(boxes).remove()
    assert left(project) == ["folder"]


def test_an_empty_file_is_removed_unless_somebody_wrote_into_it(boxes, project):
    make_empty(boxes, project, "one")
    make_empty(boxes, project, "two")
    (project / "two").write_text("[core]\n")
    Placeholders(boxes).remove()
    assert left(project) == ["two"]


def test_a_full_disk_loses_no_claim(boxes, project, monkeypatch, tmp_path):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    run = tmp_path / "run"
    monkeypatch.setattr(_claims, "_began", lambda _: 0)  # before what follows, also by a clock that ticks slowly
    made = [project / name / ".git" for name in ("one", "two")]
    for git in made:
        git.mkdir(parents=True)
    (tmp_path / "boxes" / "runs").mkdir()
    Claims(boxes).add(Repositories((str(project / "one"),)), str(run))
    with monkeypatch.context() as patched, pytest.raises(OSError, match="No space"):
        patched.setattr(os, "write", full)
        Claims(boxes).add(Repositories((str(project / "one"), str(project / "two"))), str(run))
    assert [*Claims(boxes)._listed()] == [str(made[0])]
