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
from executor.confine._mounted import Mount

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
    found = {os.path.realpath(path) for path in paths if os.path.exists(path)}
    assert found <= there
    assert {path for path in there if os.path.exists(path)} <= {os.path.realpath(path) for path in paths}
    for path in found:
        while (path := os.path.dirname(path)) != "/":
            assert path in ways


@pytest.mark.parametrize("seed", range(20))
def test_whatever_changes_what_is_found_changes_one_of_the_ways(tmp_path, seed, monkeypatch):
    """Links in the middle of a way too: what was made from it is made anew."""
    monkeypatch.setattr(_disk, "_TICK", 0)
    chance = random.Random(seed)
    grown(tmp_path / "tree", chance)
    for _ in range(10):
        wait_for_tick(tmp_path)
        paths = tuple(asked(tmp_path / "tree", chance))
        found = Disk().find(paths)
        stamps = [_disk.stamp_of(way) for way in found.ways if way.startswith(str(tmp_path))]
        wait_for_tick(tmp_path)
        changed(tmp_path / "tree", chance)
        after = Disk().find(paths)
        assert after == found or not all(stamp.holds() for stamp in stamps if stamp)


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
        _disk._kept_under.cache_clear()
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


@pytest.mark.parametrize(
    ("age", "fraction", "sure"), [(0.03, 5, True), (0.01, 5, False), (1.9, 0, False), (2.03, 0, True), (-1, 5, False)]
)
def test_what_may_change_again_within_a_tick_of_the_clock_is_not_sure(tmp_path, monkeypatch, age, fraction, sure):
    """Of most file systems some milliseconds; two seconds of one that tells whole seconds (old ext4, FAT)."""
    changed = 1_700_000_000 * 10**9 + fraction
    found = tmp_path.stat()

    class Status:
        st_dev, st_ino, st_ctime_ns = found.st_dev, found.st_ino, changed

    monkeypatch.setattr(_disk.os, "stat", lambda path: Status)
    monkeypatch.setattr(_disk.time, "time_ns", lambda: changed + int(age * 10**9))
    stamp = _disk.stamp_of(str(tmp_path))
    assert stamp.changed == (changed if sure else 0)
    assert stamp.holds() is sure


def test_a_folder_of_another_device_is_another(tmp_path, monkeypatch):
    monkeypatch.setattr(_disk, "_TICK", 0)
    wait_for_tick(tmp_path)
    stamp = _disk.stamp_of(str(tmp_path))
    assert stamp.holds()
    assert not stamp._replace(device=stamp.device + 1).holds()
    assert not stamp._replace(inode=stamp.inode + 1).holds()


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


def test_a_link_in_the_middle_of_a_way_is_on_it(tmp_path):
    """What it leads to may be exchanged without a trace in the folders above either end."""
    for version in ("1", "2"):
        (tmp_path / f"srv/{version}/aws").mkdir(parents=True)
    (tmp_path / "opt").mkdir()
    (tmp_path / "home").mkdir()
    (tmp_path / "opt/current").symlink_to("../srv/1")
    (tmp_path / "home/.aws").symlink_to(tmp_path / "opt/current/aws")
    there, ways = Disk().find([f"{tmp_path}/home/.aws"])
    assert there == {f"{tmp_path}/srv/1/aws"}
    assert {f"{tmp_path}/{name}" for name in ("home", "opt", "srv", "srv/1")} <= ways
    (tmp_path / "opt/current").unlink()
    (tmp_path / "opt/current").symlink_to("../srv/2")
    assert Disk().find([f"{tmp_path}/home/.aws"]).there == {f"{tmp_path}/srv/2/aws"}


def test_links_that_go_round_lead_nowhere(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    (tmp_path / "c").symlink_to("c/c")
    assert Disk().find([f"{tmp_path}/a/x", f"{tmp_path}/b", f"{tmp_path}/c/d"]).there == set()


def test_what_is_mounted_over_a_folder_is_no_more_what_was_listed(tmp_path, monkeypatch):
    monkeypatch.setattr(_disk, "_TICK", 0)
    (tmp_path / "a").touch()
    wait_for_tick(tmp_path)
    before, after = (Mount("0:1", "/", "/"),), (Mount("0:1", "/", "/"), Mount("0:2", "/", str(tmp_path)))
    stamp = Disk(before).listed(str(tmp_path)).stamp
    Disk(before)._kept[str(tmp_path)] = _disk.Listing(stamp, {"before": _disk.Kind.FILE}, {})
    assert [*Disk(before).listed(str(tmp_path)).entries] == ["before"]
    assert [*Disk(after).listed(str(tmp_path)).entries] == ["a"]


def test_a_folder_and_its_stamp_are_of_one(tmp_path, monkeypatch):
    """Another folder is put in its place while it is listed."""
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    (one / "a").touch()
    two.mkdir()
    (two / "b").touch()
    inodes = {one.stat().st_ino: {"a"}, two.stat().st_ino: {"b"}}
    real = _disk.stamp_of

    def exchanged(path, opened=None):
        stamp = real(path, opened)
        one.rename(tmp_path / "three")
        two.rename(one)
        return stamp

    monkeypatch.setattr(_disk, "stamp_of", exchanged)
    stamp, entries, _ = _disk.listed(str(one))
    assert entries.keys() == inodes[stamp.inode] == {"a"}


def test_a_folder_is_not_listed_by_way_of_a_link(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a/b").mkdir()
    (tmp_path / "a/b/c").touch()
    (tmp_path / "link").symlink_to("a")
    assert _disk.listed(f"{tmp_path}/link/b").entries == {}


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
