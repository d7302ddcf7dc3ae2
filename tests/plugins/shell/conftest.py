"""A plugin of its own for each test, calls that run in a thread, and a check that nothing is left behind."""

import os
import select
import threading
from pathlib import Path

import psutil
import pytest

from executor import paths
from executor.calls._state import current
from executor.calls._token import CancelToken
from executor.confine import Profile
from executor.confine import _start as boxes
from executor_shell import ShellPlugin

# What the existing tests ask for and a box is there to refuse, or tells in its own way.
_WHICH = "the result says which box it was"
_FIFO = "it writes to a FIFO, which is no file of the box's own"
_NUMBERS = "it asks a command for numbers of processes, which are others outside the box"
_SIGNAL = "a signal that the command met is told as shells do, by 128 and its number"
NOT_IN = {
    "landlock": {
        "test_a_shell_line_gives_exit_code_and_both_streams": _WHICH,
        "test_one_that_ignores_the_request_is_killed": _FIFO,
        "test_a_process_that_made_itself_independent_is_not_waited_for": _FIFO,
        "test_a_character_that_such_a_process_has_not_finished_is_shown_as_replaced": _FIFO,
        "test_one_that_left_and_holds_the_output_is_not_waited_for": "a box ends with its command, whatever left it",
    },
    "bubblewrap": {
        "test_a_shell_line_gives_exit_code_and_both_streams": _WHICH,
        "test_a_command_killed_by_a_signal_says_which": _SIGNAL,
        "test_a_signal_without_a_name_is_given_by_number": _SIGNAL,
        "test_a_command_leads_a_session_of_its_own": "who leads it is outside the box",
        "test_a_process_left_running_is_ended_and_the_result_says_so": _NUMBERS,
        "test_one_that_does_not_hold_the_output_is_ended_too": _NUMBERS,
        "test_one_that_ignores_the_request_is_killed": _NUMBERS,
        "test_a_job_in_a_group_of_its_own_is_ended": _NUMBERS,
        "test_the_time_limit_ends_the_command_and_the_error_has_its_output": _NUMBERS,
        "test_a_stubborn_command_and_its_stubborn_children_are_killed": _NUMBERS,
        "test_what_it_left_running_is_ended": _NUMBERS,
        "test_a_cancel_kills_the_stubborn_ones": "without /proc, bubblewrap is asked to end with the command",
    },
}
SOON = 10.0  # seconds after which something that must happen has not


class Call:
    """A call with a listener, without an executor around it."""

    confine = None

    def __init__(self, listener):
        self.view = self  # what `current_call` gives
        self.token = CancelToken()
        self.emit = listener
        self.on_cancel = self.token.on_cancel
        self.resolve_path = paths.resolve
        self.folder = os.getcwd()
        self.groups = []
        self.expect_process_group = dict
        self.add_process_group = lambda pid, _: self.groups.append(pid)
        self.offered = threading.Event()
        self.terminal = None

    def offer_terminal(self, terminal):
        self.terminal = terminal
        self.offered.set()
        return self.offered.clear

    @property
    def cancelled(self):
        return self.token.cancelled


class Running:
    """A command that runs in a thread of its own, in a call of its own."""

    def __init__(self, plugin, arguments):
        self.plugin = plugin
        self.arguments = arguments
        self.shown = []
        self.result = self.error = None
        self._news = threading.Condition()
        self.call = Call(self._hear)
        self.thread = threading.Thread(target=self._run, name="test-command")
        self.thread.start()

    def _hear(self, text):
        with self._news:
            self.shown.append(text)
            self._news.notify_all()

    def _run(self):
        current.set(self.call)
        try:
            self.result = self.plugin.run_command(self.arguments)
        except BaseException as error:
            self.error = error

    @property
    def output(self):
        return "".join(self.shown)

    def heard(self, text, times=1):
        """Wait until *text* was shown so many times; returns all that was."""
        with self._news:
            assert self._news.wait_for(lambda: self.output.count(text) >= times, SOON), self.output
            return self.output

    @property
    def terminal(self):
        """The terminal that it runs on."""
        assert self.call.offered.wait(SOON)
        return self.call.terminal

    def type(self, text):
        """Type at its terminal."""
        self.terminal.send(text.encode())

    def end(self, error=None):
        """Wait for the end; the result, or the error that was expected."""
        self.thread.join(SOON)
        assert not self.thread.is_alive()
        if error is None:
            assert self.error is None, self.error
            return self.result
        assert type(self.error) is error, self.error
        return self.error


