"""The processes that start commands under Landlock: what they hand on, what they hold, and their end."""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import select
import signal
import socket
import subprocess
import sys
import textwrap
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from executor.confine import Box, Profile, _forkserver, _keeper, _kernel, _process, _start, start
from executor.confine._disk import Stamp
from executor.confine._environment import of_loader
from executor.confine._first import First
from executor.confine._folders import Temporary
from executor.confine._messages import LAST, LAST_WORD, received, send
from executor.confine._rulesets import Ruleset
from executor.confine._start import _slots, let_go
from executor.errors import ConfinementError
from tests.confine.conftest import PYTHON, as_nobody

ROOT = Path(__file__).parents[2]
PIPES = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
pytestmark = pytest.mark.usefixtures("landlock")


@pytest.fixture
def profile(tmp_path):
    (tmp_path / "project").mkdir()
    let_go()
    yield Profile("read", str(tmp_path / "project"))
    let_go()


@pytest.fixture
def unlisted(monkeypatch):
    """No folder that was listed has changed."""
    monkeypatch.setattr(Stamp, "holds", lambda self: True)
    monkeypatch.setattr("executor.confine._landlock.mounts", lambda: ())


@pytest.fixture
def unchanged(monkeypatch):
    """Others, beside this test, make and mount what would have the ruleset made anew."""
    monkeypatch.setattr(Ruleset, "fresh", lambda self: True)
    monkeypatch.setattr("executor.confine._landlock.mounts", lambda: ())


def children():
    """The processes of this one, zombies included."""
    while True:
        threads = os.listdir("/proc/self/task")
        with contextlib.suppress(OSError):  # a thread has ended meanwhile
            return {pid for thread in threads for pid in Path(f"/proc/self/task/{thread}/children").read_text().split()}


def ended(watched):
    """Whether a process ends soon; its descriptor is closed."""
    ends = select.poll()
    ends.register(watched, select.POLLIN)
    try:
        return bool(ends.poll(20_000))
    finally:
        os.close(watched)


def server_now():
    [server] = _forkserver.servers._servers.values()
    return server


def kept():
    [found] = _slots._kept
    return found._keeper


def run(profile, *command, **more):
    boxed = start(profile, list(command), cwd=profile.project, **PIPES, **more)
    said, complaint = boxed.process.communicate(timeout=60)
    boxed.close()
    assert boxed.box.mechanism == "landlock"
    return boxed.process.returncode, said.decode(), complaint.decode()


def test_what_starts_a_command_is_kept_for_the_next_one_and_ends_with_the_box(profile, unchanged):
    before = children()
    assert run(profile, "true")[0] == 0
    keeper, server = kept(), server_now()
    assert run(profile, "true")[0] == 0
    assert (kept(), server_now()) == (keeper, server)
    assert keeper.ready()
    assert len(children() - before) == 2  # the fork server, a keeper
    let_go()
    assert children() <= before
    assert "executor-box" not in {thread.name for thread in threading.enumerate()}


def changed(project, how):
    """Something of *project* has, since it was listed."""
    if how == "new and hidden":
        (project / ".env").write_text("hidden")
    elif how == "gone":
        (project / "old").unlink()
    elif how == "replaced":
        (project / "other").write_text("other")
        (project / "other").replace(project / "old")
    elif how == "a folder now":
        (project / "old").unlink()
        (project / "old").mkdir()
    elif how == "linked":
        (project / "new").symlink_to("old")


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("new and hidden", "old"),
        ("gone", ""),
        ("replaced", "other"),
        ("a folder now", ""),
        ("linked", "old old"),
    ],
)
def test_a_folder_of_which_anything_is_gone_costs_a_ruleset_and_no_process(profile, how, said):
    project, closed = Path(profile.project), replace(profile, unreadable=(f"{profile.project}/.env",))
    (project / "old").write_text("old")  # the project is listed, for what is hidden in it
    look = ["sh", "-c", "for name in new old .env; do cat $name && echo; done 2>/dev/null"]
    assert run(closed, *look)[1] == "old\n"
    keeper, ruleset = kept(), _slots._kept[0].slot.ruleset
    changed(project, how)
    for _ in range(2):
        assert run(closed, *look)[1].split() == said.split()
    assert kept() is keeper
    assert _slots._kept[0].slot.ruleset is not ruleset


