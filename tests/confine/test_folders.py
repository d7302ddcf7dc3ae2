"""The folders that boxes are given, where several are made and removed at a time."""

from __future__ import annotations

import errno
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import threading
from pathlib import Path

import pytest

if sys.platform == "win32":
    pytest.skip("there are no boxes", allow_module_level=True)

from executor import wholefiles
from executor.confine import Profile, _folders, let_go, start
from executor.confine._removal import remove
from executor.errors import ConfinementError

from .conftest import NOBODY, PYTHON, as_nobody

ROOT = Path(__file__).parents[2]
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


def test_a_lock_that_the_system_does_not_let_go_of_is_let_go_by_closing_it(tmp_path, monkeypatch):
    flock = _folders.fcntl.flock

    def refuses(descriptor, how):
        if how == _folders.fcntl.LOCK_UN:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        flock(descriptor, how)

    monkeypatch.setattr(_folders.fcntl, "flock", refuses)
    monkeypatch.setattr(wholefiles, "_LONGEST_SECONDS", 0)  # who still held it would be told so at once
    entered = []
    for _ in range(2):
        with _folders.held(str(tmp_path / "boxes")):
            entered.append(True)
    assert entered == [True, True]


def deep(folder, depth):
    """Folders in one another, further down than a path, or a stack, goes."""
    here = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=here)
        with open("file", "w", encoding="utf-8", opener=functools.partial(os.open, dir_fd=here)) as file:
            file.write("x")
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)


def test_nobody_waits_while_what_a_command_left_is_removed(tmp_path, monkeypatch):
    runs, remove = str(tmp_path / "runs"), _folders.remove
    free = []

    def looked_at(path):
        if os.path.isdir(path):  # it may hold a million files
            with _folders.held(runs):
                free.append(path)
        remove(path)

    monkeypatch.setattr(_folders, "remove", looked_at)
    monkeypatch.setattr(wholefiles, "_LONGEST_SECONDS", 0.1)
    temporary = _folders.Temporary(runs)
    left = Path(temporary.path, "folder")
    left.mkdir()
    Path(temporary.path).chmod(0)
    temporary.close()
    assert len(free) == 1
    assert os.listdir(runs) == os.listdir(f"{runs}.gone") == []


def test_what_nobody_was_left_to_remove_is_removed_behind_the_next_command(tmp_path):
    runs = tmp_path / "runs"
    _folders.Temporary(str(runs)).close()
    (tmp_path / "runs.gone" / "x" / "y").mkdir(parents=True)
    _folders.Temporary(str(runs)).close()
    assert os.listdir(tmp_path / "runs.gone") == []


def test_whatever_a_command_left_is_removed(tmp_path):
    left, outside = tmp_path / "left", tmp_path / "outside"
    left.mkdir()
    (outside / "kept").mkdir(parents=True)
    deep(left, 3_000)
    (left / "link").symlink_to(outside)
    (left / "closed/in").mkdir(parents=True)
    (left / "closed/in/link").symlink_to(outside / "kept")
    (left / ".0.1").mkdir()  # as what is moved up is called
    (left / ".0.1/file").touch()
    os.mkfifo(left / "fifo")
    (left / "closed/in").chmod(0)
    (left / "closed").chmod(0)
    left.chmod(0)
    remove(str(left))
    assert os.listdir(tmp_path) == ["outside"]
    assert os.listdir(outside) == ["kept"]


@pytest.mark.parametrize("name", ["read", "project"])
def test_a_command_cannot_stop_later_boxes_by_what_it_leaves(tmp_path, name, landlock, bubblewrap):
    profile = Profile(name, str(tmp_path))
    code = "import os\nos.chdir(os.environ['TMPDIR'])\nfor _ in range(3000): os.mkdir('d'); os.chdir('d')"
    for command in (["/usr/bin/python3", "-I", "-c", code], ["true"], ["true"]):
        boxed = start(profile, command, cwd=str(tmp_path), stdin=subprocess.DEVNULL)
        assert boxed.process.wait(60) == 0
        boxed.close()


