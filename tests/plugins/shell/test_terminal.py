"""Commands on a terminal, free and in every box: what they show, what is typed to them, and how they end."""

import itertools
import os
import pty
import queue
import sys
import threading

import pytest

from executor.confine import Box
from executor.confine import _start as boxes
from executor.errors import ToolCancelledError, ToolFailedError, ToolTimeoutError

SECRET = "hunter2-Pa55"
SOON = 10.0
GETPASS = f"import getpass; print('correct' if getpass.getpass('Password: ') == {SECRET!r} else 'wrong')"
READ = f"read -s -p 'Password: ' x; echo; [ $x = {SECRET} ] && echo correct"
RAW = (
    "import sys, tty; tty.setraw(0); print('1) one  2) two', end='', flush=True)\n"
    "key = sys.stdin.read(1); print('\\r\\nchosen:', key, end='\\r\\n')"
)
CATCHES = (
    "import time\n"
    "for n in range(2):\n"
    "    try: print('go', n, flush=True); time.sleep(60)\n"
    "    except KeyboardInterrupt: print('caught', n, flush=True)"
)
SIZES = (
    "import os\n"
    "from signal import *\n"
    "pthread_sigmask(SIG_BLOCK, [SIGINT, SIGWINCH])\n"
    "print('ready', flush=True)\n"
    "while sigwait([SIGINT, SIGWINCH]) == SIGWINCH: print('%d %d' % os.get_terminal_size()[::-1], flush=True)"
)
TYPES_BACK = "import fcntl, termios; fcntl.ioctl(0, termios.TIOCSTI, b'x')"


class Viewer:
    """Somebody who looks at a terminal."""

    def __init__(self, terminal, columns=80, rows=24):
        self.shown, self.over = "", threading.Event()
        self._news = threading.Condition()
        self.place = terminal.watch(self._show, columns, rows)

    def _show(self, text):
        with self._news:
            if text is None:
                self.over.set()
            else:
                self.shown += text
            self._news.notify_all()

    def saw(self, text):
        with self._news:
            assert self._news.wait_for(lambda: text in self.shown, SOON), self.shown