def test_what_is_new_in_a_folder_can_be_read_and_costs_no_ruleset(profile):
    project, closed = Path(profile.project), replace(profile, unreadable=(f"{profile.project}/.env",))
    same = []
    for name in ("a", "b", "c", "d", "e"):  # /tmp is on the way to what is hidden, and others take things out of it
        assert run(closed, "true")[0] == 0
        ruleset = _slots._kept[0].slot.ruleset
        (project / name).write_text(name)
        assert run(closed, "cat", name)[1] == name
        same.append(_slots._kept[0].slot.ruleset is ruleset)
    assert any(same)


def test_a_link_in_the_place_of_another_shows_nothing_that_is_hidden(profile):
    """It may have the number of the one before."""
    project, closed = Path(profile.project), replace(profile, unreadable=(f"{profile.project}/.env",))
    for name in ("old", "new"):
        (project / name).write_text(name)
    (project / ".env").symlink_to("old")
    assert run(closed, "cat", ".env")[0] != 0
    for name in ("new", "old"):
        (project / ".env").unlink()
        (project / ".env").symlink_to(name)
        for _ in range(2):
            assert run(closed, "cat", ".env")[0] != 0


def test_a_process_that_may_write_no_file_has_boxes(profile):
    code = f"""
        import os, resource, subprocess, sys
        sys.path.insert(0, {str(ROOT)!r})
        from executor.confine import Profile, start
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
        boxed = start(Profile("read", "/"), ["echo", "on"], cwd="/", stdout=subprocess.PIPE)
        print(boxed.box.mechanism, boxed.process.communicate()[0])
        boxed.close()
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False)
    assert done.stdout == "landlock b'on\\n'\n", done.stderr


def test_what_was_in_the_place_of_another_for_a_moment_is_not_let_be_read(profile, monkeypatch):
    """While the rules were made: a file that is hidden by its name had another one."""
    project, closed = Path(profile.project), replace(profile, unreadable=(f"{profile.project}/.env",))
    (project / "old").write_text("old")
    (project / ".env").write_text("secret")
    real = _kernel.open_plain

    def moved(path, flags, mode=0):
        if not path.endswith("/old"):
            return real(path, flags, mode)
        (project / "old").rename(project / "aside")
        (project / ".env").rename(path)
        try:
            return real(path, flags, mode)
        finally:
            (project / "old").rename(project / ".env")
            (project / "aside").rename(path)

    with monkeypatch.context() as patched:
        patched.setattr(_kernel, "open_plain", moved)
        run(closed, "true")
    assert run(closed, "cat", "old", ".env")[:2] == (1, "old")


@pytest.mark.parametrize("was", ["a folder", "a file"])
def test_what_becomes_a_file_or_a_folder_while_the_rules_are_made_keeps_no_command_from_its_box(
    profile, monkeypatch, was
):
    project, closed = Path(profile.project), replace(profile, unreadable=(f"{profile.project}/.env",))
    (project / "old").mkdir() if was == "a folder" else (project / "old").write_text("old")
    real = _kernel.open_plain

    def changed(path, flags, mode=0):
        if path.endswith("/old") and was == "a folder":
            (project / "old").rmdir()
            (project / "old").write_text("new")
        elif path.endswith("/old"):
            (project / "old").unlink()
            (project / "old").mkdir()
        return real(path, flags, mode)

    with monkeypatch.context() as patched:
        patched.setattr(_kernel, "open_plain", changed)
        assert run(closed, "true")[0] == 0
    assert run(closed, *(["cat", "old"] if was == "a folder" else ["ls", "old"]))[0] == 0


def test_a_file_that_may_be_written_is_the_one_of_that_name_and_not_the_one_that_was(profile, unlisted):
    other = Path(profile.project, "other")
    other.mkdir()
    asked = replace(profile, writable=(f"{other}/out",))
    assert run(asked, "sh", "-c", "echo first > other/out")[0] == 0
    (other / "out").rename(other / "kept")
    (other / "out").write_text("mine\n")
    assert run(asked, "sh", "-c", "echo evil > other/kept")[0] != 0
    assert run(asked, "sh", "-c", "echo second > other/out")[0] == 0
    assert [(other / name).read_text() for name in ("kept", "out")] == ["first\n", "second\n"]


def test_a_project_that_was_moved_is_not_written_by_the_next_command(tmp_path, unlisted):
    project = tmp_path / "far" / "project"
    project.mkdir(parents=True)
    profile = Profile("project", str(project))
    line = "echo x > {0}/file || echo refused"
    let_go()
    try:
        for moved in (False, True):
            if moved:
                project.rename(tmp_path / "moved")
                project.mkdir()
            for folder, told in ((project, ""), (tmp_path / "moved", "refused\n")):
                boxed = _start._start_in(
                    Box("project", "landlock"), profile, ["sh", "-c", line.format(folder)], "/", os.environ, PIPES
                )
                said = boxed.process.communicate(timeout=60)[0].decode()
                boxed.close()
                assert said == told
    finally:
        let_go()


@pytest.mark.parametrize(
    ("command", "error"),
    [
        (["no-such-program"], FileNotFoundError),
        ([""], FileNotFoundError),
        (["./no-such-program"], FileNotFoundError),
        (["."], PermissionError),
        (["echo", "a\0b"], ValueError),
        (["echo", "x" * 200_000], OSError),  # more than the system takes of one
    ],
)
def test_what_cannot_be_started_leaves_nothing(profile, command, error):
    before = children()
    with pytest.raises(error):
        start(profile, command, cwd=profile.project, **PIPES)
    let_go()
    assert children() <= before


def test_a_program_that_is_nowhere_is_not_said_to_be_closed(profile, tmp_path):
    mine = tmp_path / "mine"
    mine.mkdir()
    env = {"PATH": f"{mine}:/usr/bin:/bin"}
    closed = replace(profile, unreadable=(f"{mine}/",))
    with pytest.raises(FileNotFoundError):
        run(closed, "no-such-program", env=env)
    (mine / "such-a-program").write_text("#!/bin/sh\n")
    (mine / "such-a-program").chmod(0o755)
    with pytest.raises(PermissionError):
        run(closed, "such-a-program", env=env)
    assert run(closed, "echo", "on", env=env)[1] == "on\n"


@pytest.mark.parametrize("told", [{"cwd": "/no/such/folder"}, {"cwd": "/dev/null"}])
def test_a_folder_that_is_none_is_told_as_outside(profile, told):
    with pytest.raises(OSError, match=told["cwd"]) as boxed:
        start(profile, ["true"], **PIPES, **told)
    with pytest.raises(OSError, match=told["cwd"]) as free:
        subprocess.Popen(["true"], **told)
    assert type(boxed.value) is type(free.value)


def test_variables_that_are_none_are_refused(profile):
    with pytest.raises(ValueError, match="variable name"):
        start(profile, ["true"], env={"A=B": "c"}, **PIPES)


def test_long_arguments_and_environments_arrive_whole(profile):
    more = [f"{number}{'x' * 50_000}" for number in range(20)]
    code, said, _ = run(
        profile, "sh", "-c", 'printf %s "$LONG" "$@"', "sh", *more, env={**os.environ, "LONG": "y" * 99_999}
    )
    assert (code, said) == (0, "y" * 99_999 + "".join(more))


STATE = """
    import os, signal, sys, resource
    print(os.umask(0), resource.getrlimit(resource.RLIMIT_CORE)[0], os.nice(0), os.sched_getscheduler(0))
    print([signal.getsignal(n) == signal.SIG_DFL for n in (signal.SIGTERM, signal.SIGHUP, signal.SIGXCPU)])
    signals = [line.split() for line in open("/proc/self/status") if line.startswith(("SigIgn", "SigBlk"))]
    # Without those that the C library has for itself (32, 33).
    print([int(mask, 16) & 0x7FFFFFFF for _, mask in signals], sorted(os.listdir("/proc/self/fd"))[:4])
