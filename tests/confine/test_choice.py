"""Which box a profile gets where one mechanism or both cannot be had: never silently none."""

from __future__ import annotations

import errno
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from executor.confine import Profile, _bubblewrap, _folders, _start
from executor.confine._choose import Trials, choose
from executor.confine._places import Places
from executor.confine._wrap import PlaceError
from executor.errors import ConfinementError

ROOT = Path(__file__).parents[2]


class Machine(Trials):
    """One that lacks what it is told to."""

    def __init__(self, *lacking):
        super().__init__(lambda *_: b"")
        self.lacking = lacking

    def problem(self, mechanism):
        return f"no {mechanism}" if mechanism in self.lacking else ""


BOTH = ("landlock", "bubblewrap")
WHOLE = {("open", "none"), ("read", "landlock"), *((name, "bubblewrap") for name in ("read", "project", "network"))}


@pytest.mark.parametrize(
    ("name", "lacking", "mechanism", "reason"),
    [
        ("read", (), "landlock", ""),
        ("read", ("landlock",), "bubblewrap", "no landlock"),
        ("read", BOTH, "none", "no landlock"),
        ("project", (), "bubblewrap", ""),
        ("project", ("bubblewrap",), "landlock", "no bubblewrap"),
        ("project", BOTH, "none", "no bubblewrap"),
        ("network", (), "bubblewrap", ""),
        ("network", ("bubblewrap",), "landlock", "no bubblewrap"),
        ("open", BOTH, "none", ""),
    ],
)
def test_the_next_best_box_is_named_as_such(name, lacking, mechanism, reason):
    box = choose(Profile(name, "/p"), Machine(*lacking))
    assert (box.mechanism, box.reason) == (mechanism, reason)
    assert bool(box.open) is ((name, mechanism) not in WHOLE)


@pytest.mark.parametrize(
    ("name", "lacking"), [("read", BOTH), ("project", ("bubblewrap",)), ("project", BOTH), ("network", ("bubblewrap",))]
)
def test_what_is_required_and_cannot_be_had_is_refused(name, lacking):
    with pytest.raises(ConfinementError, match="require"):
        choose(Profile(name, "/p", required=True), Machine(*lacking))


@pytest.mark.parametrize(("name", "lacking"), [("read", ("landlock",)), ("read", ()), ("project", ()), ("open", BOTH)])
def test_what_is_required_and_can_be_had_is_given(name, lacking):
    assert not choose(Profile(name, "/p", required=True), Machine(*lacking)).open


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        (b"runs\n", ""),
        (b"", "did not run"),
        (OSError("No permissions to create new namespace"), "No permissions"),
        (ConfinementError("bwrap: setting up uid map: Permission denied"), "uid map"),
        (OSError(errno.EPERM, "Operation not permitted"), "not permitted"),
    ],
)
def test_a_mechanism_is_tried_for_real_and_once(said, problem, monkeypatch):
    monkeypatch.setattr("executor.confine._choose._missing", lambda _: "")
    tried = []

    def run(mechanism, command):
        tried.append(mechanism)
        if isinstance(said, Exception):
            raise said
        return said

    trials = Trials(run)
    assert problem in trials.problem("landlock")
    assert bool(trials.problem("landlock")) is bool(problem)
    assert tried == ["landlock"]


def full(number):
    """What a box is not made for, as it is raised."""
    error = ConfinementError("The box could not be made")
    error.__cause__ = OSError(number, os.strerror(number))
    return error


