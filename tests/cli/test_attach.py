"""Commands that ask, answered from another terminal: ``toolexec tasks attach``."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from executor.permission._meeting import TERMINAL, Meeting, can_meet
from executor.tasks import TaskManager

pytestmark = pytest.mark.skipif(not can_meet(), reason="this system has no local sockets")
SECONDS = 30.0
SECRET = "hunter2-Pa55w0rd"
LEAVE = "\x1d"
RESET = "\x1b[23;0t"  # the last thing that a person's terminal is told
SUDO = (
    "import getpass, sys\n"
    "for n in range(3):\n"
    f"    if getpass.getpass('[sudo] password for me: ') == {SECRET[::-1]!r}[::-1]: break\n"
    "    print('Sorry, try again.')\n"
    "else: sys.exit('3 incorrect password attempts')\n"
    "input('really? [y/N] ')\n"
    "print('done as root')\n"
)
READ = "read -s -p 'Password: ' x; echo; read -p 'really? ' y; echo got ${#x} characters"
SIZES = (
    "import os\n"
    "from signal import *\n"
    "pthread_sigmask(SIG_BLOCK, [SIGINT, SIGWINCH])\n"
    "print('ready', flush=True)\n"
    "while sigwait([SIGINT, SIGWINCH]) == SIGWINCH: print('%d %d' % os.get_terminal_size()[::-1], flush=True)"
)


@pytest.fixture
def ledger(tmp_path, monkeypatch):
    """A ledger of all that happens."""
    folder = Path(os.environ["XDG_CONFIG_HOME"]) / "toolexec"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(f'ledger = "{tmp_path / "ledger.jsonl"}"\n')
    return tmp_path / "ledger.jsonl"


@pytest.fixture
def detach(process):
    """Leave a command on a terminal to a process of its own; gives its task."""
    begun = []

    def start(*arguments, code=7):
        done = process("call", "runCommand", *arguments, "terminal=true", "--detach", "--yes")
        assert done.returncode == code, done.stderr
        begun.append(done.stdout.strip())
        return begun[-1]

    yield start
    tasks = TaskManager.open()
    for task_id in begun:
        tasks.cancel(task_id)
        assert tasks.wait(task_id, SECONDS).status.final
    tasks.close()


def everything(folder):
    """All that any file below *folder* holds."""
    return b"".join(path.read_bytes() for path in Path(folder).rglob("*") if path.is_file())


def told_to_processes():
    """The arguments and the environment of every process."""
    told = b""
    for name in filter(str.isdecimal, os.listdir("/proc")):
        for kind in ("cmdline", "environ"):
            with contextlib.suppress(OSError):
                told += Path(f"/proc/{name}/{kind}").read_bytes()
    return told


def modes(screen):
    return termios.tcgetattr(screen._master)


def set_size(screen, rows, columns):
    fcntl.ioctl(screen._master, termios.TIOCSWINSZ, struct.pack("4H", rows, columns, 0, 0))


class TestASecret:
    @pytest.mark.parametrize(
        ("arguments", "prompt", "end"),
        [
            (["argv:=" + json.dumps(["python3", "-c", SUDO])], "password for me:", "done as root"),
            ([f"command={READ}"], "Password:", f"got {len(SECRET)} characters"),
        ],
        ids=["sudo", "read"],
    )
    def test_is_typed_at_a_second_terminal_and_is_nowhere(
        self, detach, terminal, process, ledger, own_folders, tmp_path, arguments, prompt, end
    ):
        task_id = detach(*arguments)
        screen = terminal("tasks", "attach", task_id[:16])
        screen.read_until(prompt)
        screen.type(f"{SECRET}\n")
        screen.read_until("really? ")
        assert SECRET.encode() not in told_to_processes()
        screen.type("y\n")
        screen.read_until(f"{task_id}: completed")
        assert screen.end() == 0
        shown = process("tasks", "show", task_id, "--json").stdout
        result = json.loads(shown)["result"]
        assert (result["exit_code"], end in result["stdout"]) == (0, True)
        output = process("tasks", "output", task_id).stdout
        assert output == result["stdout"]
        assert ledger.stat().st_size > 0
        for place in (screen.shown, shown, output):
            assert SECRET not in place
        for folder in (own_folders, tmp_path):
            assert SECRET.encode() not in everything(folder)

    def test_encrypts_a_key_of_ssh(self, detach, terminal, own_folders, tmp_path):
        key = tmp_path / "key"
        task_id = detach("argv:=" + json.dumps(["ssh-keygen", "-q", "-t", "ed25519", "-C", "me", "-f", str(key)]))
        screen = terminal("tasks", "attach", task_id)
        screen.read_until("Enter passphrase")
        screen.type(f"{SECRET}\n")
        screen.read_until("again: ")
        screen.type(f"{SECRET}\n")
        screen.read_until(f"{task_id}: completed")
        assert screen.end() == 0
        opened = subprocess.run(["ssh-keygen", "-y", "-P", SECRET, "-f", key], capture_output=True, check=True)
        assert opened.stdout.startswith(b"ssh-ed25519")
        assert SECRET not in screen.shown
        assert SECRET.encode() not in everything(own_folders) + everything(tmp_path)

    def test_is_typed_by_a_host_in_another_process(self, detach, own_folders):
        task_id = detach(f"command={READ}")
        tasks = TaskManager.open()
        offset, said = 0, ""
        while "Password:" not in said:
            text, offset, _ = tasks.output(task_id, offset)
            said += text
            assert not tasks.wait(task_id, 0.05).status.final
        assert "types unseen" in _until(tasks, task_id, lambda info: info.waiting_for).waiting_for
        assert tasks.send_input(task_id, f"{SECRET}\n", unseen=True) == "unseen"
        tasks.send_input(task_id, "y\n")
        assert tasks.wait(task_id, SECONDS).status == "completed"
        assert f"got {len(SECRET)}" in tasks.result(task_id)[1]["stdout"]
        assert SECRET.encode() not in everything(own_folders)
        tasks.close()


def _until(tasks, task_id, condition):
    """Another process's task, looked at until it is so."""
    while not condition(info := tasks.wait(task_id, 0.05)):
        assert not info.status.final
    return info