"""


def states(profile):
    """What a process says of itself: in a box, and started by this one."""
    command = ["/usr/bin/python3", "-I", "-c", textwrap.dedent(STATE)]
    return run(profile, *command)[1], subprocess.run(command, **PIPES, check=True).stdout.decode()


def test_a_command_inherits_what_it_does_outside_also_what_has_changed_since(profile, unchanged):
    boxed, free = states(profile)
    assert boxed == free
    soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
    mask, hangup = os.umask(0o027), signal.signal(signal.SIGHUP, signal.SIG_IGN)
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2})
    try:
        resource.setrlimit(resource.RLIMIT_CORE, (hard and hard - 1 if hard != -1 else 4096, hard))
        changed, free = states(profile)
    finally:
        os.umask(mask)
        signal.signal(signal.SIGHUP, hangup)
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        resource.setrlimit(resource.RLIMIT_CORE, (soft, hard))
    assert changed == free != boxed
    assert states(profile)[0] == boxed


def test_a_host_that_gave_up_its_rights_starts_nothing_with_them(profile):
    """The fork server began with them."""
    as_nobody()  # skips where that is not to be had
    code = f"""
        import os, subprocess, sys
        sys.path.insert(0, {str(ROOT)!r})
        from executor.confine import Profile, start
        def who():
            boxed = start(Profile("read", "/"), ["id", "-u"], cwd="/", stdout=subprocess.PIPE)
            print(boxed.process.communicate()[0].decode().strip(), flush=True)
            boxed.close()
        who()
        os.setgroups([])
        os.setresgid(65534, 65534, 65534)
        os.setresuid(65534, 65534, 65534)
        who()
    """
    done = subprocess.run([PYTHON, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False)
    assert (done.stdout.split(), done.stderr) == (["0", "65534"], "")


def test_a_host_that_ignores_its_children_is_told_so(profile):
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        with pytest.raises(ConfinementError, match="SIGCHLD"):
            run(profile, "false")
    finally:
        signal.signal(signal.SIGCHLD, before)
    ignoring = (
        "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv(sys.executable, sys.argv[1:])"
    )
    command = [sys.executable, "-m", "executor", "confine", "read", "--", "sh", "-c", "exit 3"]
    env = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT}/plugins"}
    assert subprocess.run([sys.executable, "-c", ignoring, *command], env=env, check=False).returncode == 3


def test_another_standing_ends_no_command(profile, unchanged):
    """One that asks to be ended with its parent (PR_SET_PDEATHSIG)."""
    code = "import ctypes; ctypes.CDLL(None).prctl(1, 9, 0, 0, 0); print('up', flush=True); input()"
    command = ["/usr/bin/python3", "-I", "-c", code]
    boxed = start(profile, command, cwd=profile.project, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert boxed.process.stdout.readline() == b"up\n"
    mask = os.umask(0o027)
    try:
        assert run(profile, "true")[0] == 0
    finally:
        os.umask(mask)
    boxed.process.communicate(b"\n", timeout=60)
    boxed.close()
    assert boxed.process.returncode == 0


def test_an_interrupt_while_the_fork_server_starts_leaves_none(profile, monkeypatch):
    before = children()

    class Interrupted(_forkserver.Future):
        def result(self, timeout=None):
            super().result(timeout)
            raise KeyboardInterrupt

    monkeypatch.setattr(_forkserver, "Future", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(profile, "true")
    for thread in threading.enumerate():
        if thread.name == "executor-box":
            thread.join(20)
    let_go()
    assert children() <= before


def test_an_interrupt_in_the_middle_of_a_message_leaves_none(profile, monkeypatch):
    before = children()
    real = _forkserver.received

    def interrupted(connection):
        connection.recv(2)  # of the length
        raise KeyboardInterrupt

    assert run(profile, "true")[0] == 0
    monkeypatch.setattr(_forkserver, "received", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(profile, "true")
    monkeypatch.setattr(_forkserver, "received", real)
    assert run(profile, "echo", "on")[:2] == (0, "on\n")
    let_go()
    assert children() <= before  # nobody has heard who it is, but it has ended


def test_what_an_interrupt_has_lost_is_waited_for_by_the_next_command(profile, monkeypatch):
    before = children()

    def interrupted(connection):
        connection.recv(2)
        raise KeyboardInterrupt

    for _ in range(5):
        let_go_of_boxes()
        lost = children()
        with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
            patched.setattr(_forkserver, "received", interrupted)
            run(profile, "true")
        for pid in map(int, children() - lost - {str(server_now()._process.pid)}):
            assert ended(os.pidfd_open(pid))
    assert run(profile, "true")[0] == 0
    assert len(children() - before) <= 2 + 2  # the fork server, a keeper; and what was lost last


@pytest.mark.parametrize("step", ["over", "emptied"])
def test_an_interrupt_while_a_box_is_given_back_leaves_no_server(profile, monkeypatch, step):
    def interrupted(*_):
        raise KeyboardInterrupt

    before = children()
    boxed = start(profile, ["true"], cwd=profile.project, **PIPES)
    boxed.process.communicate(timeout=60)
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(*{"over": (_forkserver.Keeper, "over"), "emptied": (Temporary, "emptied")}[step], interrupted)
        boxed.close()
    let_go()
    assert children() <= before
    assert "executor-box" not in {thread.name for thread in threading.enumerate()}


def test_a_keeper_that_can_be_told_nothing_is_told_as_what_it_is(profile, monkeypatch):
    """As many descriptors are on their way as there may be (unix(7))."""
    real = _forkserver.send

    def refused(connection, message, descriptors=()):
        if len(descriptors) > 1:
            raise OSError(errno.ETOOMANYREFS, os.strerror(errno.ETOOMANYREFS))
        real(connection, message, descriptors)

    monkeypatch.setattr(_forkserver, "send", refused)
    with pytest.raises(ConfinementError, match="Too many references"):
        _start._start_in(Box("read", "landlock"), profile, ["true"], "/", os.environ, PIPES)


def test_a_keeper_that_can_start_no_process_says_why(monkeypatch):
    def refused(*_):
        raise OSError(errno.EAGAIN, "clone: no more")

    own, other = socket.socketpair()
    keeper = os.fork()
    if not keeper:
        try:
            own.close()
            monkeypatch.setattr(_keeper._restrict, "give_up_rights", lambda _: None)
            monkeypatch.setattr(_keeper.Leap, "start", refused)
            _keeper._keep(other, b"", b"", False)
        finally:
            os._exit(1)
    other.close()
    with own, open(os.devnull, "rb") as nothing:
        assert received(own) == (keeper, [])
        send(own, (b"true\0true\0", 1, 1, False), [nothing.fileno()] * 5)
        assert received(own) == ((0, "clone", errno.EAGAIN), [])
        own.shutdown(socket.SHUT_WR)
        assert LAST.unpack(own.recv(LAST.size)) == (LAST_WORD, 0)
    assert os.waitpid(keeper, 0) == (keeper, 0)


def let_go_of_boxes():
    """Have no box kept, but the fork server."""
    while _slots._kept:
        _slots._kept.pop().close()


@pytest.mark.parametrize("sends", ["before it has ended", "after it has ended"])
def test_a_python_that_needs_its_environment_is_told_as_that(profile, tmp_path, monkeypatch, sends):
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho 'libpython.so: no such file' >&2; exit 127\n")
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    if sends.startswith("after"):
        real = _forkserver.send

        def late(connection, *more):
            for server in _forkserver.servers._servers.values():
                assert server._ended.wait(20)
            real(connection, *more)

        monkeypatch.setattr(_forkserver, "send", late)
    with pytest.raises(
        ConfinementError, match=r"does not start without its environment \(libpython.so: no such file\)"
    ):
        _start._start_in(Box("read", "landlock"), profile, ["true"], "/", os.environ, PIPES)


def test_the_fork_server_finds_its_libraries_where_only_root_can_put_them(tmp_path, monkeypatch):
    (tmp_path / "link").symlink_to("/usr")
    named = f"/usr/bin:{tmp_path}:relative::/no/such/folder:{tmp_path}/link/lib:/tmp"
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert of_loader({"LD_LIBRARY_PATH": named, "PATH": "/bin"}) == {"LD_LIBRARY_PATH": "/usr/bin:/usr/lib"}
    assert of_loader({"LD_LIBRARY_PATH": str(tmp_path)}) == of_loader({}) == {}
    monkeypatch.setattr(os, "geteuid", lambda: 0)  # its boxes may write what is its own, in a project
    assert of_loader({"LD_LIBRARY_PATH": named}) == {}


def test_a_command_that_was_not_started_and_may_not_be_killed_ends_by_itself(profile, monkeypatch):
    def refused(*_):
        raise PermissionError

    assert run(profile, "true")[0] == 0
    with monkeypatch.context() as patched:
        patched.setattr(_process.os, "kill", refused)
        with pytest.raises(FileNotFoundError):
            start(profile, ["no-such-program"], cwd=profile.project, **PIPES)
        with pytest.raises(FileNotFoundError):
            start(profile, ["true"], cwd="/no/such/folder", **PIPES)


def test_descriptors_that_run_out_are_an_error_and_leave_nothing(profile):
    before = children()
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = len(os.listdir("/proc/self/fd"))
    for room in range(1, 30):
        resource.setrlimit(resource.RLIMIT_NOFILE, (used + room, limits[1]))
        try:
            started = start(profile, ["true"], cwd=profile.project, **PIPES)
        except (OSError, ConfinementError):
            continue
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        started.process.communicate(timeout=60)
        started.close()
        break
    let_go()
    assert children() <= before


def test_sessions_and_groups_are_as_they_are_asked_for(profile):
    look = ["sh", "-c", "cat /proc/$$/stat"]

    def ids(**more):
        return [int(field) for field in run(profile, *look, **more)[1].rpartition(")")[2].split()[2:4]]

    group, session = ids()
    assert session == os.getsid(0)
    assert group not in (session, os.getpgrp())
    group, session = ids(start_new_session=True)
    assert group == session != os.getsid(0)


def test_streams_are_inherited_and_may_be_closed(profile):
    code = f"""
        import os, subprocess, sys
        sys.path.insert(0, {str(ROOT)!r})
        from executor.confine import Profile, start
        os.close(0)
        boxed = start(Profile("read", {profile.project!r}), ["sh", "-c", "cat; echo out; echo err >&2"])
        code = boxed.process.wait()
        boxed.close()
        sys.exit(code)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "out\n", "err\n")