@pytest.mark.parametrize(
    ("said", "place"),
    [
        ("bwrap: Can't find source path {0}/.ssh: Permission denied", True),
        ("bwrap: Can't bind mount /oldroot{0}/.ssh on /newroot{0}/.ssh: Permission denied", True),
        ("bwrap: setting up uid map: Permission denied", False),
        ("bwrap: Can't mount proc on /newroot/proc: Operation not permitted", False),
        ("bwrap: Creating new namespace failed: Operation not permitted", False),
    ],
)
def test_what_bubblewrap_is_refused_at_one_place_says_nothing_of_the_machine(
    said, place, tmp_path, monkeypatch, own_folders, landlock
):
    home = tmp_path / "home"
    (home / ".ssh").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    program = tmp_path / "bwrap"
    program.write_text(f"#!/bin/sh\necho {shlex.quote(said.format(home))} >&2; exit 1\n")
    program.chmod(0o755)
    monkeypatch.setattr(_bubblewrap, "find", lambda: str(program))
    trials = Trials(_start._try)
    if place:
        for _ in range(2):  # it is tried again
            with pytest.raises(ConfinementError, match=r"\.ssh: Permission denied"):
                trials.problem("bubblewrap")
    else:
        assert said in trials.problem("bubblewrap")


@pytest.mark.parametrize(
    "problem",
    [
        *(full(number) for number in (errno.ENOSPC, errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.EIO, errno.EDQUOT)),
        OSError(errno.ENOSPC, "No space left on device"),
        OSError("it ended without a word"),
        ConfinementError("The box could not be made: bubblewrap ended"),
        PlaceError("The box could not be made: bwrap: Can't find source path /home/me/.ssh: Permission denied"),
        subprocess.TimeoutExpired("sh", 20),
    ],
)
def test_what_may_be_over_soon_is_no_reason_for_a_wider_box_and_not_remembered(problem, monkeypatch):
    """A command that runs could bring it about, and have the next one run in none."""
    monkeypatch.setattr("executor.confine._choose._missing", lambda _: "")
    said = [problem, problem, problem, b"runs\n"]

    def run(*_):
        now = said.pop(0)
        if isinstance(now, Exception):
            raise now
        return now

    trials = Trials(run)
    for name in ("project", "read"):
        with pytest.raises(ConfinementError, match="Try again") as caught:
            choose(Profile(name, "/p"), trials)
        assert str(caught.value).count("Try again") == 1, "who is told what to do is told it once"
    assert trials.problem("landlock") == ""


def test_what_a_bare_root_lacks_is_named_and_nobody_waits_for_it(monkeypatch, tmp_path):
    monkeypatch.setattr("executor.confine._choose._missing", lambda _: "")
    monkeypatch.setattr("executor.confine._choose._NEEDED", (os.devnull, lacking := str(tmp_path / "proc")))

    def run(*_):
        raise full(errno.ENOENT)

    with pytest.raises(ConfinementError, match=f"There is no {re.escape(lacking)} here: have it mounted") as caught:
        choose(Profile("project", "/p"), Trials(run))
    assert "Try again" not in str(caught.value)


def test_what_reads_gets_the_other_box_where_the_first_cannot_be_tried_now_because_that_is_as_narrow(monkeypatch):
    monkeypatch.setattr("executor.confine._choose._missing", lambda _: "")
    failing = ["landlock"]

    def run(mechanism, _):
        if mechanism in failing:
            raise OSError(errno.EPIPE, "the process that starts commands has ended")
        return b"runs\n"

    trials = Trials(run)
    box = choose(Profile("read", "/p", required=True), trials)
    assert (box.mechanism, box.open) == ("bubblewrap", ())
    assert "has ended" in box.reason
    failing.clear()
    assert choose(Profile("read", "/p"), trials).mechanism == "landlock"
    failing.append("bubblewrap")
    with pytest.raises(ConfinementError, match="Try again"):
        choose(Profile("project", "/p"), Trials(run))


@pytest.mark.parametrize("name", ["read", "project"])
def test_in_a_box_that_does_not_hold_nothing_is_started_nor_in_a_wider_one(name, monkeypatch):
    monkeypatch.setattr("executor.confine._choose._missing", lambda _: "")

    def run(_, command):
        Path(command[-1]).touch()
        return b"runs\n"

    trials = Trials(run)
    for _ in range(2):
        with pytest.raises(ConfinementError, match="does not hold here"):
            choose(Profile(name, "/p"), trials)


