"""What goes on in a box as it does outside, and what a box leaves behind."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from executor.confine import Box, Profile, _landlock, _wrap, box_of, start
from executor.confine._files import files_made
from executor.confine._start import _slots, _start_in
from executor.errors import ConfinementError

PYTHON = "/usr/bin/python3"
EVERY = ["read", "project", "network"]
PIPES = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
pytestmark = pytest.mark.usefixtures("landlock", "bubblewrap")


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def ended(boxed):
    """(exit code, output, complaints) of a command that is waited for."""
    said, complaint = boxed.process.communicate(timeout=60)
    boxed.close()
    return boxed.process.returncode, said.decode(), complaint.decode()


def shell(profile, line, **more):
    return ended(start(profile, ["bash", "-c", line], cwd=profile.project, **PIPES, **more))


@pytest.mark.parametrize("name", EVERY)
def test_a_command_reads_and_says_what_it_does_outside(world, name):
    done = world.shell(
        world.profile(name), "cat src/a.txt; cat ~/.bashrc | wc -l; echo oh >&2; echo x > /dev/null; exit 7"
    )
    assert (done.returncode, done.stdout, done.stderr) == (7, "a\n1\n", "oh\n")


@pytest.mark.parametrize("name", EVERY)
def test_every_box_has_a_folder_for_temporary_files_that_is_gone_afterwards(world, name):
    line = 'echo kept > "$TMPDIR/a" && cat "$TMPDIR/a" && mkdir -m 0 "$TMPDIR/b" && echo "$TMPDIR"'
    done = world.shell(world.profile(name), line)
    kept, folder = done.stdout.split()
    assert kept == "kept"
    world.shell(world.profile(name), "true")  # a command that took the process's place could not remove it
    assert not os.path.exists(folder)


@pytest.mark.parametrize("name", ["project", "network"])
@pytest.mark.parametrize("box", ["bubblewrap", "landlock"])
def test_where_there_is_no_project_a_box_may_write_nothing_but_its_temporary_files(tmp_path, name, box, monkeypatch):
    monkeypatch.setattr("executor.confine._start.choose", lambda *_: Box(name, box))
    line = 'echo x > "$TMPDIR/a" && echo said; echo x > made; echo $?'
    boxed = start(Profile(name, "/dev/null/no-project"), ["bash", "-c", line], cwd=str(tmp_path), **PIPES)
    code, said, _ = ended(boxed)
    assert (boxed.box.mechanism, code, said) == (box, 0, "said\n1\n")
    assert not [*tmp_path.iterdir()]


def test_the_project_may_be_written_but_for_what_the_policy_denies(world):
    line = "echo new > src/b.txt; rm src/a.txt; mkdir d; mv d e; chmod 700 e && touch .git/index"
    done = world.shell(world.profile("project"), line)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in (world.project / "src").iterdir()) == ["b.txt"]
    assert (world.project / "e").is_dir()
    assert (world.project / ".git" / "index").exists()
    assert not (world.project / ".toolexec").exists()


@pytest.mark.parametrize("name", ["project", "network"])
@pytest.mark.parametrize("around", ["", "project"])
def test_a_project_in_what_may_not_be_read_or_written_is_not(world, name, around):
    place = str(world.base / around).rstrip("/")
    line = f"cat {world.project}/src/a.txt && echo seen; touch {world.project}/new"
    done = world.shell(world.profile(name, unreadable=(place,)), line, cwd="/")
    assert (done.returncode, done.stdout) == (1, "")
    profile = world.profile(name, unreadable=(), unwritable=(str(world.project),))
    done = world.shell(profile, f"{line}; touch $TMPDIR/own && echo own", cwd="/")
    assert done.stdout.endswith("seen\nown\n")
    assert not (world.project / "new").exists()


def test_what_a_rule_allowed_beside_it_may_be_written(world):
    there, missing = world.outside / "file", world.project / "listing.txt"
    profile = world.profile("read", writable=(str(there), str(missing)))
    done = world.shell(profile, f"ls src > listing.txt && echo more >> {there} && touch other")
    assert done.returncode == 1
    assert missing.read_text() == "a.txt\n"
    assert there.read_text() == "outsidemore\n"
    assert not (world.project / "other").exists()


@pytest.mark.parametrize("name", EVERY)
def test_what_a_rule_allowed_to_be_written_is_not_read_where_it_is_hidden(world, name):
    files = [world.project / ".env", world.home / ".ssh/id_rsa", world.home / ".Xauthority"]
    profile = world.profile(name, writable=tuple(map(str, files)))
    words = " ".join(map(str, files))
    done = world.shell(profile, f"cat {words}; for file in {words}; do echo more >> $file; cat < $file; done")
    assert "SECRET" not in done.stdout
    if name == "read":  # under Landlock, which knows the one without the other
        assert [file.read_text().endswith("more\n") for file in files[1:]] == [True, True]


def test_a_file_that_was_made_to_be_written_and_never_was_is_removed(project):
    profile = Profile("read", str(project), writable=(str(project / "listing"), str(project / "empty")))
    assert shell(profile, ": > empty; false && ls > listing")[0] == 1
    assert os.listdir(project) == ["empty"]


def test_a_file_that_is_removed_is_the_one_that_was_made_whatever_leads_to_its_name_by_then(project, tmp_path):
    """What else runs in the project may exchange the folder for a link while the command runs."""
    elsewhere, folder = tmp_path / "elsewhere", project / "folder"
    for each in (elsewhere, folder):
        each.mkdir()
    with files_made([str(folder / "new")]):
        made = (folder / "new").stat()
        folder.rename(project / "moved")
        folder.symlink_to(elsewhere)
        (elsewhere / "new").touch()
        os.utime(elsewhere / "new", ns=(made.st_atime_ns, made.st_mtime_ns))
    assert (elsewhere / "new").exists()
    assert not (project / "moved" / "new").exists()


@pytest.mark.parametrize("name", EVERY)
def test_a_folder_that_a_redirection_names_is_not_opened(world, name):
    """It is refused by the shell, which goes on with what stands behind it."""
    profile = world.profile(name, writable=(str(world.outside), "/tmp"))
    made = f"/tmp/{world.base.name}-made"
    world.shell(profile, f"echo x > {world.outside}; echo x > {world.outside}/file; echo x > {made}")
    assert (world.outside / "file").read_text() == "outside"
    assert not os.path.exists(made)


@pytest.mark.parametrize("name", EVERY)
def test_a_file_that_was_allowed_is_not_another_one_when_a_link_has_come_in_its_way(world, name):
    """Between the judging of a call and its start, whatever runs in the project goes on."""
    allowed, there = world.project / "src" / "file", world.outside / "file"
    (world.project / "src" / "a.txt").unlink()
    (world.project / "src").rmdir()
    (world.project / "src").symlink_to(world.outside)
    missing = world.project / "src" / "made"
    done = world.shell(
        world.profile(name, writable=(str(allowed), str(missing))), "echo x >> src/file; echo x > src/made"
    )
    assert done.returncode == 1
    assert there.read_text() == "outside"
    assert not (world.outside / "made").exists()


def test_a_builder_has_a_loopback_of_its_own(world):
    code = (
        "import socket, threading\n"
        "s = socket.create_server(('127.0.0.1', 0))\n"
        "threading.Thread(target=lambda: s.accept()[0].sendall(b'own')).start()\n"
        "print(socket.create_connection(s.getsockname()).recv(9))"
    )
    assert world.run(world.profile("project"), "python3", "-c", code).stdout == "b'own'\n"


def test_the_network_profile_reaches_the_network(world, listening):
    code = f"import socket; socket.create_connection(('127.0.0.1', {world.told['tcp']}))"
    assert world.run(world.profile("network"), "python3", "-c", code).returncode == 0
    assert world.heard == ["tcp"]


def test_a_program_gets_the_credentials_that_belong_to_it(world):
    key = str(world.home / ".ssh")
    done = world.shell(world.profile("network", credentials=(key,)), "cat ~/.ssh/id_rsa; echo x >> ~/.ssh/id_rsa")
    assert done.stdout == "SECRET key"
    assert (world.home / ".ssh" / "id_rsa").read_text() == "SECRET key"


@pytest.mark.parametrize("name", EVERY)
def test_secret_variables_stay_outside_unless_they_are_named(world, name):
    env = {"GH_TOKEN": "s3cret", "MY_TOKEN": "wanted", "SSH_AUTH_SOCK": "/s", "PLAIN": "p", "DOCKER_HOST": "unix:///d"}
    line = "echo $GH_TOKEN,$MY_TOKEN,$SSH_AUTH_SOCK,$PLAIN,$DOCKER_HOST,$DBUS_SESSION_BUS_ADDRESS"
    done = world.shell(world.profile(name, env=("MY_TOKEN",)), line, env=env)
    assert done.stdout == ",wanted,,p,,\n"


@pytest.mark.parametrize("name", EVERY)
def test_caches_are_the_boxes_own(world, name):
    line = 'for f in "$XDG_CACHE_HOME" "$npm_config_cache" "$PIP_CACHE_DIR" "$GOCACHE"; do mkdir -p $f && echo $f; done'
    done = world.shell(world.profile(name), line)
    folders = done.stdout.split()
    assert len(folders) == 4
    assert all("/toolexec/boxes/" in folder for folder in folders)


@pytest.mark.parametrize("name", EVERY)
def test_a_library_that_the_environment_names_is_not_loaded_outside_the_box(world, name):
    """bubblewrap itself would load it, before there is a box."""
    source = world.project / "evil.c"
    source.write_text(
        "#include <fcntl.h>\n"
        "__attribute__((constructor)) static void run(void) "
        f'{{ open("{world.outside}/canary", O_CREAT | O_WRONLY, 0644); }}'
    )
    library = world.project / "evil.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    profile = world.profile(name)
    script = (
        "import os, subprocess, sys; sys.path.insert(0, sys.argv[1])\n"
        "from executor.confine import Box, Profile, start\n"
        "boxed = start(Profile.of(eval(sys.argv[2])), ['true'], env={**os.environ, 'LD_PRELOAD': sys.argv[3]})\n"
        "boxed.process.wait(); boxed.close()"
    )
    root = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
    command = [*world.front, world.python, "-I", "-c", script, root, repr(profile.to_dict()), str(library)]
    subprocess.run(command, check=True, env=world.environment(), cwd=world.project)
    assert not (world.outside / "canary").exists()


@pytest.mark.parametrize("name", EVERY)
def test_a_pipe_stands_between_a_command_and_whoever_reads_it(project, name):
    boxed = start(
        Profile(name, str(project)),
        ["bash", "-c", "echo first; read -r line; echo $line"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert boxed.process.stdout.readline() == b"first\n"
    said, _ = boxed.process.communicate(b"second\n", timeout=60)
    boxed.close()
    assert said == b"second\n"


@pytest.mark.parametrize("name", EVERY)
def test_a_group_is_ended_as_a_whole(project, name):
    line = "sleep 600 & sleep 600 & echo ready; wait"
    boxed = start(Profile(name, str(project)), ["bash", "-c", line], start_new_session=True, **PIPES)
    assert boxed.process.stdout.readline() == b"ready\n"
    os.killpg(boxed.process.pid, signal.SIGKILL)
    said, _ = boxed.process.communicate(timeout=60)  # until nobody holds the pipes
    boxed.close()
    assert said == b""
    assert boxed.process.returncode == -signal.SIGKILL


# Twice orphaned, in a session of its own, without a trace of its box in its environment.
DAEMON = (
    "import os, sys, time\n"
    "if os.fork(): os.wait(); sys.exit()\n"
    "os.setsid()\n"
    "if os.fork(): os._exit(0)\n"
    "os.execve('/bin/sh', ['sh', '-c', 'echo up; exec sleep 600'], {})"
)


@pytest.mark.parametrize("name", EVERY)
def test_a_box_ends_with_its_command_and_so_does_whatever_left_its_session(project, name):
    line = f'{PYTHON} -c "$1" & wait; echo done; exec >&- 2>&-; read'
    command = ["bash", "-c", line, "bash", DAEMON]
    boxed = start(Profile(name, str(project)), command, **{**PIPES, "stdin": subprocess.PIPE})
    said = {boxed.process.stdout.readline() for _ in range(2)}
    assert said == {b"up\n", b"done\n"}
    boxed.process.stdin.close()
    boxed.process.wait(60)
    boxed.close()
    assert boxed.process.stdout.read() == b""  # nobody holds it any more
    boxed.process.stdout.close()
    boxed.process.stderr.close()


@pytest.mark.parametrize("name", EVERY)
def test_a_box_is_ended_at_one_stroke_while_its_command_runs_and_no_other_is(project, name):
    profile = Profile(name, str(project))
    command = ["bash", "-c", f'{PYTHON} -c "$1" & wait; exec sleep 600', "bash", DAEMON]
    boxed = start(profile, command, **PIPES)
    assert boxed.process.stdout.readline() == b"up\n"
    boxed.end()
    boxed.process.communicate(timeout=60)  # until nobody holds the pipes
    boxed.close()
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as outside:
        another = start(profile, ["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        boxed.end()  # that one may be where this one was
        assert another.process.communicate(b"still there", timeout=60)[0] == b"still there"
        another.close()
        assert outside.poll() is None


@pytest.mark.parametrize("name", ["read", "wide"])
def test_under_landlock_files_are_moved_and_linked_between_folders_as_anywhere(project, name, monkeypatch):
    moved = "import os; os.rename('a/x', 'b/x')"
    line = f'cd $TMPDIR && mkdir a b && : > a/x && ln a/x b/y && {PYTHON} -c "{moved}" && ls b'
    if name == "wide":
        monkeypatch.setattr("executor.confine._start.trials.problem", lambda real: "" if real == "landlock" else "none")
        line = line.replace("$TMPDIR", ".")
    profile = Profile("read" if name == "read" else "project", str(project))
    assert shell(profile, line) == (0, "x\ny\n", "")


def test_and_not_out_of_nor_into_what_may_be_written(project, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("as it was")
    lines = [f"ln {outside}/file b", f"ln a {outside}/a", f"mv a {outside}/a", f"mv {outside}/file b"]
    for line in lines:
        assert shell(Profile("read", str(project)), f"cd $TMPDIR && : > a && {line}")[0] == 1
    assert [path.name for path in outside.iterdir()] == ["file"]


def test_what_one_box_ends_is_in_no_other(project):
    """Each slot by itself, and nobody outside."""
    with subprocess.Popen(["sleep", "600"]) as outside:
        profile = Profile("read", str(project))
        other = start(profile, ["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert shell(profile, "setsid sleep 600 >&- 2>&- & true")[0] == 0
        _slots.close()
        assert other.process.poll() is None
        assert outside.poll() is None
        outside.kill()
    assert other.process.communicate(b"still there", timeout=60)[0] == b"still there"
    other.close()


def test_where_signals_are_not_held_nobody_is_ended(project, monkeypatch):
    from executor.confine import _kernel

    monkeypatch.setattr(_kernel, "landlock_abi", lambda: 5)
    _slots.close()
    code, said, _ = shell(Profile("read", str(project)), "setsid sleep 600 >&- 2>&- & echo $!")
    left = os.pidfd_open(int(said))
    _slots.close()  # waits for all that it does
    ends = select.poll()
    ends.register(left, select.POLLIN)
    assert (code, ends.poll(0)) == (0, [])
    signal.pidfd_send_signal(left, signal.SIGKILL)
    os.close(left)


def test_signals_that_nobody_is_there_to_refuse_are_not_taken_for_held(monkeypatch):
    from executor.confine import _restrict

    assert not _restrict.signals_are_refused()  # this thread is in no box
    monkeypatch.setattr(os, "getppid", lambda: 0)
    assert not _restrict.signals_are_refused()


@pytest.mark.parametrize("name", EVERY)
def test_a_program_that_is_not_there_is_told_as_outside(project, name):
    with pytest.raises(FileNotFoundError):
        start(Profile(name, str(project)), ["no-such-program"], cwd=str(project), **PIPES)
    (project / "plain").write_text("")
    with pytest.raises(PermissionError):
        start(Profile(name, str(project)), ["./plain"], cwd=str(project), **PIPES)
    with pytest.raises(ValueError, match="null"):
        start(Profile(name, str(project)), ["echo", "a\0b"], cwd=str(project), **PIPES)
    assert os.listdir(project) == ["plain"]


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("made", ["a folder", "a file that may not be run"])
def test_what_has_the_name_of_a_program_and_is_none_is_passed_over_in_PATH(project, name, made):
    (project / "first").mkdir()
    (project / "first/echo").mkdir() if made == "a folder" else (project / "first/echo").write_text("")
    env = {"PATH": f"{project}/first:{os.defpath}"}
    boxed = start(Profile(name, str(project)), ["echo", "on"], cwd=str(project), env=env, **PIPES)
    assert ended(boxed)[:2] == (0, "on\n")


@pytest.mark.parametrize("name", EVERY)
def test_a_working_folder_that_is_none_is_told_as_outside(project, name):
    (project / "file").write_text("")
    for folder, error in (("gone", FileNotFoundError), ("file", NotADirectoryError)):
        with pytest.raises(error) as caught:
            start(Profile(name, str(project)), ["true"], cwd=f"{project}/{folder}", **PIPES)
        assert caught.value.filename == f"{project}/{folder}"


def test_threads_that_did_not_ask_for_a_box_are_in_none(project):
    assert shell(Profile("read", str(project)), "touch a")[0] == 1
    (project / "b").touch()
    assert os.listdir(project) == ["b"]


def test_many_boxes_at_once_share_no_folder(project):
    def one(number):
        line = f'echo {number} > "$TMPDIR/mine"; cat "$TMPDIR/"*'
        return shell(Profile("project" if number % 2 else "read", str(project)), line)[1]

    with ThreadPoolExecutor(8) as pool:
        assert [said.strip() for said in pool.map(one, range(24))] == [str(number) for number in range(24)]


def test_bubblewrap_that_ends_before_the_mounts_are_laid_is_no_command_that_failed(project, monkeypatch):
    from executor.confine import _bubblewrap

    monkeypatch.setattr(_bubblewrap, "_mount", lambda *_: ("--bind", "/nowhere", "/nowhere"))
    with pytest.raises(ConfinementError, match="/nowhere"):
        shell(Profile("project", str(project)), "true")


def test_more_words_than_bubblewrap_takes_are_told_as_that(project):
    profile = Profile("project", str(project))
    assert ended(start(profile, ["true", *["word"] * 8000], cwd=str(project), **PIPES))[0] == 0
    many = {f"V{number}": "" for number in range(3000)}
    for words, env in (["word"] * 9000, {}), ([], many):
        with pytest.raises(ConfinementError, match=r"takes 9000 words, .* fewer arguments at a time"):
            start(profile, ["true", *words], cwd=str(project), env={**env, "PATH": os.defpath}, **PIPES)


def test_a_box_whose_mounts_are_never_laid_is_given_up_once(project, monkeypatch):
    from executor.confine import _bubblewrap, _first

    source, target = os.pipe()  # whose end never comes
    monkeypatch.setattr(_first, "_LONGEST_SECONDS", 0.3)
    monkeypatch.setattr(_bubblewrap, "_mount", lambda *_: ("--file", str(source), "/run/never"))
    begin, begun = subprocess.Popen, []

    def inheriting(*command, pass_fds=(), **more):
        begun.append(command)
        return begin(*command, pass_fds=(*pass_fds, source) if pass_fds else (), **more)

    monkeypatch.setattr("executor.confine._start.subprocess.Popen", inheriting)
    with pytest.raises(ConfinementError, match="not laid"):
        shell(Profile("project", str(project)), "true")
    assert len(begun) == 1
    os.close(source)
    os.close(target)


def test_who_is_interrupted_while_bubblewrap_starts_leaves_no_command_that_nobody_has_looked_at(project, monkeypatch):
    begin, begun = subprocess.Popen, []

    def interrupted(command, *, pass_fds=(), **more):
        begun.append(begin(command, pass_fds=pass_fds, **more))
        if pass_fds:
            raise KeyboardInterrupt
        return begun.pop()

    assert shell(Profile("project", str(project)), "touch before")[0] == 0  # what there is, is known from here on
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr("executor.confine._start.subprocess.Popen", interrupted)
        shell(Profile("project", str(project)), "touch after")
    [process] = begun
    process.communicate(timeout=60)
    assert shell(Profile("project", str(project)), "true")[0] == 0  # removes what was left for it
    assert os.listdir(project) == ["before"]


LOOKING_AT_ITS_HOST = """
for task in /proc/$PPID/task/*; do
    kill -0 ${task##*/} 2>/dev/null && echo "signals ${task##*/}"
    for file in environ maps mem; do head -c 1 $task/$file >/dev/null 2>&1 && echo "reads $task/$file"; done
    for file in $task/fd/*; do readlink $file >/dev/null 2>&1 && echo "reads $file"; done
done
for file in /proc/[0-9]*/fd/*; do [ -d $file/.. ] && echo "has $file open"; done
true
"""


@pytest.mark.parametrize("name", EVERY)
def test_a_command_gets_nothing_of_who_started_it(project, name):
    """Landlock goes by threads, and one of the host's is in the box; bubblewrap's own process is in it as well."""
    code, said, _ = shell(Profile(name, str(project)), LOOKING_AT_ITS_HOST)
    assert (code, said) == (0, "")


@pytest.mark.parametrize("name", EVERY)
def test_a_command_may_not_trace_who_started_it(project, name):
    code = """
import ctypes, os
ptrace, parent = ctypes.CDLL(None, use_errno=True).ptrace, os.getppid()
for pid in {1, parent, *(map(int, os.listdir(f"/proc/{parent}/task")) if parent > 1 else ())}:
    for request in (16, 0x4206):
        print(ptrace(request, pid, 0, 0), ctypes.get_errno())
"""
    said, _ = start_python(Profile(name, str(project)), code)
    assert len(said) >= 2
    assert set(said) == {"-1 1"}


def start_python(profile, code):
    started = start(profile, [sys.executable, "-I", "-S", "-c", code], cwd=profile.project, **PIPES)
    said = ended(started)
    return said[1].splitlines(), said[2]


def test_a_box_whose_tmpdir_cannot_be_looked_into_keeps_its_placeholders(project):
    profile = Profile("project", str(project))
    line = "chmod 000 $TMPDIR; echo ready; read line; mkdir .toolexec/x"
    boxed = start(profile, ["bash", "-c", line], cwd=str(project), **{**PIPES, "stdin": subprocess.PIPE})
    assert boxed.process.stdout.readline() == b"ready\n"
    assert shell(profile, "true")[0] == 0  # another box of the project comes to its end meanwhile
    _, complaint = boxed.process.communicate(b"go\n", timeout=60)
    boxed.close()
    assert b"Read-only" in complaint
    assert shell(profile, "true")[0] == 0
    assert ".toolexec" not in os.listdir(project)


@pytest.mark.parametrize("name", EVERY)
def test_no_priority_but_its_own_is_changed(project, name):
    code = """
import os
for which in (0, 1, 2):
    try:
        os.setpriority(which, 0, 7)
        print("done")
    except OSError as error:
        print(error.errno)
"""
    assert start_python(Profile(name, str(project)), code)[0] == ["done", "1", "1"]


@pytest.mark.parametrize("name", EVERY)
def test_a_command_may_change_the_input_priority_of_nothing_but_itself(project, name):
    code = """
import ctypes, platform
syscall, number = ctypes.CDLL(None, use_errno=True).syscall, 251 if platform.machine() == "x86_64" else 30
for which, who in ((1, 0), (1, 1), (2, 0), (3, 0)):  # a process, a group, a user
    print(syscall(number, which, who, 2 << 13 | 4), ctypes.get_errno())
"""
    assert start_python(Profile(name, str(project)), code)[0] == ["0 0", "-1 1", "-1 1", "-1 1"]


KILLED = """
import os, signal, subprocess, sys
from executor.confine import Box, Profile, _first, _kernel, box_of, start
profile = Profile("project", sys.argv[1])
box_of(profile)
_first._compare = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
watched = _kernel.watched
def telling(pid):
    print(pid, flush=True)
    return watched(pid)
_kernel.watched = telling
start(profile, ["touch", "after"], cwd=sys.argv[1], stdin=subprocess.DEVNULL)
"""


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="this Python cannot watch a process that is not its own")
def test_a_command_is_not_started_when_nobody_is_left_to_look_at_its_mounts(project):
    """And nothing of it stays."""
    with subprocess.Popen([sys.executable, "-c", KILLED, str(project)], stdout=subprocess.PIPE, text=True) as host:
        watched = []
        for line in (host.stdout.readline(), host.stdout.readline()):  # bubblewrap, and the first process
            with contextlib.suppress(ProcessLookupError):
                watched.append(os.pidfd_open(int(line)))
        assert host.wait(60) == -signal.SIGKILL
    for each in watched:
        assert select.select([each], [], [], 60)[0], "it waits for ever"
        os.close(each)
    assert os.listdir(project) == [".toolexec"]  # where it was to be closed; the next box removes it
    assert shell(Profile("project", str(project)), "touch next")[0] == 0
    assert os.listdir(project) == ["next"]


KILLED_WHILE_TELLING = """
import os, signal, subprocess, sys
from executor.confine import Profile, _bubblewrap, _first, box_of, start
profile = Profile("project", sys.argv[1])
box_of(profile)
packed = _bubblewrap.packed
def some(told):
    options = list(told)
    return packed(options[:len(options) * int(sys.argv[2]) // 100])
def killed(self, process, *_):
    print(process.pid, flush=True)
    sys.stdin.readline()
    os.kill(os.getpid(), signal.SIGKILL)
_bubblewrap.packed, _first.First.check = some, killed
start(profile, ["touch", "after"], cwd=sys.argv[1], stdin=subprocess.DEVNULL)
"""


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="this Python cannot watch a process that is not its own")
@pytest.mark.parametrize("percent", [0, 10, 50, 90, 100])
def test_a_command_is_not_started_by_a_bubblewrap_that_was_not_told_everything(project, percent):
    words = [sys.executable, "-c", KILLED_WHILE_TELLING, str(project), str(percent)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as host:
        bubblewrap = os.pidfd_open(int(host.stdout.readline()))
        host.communicate("\n")
        assert host.returncode == -signal.SIGKILL
    assert select.select([bubblewrap], [], [], 60)[0], "it waits for ever"
    os.close(bubblewrap)
    assert os.listdir(project) == [".toolexec"]  # where it was to be closed


@pytest.mark.parametrize("when", ["before they are laid", "after"])
def test_bubblewrap_that_is_killed_takes_with_it_what_it_began(project, monkeypatch, when):
    from executor.confine import _first

    came, began = _first._came, []

    def killed(process, stop):
        if when == "after":
            assert came(process, stop)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        while not began:
            began.extend(os.pidfd_open(int(pid)) for pid in children.read_text().split())
        process.kill()
        process.wait()
        return False

    assert shell(Profile("project", str(project)), "touch before")[0] == 0
    monkeypatch.setattr(_first, "_came", killed)
    with pytest.raises(ConfinementError):
        shell(Profile("project", str(project)), "touch after")
    monkeypatch.undo()
    for each in began:
        assert select.select([each], [], [], 60)[0], "it waits for ever"
        os.close(each)
    assert shell(Profile("project", str(project)), "ls")[1] == "before\n"


@pytest.mark.parametrize("where", ["_expected", "_came", "_compare"])
def test_an_interrupt_while_the_mounts_are_laid_leaves_nothing(project, monkeypatch, where):
    from executor.confine import _first

    started, begin = [], subprocess.Popen

    def interrupted(*_):
        raise KeyboardInterrupt

    def remembered(*command, **told):
        started.append(begin(*command, **told))
        return started[-1]

    assert shell(Profile("project", str(project)), "true")[0] == 0
    monkeypatch.setattr(_first, where, interrupted)
    monkeypatch.setattr(subprocess, "Popen", remembered)
    with pytest.raises(KeyboardInterrupt):
        shell(Profile("project", str(project)), "touch after")
    monkeypatch.undo()
    assert [process.returncode for process in started] == [-signal.SIGKILL]
    assert os.listdir(project) == []


@pytest.mark.parametrize("name", EVERY)
def test_a_command_that_ends_its_own_process_group_ends_nobody_else(project, name):
    code = (
        "import subprocess, sys\n"
        "from executor.confine import Box, Profile, start\n"
        "boxed = start(Profile(sys.argv[1], sys.argv[2]), ['sh', '-c', 'kill -9 0; kill -9 -- -$PPID; sleep 60'])\n"
        "print(boxed.process.wait() != 0)\n"
        "boxed.close()"
    )
    done = subprocess.run([sys.executable, "-c", code, name, str(project)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr


@pytest.mark.parametrize("folder", ["/", "/proc/self/root"])
def test_a_project_that_is_everything_has_no_box_that_may_write_it(folder):
    with pytest.raises(ConfinementError, match="the whole file system"):
        start(Profile("project", folder), ["true"], cwd="/")


@pytest.mark.parametrize("which", ["stdin", "stdout", "stderr"])
def test_a_folder_is_no_stream_of_a_box_that_others_lie_below(project, which):
    folder = os.open("/", os.O_RDONLY)
    try:
        with pytest.raises(ConfinementError, match="is a folder"):
            start(Profile("project", str(project)), ["ls"], **{**PIPES, which: folder})
    finally:
        os.close(folder)


CLOSED = """
import os, sys
from executor.confine import Box, Profile, start
how, name, *closed = sys.argv[1:]
for number in closed:
    os.close(int(number))
command = ["sh", "-c", "cat; echo said; echo oh >&2; ls -l /proc/self/fd > out; exit 7"]
if how == "become":
    sys.argv = ["confine", name, "--", *command]
    import runpy
    runpy.run_module("executor.confine", run_name="__main__")
boxed = start(Profile(name, os.getcwd()), command)
code = boxed.process.wait(60)
boxed.close()
sys.exit(code)
"""


@pytest.mark.parametrize("closed", ["0", "1", "2", "012"])
@pytest.mark.parametrize("how", ["start", "become"])
def test_a_box_is_made_where_streams_are_closed_and_its_command_has_nothing_there(project, how, closed):
    done = subprocess.run(
        [sys.executable, "-c", CLOSED, how, "project", *closed],
        cwd=project,
        input="",
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (7, "" if "1" in closed else "said\n"), done.stderr
    assert "2" in closed or done.stderr.endswith("oh\n")
    assert (project / "out").read_text().count("/dev/null") == len(set(closed) - {"1"})


def test_what_a_command_did_to_its_caches_stops_no_later_one(project):
    profile = Profile("project", str(project))
    assert shell(profile, 'chmod 0 "$XDG_CACHE_HOME"')[0] == 0
    assert shell(profile, 'touch "$XDG_CACHE_HOME/a" && ls "$XDG_CACHE_HOME"')[1] == "a\n"


MISLAID = {  # what bubblewrap does when a link stands where it finds a folder, or a folder where it finds a place
    "from elsewhere": lambda kind, path, outside: ("--bind", outside, path),
    "to elsewhere": lambda kind, path, outside: ("--bind", path, outside),
    "both": lambda kind, path, outside: ("--bind", outside, outside),
    "to be written": lambda kind, path, outside: ("--bind", path, path),
}


@pytest.mark.parametrize("case", MISLAID)
@pytest.mark.parametrize("times", [1, 2, 10])
def test_a_command_is_not_started_where_a_mount_is_elsewhere(project, tmp_path, monkeypatch, case, times):
    """Another box of the project exchanges a folder for a link at that moment; the next attempt may go well."""
    from executor.confine import _bubblewrap
    from executor.confine._mounts import Kind

    outside = tmp_path / "outside"
    outside.mkdir()
    (project / "a" / "b").mkdir(parents=True)
    mount, left = _bubblewrap._mount, list(range(times))

    def mislay(kind, path):
        if path == str(project / "a" / "b") and kind is Kind.FIXED and left:
            left.pop()
            return MISLAID[case](kind, path, str(outside))
        return mount(kind, path)

    monkeypatch.setattr(_bubblewrap, "_mount", mislay)
    profile = Profile("project", str(project), unwritable=(f"{project}/a/b",))
    line = f"touch {outside}/canary a/b/canary; touch a/done"
    if times == 10:
        with pytest.raises(ConfinementError, match="moved while the box was made"):
            shell(profile, line)
    else:
        assert shell(profile, line)[0] == 0
    assert (project / "a" / "done").exists() is (times != 10)
    assert os.listdir(outside) == []
    assert os.listdir(project / "a" / "b") == []


def test_a_link_that_comes_in_the_way_to_a_file_that_may_be_written_opens_nothing(project, tmp_path, monkeypatch):
    """Another box of the project puts it there after the file was found to be without links."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "out").write_text("mine")
    folder = project / "folder"
    folder.mkdir()
    (folder / "out").touch()
    is_plain = _wrap._is_plain

    def found(path):
        plain = is_plain(path)
        if path == str(folder / "out") and not folder.is_symlink():
            folder.rename(project / "away")
            folder.symlink_to(outside)
        return plain

    monkeypatch.setattr(_wrap, "_is_plain", found)
    profile = Profile("project", str(project), writable=(f"{folder}/out",))
    shell(profile, f"echo x > folder/out; echo x > {outside}/out")
    assert (outside / "out").read_text() == "mine"


def test_a_placeholder_stays_until_the_last_box_that_needs_it_has_ended(project):
    profile = Profile("project", str(project), unwritable=(f"{project}/.env", f"{project}/.git/"))
    waiting = start(
        profile,
        ["bash", "-c", "echo ready; read; touch .env .git/a"],
        cwd=str(project),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert waiting.process.stdout.readline() == b"ready\n"
    assert sorted(os.listdir(project)) == [".env", ".git", ".toolexec"]
    assert shell(profile, "touch .env")[0] == 1
    assert sorted(os.listdir(project)) == [".env", ".git", ".toolexec"]
    _, complaint = waiting.process.communicate(b"\n", timeout=60)
    waiting.close()
    assert complaint.count(b"Read-only file system") == 2
    assert os.listdir(project) == []


def test_git_does_not_take_a_placeholder_for_a_file(project):
    subprocess.run(["git", "init", "-q", project], check=True)
    profile = Profile("project", str(project), unwritable=(f"{project}/.env", f"{project}/.toolexec/"))
    code, said, _ = shell(profile, "touch a; git add -A && git status --short && git ls-files")
    assert (code, said) == (0, "A  a\na\n")


def test_what_somebody_made_of_a_placeholder_stays(project):
    profile = Profile("project", str(project), unwritable=(f"{project}/.env", f"{project}/.git/"))
    waiting = start(profile, ["cat"], cwd=str(project), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    (project / ".env" / "mine").write_text("mine")
    (project / ".git" / "HEAD").write_text("mine")
    waiting.process.communicate(timeout=60)
    waiting.close()
    assert sorted(os.listdir(project)) == [".env", ".git"]


def test_placeholders_of_a_process_that_was_killed_are_removed_by_the_next_box(project):
    profile = Profile("project", str(project), unwritable=(f"{project}/.env",))
    script = (
        "import os, sys; from executor.confine import Box, Profile, start\n"
        "boxed = start(Profile.of(eval(sys.argv[1])), ['true']); boxed.process.wait()\n"
        "os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", script, repr(profile.to_dict())], check=False)
    assert sorted(os.listdir(project)) == [".env", ".toolexec"]
    shell(profile, "true")
    assert os.listdir(project) == []


def test_a_link_where_something_is_to_be_closed_is_told(project):
    (project / "real").write_text("")
    (project / ".env").symlink_to("real")
    profile = Profile("project", str(project), unwritable=(f"{project}/.env",))
    boxed = start(profile, ["bash", "-c", "echo x > .env"], cwd=str(project), **PIPES)
    assert ended(boxed)[0] == 1
    assert boxed.box.open == (f"{project}/.env, which is a link and can be replaced",)


def test_a_file_that_comes_later_can_be_read_by_the_next_command(project):
    profile = Profile("read", str(project), unreadable=(f"{project}/.env",))
    (project / ".env").write_text("SECRET")
    assert shell(profile, "cat late")[0] == 1
    (project / "late").write_text("late")
    assert shell(profile, "cat late")[1] == "late"
    (project / "late").unlink()
    (project / "late").write_text("again")
    assert shell(profile, "cat late; cat .env")[1] == "again"


@pytest.mark.parametrize("name", ["project", "network"])
def test_a_project_that_a_link_has_come_in_the_place_of_is_not_what_that_leads_to(project, tmp_path, bubblewrap, name):
    """A project in another one, whose commands exchange it."""
    inner, elsewhere = project / "inner", tmp_path / "elsewhere"
    elsewhere.mkdir()
    inner.symlink_to(elsewhere)
    with pytest.raises(ConfinementError, match=f"leads to {elsewhere}"):
        shell(Profile(name, str(inner)), f"touch {elsewhere}/new")
    assert os.listdir(elsewhere) == []


@pytest.mark.parametrize("when", ["before", "while it is made"])
def test_nor_where_landlock_holds_all_of_it(project, tmp_path, monkeypatch, when):
    inner, elsewhere = project / "around" / "inner", tmp_path / "elsewhere"
    for folder in (inner, elsewhere / "inner"):
        folder.mkdir(parents=True)

    def exchange(*_):
        inner.parent.rename(project / "moved")
        inner.parent.symlink_to(elsewhere)

    if when == "before":
        exchange()
    else:
        monkeypatch.setattr(_landlock, "check_project", exchange)
    profile, line = Profile("project", str(inner)), f"touch {elsewhere}/inner/new"
    with contextlib.suppress(ConfinementError):
        ended(_start_in(Box("project", "landlock"), profile, ["sh", "-c", line], None, os.environ, PIPES))
    assert os.listdir(elsewhere / "inner") == []


def test_an_open_profile_is_no_box(project):
    boxed = start(Profile("open", str(project)), ["touch", "a"], cwd=str(project), **PIPES)
    assert ended(boxed)[0] == 0
    assert boxed.box.to_dict() == {"profile": "open", "box": "none"}


def test_which_box_is_told(project):
    assert box_of(Profile("read", str(project))).to_dict() == {"profile": "read", "box": "landlock"}
    assert box_of(Profile("network", str(project))).to_dict() == {"profile": "network", "box": "bubblewrap"}


def test_a_box_that_cannot_be_made_starts_nothing(project, monkeypatch):
    from executor.confine import _slots as slots

    # Not a filter: the kernel refuses it where the keeper is.
    monkeypatch.setattr(slots, "filters_of_keeper", lambda _: (b"", b""))
    _slots.close()
    with pytest.raises(ConfinementError, match="PR_SET_SECCOMP"):
        start(Profile("read", str(project)), ["touch", "a"], cwd=str(project), **PIPES)
    assert os.listdir(project) == []
