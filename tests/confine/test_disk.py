"""Looking for many places at once, along the folders that are there: the same as looking for each by itself."""

from __future__ import annotations

import contextlib
import ctypes
import os
import random
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from executor.confine import _disk
from executor.confine._disk import Disk

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no boxes")
NAMES = ("a", "b", "c", "d")


def grown(folder, chance, depth=3):
    """A tree of folders, files and links to anywhere in it: to nothing, to one another, and around."""
    folder.mkdir()
    for name in NAMES:
        path, kind = folder / name, chance.choice(("none", "file", "folder", "folder", "link"))
        if kind == "file":
            path.touch()
        elif kind == "folder" and depth:
            grown(path, chance, depth - 1)
        elif kind == "link":
            way = [chance.choice(NAMES) for _ in range(chance.randint(1, 3))]
            path.symlink_to("/".join(way) if chance.random() < 0.5 else f"{folder}/{'/'.join(way)}")


def asked(root, chance):
    for _ in range(40):
        way = [chance.choice((*NAMES, *NAMES, "..", ".", "")) for _ in range(chance.randint(1, 5))]
        yield "/".join((str(root), *way))


@pytest.mark.parametrize("seed", range(60))
def test_all_at_once_are_found_as_each_by_itself(tmp_path, seed):
    chance = random.Random(seed)
    grown(tmp_path / "tree", chance)
    paths = tuple(asked(tmp_path / "tree", chance))
    there, ways = Disk().find(paths)
    plain = [os.path.realpath(path) if ".." in path else os.path.normpath(path) for path in paths]
    # realpath goes up again from what is not there, where the kernel stops.
    assert {os.path.realpath(path) for path in plain if os.path.exists(path)} <= there
    assert {path for path in there if os.path.exists(path)} <= {os.path.realpath(path) for path in plain}
    for path in (path for path in plain if os.path.exists(path) or not os.path.lexists(path)):
        folder = os.path.dirname(os.path.realpath(path))
        while folder != "/":
            assert folder in ways or not os.path.exists(folder), path
            folder = os.path.dirname(folder)


def changed(folder, chance):
    """Something is made, moved, removed, or put in another's place, and the times of the folders are set back."""
    before = {path: os.stat(path) for path, *_ in os.walk(folder)}
    inside = [Path(path) for path in before]
    one, two = (chance.choice(inside) / chance.choice(NAMES) for _ in range(2))
    with contextlib.suppress(OSError, shutil.Error):
        kind = chance.choice(("file", "folder", "link", "moved", "removed"))
        if kind == "moved":
            one.rename(two)
        elif one.is_dir() and not one.is_symlink():
            shutil.rmtree(one)
        else:
            one.unlink(missing_ok=True)
        if kind == "file":
            one.touch()
        elif kind == "folder":
            grown(one, chance, 1)
        elif kind == "link":
            one.symlink_to(two)
    for path, status in before.items():
        with contextlib.suppress(OSError):
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


@pytest.mark.parametrize("seed", range(20))
def test_what_was_listed_before_hides_no_change(tmp_path, seed, monkeypatch):
    chance = random.Random(seed)
    grown(tmp_path / "tree", chance)
    monkeypatch.setattr(_disk, "_TICK", 0 if seed % 2 else _disk._TICK)  # kept at once, or only when it is old enough
    for _ in range(10):
        if seed % 2:
            wait_for_tick(tmp_path)
        paths = tuple(asked(tmp_path / "tree", chance))
        found = Disk().find(paths)
        _disk._kept.clear()
        assert Disk().find(paths) == found
        changed(tmp_path / "tree", chance)


def wait_for_tick(folder):
    """Until the clock of the file system has gone on: what changes from now on has another time."""
    began = folder.stat().st_ctime_ns
    while folder.stat().st_ctime_ns == began:
        folder.chmod(0o700)


def test_a_folder_whose_time_is_set_back_has_changed(tmp_path, monkeypatch):
    """A command may set a folder's mtime, so that what it made there would not be seen."""
    folder = tmp_path / "a"
    folder.mkdir()
    os.utime(folder, ns=(0, 0))
    monkeypatch.setattr(_disk, "_TICK", 0)
    wait_for_tick(tmp_path)
    stamp = _disk.stamp_of(str(folder))
    assert stamp.holds()
    wait_for_tick(tmp_path)
    (folder / "new").touch()
    os.utime(folder, ns=(0, 0))
    assert not stamp.holds()


def test_what_is_in_a_folder_that_cannot_be_listed_is_found(tmp_path, monkeypatch):
    (tmp_path / "home/me").mkdir(parents=True)
    (tmp_path / "home/me/.netrc").touch()
    (tmp_path / "home/other").symlink_to("me")
    listed = os.scandir

    def passed_only(folder):
        if folder == f"{tmp_path}/home":
            raise PermissionError(folder)
        return listed(folder)

    monkeypatch.setattr(os, "scandir", passed_only)
    home, me = f"{tmp_path}/home", f"{tmp_path}/home/me"
    assert Disk().find([f"{me}/.netrc", f"{home}/no/.netrc"]).there == {f"{me}/.netrc"}
    there, ways = Disk().find([f"{home}/other/.netrc", f"{home}/other/no"])
    assert there == {f"{me}/.netrc"}
    assert {home, me} <= ways


def test_what_holds_something_hidden_may_be_hidden_itself(tmp_path):
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "apart").mkdir()
    (tmp_path / "a/link").symlink_to(tmp_path / "apart")
    assert Disk().find([f"{tmp_path}/a/link", f"{tmp_path}/a", f"{tmp_path}/a/b"]).there == {
        f"{tmp_path}/{name}" for name in ("a", "a/b", "apart")
    }


@pytest.fixture
def open_folder():
    """A folder that every user can come to: not pytest's."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield Path(os.path.realpath(folder))


def find_as_a_user(paths):
    """What is found by somebody whom modes hold up; root they do not, so in a thread that looks at files as nobody."""

    def find():
        if os.getuid() == 0:
            ctypes.CDLL(None).setfsuid(65534)
        return Disk().find(paths)

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(find).result()


@pytest.mark.skipif(sys.platform != "linux", reason="a thread has no user of its own elsewhere")
@pytest.mark.parametrize("mode", [0o000, 0o600, 0o200])
def test_of_an_own_folder_that_cannot_be_looked_into_all_is_hidden(open_folder, mode):
    closed = open_folder / "a"
    closed.mkdir()
    (closed / "secret").touch()
    wanted = [f"{closed}/secret", f"{closed}/b/c", f"{open_folder}/missing/secret"]
    closed.chmod(mode)
    found = find_as_a_user(wanted)
    closed.chmod(0o755)
    assert found.there == {str(closed)}
    assert find_as_a_user(wanted).there == {f"{closed}/secret"}


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root has folders of others")
def test_a_folder_of_another_that_cannot_be_looked_into_is_left_as_it_is(open_folder):
    closed = open_folder / "a"
    closed.mkdir(mode=0o700)
    os.chown(closed, 1234, 1234)
    assert find_as_a_user([f"{closed}/secret"]).there == set()
