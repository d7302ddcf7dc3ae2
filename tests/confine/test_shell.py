"""runCommand in a box: what it tells, and that its ends are those of a command in none."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from executor import paths
from executor.calls._state import current
from executor.calls._token import CancelToken
from executor.confine import Profile
from executor.errors import ConfinementError, ToolCancelledError
from executor_shell import ShellPlugin

pytestmark = pytest.mark.usefixtures("landlock", "bubblewrap")


class Call:
    """A call whose gate has named a box."""

    def __init__(self, confine):
        self.view = self  # what `current_call` gives
        self.confine = confine
        self.token = CancelToken()
        self.on_cancel = self.token.on_cancel
        self.expect_process_group = dict
        self.add_process_group = lambda *_: None
        self.resolve_path = paths.resolve
        self.folder = os.getcwd()
        self.heard = ""

    def emit(self, text):
        self.heard += text
        if "now" in text:
            self.token.cancel()

    @property
    def cancelled(self):
        return self.token.cancelled


@pytest.fixture
def run(tmp_path):
    """Runs a line, or an argv, in a box of this name with the test's folder as its project."""

    def run(name, line, **more):
        profile = Profile(name, str(tmp_path), unwritable=(f"{tmp_path}/.env",), **more)
        token = current.set(Call(profile))
        try:
            asked = {"command": line} if isinstance(line, str) else {"argv": line}
            return ShellPlugin().run_command({"cwd": str(tmp_path), "timeout": 30, **asked})
        finally:
            current.reset(token)

    return run


@pytest.mark.parametrize(("name", "box"), [("read", "landlock"), ("project", "bubblewrap"), ("network", "bubblewrap")])
def test_the_result_says_which_box_it_was(run, name, box):
    assert run(name, "echo hi")["confined"] == {"profile": name, "box": box}
    assert run(name, ["false"])["confined"] == {"profile": name, "box": box}


