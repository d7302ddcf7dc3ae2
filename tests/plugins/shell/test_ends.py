"""How commands end: by themselves, by their time limit, by a cancel, with what they started; and what is left then."""

import contextlib
import gc
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from executor.calls._current import current_call
from executor.calls._token import CancelToken
from executor.errors import ToolCancelledError, ToolFailedError, ToolTimeoutError
from executor_shell import ShellPlugin, _group, _live, _run

if sys.platform != "win32":
    import resource

STUBBORN = "trap '' TERM; echo $BASHPID; while :; do sleep 1000; done"


def gone(pid):
    """Whether a process has ended; a zombie has."""
    try:
        return Path(f"/proc/{int(pid)}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


@pytest.fixture
def short_grace(monkeypatch):
    """A grace that a command which ignores TERM does not make the suite wait for."""
    monkeypatch.setattr(_run, "GRACE", 0.1)
    monkeypatch.setattr(_run, "KILL_WAIT", 0.5)


@pytest.fixture
def without_psutil(monkeypatch):
    """What has left the session is not found."""
    monkeypatch.setattr(_group, "_escaped", lambda pid: [])


class TestLeftRunning:
    def test_a_process_left_running_is_ended_and_the_result_says_so(self, run):
        result = run("sleep 1000 & echo $!")
        assert result["exit_code"] == 0
        assert result["left_running_ended"] is True
        assert gone(result["stdout"])

    def test_one_that_does_not_hold_the_output_is_ended_too(self, run):
        result = run("sleep 1000 > /dev/null 2>&1 & echo $!")
        assert result["left_running_ended"] is True
        assert gone(result["stdout"])

    def test_one_that_ignores_the_request_is_killed(self, run, fifo, short_grace):
        stubborn = f"(trap '' TERM; echo $BASHPID; echo > {fifo}; while :; do sleep 1000; done)"
        result = run(f"{stubborn} & read x < {fifo}")
        assert result["left_running_ended"] is True
        assert gone(result["stdout"])

    def test_a_job_in_a_group_of_its_own_is_ended(self, run):
        result = run("set -m; sleep 1000 & echo $!")
        assert result["left_running_ended"] is True
        assert gone(result["stdout"])

    def test_output_that_comes_soon_after_the_end_is_still_in_the_result(self, run, monkeypatch):
        monkeypatch.setattr(_run, "QUIET", 5.0)  # a busy machine may be slow to start the second echo
        result = run("(while kill -0 $$ 2> /dev/null; do :; done; echo late) & echo early")
        assert result["stdout"] == "early\nlate\n"
        assert "left_running_ended" not in result

    def test_a_process_that_made_itself_independent_is_not_waited_for(self, run, watch, fifo):
        result = run(f"setsid sh -c 'echo $$; echo > {fifo}; exec sleep 1000' & read x < {fifo}")
        assert result["output_held_open"] is True
        assert "left_running_ended" not in result
        assert not watch(result["stdout"]).dead(0)

    def test_a_character_that_such_a_process_has_not_finished_is_shown_as_replaced(self, begin, watch, fifo):
        running = begin(f"setsid sh -c 'echo $$; printf \"a\\342\"; echo > {fifo}; exec sleep 1000' & read x < {fifo}")
        result = running.end()
        watch(result["stdout"].split()[0])  # ends it
        assert running.output.endswith("\na\ufffd")
        assert result["undecodable"] is True

    def test_one_that_cannot_be_ended_is_told_of(self, run, monkeypatch, watch):
        ends = []
        monkeypatch.setattr(_group.ProcessGroup, "_send", lambda self, number: ends.append(number))
        monkeypatch.setattr("executor.confine._start.Boxed.end", lambda self: None)
        monkeypatch.setattr(_run, "GRACE", 0.01)
        monkeypatch.setattr(_run, "KILL_WAIT", 0.01)
        result = run("sleep 1000 > /dev/null 2>&1 & echo $!")
        assert ends == [signal.SIGTERM, signal.SIGKILL]
        assert result["left_running_ended"] is False
        watch(result["stdout"])  # ends it


class TestLost:
    """How a command ended is not known where another part of the program, or the system, has taken that."""

    @pytest.fixture(autouse=True)
    def ignored(self):
        before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        yield
        signal.signal(signal.SIGCHLD, before)

    @pytest.mark.parametrize("terminal", [False, True])
    def test_a_failure_is_not_told_as_a_success(self, terminal):
        result = ShellPlugin().run_command({"command": "echo hi; exit 7", "terminal": terminal})
        assert result["exit_code"] is None
        assert result["exit_code_lost"] is True
        assert result["stdout"] == "hi\n"

    def test_nor_where_a_thread_waits_for_the_end(self, monkeypatch):
        monkeypatch.setattr(_run.Execution, "_watch", lambda *_: False)
        assert ShellPlugin().run_command({"command": "exit 7"})["exit_code"] is None

    def test_a_command_that_is_stopped_is_told_as_stopped(self):
        with pytest.raises(ToolTimeoutError) as caught:
            ShellPlugin().run_command({"command": "sleep 1000", "timeout": 0.1})
        assert caught.value.result["exit_code"] is None


class TestTimeout:
    def test_the_time_limit_ends_the_command_and_the_error_has_its_output(self, begin):
        running = begin("echo $$; sleep 1000", timeout=0.5)
        error = running.end(ToolTimeoutError)
        assert error.message.startswith("The command timed out after 0.5 s")
        assert error.result["signal"] == "SIGTERM"
        assert gone(error.result["stdout"])

    def test_a_command_that_tidies_up_on_the_request_is_heard_to_the_end(self, begin):
        running = begin("trap 'echo tidied; exit 5' TERM; echo up; sleep 1000 & wait", timeout=0.5)
        error = running.end(ToolTimeoutError)
        assert error.result["stdout"] == "up\ntidied\n"
        assert error.result["exit_code"] == 5

    def test_a_stubborn_command_and_its_stubborn_children_are_killed(self, begin, short_grace):
        running = begin(f"({STUBBORN}) & {STUBBORN}", timeout=0.5)
        error = running.end(ToolTimeoutError)
        assert error.result["exit_code"] == -signal.SIGKILL
        pids = error.result["stdout"].split()
        assert len(pids) == 2
        assert all(gone(pid) for pid in pids)

    def test_a_limit_that_is_not_reached_changes_nothing(self, run):
        assert run("echo hi", timeout=1e300)["stdout"] == "hi\n"

    def test_the_limit_holds_while_output_streams(self, begin):
        error = begin("yes", timeout=1.0, max_output=10).end(ToolTimeoutError)
        assert error.result["stdout"].startswith("y\ny\n")


class TestCancel:
    def test_a_cancel_from_another_thread_ends_command_and_grandchildren(self, begin, watch):
        running = begin("sleep 1000 & echo $! $$; wait")
        processes = [watch(pid) for pid in running.heard("\n").split()]
        assert running.call.token.cancel()
        error = running.end(ToolCancelledError)
        assert all(process.dead() for process in processes)
        assert error.result["signal"] == "SIGTERM"

    def test_a_grandchild_that_outlives_the_command_and_ignores_the_request_is_killed(self, begin, watch, short_grace):
        running = begin(f"({STUBBORN}) & wait")
        grandchild = watch(running.heard("\n"))
        running.call.token.cancel()
        running.end(ToolCancelledError)
        assert grandchild.dead()

    def test_a_stopped_process_is_killed(self, begin, watch, short_grace):
        running = begin("echo $$; kill -STOP $$")
        process = watch(running.heard("\n"))
        running.call.token.cancel()
        running.end(ToolCancelledError)
        assert process.dead()

    def test_one_that_left_and_holds_the_output_is_not_waited_for(self, begin, watch, without_psutil):
        running = begin("setsid sh -c 'echo $$; exec sleep 1000' & wait")
        independent = watch(running.heard("\n"))
        running.call.token.cancel()
        error = running.end(ToolCancelledError)
        assert error.result["output_held_open"] is True
        assert not independent.dead(0)

    def test_one_that_left_and_writes_for_ever_is_not_waited_for(self, begin, watch, without_psutil):
        running = begin("setsid sh -c 'echo $$; exec yes' & wait", max_output=100)
        independent = watch(running.heard("\n").split()[0])
        running.call.token.cancel()
        assert running.end(ToolCancelledError).result["output_held_open"] is True
        with contextlib.suppress(ProcessLookupError):  # nobody reads what it writes any more
            os.kill(independent.pid, signal.SIGKILL)

    def test_what_was_left_running_is_ended_by_a_cancel_at_once(self, begin, monkeypatch, watch):
        monkeypatch.setattr(_run, "QUIET", 1000.0)
        monkeypatch.setattr(_run, "SETTLE_LIMIT", 1000.0)
        running = begin("sleep 1000 & echo $! $$")
        left, command = running.heard("\n").split()
        left = watch(left)
        with contextlib.suppress(ProcessLookupError):  # reaped already
            watch(command).dead()
        running.call.token.cancel()
        running.end(ToolCancelledError)
        assert left.dead()

    def test_a_call_cancelled_before_it_starts_runs_nothing(self, shell, listening, tmp_path, monkeypatch):
        monkeypatch.setattr(CancelToken, "cancelled", property(lambda self: True))
        with pytest.raises(ToolCancelledError, match="before it started"):
            listening(print, command=f"touch {tmp_path}/ran")
        assert not (tmp_path / "ran").exists()

    def test_it_is_asked_to_end_once_only(self, begin, monkeypatch):
        sent = []
        send = _group.ProcessGroup._send
        monkeypatch.setattr(
            _group.ProcessGroup, "_send", lambda self, number: (sent.append(number), send(self, number))
        )
        running = begin("echo up; sleep 1000")
        running.heard("up")
        running.call.token.cancel()
        running.end(ToolCancelledError)
        assert sent == [signal.SIGTERM]

    def test_a_listener_that_blocks_does_not_keep_the_command_from_being_asked_to_end(self, listening, watch):
        processes = []

        def block(text):
            processes.append(watch(text))
            current_call().token.cancel()
            assert processes[0].dead()  # while the thread that follows the command is in here

        with pytest.raises(ToolCancelledError):
            listening(block, command="echo $$; sleep 1000")
        assert len(processes) == 1


class TestNothingIsLeft:
    def test_no_descriptor_is_left_after_fifty_commands(self, run, begin):
        run("true")
        before = len(list(Path("/proc/self/fd").iterdir()))
        for _ in range(10):
            run("seq 1 1000", max_output=10)
            run("sleep 1000 > /dev/null 2>&1 & kill $!; wait; exit 3")
            run(argv=["true"])
            begin(argv=["no-such-program"]).end(ToolFailedError)
            begin("sleep 1000", timeout=0.01).end(ToolTimeoutError)
        assert len(list(Path("/proc/self/fd").iterdir())) == before  # the rules of a box are kept, and made anew

    @pytest.mark.skipif(sys.platform != "linux", reason="descriptors are counted by /proc")
    def test_too_many_open_files_are_told_and_leave_no_descriptor(self, shell):
        shell.run_command({"command": "true"})
        before = len(os.listdir("/proc/self/fd"))
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        told = set()
        gc.disable()  # what waits for it is open until then
        try:
            for room in range(40):
                resource.setrlimit(resource.RLIMIT_NOFILE, (before + room, limits[1]))
                try:
                    done = shell.run_command({"command": "true"})["exit_code"] == 0
                except ToolFailedError as error:
                    told.add("Too many open files" in str(error) and str(error).endswith("Try again when that is over"))
                    done = False
                finally:
                    resource.setrlimit(resource.RLIMIT_NOFILE, limits)
                assert len(os.listdir("/proc/self/fd")) == before
                if done:
                    break
        finally:
            gc.enable()
        assert told == {True}
        assert 0 < room < 39

    def test_many_commands_at_once_do_not_disturb_one_another(self, begin):
        commands = [begin(f"for i in 1 2 3; do echo {i}; echo -{i} >&2; done") for i in range(20)]
        for i, running in enumerate(commands):
            result = running.end()
            assert result["stdout"] == f"{i}\n" * 3
            assert result["stderr"] == f"-{i}\n" * 3

    def test_a_cancel_that_comes_too_late_reaches_nobody(self, shell, monkeypatch):
        executions = []
        holding = _live.LiveCommands.holding

        def keep(self, execution):
            executions.append(execution)
            return holding(self, execution)

        monkeypatch.setattr(_live.LiveCommands, "holding", keep)
        shell.run_command({"command": "true"})
        sent = []
        monkeypatch.setattr(os, "killpg", lambda *signal: sent.append(signal))
        # As if its number had been given to another process since.
        monkeypatch.setattr(_group, "session_members", lambda session: [_group.Member(session, session)])
        executions[0].stop()
        executions[0].kill()
        assert sent == []
        assert executions[0].outcome()["exit_code"] == 0


class TestElsewhere:
    """What happens where the system offers less than Linux does."""

    @pytest.fixture(params=["no pidfd", "no pidfd, no /proc"], autouse=True)
    def poor_system(self, request, monkeypatch):
        monkeypatch.delattr(os, "pidfd_open")
        if "/proc" in request.param:
            monkeypatch.setattr(_group, "session_members", lambda _: None)

    def test_a_command_ends_by_itself(self, run):
        assert run("echo hi; exit 3")["exit_code"] == 3

    def test_a_command_without_pipes_ends_by_itself(self, run):
        assert run("exec >&- 2>&-; exit 4")["exit_code"] == 4

    def test_what_it_left_running_is_ended(self, run, short_grace):
        result = run("sleep 1000 & echo $!")
        assert "left_running_ended" in result  # without /proc a zombie that nobody has reaped yet looks alive
        assert gone(result["stdout"])

    def test_a_cancel_kills_the_stubborn_ones(self, begin, short_grace):
        running = begin(f"({STUBBORN}) & {STUBBORN}")
        running.heard("\n", times=2)
        running.call.token.cancel()
        assert running.end(ToolCancelledError).result["exit_code"] == -signal.SIGKILL

    def test_a_time_limit_ends_it(self, begin):
        result = begin("echo up; exec sleep 1000", timeout=0.1).end(ToolTimeoutError).result
        assert result["signal"] == "SIGTERM" or not result["stdout"]  # what had not begun in its box is killed


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says who is in a session")
def test_what_stands_before_a_command_that_has_not_begun_is_killed_at_once():
    with subprocess.Popen(["sleep", "1000"], start_new_session=True) as process:
        group = _group.ProcessGroup(process, in_front=True)
        group.terminate()
        assert group.reap() == -signal.SIGKILL


def program(pid):
    """The name of the program that a process runs; "" once it is gone."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().strip()
    return ""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says who is in a session")
def test_what_stands_before_a_command_hears_its_end():
    script = "trap : TERM; sleep 1000; exit $?"
    with subprocess.Popen(["sh", "-c", script], start_new_session=True) as process:
        group = _group.ProcessGroup(process, in_front=True)
        while not any(program(pid) == "sleep" for pid in group.members()):  # a shell that has not become it would hear
            os.sched_yield()
        group.terminate()
        assert group.reap() == -signal.SIGTERM


def test_the_proc_of_another_namespace_is_not_believed(monkeypatch):
    assert [member.pid for member in _group.session_members(os.getsid(0)) if member.pid == os.getpid()] == [os.getpid()]
    with monkeypatch.context() as patch:
        patch.setattr(os, "getpid", lambda: 2**22 + 1)
        assert _group.session_members(os.getsid(0)) is None


def test_commands_do_not_wait_for_one_another(begin, fifo):
    waiting = begin(f"echo up; read x < {fifo}")
    waiting.heard("up")
    assert begin("echo quick").end()["stdout"] == "quick\n"
    assert waiting.thread.is_alive()
    fifo.write_text("go\n")
    assert waiting.end()["exit_code"] == 0


def test_a_descendant_that_left_the_session_is_ended_too_where_psutil_is_installed(begin, watch):
    pytest.importorskip("psutil")
    running = begin("setsid sh -c 'echo pid=$$.; exec sleep 1000' & wait")
    process = watch(running.heard(".").partition("pid=")[2].partition(".")[0])
    running.call.token.cancel()
    running.end(ToolCancelledError)
    assert process.dead()