def test_what_is_made_in_the_temporary_folder_says_nothing_of_a_box(monkeypatch, tmp_path):
    """It may be below the project, where a box that is at work answers for the one that is tried."""
    monkeypatch.setattr("executor.confine._choose._missing", lambda _: "")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def run(*_):
        for made in tmp_path.rglob("*"):
            (made / "written").touch()
        return b"runs\n"

    assert Trials(run).problem("landlock") == ""


@pytest.fixture
def pool():
    with ThreadPoolExecutor(4) as made:
        yield made


class Door:
    """A lock that tells who has come to it."""

    def __init__(self):
        self.lock, self.come = threading.Lock(), threading.Semaphore(0)

    def __enter__(self):
        self.come.release()
        self.lock.acquire()

    def __exit__(self, *_):
        self.lock.release()


def test_who_waits_for_a_trial_is_told_what_it_came_to_and_does_not_wait_for_another(monkeypatch, pool):
    monkeypatch.setattr("executor.confine._choose._missing", lambda _: "")
    tried, door = [], Door()

    def run(mechanism, _):
        tried.append(mechanism)
        if len(tried) > 1:
            return b"runs\n"
        for _ in range(4):
            assert door.come.acquire(timeout=20)
        raise TimeoutError(errno.ETIMEDOUT, "its mounts are not laid")

    trials = Trials(run)
    trials._locks["bubblewrap"] = door
    told = [pool.submit(trials.problem, "bubblewrap") for _ in range(4)]
    for each in told:
        with pytest.raises(ConfinementError, match=r"its mounts are not laid.*Try again"):
            each.result(20)
    assert tried == ["bubblewrap"]
    assert trials.problem("bubblewrap") == "", "who comes later tries it again"


def test_what_needs_the_other_box_does_not_wait_for_a_trial_that_hangs(monkeypatch, pool):
    monkeypatch.setattr("executor.confine._choose._missing", lambda _: "")

    def run(mechanism, _):
        if mechanism == "bubblewrap":
            assert pool.submit(choose, Profile("read", "/p"), trials).result(20).mechanism == "landlock"
        return b"runs\n"

    trials = Trials(run)
    assert trials.problem("bubblewrap") == ""


@pytest.mark.parametrize("when", ["before", "in", "after"])
def test_a_folder_of_its_own_that_it_cannot_use_says_nothing_of_a_box(when, monkeypatch):
    monkeypatch.setattr("executor.confine._choose._missing", lambda _: "")
    refused = [when == "before"]

    def private(folder, really=_folders._private):
        if refused[0]:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), folder)
        return really(folder)

    def run(_, command):
        if when == "in":
            refused[0] = True
            _folders.boxes_of("/", Places.now())
        if when == "after":
            shutil.rmtree(os.path.dirname(command[-1]))
        return b"runs\n"

    monkeypatch.setattr(_folders, "_private", private)
    trials = Trials(run)
    for name in ("project", "read"):
        with pytest.raises(ConfinementError) as caught:
            choose(Profile(name, "/p"), trials)
        assert str(caught.value).lower().count("try again") == 1, "who is told what to do is told it once"
    refused[0], when = False, "never"
    assert trials.problem("landlock") == ""


@pytest.mark.parametrize(
    ("refused", "expected"),
    [
        ([], {"read": "landlock", "project": "bubblewrap"}),
        (["landlock"], {"read": "bubblewrap", "project": "bubblewrap"}),
        (["namespaces"], {"read": "landlock", "project": "landlock"}),
        (["landlock", "namespaces"], {"read": "none", "project": "none"}),
    ],
)
def test_on_a_machine_that_refuses_the_calls(refused, expected, tmp_path, landlock, bubblewrap):
    """The calls are refused for real, by a filter around the whole process."""
    script = textwrap.dedent(
        """
        import json, sys
        from executor.confine import Profile, box_of, start

        told = {}
        for name in ("read", "project"):
            box = box_of(Profile(name, sys.argv[1]))
            boxed = start(Profile(name, sys.argv[1]), ["true"])
            code = boxed.process.wait()
            boxed.close()
            told[name] = [box.mechanism, code, bool(box.reason), bool(box.open)]
        print(json.dumps(told))
        """
    )
    front = [sys.executable, str(Path(__file__).with_name("refuse.py")), str(ROOT), ",".join(refused)]
    command = [*front, sys.executable, "-c", script, str(tmp_path)]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert {name: said[0] for name, said in told.items()} == expected
    for name, (mechanism, code, reasoned, opened) in told.items():
        best = mechanism == ("landlock" if name == "read" else "bubblewrap")
        assert (code, reasoned) == (0, not best)
        assert opened is ((name, mechanism) not in WHOLE)