FULL = """
    import json, os, subprocess, sys
    from executor.confine import Profile, start
    from executor.errors import ConfinementError
    def tried(name):
        try:
            boxed = start(Profile(name, sys.argv[1]), ["true"], cwd=sys.argv[1], stdin=subprocess.DEVNULL)
        except ConfinementError as error:
            return "refused"
        boxed.process.wait()
        boxed.close()
        return boxed.box.mechanism
    if len(sys.argv) > 2:
        print(json.dumps([tried("read"), tried("project")]))
        sys.exit()
    filling = open(os.path.join(os.environ["XDG_STATE_HOME"], "filling"), "wb", buffering=0)
    try:
        while True:
            filling.write(b"x" * 4096)
    except OSError:
        pass
    names = 0
    try:
        while True:
            open(os.path.join(os.environ["XDG_STATE_HOME"], str(names)), "w").close()
            names += 1
    except OSError:
        pass
    full = [tried("read"), tried("project")]
    for number in range(names):
        os.unlink(os.path.join(os.environ["XDG_STATE_HOME"], str(number)))
    filling.truncate(0)
    print(json.dumps([full, [tried("read"), tried("project")]]))
"""


def test_a_full_disk_makes_no_box_wider_neither_now_nor_later(tmp_path, landlock, bubblewrap):
    project, state = tmp_path / "project", tmp_path / "state"
    project.mkdir()
    state.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k,nr_inodes=40", "none", str(state)]
    if os.getuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root can have a small disk, and not everywhere")
    try:
        env = {**os.environ, "XDG_STATE_HOME": str(state), "TMPDIR": str(state), "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-c", textwrap.dedent(FULL), str(project)]
        before = subprocess.run([*command, "before"], capture_output=True, text=True, check=True, env=env)
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    finally:
        subprocess.run(["umount", "-l", str(state)], check=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(before.stdout) == ["landlock", "bubblewrap"]
    assert json.loads(done.stdout) == [["refused", "refused"], ["landlock", "bubblewrap"]]


LOCK = """
import fcntl, os, sys
here = os.environ["TMPDIR"]
found = [here, here + ".lock"]
while len(found) < 10:
    here = os.path.dirname(here)
    found += [here, *(os.path.join(here, name) for name in ("kept.lock", "runs.lock", "kept", "runs"))]
for path in [*found, os.path.dirname(here) + ".lock"]:
    for flags in (os.O_RDONLY, os.O_PATH):
        try:
            fcntl.flock(os.open(path, flags), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            pass
print("locked", flush=True)
sys.stdin.read()
"""


@pytest.fixture(params=["state", "temporary"])
def boxes_in(request, tmp_path, monkeypatch):
    """Where the boxes' folders are: where they belong, or where there is no such place."""
    (tmp_path / "project").mkdir()
    (tmp_path / "tmp").mkdir()
    if request.param == "temporary":
        monkeypatch.setenv("XDG_STATE_HOME", "/dev/null/state")
        monkeypatch.setattr(_folders.tempfile, "tempdir", str(tmp_path / "tmp"))
    yield request.param
    let_go()


@pytest.mark.parametrize("name", ["read", "project"])
def test_what_a_command_locks_keeps_no_other_waiting(name, boxes_in, tmp_path, landlock, bubblewrap):
    project = str(tmp_path / "project")

    def others():
        for profile in ("read", "project"):
            boxed = start(Profile(profile, project), ["true"], cwd=project, stdin=subprocess.DEVNULL)
            ended.append(boxed.process.wait())
            boxed.close()

    ended, waiting = [], threading.Thread(target=others)
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    boxed = start(Profile(name, project), ["/usr/bin/python3", "-I", "-c", LOCK], cwd=project, **streams)
    try:
        with boxed.process:
            assert boxed.process.stdout.readline() == b"locked\n"
            waiting.start()
            waiting.join(10)
            assert ended == [0, 0]
    finally:
        boxed.close()
        waiting.join()
    assert bool(os.listdir(tmp_path / "tmp")) is (boxes_in == "temporary")


def test_who_waits_for_a_process_that_does_not_go_on_is_told_which(tmp_path, monkeypatch):
    monkeypatch.setattr(wholefiles, "_LONGEST_SECONDS", 0.01)
    folder = str(tmp_path / "boxes")
    with _folders.held(folder):
        with (
            pytest.raises(ConfinementError, match=f"has not let go of this file .*{folder}.lock"),
            _folders.held(folder),
        ):
            pass
    with _folders.held(folder):
        pass


def test_a_program_that_forks_meanwhile_does_not_go_on_holding_it(tmp_path, monkeypatch):
    monkeypatch.setattr(wholefiles, "_LONGEST_SECONDS", 0.01)
    end, ending = os.pipe()
    with _folders.held(str(tmp_path / "boxes")):
        child = os.fork()
        if not child:
            os.close(ending)
            os.read(end, 1)
            os._exit(0)
    try:
        with _folders.held(str(tmp_path / "boxes")):
            pass
    finally:
        os.close(ending)
        os.close(end)
        os.waitpid(child, 0)


def test_a_lock_whose_rights_were_taken_away_is_had_again():
    """Under Landlock a command changes the modes of files that it cannot open; root needs no rights."""
    front = [*as_nobody(), PYTHON] if os.getuid() == 0 else [sys.executable]
    folder = tempfile.mkdtemp(prefix="toolexec-lock-")
    try:
        if os.getuid() == 0:
            os.chown(folder, NOBODY, NOBODY)
        code = f"""
            import os, sys; sys.path.insert(0, {str(ROOT)!r})
            from executor.confine import _folders
            for _ in range(2):
                with _folders.held({folder!r} + "/boxes"):
                    os.chmod({folder!r} + "/boxes.lock", 0)
        """
        subprocess.run([*front, "-I", "-c", textwrap.dedent(code)], check=True, cwd="/")
    finally:
        shutil.rmtree(folder)


RIGHTS = """
import os, subprocess, sys
sys.path.insert(0, sys.argv[1])
from executor.confine import Profile, _bubblewrap, start

_bubblewrap.find = lambda: None
streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE}
for line in ("chmod 0 $TMPDIR", "chmod 0 $TMPDIR $TMPDIR/.. $TMPDIR/../..", "touch $TMPDIR/a"):
    boxed = start(Profile("project", sys.argv[2]), ["sh", "-c", line + "; echo said"], cwd=sys.argv[2], **streams)
    said = boxed.process.communicate()[0]
    boxed.close()
    print(boxed.box.mechanism, said.decode().strip(), boxed.process.returncode)
"""


def test_a_command_that_takes_away_the_rights_to_its_folder_loses_no_result(landlock):
    """What is done to modes Landlock does not see; root needs no rights."""
    front = [*as_nobody(), PYTHON] if os.getuid() == 0 else [sys.executable]
    base = Path(tempfile.mkdtemp(prefix="toolexec-rights-"))
    try:
        (base / "project").mkdir()
        for folder in (base, base / "project"):
            os.chown(folder, *((NOBODY, NOBODY) if os.getuid() == 0 else (-1, -1)))
        env = {**os.environ, "HOME": str(base), "XDG_STATE_HOME": str(base / "state")}
        command = [*front, "-I", "-c", RIGHTS, str(ROOT), str(base / "project")]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=env, cwd="/")
    finally:
        shutil.rmtree(base)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["landlock said 0"] * 3


def test_what_cannot_be_cleared_away_is_told_once_and_nothing_is_raised(tmp_path, caplog):
    parent = tmp_path / "boxes" / "kept"
    parent.parent.mkdir()
    here = [_folders.Temporary(str(parent)) for _ in range(2)]
    shutil.rmtree(parent.parent)
    here[0].close()
    assert not caplog.messages  # somebody else has
    parent.parent.touch()
    for _ in range(2):
        assert not here[1].emptied()
        here[1].close()
    assert len(caplog.messages) == 1
    assert f"left in {parent} could not be cleared away" in caplog.text