class Watched:
    """A process whose death is an event, whoever its parent is."""

    def __init__(self, pid):
        self.pid = int(pid)
        self._poll = select.poll()
        try:
            self._fd = os.pidfd_open(self.pid)
        except ProcessLookupError:  # it is dead already: a box ends what its command left running
            self._fd = None
        else:
            self._poll.register(self._fd, select.POLLIN)

    def dead(self, seconds=SOON):
        return self._fd is None or bool(self._poll.poll(seconds * 1000))

    def close(self):
        if self._fd is None:
            return
        if not self.dead(0):
            os.kill(self.pid, 9)
        os.close(self._fd)


@pytest.fixture
def watch():
    watched = []

    def start(pid):
        watched.append(Watched(pid))
        return watched[-1]

    yield start
    for process in watched:
        process.close()


@pytest.fixture
def shell(tmp_path):
    plugin = ShellPlugin()
    plugin.executor_configure({"output_dir": str(tmp_path / "state" / "output")})
    return plugin


@pytest.fixture(
    autouse=True,
    params=[None, "read", "project", pytest.param("network", marks=pytest.mark.long)],
    ids=["free", "read", "project", "network"],
)
def box(request, nothing_is_left_behind, tmp_path, monkeypatch):
    """The profile of the box that the test's commands run in; None for no box."""
    if request.param is None:
        yield None
        return
    if request.node.cls is None or not {"run", "begin", "listening"} & set(request.fixturenames):
        pytest.skip("it is not about one command")
    mechanism = "landlock" if request.param == "read" else "bubblewrap"
    problem = boxes.trials.problem(mechanism)
    boxes._slots.close()  # what is kept for the next command
    if problem := problem or NOT_IN[mechanism].get(request.node.originalname):
        pytest.skip(problem)
    if mechanism == "bubblewrap" and "watch" in request.fixturenames:
        pytest.skip(_NUMBERS)
    monkeypatch.setattr(Call, "confine", Profile(request.param, str(tmp_path)))
    yield request.param
    boxes._slots.close()


@pytest.fixture
def begin(shell):
    """Begin a command; tell it to stop at the end of the test, should it still run."""
    begun = []

    def start(command=None, **arguments):
        if command is not None:
            arguments["command"] = command
        begun.append(Running(shell, arguments))
        return begun[-1]

    yield start
    for running in begun:
        running.call.token.cancel()
        running.thread.join(SOON)


@pytest.fixture
def listening(shell):
    """Run a command in this thread, with a listener."""

    def run(listener, **arguments):
        token = current.set(Call(listener))
        try:
            return shell.run_command(arguments)
        finally:
            current.reset(token)

    return run


@pytest.fixture
def run(begin):
    """Run a command to its end."""
    return lambda command=None, **arguments: begin(command, **arguments).end()


@pytest.fixture
def fifo(tmp_path):
    """A named pipe, which a command can wait at until the test lets it go on."""
    path = tmp_path / "fifo"
    os.mkfifo(path)
    return path


def open_descriptors():
    return {fd.name for fd in Path("/proc/self/fd").iterdir()}


@pytest.fixture(autouse=True)
def nothing_is_left_behind():
    before, descriptors = set(threading.enumerate()), open_descriptors()
    children = psutil.Process().children()
    yield  # an autouse fixture comes first and is taken down last
    assert [child for child in psutil.Process().children() if child not in children] == []
    for thread in set(threading.enumerate()) - before:
        thread.join(SOON)  # one that has done its work may need a moment to end
        assert not thread.is_alive(), thread.name
    assert open_descriptors() <= descriptors