NO_THREADS = """
import threading
from executor.confine import Profile, start
from executor.errors import ConfinementError

def refused(self):
    raise RuntimeError("can't start new thread")

starting, threading.Thread.start = threading.Thread.start, refused
try:
    start(Profile("read", "/", required=True), ["true"])
except ConfinementError as error:
    print(error)
threading.Thread.start = starting
boxed = start(Profile("read", "/"), ["true"])
print(boxed.process.wait(), boxed.box.mechanism)
boxed.close()
"""


def test_where_no_thread_can_be_started_no_command_is_and_later_as_ever(landlock):
    """There are as many processes as there may be."""
    lacking = [sys.executable, str(Path(__file__).with_name("refuse.py")), str(ROOT), "namespaces"]
    command, env = [*lacking, sys.executable, "-c", NO_THREADS], {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env, timeout=60)
    assert done.returncode == 0, done.stderr
    refused, ended = done.stdout.splitlines()
    assert "can't start new thread" in refused
    assert ended == "0 landlock"


FORKED = """
import os, signal, sys, threading
from executor.confine import Profile, box_of
from executor.confine._start import trials

trying, go_on, run = threading.Event(), threading.Event(), trials._run

def slowly(*told):
    trying.set()
    go_on.wait()
    return run(*told)

trials._run = slowly
thread = threading.Thread(target=box_of, args=(Profile("read", "/"),))
thread.start()
trying.wait()
child = os.fork()
if not child:
    signal.alarm(30)
    go_on.set()
    os._exit(7 if box_of(Profile("read", "/")).mechanism == "landlock" else 1)
ended = os.waitpid(child, 0)[1]
go_on.set()
thread.join()
sys.exit(os.waitstatus_to_exitcode(ended))
"""


def test_a_program_that_forks_while_a_box_is_tried_has_boxes_in_both(landlock):
    command, env = [sys.executable, "-W", "ignore", "-c", FORKED], {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env, timeout=60)
    assert done.returncode == 7, done.stderr


USED_UP = """
import json, subprocess, sys
from executor.confine import Profile, box_of
from executor.errors import ConfinementError

def told():
    try:
        return box_of(Profile("project", sys.argv[1])).mechanism
    except ConfinementError:
        return "refused"

def most(number):
    with open("/proc/sys/user/max_user_namespaces", "w") as limit:
        limit.write(str(number))

most(int(sys.argv[2]))
held = []
for _ in range(int(sys.argv[2])):
    one = subprocess.Popen(["unshare", "-U", "sh", "-c", "echo; read x"], stdin=-1, stdout=-1)
    one.stdout.readline()
    held.append(one)
now = [told()]
if held:
    most(100)  # the kernel takes its time to count those that have ended
print(json.dumps([*now, told()]))
for one in held:
    one.communicate()
"""


@pytest.mark.parametrize(("most", "expected"), [(3, ["refused", "bubblewrap"]), (0, ["landlock", "landlock"])])
def test_namespaces_that_others_use_are_waited_for_and_where_there_may_be_none_another_box_is_taken(
    most, expected, tmp_path, landlock, bubblewrap
):
    front = ["unshare", "-Ur"]
    if os.getuid() or subprocess.run([*front, "unshare", "-U", "true"], capture_output=True, check=False).returncode:
        pytest.skip("bubblewrap belongs to root, who must be able to have namespaces in one another")
    command = [*front, sys.executable, "-c", USED_UP, str(tmp_path), str(most)]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == expected
