"""Files that one process at a time changes: nobody is waited for for ever."""

import os
import sys

import pytest

from executor import wholefiles
from executor.ownfolders import make_private
from executor.tasks._connection import connect
from executor.tasks._owners import OwnerLock
from executor.wholefiles import locked, write_whole

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no such locks on Windows")


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(wholefiles, "_LONGEST_SECONDS", 0.01)


def test_who_waits_for_a_process_that_does_not_go_on_is_told_which(tmp_path):
    path = tmp_path / "lock"
    who = f"Process {os.getpid()}" if sys.platform == "linux" else "Another process"
    with locked(path):
        with pytest.raises(TimeoutError, match=f"{who} has not let go") as caught, locked(path):
            pass
        assert caught.value.filename == str(path)
    with locked(path):
        pass


@pytest.mark.parametrize("table", ["", "1: FLOCK  ADVISORY  WRITE 0 08:01:{0} 0 EOF\n", "nothing\n"])
def test_where_the_system_does_not_say_who_the_words_tell_how_to_find_out(tmp_path, monkeypatch, table):
    path = tmp_path / "lock"
    with locked(path):
        (tmp_path / "locks").write_text(table.format(path.stat().st_ino))
        monkeypatch.setattr(wholefiles, "_LOCKS", str(tmp_path / "locks"))
        with pytest.raises(TimeoutError, match=f"Another process.*fuser {path}"), locked(path):
            pass


def test_a_program_that_forks_meanwhile_does_not_go_on_holding_it(tmp_path):
    end, ending = os.pipe()
    with locked(tmp_path / "lock"):
        child = os.fork()
        if not child:
            os.close(ending)
            os.read(end, 1)
            os._exit(0)
    try:
        with locked(tmp_path / "lock"):
            pass
    finally:
        os.close(ending)
        os.close(end)
        os.waitpid(child, 0)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root makes files of others")
def test_what_root_makes_in_somebodys_folder_is_theirs(tmp_path):
    theirs, notes = tmp_path / "theirs", tmp_path / "notes"
    theirs.mkdir()
    os.chown(theirs, 1234, 1235)
    notes.write_text("root's")
    (theirs / "link.lock").symlink_to(notes)
    write_whole(theirs / "policy", "{}")
    for name in ("policy.lock", "link.lock"):
        with locked(theirs / name):
            pass
    owner = OwnerLock(theirs)
    make_private(theirs / "a" / "b")
    connect(theirs / "tasks.db").close()
    names = ("a", "a/b", "policy", "policy.lock", "tasks.db", f"{owner.id}.lock")
    assert {name: (theirs / name).stat().st_uid for name in names} == dict.fromkeys(names, 1234)
    assert {(theirs / name).stat().st_gid for name in names} == {1235}
    assert (notes.stat().st_uid, notes.read_text()) == (0, "root's"), "a link leads to no file that is given away"
    owner.release()