REACH = """
    import ctypes, os, sys
    libc = ctypes.CDLL(None, use_errno=True)
    for pid in map(int, sys.argv[1:]):
        for number in (0, 15):
            try:
                os.kill(pid, number)
                print("signalled", pid)
            except (PermissionError, ProcessLookupError):
                pass
        if libc.ptrace(16, pid, None, None) == 0:
            print("traced", pid)
        for what in ("environ", "mem", "maps"):
            try:
                open(f"/proc/{pid}/{what}", "rb", 0).read(1)
                print("read", pid, what)
            except (PermissionError, FileNotFoundError, ProcessLookupError):
                pass
        for what in ("cwd", "root", "fd/0", "fd/3", "fd/4"):
            try:
                print("seen", os.readlink(f"/proc/{pid}/{what}"))
            except (PermissionError, FileNotFoundError, ProcessLookupError):
                pass
    print("all")
"""


def test_a_command_reaches_nothing_that_starts_it(profile, unchanged):
    """Its keeper and another's, the fork server, this process, and another command."""
    other = start(profile, ["cat"], cwd=profile.project, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert run(profile, "true")[0] == 0
    assert kept().ready()
    known = sorted(children(), key=int)
    assert len(known) >= 4
    threads = os.listdir("/proc/self/task")
    code, said, complaint = run(
        profile, "/usr/bin/python3", "-I", "-c", textwrap.dedent(REACH), str(os.getpid()), *threads, *known
    )
    other.process.communicate(b"", timeout=60)
    other.close()
    assert (code, said, complaint) == (0, "all\n", "")


@pytest.mark.parametrize("which", ["server", "keeper"])
def test_one_that_somebody_has_ended_is_replaced(profile, unchanged, which):
    before = children()
    assert run(profile, "true")[0] == 0
    keeper = kept()
    assert keeper.ready()
    pid = {
        "server": lambda: server_now()._process.pid,
        "keeper": lambda: keeper._pid,
    }[which]()
    watched = os.pidfd_open(pid)
    os.kill(pid, signal.SIGKILL)
    assert ended(watched)
    if which == "server":  # the next keeper comes from a new one
        _slots._kept.pop().close()
    assert run(profile, "echo", "on")[:2] == (0, "on\n")
    let_go()
    assert children() <= before


@pytest.mark.parametrize("words", [1, 10_000], ids=["short", "longer than what it has not read may be"])
def test_one_that_somebody_has_stopped_is_not_waited_for_for_ever(profile, unchanged, monkeypatch, words):
    before = children()
    monkeypatch.setattr(_forkserver, "_MOST_WAITED", _forkserver.struct.pack("ll", 2, 0))
    assert run(profile, "true")[0] == 0
    keeper = kept()
    assert keeper.ready()
    os.kill(keeper._pid, signal.SIGSTOP)
    with pytest.raises(ConfinementError, match="does not answer"):
        run(profile, "echo", *["a word that is long enough"] * words)
    assert run(profile, "echo", "on")[:2] == (0, "on\n")  # by another keeper
    let_go()
    assert children() <= before


def test_a_fork_server_that_somebody_has_stopped_and_that_has_much_to_read_is_left_for_another(
    profile, unchanged, monkeypatch
):
    monkeypatch.setattr(_forkserver, "_MOST_WAITED", _forkserver.struct.pack("ll", 2, 0))
    let_go()
    assert run(profile, "true")[0] == 0
    server = server_now()
    os.kill(server._process.pid, signal.SIGSTOP)
    server._own.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        while True:
            server._own.send(b"x")
    server._own.setblocking(True)
    _slots._kept.pop().close()
    assert run(profile, "echo", "on")[:2] == (0, "on\n")
    os.kill(server._process.pid, signal.SIGKILL)
    let_go()


def test_a_keeper_that_ends_before_it_answers_is_no_command_that_failed(profile, monkeypatch):
    before = children()
    real = _forkserver.send

    def late(connection, message, descriptors=()):
        if len(descriptors) > 1:
            watched = os.pidfd_open(kept_one._pid)
            os.kill(kept_one._pid, signal.SIGKILL)
            assert ended(watched)
        real(connection, message, descriptors)

    assert run(profile, "true")[0] == 0
    kept_one = kept()
    monkeypatch.setattr(_forkserver, "send", late)
    with pytest.raises(ConfinementError, match="has ended"):
        run(profile, "true")
    monkeypatch.setattr(_forkserver, "send", real)
    let_go()
    assert children() <= before


@pytest.mark.parametrize("when", ["asked", "answered"])
def test_an_interrupt_while_a_command_is_started_leaves_none(profile, monkeypatch, when):
    before = children()
    step = {"asked": "send", "answered": "received"}[when]
    real = getattr(_forkserver, step)

    def interrupted(*told):
        real(*told)
        raise KeyboardInterrupt

    assert run(profile, "true")[0] == 0
    monkeypatch.setattr(_forkserver, step, interrupted)
    with pytest.raises(KeyboardInterrupt):
        start(profile, ["sleep", "600"], cwd=profile.project, **PIPES)
    let_go()
    assert children() <= before


def test_a_fork_of_the_host_has_processes_of_its_own_and_ends_none_of_its_parents(profile, unchanged):
    assert run(profile, "true")[0] == 0
    running = start(profile, ["cat"], cwd=profile.project, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert run(profile, "true")[0] == 0  # by another keeper, which is kept
    keeper, server = kept(), server_now()
    child = os.fork()
    if child == 0:
        failed = 1
        try:
            assert _slots._kept == []
            assert run(profile, "echo", "forked")[:2] == (0, "forked\n")
            running.close()  # which is its parent's
            let_go()
            failed = 0
        finally:
            os._exit(failed)
    assert os.waitpid(child, 0)[1] == 0
    assert (kept(), server_now()) == (keeper, server)
    assert keeper.ready()
    assert running.process.communicate(b"still there", timeout=60)[0] == b"still there"
    running.close()


def test_a_number_that_is_no_child_of_ours_any_more_is_not_killed():
    """Whoever embeds it may have waited for every child, and the number may be another's."""
    with subprocess.Popen(["sleep", "600"]) as process:
        front = subprocess.Popen(["sh", "-c", "sleep 600 & echo $!; wait"], stdout=subprocess.PIPE)
        grandchild = int(front.stdout.readline())
        _process.end(grandchild)
        os.kill(grandchild, signal.SIGKILL)  # it is there
        front.communicate()
        _process.end(process.pid)
        _process.end(process.pid)
        assert process.wait() == 0  # somebody else has waited for it


def test_they_end_when_the_host_is_killed(profile):
    code = f"""
        import os, subprocess, sys
        sys.path.insert(0, {str(ROOT)!r})
        from executor.confine import Profile, start
        from executor.confine import _start
        boxed = start(Profile("read", {profile.project!r}), ["true"], cwd="/")
        boxed.process.wait()
        boxed.close()
        kept = _start._slots._kept[-1]
        assert kept._keeper.ready()
        from executor.confine._forkserver import servers
        print([*servers._servers.values()][0]._process.pid, kept._keeper._pid, flush=True)
        os.kill(os.getpid(), 9)
    """
    with subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE) as host:
        said = host.stdout.readline()
        watched = []
        for pid in map(int, said.split()):
            try:
                watched.append(os.pidfd_open(pid))
            except ProcessLookupError:
                continue  # it was faster
    assert len(said.split()) == 2
    assert all(map(ended, watched))


def test_commands_of_threads_that_stand_in_many_ways_are_all_started(profile):
    """More ways than fork servers are kept for: one is put aside while another thread has just asked it."""
    wrong = []

    def runs(number):
        for turn in range(6):
            masked = {signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGHUP}
            chosen = {each for bit, each in enumerate(sorted(masked)) if (number + turn) % 8 >> bit & 1}
            signal.pthread_sigmask(signal.SIG_SETMASK, chosen)
            wanted = sum(1 << each - 1 for each in chosen)
            try:
                code, said, _ = run(profile, "awk", "/SigBlk/ {print $2}", "/proc/self/status")
            except ConfinementError as error:
                wrong.append(str(error))
            else:
                if code or int(said, 16) != wanted:
                    wrong.append((code, said, wanted))

    threads = [threading.Thread(target=runs, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


DIES_WITH_ITS_PARENT = """
import ctypes, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
print("asked", flush=True)
print(sys.stdin.readline(), flush=True)
"""


@pytest.mark.parametrize("how", ["put aside", "let go", "killed"])
def test_a_command_that_ends_with_its_parent_outlives_the_fork_server(profile, how):
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    boxed = start(profile, [PYTHON, "-c", DIES_WITH_ITS_PARENT], cwd=profile.project, **streams)
    assert boxed.process.stdout.readline() == b"asked\n"
    server, before = server_now(), os.umask(0o77)
    try:
        for umask in range(5) if how == "put aside" else ():
            os.umask(umask)
            assert run(profile, "true")[0] == 0
        if how == "let go":
            let_go()
        elif how == "killed":
            server._process.kill()
        assert server._ended.wait(20)
        assert boxed.process.communicate(b"said", timeout=60)[0].strip() == b"said"
        assert boxed.process.returncode == 0
    finally:
        os.umask(before)
        boxed.close()
    let_go()
    server._thread.join(20)
    assert not server._thread.is_alive(), "nothing of it is left, and it stays"


@pytest.mark.parametrize("method", ["start", "join"])
def test_an_interrupt_while_a_fork_server_starts_leaves_nothing(profile, monkeypatch, method):
    before = children()
    with monkeypatch.context() as patched:
        waits = _forkserver.Future.result
        started = threading.Thread.start

        def interrupted(self, *given):
            (started if method == "start" else waits)(self, *given)
            raise KeyboardInterrupt

        patched.setattr(
            *((threading.Thread, "start") if method == "start" else (_forkserver.Future, "result")), interrupted
        )
        with pytest.raises(KeyboardInterrupt):
            _forkserver._ForkServer()
    for thread in threading.enumerate():
        if thread.name == "executor-box":
            thread.join(20)
            assert not thread.is_alive()
    assert children() <= before


def test_a_fork_holds_no_server_of_its_parent(profile):
    assert run(profile, "true")[0] == 0
    server = server_now()
    child = os.fork()
    if child == 0:
        os._exit(0 if server._own.fileno() == -1 else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert server._own.fileno() >= 0


def test_a_first_process_that_is_not_bubblewraps_is_not_believed():
    """As where this process looks at others through another process namespace: there the number is another's."""
    with First().told() as stop, subprocess.Popen(["cat"], stdin=subprocess.PIPE) as other:
        os.write(stop.told, b'{"child-pid": %d' % os.getpid())
        reading = stop.read.dup()
        reading.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while reading.recv(1 << 20):
                pass  # as bubblewrap does once the mounts are laid
        first = First()
        with pytest.raises(OSError, match="process namespace"):
            first.check(other, stop, ())
        first.end()  # ends nobody
        reading.close()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be in more groups")
def test_whoever_is_in_hundreds_of_groups_has_boxes_too(profile):
    before = os.getgroups()
    try:
        os.setgroups([4_000_000_000 + number for number in range(600)])
        assert run(profile, "sh", "-c", "id -G | wc -w")[1] == "601\n"
    finally:
        os.setgroups(before)