class TestWhoLeaves:
    @pytest.mark.parametrize("how", ["key", "window", "SIGTERM", "SIGHUP", "SIGKILL"])
    def test_leaves_the_command_to_go_on(self, detach, terminal, how):
        task_id = detach("command=read -p 'first? ' x; echo; read -p 'second? ' x; echo over")
        screen = terminal("tasks", "attach", task_id)
        before = modes(screen)
        screen.read_until("first? ")
        assert modes(screen) != before
        if how == "window":
            screen.close()
            assert screen.end() == 130
        elif how == "key":
            screen.type(f"not sent{LEAVE}not sent either")
            screen.read_until(f"goes on without you; 'toolexec tasks attach {task_id}' comes back to it")
            assert screen.end() == 0
        else:
            screen.process.send_signal(getattr(signal, how))
            screen.read_until(RESET)
            restored = modes(screen)
            code = screen.end()
            assert code == (-9 if how == "SIGKILL" else 130)
            assert restored == before
        again = terminal("tasks", "attach", task_id)
        again.read_until("first?")
        again.type("x\n" if how != "key" else "\x15x\n")
        again.read_until("second? ")
        again.type("x\n")
        again.read_until("completed")
        assert again.end() == 0

    def test_finds_their_terminal_as_it_was(self, detach, terminal):
        task_id = detach("command=printf '\\033[?1049h\\033[?25l\\033[31mfull'; read x")
        line = f"b=$(stty -g); {sys.executable} -m executor tasks attach {task_id}; [ $b = $(stty -g) ] && echo same"
        screen = terminal.shell(line)
        screen.read_until("full")
        screen.type(LEAVE)
        screen.read_until("same")
        assert screen.end() == 0
        left = screen.shown.partition("full")[2]
        for sequence in ("\x1b[?1049l", "\x1b[?25h", "\x1b[m"):
            assert sequence in left

    def test_is_told_of_the_end_however_it_comes(self, detach, terminal, process):
        task_id = detach("command=echo begun; exec sleep 60")
        screen = terminal("tasks", "attach", task_id)
        screen.read_until("begun")
        assert process("tasks", "cancel", task_id).returncode == 0
        screen.read_until(f"{task_id}: cancelled")
        assert screen.end() == 0

    def test_is_told_when_the_process_of_the_task_is_killed_and_the_command_is_ended(
        self, detach, terminal, watch, tmp_path
    ):
        task_id = detach("command=trap '' HUP; echo \"pid $$\" > pid; echo begun; exec sleep 60", f"cwd={tmp_path}")
        screen = terminal("tasks", "attach", task_id)
        screen.read_until("begun")
        tasks = TaskManager.open()
        owner = int(tasks.get(task_id).owner)
        (command,) = [pid for pid in _below(owner) if b"sleep\x0060" in Path(f"/proc/{pid}/cmdline").read_bytes()][-1:]
        gone = watch(command)
        os.kill(owner, signal.SIGKILL)
        screen.read_until(f"{task_id}: interrupted")
        assert screen.end() == 0
        assert gone(SECONDS)
        assert Meeting().names(TERMINAL) in ([], [task_id])
        tasks.close()


def _below(pid):
    """The processes that a process has started, and those that they have."""
    found = []
    for task in os.listdir(f"/proc/{pid}/task"):
        for child in Path(f"/proc/{pid}/task/{task}/children").read_text().split():
            found += [int(child), *_below(int(child))]
    return found