class TestWhatACommandHas:
    def test_a_terminal_for_all_its_streams_and_for_dev_tty(self, run):
        line = "test -t 0 && test -t 1 && test -t 2 && echo terminal; stty size; echo $TERM; echo to the tty > /dev/tty"
        result = run(line, terminal=True)
        assert (result["exit_code"], result["stderr"]) == (0, "")
        assert result["stdout"] == "terminal\n24 80\nxterm-256color\nto the tty\n"

    def test_env_and_cwd_as_without_one(self, run, tmp_path):
        result = run("echo $A $TERM; pwd", terminal=True, env={"A": "a", "TERM": "dumb"}, cwd=str(tmp_path))
        assert result["stdout"] == f"a dumb\n{tmp_path}\n"

    def test_output_is_plain_text_live_and_in_the_result(self, begin):
        running = begin("printf '\\033[31m10 %%\\r\\033[0m99 %%\\r\\n\\033]0;title\\007done\\n'", terminal=True)
        assert running.end()["stdout"] == "99 %\ndone\n"
        assert "\x1b" not in running.output
        assert running.output.endswith("done\n")

    def test_a_question_without_an_end_of_its_line_is_shown_while_it_waits(self, begin):
        running = begin("printf 'really? [y/N] '; read answer; echo \"$answer it is\"", terminal=True)
        running.heard("really? [y/N]")
        running.type("y\n")
        assert running.end()["stdout"] == "really? [y/N] y\ny it is\n"

    def test_a_bar_that_moves_on_is_told_now_and_then(self, begin):
        """Each time that it is told again it is waited for twice as long."""
        line = "for n in 1 2 3 4 5 6 7 8 9 10 11 12; do printf '\\r%s of 12' $n; sleep 0.25; done; echo"
        running = begin(line, terminal=True)
        assert running.end()["stdout"] == "12 of 12\n"
        lines = running.output.split("\n")
        assert (lines[0], lines[-2:]) == ("1 of 12", ["12 of 12", ""])
        assert len(lines) < 9

    def test_what_is_not_utf8_is_said(self, run):
        result = run("printf 'a\\377b\\n'", terminal=True)
        assert (result["stdout"], result["undecodable"]) == ("a\N{REPLACEMENT CHARACTER}b\n", True)

    @pytest.mark.parametrize("argv", [["no-such-program"], ["./no-such-program"]])
    def test_a_program_that_is_not_there_is_said_as_ever(self, begin, argv):
        error = begin(argv=argv, terminal=True).end(ToolFailedError)
        assert f"There is no program {argv[0]!r}" in error.message

    def test_a_file_that_is_no_program_is_said_as_ever(self, begin, tmp_path):
        (tmp_path / "text").write_text("text")
        error = begin(argv=[str(tmp_path / "text")], terminal=True).end(ToolFailedError)
        assert "may not be run" in error.message

    def test_ten_megabytes_come_whole(self, begin):
        running = begin("head -c 10000000 /dev/zero | tr '\\0' x | fold -w 79", terminal=True, max_output=1000)
        running.thread.join(40)  # two seconds, where nothing else is done
        result = running.end()
        text = ("x" * 79 + "\n") * (10_000_000 // 79) + "x" * (10_000_000 % 79)
        with open(result["stdout_file"]) as file:
            assert file.read() == text
        assert running.output == text
        assert "bytes left out" in result["stdout"]


class TestWhatIsTyped:
    @pytest.mark.parametrize("program", [["python3", "-c", GETPASS], ["bash", "-c", READ]], ids=["getpass", "read"])
    def test_a_secret_is_read_and_shown_nowhere(self, begin, program):
        running = begin(argv=program, terminal=True)
        running.heard("Password:")
        viewer = Viewer(running.terminal)
        assert running.terminal.mode == "unseen"
        running.type(f"{SECRET}\n")
        result = running.end()
        assert result["stdout"].split() == ["Password:", "correct"]
        assert SECRET not in f"{result}{running.output}{viewer.shown}"
        assert "correct" in viewer.shown

    def test_a_menu_takes_each_key(self, begin):
        running = begin(argv=["python3", "-c", RAW], terminal=True)
        running.heard("2) two")
        assert running.terminal.mode == "keys"
        running.type("2")
        assert running.end()["stdout"] == "1) one  2) two\nchosen: 2\n"

    def test_ctrl_c_reaches_the_command_and_nothing_else(self, begin):
        running = begin(argv=["python3", "-c", CATCHES], terminal=True)
        for n in range(2):
            running.heard(f"go {n}")
            running.type("\x03")
            running.heard(f"caught {n}")
        assert running.end()["exit_code"] == 0

    def test_ctrl_d_is_the_end_of_what_is_read(self, begin):
        running = begin("cat; echo end", terminal=True)
        running.type("line\n\x04")
        assert running.end()["stdout"] == "line\nline\nend\n"

    def test_a_file_that_is_pasted_reaches_a_command_that_is_slow_to_read(self, begin):
        running = begin("stty -icanon -echo; echo ready; sleep 0.2; head -c 1000000 | wc -c", terminal=True)
        running.heard("ready")
        for _ in range(250):
            running.type("x" * 4000)
        assert running.end()["stdout"].split() == ["ready", "1000000"]

    def test_a_command_that_asks_the_terminal_on_and_on_leaves_room_for_people(self, begin):
        asks = (
            "import os, tty; tty.setraw(0); print('\\x1b[c' * 20000 + 'ready', flush=True)\n"
            "while not os.read(0, 4096).endswith(b'q'): pass\n"
            "print('q')"
        )
        running = begin(argv=[sys.executable, "-c", asks], terminal=True)
        running.heard("ready")
        running.type("x" * 9000 + "q")
        assert running.end()["stdout"].split() == ["ready", "q"]

    def test_what_nobody_reads_is_refused_at_last(self, begin):
        running = begin("stty -icanon -echo; echo ready; sleep 60", terminal=True)
        running.heard("ready")
        with pytest.raises(ToolFailedError, match="no room"):
            for _ in range(20):
                running.type("x" * 1_000_000)
        running.call.token.cancel()
        running.end(ToolCancelledError)

    def test_after_the_end_nothing_is_typed_and_nobody_looks(self, begin):
        running = begin("echo over", terminal=True)
        terminal = running.terminal
        viewer = Viewer(terminal)
        running.end()
        assert viewer.over.wait(SOON)
        with pytest.raises(ToolFailedError, match="has ended"):
            terminal.send(b"x")
        late = Viewer(terminal)
        assert (late.over.is_set(), terminal.mode) == (True, "shown")
        for one in (viewer, late):
            one.place.resize(10, 10)
            one.place.picture()
            one.place.close()

    def test_no_command_types_into_its_own_terminal_from_a_box(self, begin, box):
        result = begin(argv=["python3", "-c", TYPES_BACK], terminal=True).end()
        if box is not None:  # free, it types to itself: the terminal is nobody else's
            assert "Operation not permitted" in result["stdout"]

    def test_no_command_reaches_the_terminal_of_another_from_a_box(self, begin, run, box):
        asks = begin("read -s x", terminal=True)
        name = os.ttyname(asks.terminal.far)
        result = run(argv=["python3", "-c", f"print(open({name!r}, 'r+b', 0).write(b'password: '))"])
        if box is not None:
            assert result["exit_code"] != 0
            assert "Permission denied" in result["stderr"] or "No such file" in result["stderr"]
        asks.type("\n")
        asks.end()

    def test_it_begins_as_the_box_that_it_gets_wants_it_to(self, run, box, monkeypatch):
        if box != "read" or boxes.trials.problem("bubblewrap"):
            pytest.skip("it is about two boxes of one profile")
        each = itertools.cycle(
            [Box("read", "bubblewrap"), Box("read", "landlock")]
        )  # which could not be tried at first
        monkeypatch.setattr(boxes, "choose", lambda *_: next(each))
        results = [run("test -t 0 && echo so", terminal=True) for _ in range(2)]
        assert [(result["stdout"], result["exit_code"]) for result in results] == [("so\n", 0)] * 2
        assert {result["confined"]["box"] for result in results} == {"bubblewrap", "landlock"}


class TestWhoLooks:
    def test_everybody_sees_the_same_and_the_smallest_window_counts(self, begin):
        running = begin(argv=["python3", "-c", SIZES], terminal=True)
        running.heard("ready")
        first = Viewer(running.terminal, 100, 40)
        running.heard("40 100")
        second = Viewer(running.terminal, 120, 30)
        running.heard("30 100")
        first.place.resize(132, 50)
        running.heard("30 120")
        second.place.close()
        running.heard("50 132")
        for text in ("ready", "40 100", "30 120", "50 132"):
            first.saw(text)
        second.saw("30 120")
        running.type("\x03")
        running.end()
        assert first.over.wait(SOON)
        assert not second.over.is_set()

    def test_who_comes_late_is_shown_the_screen(self, begin):
        running = begin("printf 'one\\ntwo'; read x", terminal=True)
        running.heard("two")
        viewer = Viewer(running.terminal)
        viewer.saw("one\r\ntwo\x1b[2;4H")
        viewer.shown = ""
        viewer.place.picture()
        viewer.saw("one\r\ntwo")
        running.type("\n")
        running.end()


class TestHowItEnds:
    def test_the_time_limit_ends_it_with_its_output(self, begin):
        error = begin("echo begun; sleep 60", terminal=True, timeout=3).end(ToolTimeoutError)
        assert error.result["stdout"] == "begun\n"

    def test_a_cancel_ends_it_and_all_it_started(self, begin):
        running = begin("(trap '' HUP; sleep 60) & echo begun; sleep 60", terminal=True)
        running.heard("begun")
        running.call.token.cancel()
        running.end(ToolCancelledError)

    def test_a_shell_that_ignores_the_request_is_killed(self, begin):
        running = begin("trap '' TERM HUP; echo begun; while :; do sleep 0.1; done", terminal=True)
        running.heard("begun")
        running.call.token.cancel()
        running.end(ToolCancelledError)

    def test_what_it_leaves_running_is_ended(self, begin):
        running = begin("trap '' HUP; sleep 60 & echo left", terminal=True)
        result = running.end()
        assert (result["stdout"], result["exit_code"]) == ("left\n", 0)

    def test_the_exit_code_is_its_own(self, run):
        assert run("exit 3", terminal=True)["exit_code"] == 3


def test_where_there_is_no_terminal_to_be_had_nothing_is_started(begin, monkeypatch):
    def none_left():
        raise OSError("out of pty devices")

    monkeypatch.setattr(pty, "openpty", none_left)
    error = begin("echo x", terminal=True).end(ToolFailedError)
    assert "out of pty devices" in error.message


def test_without_the_program_of_python_nothing_is_started(begin, monkeypatch):
    monkeypatch.setattr(sys, "_base_executable", "")
    monkeypatch.setattr(sys, "executable", "")
    error = begin("echo x", terminal=True).end(ToolFailedError)
    assert "has no interpreter to start beside it: leave terminal out" in error.message


def test_the_end_of_a_terminal_does_not_wait_for_who_looks(begin):
    running = begin("echo x; read x", terminal=True)
    waiting = queue.SimpleQueue()
    running.terminal.watch(waiting.put, 80, 24)
    running.type("\n")
    running.end()
    while waiting.get(timeout=SOON) is not None:
        pass