REFUSALS = {
    "a file of the project": ("read", "touch a.txt", "refused to write {p}/a.txt", "\"touch a.txt\" to 'project'"),
    "by a program without quotes": ("read", "echo x > b", "refused to write {p}/b", "'project'"),
    "an argv": ("read", ["mkdir", "d"], "refused to write {p}/d", "\"mkdir d\" to 'project'"),
    "what stays closed in the project": ("project", "echo x > .env", "refused to write {p}/.env", "'open'"),
    "outside": ("project", "touch {p}/../outside", "refused to write", "'open'"),
    "a secret": ("project", "cat ~/.netrc", "is kept from being read", "\"cat '~/.netrc'\" to 'open'"),
    "a secret in a folder that looks empty": (
        "project",
        "cat ~/.ssh/id",
        "is kept from being read",
        "\"cat '~/.ssh/id'\" to 'open'",
    ),
    "the network": ("project", "echo 'could not resolve host: example.org'; exit 6", "has no network", "'network'"),
    "nothing that is named": ("read", "echo EPERM >&2; exit 1", "Perhaps the box 'read'", "'project'"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_a_failure_says_what_was_refused_and_what_would_allow_it(run, own_folders, tmp_path, case):
    (own_folders / ".ssh").mkdir()
    for secret in (".netrc", ".ssh/id"):
        (own_folders / secret).write_text("SECRET")
    name, line, refused, remedy = REFUSALS[case]
    line = line.format(p=tmp_path) if isinstance(line, str) else line
    told = run(name, line)
    assert told["exit_code"] != 0
    assert refused.format(p=tmp_path) in told["confined"]["refused"]
    assert remedy in told["confined"]["refused"]
    assert '"confine"' in told["confined"]["refused"]
    assert "SECRET" not in str(told)


@pytest.mark.parametrize("line", ["grep -q nothing /dev/null", "exit 3", "cat missing", "cat ."])
def test_a_failure_of_the_commands_own_is_not_put_down_to_the_box(run, line):
    assert "refused" not in run("read", line)["confined"]


@pytest.mark.parametrize("name", ["read", "project"])
def test_a_command_that_is_asked_to_end_is_heard_to_its_end(run, name):
    with pytest.raises(ToolCancelledError) as caught:
        run(name, "trap 'echo tidied; exit 5' TERM; echo now; sleep 600 & wait")
    assert caught.value.result["stdout"] == "now\ntidied\n"
    assert caught.value.result["exit_code"] == 5


@pytest.mark.parametrize("name", ["read", "project"])
def test_a_cancel_ends_it_by_the_signal_that_was_sent(run, name):
    with pytest.raises(ToolCancelledError) as caught:
        run(name, "echo now; sleep 600")
    assert caught.value.result["exit_code"] == -signal.SIGTERM
    assert caught.value.result["signal"] == "SIGTERM"


@pytest.fixture
def no_grace(monkeypatch):
    """Whoever waits for what cannot be asked to end is seen to."""
    monkeypatch.setattr("executor_shell._run.GRACE", 600.0)
    monkeypatch.setattr("executor_shell._group._escaped", lambda _: [])  # as without psutil


LEAVES = "setsid sleep 600 > /dev/null 2>&1 < /dev/null &"


@pytest.mark.parametrize("name", ["read", "project"])
def test_what_has_left_the_session_is_not_waited_for(run, name, no_grace):
    told = run(name, f"{LEAVES} echo up")
    assert (told["exit_code"], told["stdout"]) == (0, "up\n")
    assert "left_running_ended" not in told


@pytest.mark.parametrize("name", ["read", "project"])
def test_nor_when_the_command_is_cancelled(run, name, no_grace):
    with pytest.raises(ToolCancelledError) as caught:
        run(name, f"{LEAVES} echo now; sleep 600")
    assert caught.value.result["signal"] == "SIGTERM"


@pytest.mark.parametrize("threads", [True, False])
@pytest.mark.parametrize("name", ["read", "project"])
def test_a_box_is_ended_also_where_the_end_of_its_command_is_not_seen_in_time(run, held, monkeypatch, name, threads):
    """As on a machine that is busy with what the command has started."""
    monkeypatch.setattr("executor_shell._group._escaped", lambda _: [])
    for wait in ("GRACE", "KILL_WAIT", "DRAIN_LIMIT"):
        monkeypatch.setattr(f"executor_shell._run.{wait}", 0.0)
    stuck = []
    if not threads:
        monkeypatch.setattr("executor_shell._group.ProcessGroup.wait_in_thread", lambda *told: _no_thread(stuck, *told))
    left = "trap '' TERM; exec < held; echo now; exec sleep 600 > /dev/null 2>&1"
    with pytest.raises(ToolCancelledError):
        run(name, f"trap '' TERM; setsid sh -c \"{left}\" & wait; sleep 600")
    assert held()
    for group in stuck:
        group.wait()
    for thread in threading.enumerate():
        if thread.name.startswith("executor-shell-wait"):
            thread.join(30)


def _no_thread(stuck, group, _then):
    stuck.append(group)
    raise RuntimeError("can't start new thread")


def test_a_box_that_is_required_and_cannot_be_had_runs_nothing(run, tmp_path, monkeypatch):
    monkeypatch.setattr("executor.confine._start.trials.problem", lambda _: "nothing works here")
    with pytest.raises(ConfinementError, match="nothing works here"):
        run("read", "echo canary > canary", required=True)
    assert not (tmp_path / "canary").exists()


def test_without_a_box_one_warning_and_the_result_say_so(run, monkeypatch, caplog):
    monkeypatch.setattr("executor.confine._start.trials.problem", lambda _: "nothing works here")
    run("read", "echo hi")
    told = run("read", "echo hi")
    assert [record.message for record in caplog.records].count(caplog.records[0].message) == 1
    assert "nothing works here" in caplog.records[0].message
    assert told["confined"] == {
        "profile": "read",
        "box": "none",
        "open": ["everything"],
        "reason": "nothing works here",
    }