class TestWhoStays:
    def test_sees_what_the_others_see_in_the_smallest_window(self, detach, terminal):
        task_id = detach("argv:=" + json.dumps(["python3", "-c", SIZES]))
        first = terminal("tasks", "attach", task_id)
        first.read_until("ready")
        set_size(first, 40, 100)
        first.read_until("40 100")
        second = terminal.shell(f"stty rows 30 cols 120; exec {sys.executable} -m executor tasks attach {task_id}")
        second.read_until("30 100")
        first.read_until("30 100")
        second.type(LEAVE)
        assert second.end() == 0
        set_size(first, 50, 132)
        first.read_until("50 132")
        first.type("\x03")  # for the command, which ends with it
        first.read_until("completed")
        assert first.end() == 0

    def test_presses_ctrl_c_for_the_command_alone(self, detach, terminal):
        caught = "trap 'echo caught' INT; echo begun; read x; echo and $x"
        task_id = detach(f"command={caught}")
        screen = terminal("tasks", "attach", task_id)
        screen.read_until("begun")
        screen.type("\x03")
        screen.read_until("caught")
        screen.type("on\n")
        screen.read_until("completed")
        assert screen.end() == 0


class TestACallAtATerminal:
    def test_puts_it_before_the_commands_own(self, process, terminal, own_folders):
        screen = terminal("call", "runCommand", f"command={READ}; exit 3", "terminal=true", "--yes")
        screen.read_until("Password:")
        screen.type(f"{SECRET}\n")
        screen.read_until("really? ")
        screen.type("y\n")
        screen.read_until("exit code 3")
        assert screen.end() == 5
        assert screen.shown.count(f"got {len(SECRET)} characters") == 1
        assert SECRET not in screen.shown
        assert SECRET.encode() not in everything(own_folders)

    def test_can_be_left_as_a_task(self, process, terminal):
        screen = terminal("call", "runCommand", "command=echo ready; read x; echo got $x", "terminal=true", "--yes")
        screen.read_until("ready")
        screen.type(LEAVE)
        task_id = screen.read_until(" goes on without you").partition(" goes on")[0].rpartition("\x1b[2m")[2]
        assert screen.end() == 7
        tasks = TaskManager.open()
        tasks.send_input(task_id, "it\n")
        assert tasks.wait(task_id, SECONDS).status == "completed"
        assert tasks.result(task_id)[1]["stdout"] == "ready\nit\ngot it\n"
        tasks.close()

    def test_shows_what_was_over_at_once_and_what_is_denied(self, policy, terminal):
        policy({"whitelist": {"patterns": ["true", "echo *"]}, "defaultPolicy": "deny"})
        screen = terminal("call", "runCommand", "command=echo quick", "terminal=true")
        screen.read_until("quick")
        assert screen.end() == 0
        screen = terminal("call", "runCommand", "command=rm x", "terminal=true")
        screen.read_until("denied")
        assert screen.end() == 3


class TestWhoMayNot:
    def test_without_a_terminal(self, process):
        done = process("tasks", "attach", "whatever")
        assert done.returncode != 0
        assert "there is no task" in done.stderr

    def test_into_a_pipe(self, process, detach):
        task_id = detach("command=read x")
        done = process("tasks", "attach", task_id)
        assert (done.returncode, "needs a terminal" in done.stderr) == (2, True)

    def test_to_a_task_that_has_none(self, process, terminal):
        done = process("call", "runCommand", "command=sleep 60", "--detach", "--yes")
        task_id = done.stdout.strip()
        screen = terminal("tasks", "attach", task_id)
        screen.read_until("start it with terminal: true")
        assert screen.end() != 0
        assert "\x1b[22;0t" not in screen.shown  # the terminal was not touched
        assert process("tasks", "cancel", task_id).returncode == 0

    def test_to_one_that_has_ended(self, process, terminal):
        done = process("call", "runCommand", "command=true", "terminal=true", "--detach", "--yes")
        task_id = done.stdout.strip()
        assert process("tasks", "wait", task_id).returncode == 0
        screen = terminal("tasks", "attach", task_id)
        screen.read_until("has ended")
        assert screen.end() != 0

    def test_by_a_command_of_the_models(self, detach, process):
        """The policy knows the command; what hides it from the policy is told in `test_below_a_call`."""
        task_id = detach("command=read x")
        attach = f"{sys.executable} -m executor tasks attach {task_id}"
        done = process("call", "runCommand", f"command={attach}", "terminal=true", "--yes")
        assert (done.returncode, "toolexec's own commands" in done.stderr) == (3, True)


def test_no_program_that_a_command_left_in_path_is_run(tmp_path, monkeypatch):
    from executor.cli._attach import _guarded

    for name in ("stty", "sh"):
        (tmp_path / name).write_text(f"#!/bin/sh\n: > {tmp_path}/canary\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    controller, terminal = os.openpty()
    try:
        with _guarded(terminal) as arm:
            arm()
    finally:
        os.close(controller)
        os.close(terminal)
    assert sorted(os.listdir(tmp_path)) == ["sh", "stty"]
