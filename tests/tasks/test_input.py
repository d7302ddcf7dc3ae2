"""The terminals of tasks, as people use them: here and from other processes."""

from __future__ import annotations

import gc
import hmac
import os
import queue
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from executor import ToolCall, ToolExecutor, current_call
from executor.calls._above import mark_caller
from executor.errors import TaskNotFoundError, ToolError, ToolExecutorError
from executor.permission._meeting import TERMINAL, Meeting, can_meet
from executor.tasks import ConversationTasks, TaskManager, _door, _input
from executor.threads._loop import LoopThread

pytestmark = pytest.mark.skipif(not can_meet(), reason="this system has no local sockets")
ROOT = Path(__file__).parents[2]
SECONDS = 20.0
SECRET = "hunter2"


class FakeTerminal:
    """A terminal that nothing runs on."""

    def __init__(self, mode="shown"):
        self.mode = mode
        self.typed = queue.SimpleQueue()
        self.sizes = queue.SimpleQueue()
        self.pictures, self.last = 0, ""
        self.viewers = []
        self.left = threading.Event()

    def send(self, data):
        if data == b"full":
            raise ToolError("there is no room")
        self.typed.put(data)

    def watch(self, show, columns, rows):
        self.sizes.put((columns, rows))
        self.viewers.append(show)
        self.show = show
        self.picture()
        return self

    def write(self, text):
        self.last = f" after {text[-6:]}"
        for show in self.viewers:
            show(text)

    # As its own viewer, of whom there is one.
    def picture(self):
        self.pictures += 1
        self.show(f"<picture {self.pictures}{self.last}>")

    def resize(self, columns, rows):
        self.sizes.put((columns, rows))

    def close(self):
        self.left.set()


class Looker:
    """Somebody at a terminal."""

    def __init__(self):
        self.shown, self.over = "", False
        self.goes_on = threading.Event()
        self.goes_on.set()
        self._news = threading.Condition()

    def __call__(self, text):
        self.goes_on.wait(SECONDS)
        with self._news:
            if text is None:
                self.over = True
            else:
                self.shown += text
            self._news.notify_all()

    def until(self, condition):
        with self._news:
            assert self._news.wait_for(lambda: condition(self), SECONDS), self.shown[-200:]


class Task:
    """A task that has a terminal for as long as it is wanted."""

    def __init__(self, executor, terminal, *, at_once=True, name="work"):
        self.terminal, self._offer, self._end = terminal, threading.Event(), threading.Event()
        if at_once:
            self._offer.set()
        executor.register(name, self._work, auto_background=60.0)
        self.id = executor.start(ToolCall("1", name)).task_id

    def _work(self, args):
        self._offer.wait(SECONDS)
        forget = current_call().offer_terminal(self.terminal)
        self._end.wait(SECONDS)
        forget()
        return "done"

    def offer(self):
        self._offer.set()

    def end(self):
        self._end.set()


@pytest.fixture
def executor():
    with ToolExecutor() as made:
        yield made


@pytest.fixture(params=["here", "elsewhere"])
def tasks(request, executor):
    """The tasks of the executor, or those of all processes, of which that is another one."""
    if request.param == "here":
        yield executor.tasks
        return
    manager = TaskManager.open()
    yield manager
    manager.close()


@pytest.fixture
def begin(executor):
    begun = []

    def start(terminal=None, **options):
        begun.append(Task(executor, terminal or FakeTerminal(), **options))
        return begun[-1]

    yield start
    for task in begun:
        task.offer()
        task.end()
        executor.tasks.wait(task.id, SECONDS)


@pytest.mark.parametrize("mode", ["shown", "unseen", "keys"])
def test_what_is_typed_reaches_the_terminal_and_the_mode_is_told(begin, tasks, mode):
    task = begin(FakeTerminal(mode))
    assert tasks.send_input(task.id, "yes ü\n") == mode
    assert task.terminal.typed.get(timeout=SECONDS) == "yes ü\r".encode()  # what the key Enter sends


def test_a_secret_is_typed_only_where_it_is_not_shown(begin, tasks):
    task = begin()
    for mode in ("shown", "keys"):
        task.terminal.mode = mode
        with pytest.raises(ToolError, match="would show"):
            tasks.send_input(task.id, SECRET, unseen=True)
    task.terminal.mode = "unseen"
    assert tasks.send_input(task.id, SECRET, unseen=True) == "unseen"
    assert task.terminal.typed.get(timeout=SECONDS) == SECRET.encode()
    assert task.terminal.typed.empty()


def test_what_it_does_not_take_is_an_error(begin, tasks):
    with pytest.raises(ToolError, match="no room"):
        tasks.send_input(begin().id, "full")


def test_a_call_types_only_what_is_shown_and_attaches_to_nothing(begin, executor, tasks):
    task = begin()

    def answer(args):
        return tasks.send_input(task.id, "y\n")

    def sit_down(args):
        tasks.attach(task.id, print)

    executor.register("answer", answer)
    executor.register("sitDown", sit_down)
    assert executor.execute("answer") == (True, "shown")
    for mode in ("unseen", "keys"):
        task.terminal.mode = mode
        ok, value = executor.execute("answer")
        assert (ok, "by a person only" in value["error"]) == (False, True)
    assert "Only a person" in executor.execute("sitDown")[1]["error"]
    assert task.terminal.typed.get(timeout=SECONDS) == b"y\r"
    assert task.terminal.typed.empty()


def test_a_terminal_that_is_about_to_be_there_is_waited_for(begin, tasks):
    task = begin(at_once=False)
    said = queue.SimpleQueue()
    thread = threading.Thread(target=lambda: said.put(tasks.send_input(task.id, "x")))
    thread.start()
    task.offer()
    assert said.get(timeout=SECONDS) == "shown"
    thread.join()


def test_what_has_no_terminal_says_so(begin, tasks, monkeypatch):
    monkeypatch.setattr(_input, "PATIENCE", 0.01)
    task = begin(at_once=False)
    with pytest.raises(ToolExecutorError, match="terminal: true"):
        tasks.send_input(task.id, "x")
    with pytest.raises(ToolExecutorError, match="has no terminal"):
        tasks.attach(task.id, print)


def test_what_has_ended_and_what_never_was_say_so(begin, executor, tasks):
    task = begin()
    task.end()
    executor.tasks.wait(task.id, SECONDS)
    with pytest.raises(ToolExecutorError, match="has ended \\(completed\\)"):
        tasks.send_input(task.id, "x")
    with pytest.raises(TaskNotFoundError):
        tasks.attach("nothing", print)


def test_a_person_sees_types_and_leaves(begin, tasks):
    task, looker = begin(), Looker()
    place = tasks.attach(task.id, looker, columns=100, rows=30)
    looker.until(lambda seen: seen.shown == "<picture 1>")
    assert task.terminal.sizes.get(timeout=SECONDS) == (100, 30)
    task.terminal.write("more\x1b[1m")
    looker.until(lambda seen: seen.shown.endswith("more\x1b[1m"))
    place.send(b"\x03\xff\xc3\xbc")
    assert task.terminal.typed.get(timeout=SECONDS) == b"\x03\xff\xc3\xbc"
    place.resize(90, 20)
    assert task.terminal.sizes.get(timeout=SECONDS) == (90, 20)
    assert not looker.over
    place.close()
    assert task.terminal.left.wait(SECONDS)
    place.send(b"x")
    place.resize(1, 1)


def test_of_who_has_left_nothing_stays_behind(begin, executor, caplog):
    task, looker, manager = begin(), Looker(), TaskManager.open()
    place = manager.attach(task.id, looker)
    looker.until(lambda seen: seen.shown)
    place.close()
    assert task.terminal.left.wait(SECONDS)
    task.end()
    assert executor.tasks.wait(task.id, SECONDS).status == "completed"
    manager.close()
    gc.collect()
    assert "never retrieved" not in caplog.text, "leaving is no error"


def test_who_looks_from_elsewhere_is_told_of_the_end_after_the_last_words(begin):
    task, looker, manager = begin(), Looker(), TaskManager.open()
    place = manager.attach(task.id, looker)
    looker.until(lambda seen: seen.shown)
    task.terminal.write("last words")
    task.end()
    looker.until(lambda seen: seen.over)
    assert looker.shown.endswith("last words")
    place.close()


def test_who_is_slow_holds_nobody_up_and_is_shown_the_screen_anew(begin, monkeypatch):
    monkeypatch.setattr(_door, "MOST_UNSENT", 10_000)
    task, looker, manager = begin(), Looker(), TaskManager.open()
    place = manager.attach(task.id, looker)
    looker.until(lambda seen: seen.shown)
    looker.goes_on.clear()
    for _ in range(300):
        task.terminal.write("x" * 10_000)  # 3 MB, and none of these waits
    looker.goes_on.set()
    looker.until(lambda seen: "<picture 2" in seen.shown)
    task.terminal.write("and on")
    looker.until(lambda seen: "and on" in seen.shown)  # by itself, or in another picture
    assert len(looker.shown) < 2_900_000
    place.close()


def test_who_has_stopped_to_look_does_not_hold_up_the_end(begin, executor, monkeypatch):
    monkeypatch.setattr(_door, "MOST_UNSENT", 10_000_000)
    task, looker, manager = begin(), Looker(), TaskManager.open()
    place = manager.attach(task.id, looker)
    looker.until(lambda seen: seen.shown)
    looker.goes_on.clear()
    for _ in range(50):
        task.terminal.write("x" * 100_000)
    task.end()
    assert executor.tasks.wait(task.id, SECONDS / 2).status == "completed"
    looker.goes_on.set()
    looker.until(lambda seen: seen.over)
    place.close()


def test_who_cannot_show_it_breaks_nothing(begin, tasks, caplog):
    task, shown, told = begin(), [], threading.Event()

    def show(text):
        shown.append(text)
        told.set()
        raise ValueError("no room on the page")

    place = tasks.attach(task.id, show)
    assert told.wait(SECONDS)
    task.terminal.write("more")
    place.send(b"x")
    assert task.terminal.typed.get(timeout=SECONDS) == b"x"
    place.close()
    assert shown == ["<picture 1>"]
    assert "no room on the page" in caplog.text


def test_a_call_within_a_task_has_the_terminal_of_that_task(executor, tasks):
    terminal, begun, end = FakeTerminal(), threading.Event(), threading.Event()

    def inner(args):
        forget = current_call().offer_terminal(terminal)
        begun.set()
        end.wait(SECONDS)
        forget()

    executor.register("inner", inner)
    executor.register("outer", lambda args: current_call().host.call(ToolCall("2", "inner")).kind, auto_background=60)
    task_id = executor.start(ToolCall("1", "outer")).task_id
    assert begun.wait(SECONDS)
    assert tasks.send_input(task_id, "x") == "shown"
    end.set()
    assert executor.tasks.wait(task_id, SECONDS).status == "completed"


def test_a_terminal_from_before_the_threshold_is_that_of_the_task(executor, tasks):
    terminal, handed_over, end = FakeTerminal(), threading.Event(), threading.Event()

    def work(args):
        forget = current_call().offer_terminal(terminal)
        end.wait(SECONDS)
        forget()

    executor.register("work", work, auto_background=0.05)
    result = executor.call(ToolCall("1", "work"))
    handed_over.set()
    assert tasks.send_input(result.task_id, "x") == "shown"
    end.set()
    executor.tasks.wait(result.task_id, SECONDS)


def test_that_it_waits_for_a_secret_is_told(begin, executor):
    task = begin(FakeTerminal("unseen"))
    executor.tasks.send_input(task.id, "x")  # it is there
    assert "types unseen" in executor.tasks.get(task.id).waiting_for
    task.terminal.mode = "shown"
    assert executor.tasks.get(task.id).waiting_for is None


def test_a_terminal_that_raises_keeps_nobody_from_its_task(begin, executor, caplog):
    class Broken(FakeTerminal):
        mode = property(lambda self: 1 / 0, lambda self, value: None)

        def send(self, data):
            raise ValueError(data)

    task = begin(Broken())
    with pytest.raises(ToolExecutorError, match="is not reached"):
        TaskManager.open().send_input(task.id, SECRET)
    assert executor.tasks.get(task.id).waiting_for is None
    close(executor, task)
    assert "was not taken: ZeroDivisionError" in caplog.text
    assert SECRET not in caplog.text


def test_of_another_conversation_nobody_types(begin):
    task, others = begin(), ConversationTasks("another")
    with pytest.raises(TaskNotFoundError):
        others.send_input(task.id, "x")
    with pytest.raises(TaskNotFoundError):
        others.attach(task.id, print)


def close(executor, task):
    """The terminal is gone, and all that happened at its socket has been said."""
    task.end()
    executor.tasks.wait(task.id, SECONDS)


class TestTheSocket:
    def test_it_is_its_owners_alone_and_goes_with_the_terminal(self, begin, executor):
        task, meeting = begin(), Meeting()
        executor.tasks.send_input(task.id, "x")
        path = meeting.folder / f"{task.id}{TERMINAL}"
        assert (path.stat().st_mode & 0o777, meeting.folder.stat().st_mode & 0o777) == (0o600, 0o700)
        task.end()
        executor.tasks.wait(task.id, SECONDS)
        assert meeting.names(TERMINAL) == []

    def test_one_that_the_dead_have_left_is_taken_away(self, begin, executor, monkeypatch):
        meeting = Meeting()
        meeting.listen("dead", TERMINAL).close()
        executor.tasks.send_input(begin().id, "x")
        assert "dead" not in meeting.names(TERMINAL)
        task = begin(at_once=False, name="other")
        meeting.listen(task.id, TERMINAL).close()
        monkeypatch.setattr(_input, "PATIENCE", 0.01)
        with pytest.raises(ToolExecutorError, match="no terminal"):
            TaskManager.open().send_input(task.id, "x")
        assert task.id not in meeting.names(TERMINAL)

    @pytest.mark.parametrize("role", [b"", b"surface", b"asker", b"terminal"])
    def test_a_stranger_gets_nowhere(self, begin, executor, caplog, role):
        """Without the key; or with what another side of a meeting has proved to it."""
        task, meeting = begin(), Meeting()
        executor.tasks.send_input(task.id, "x")
        task.terminal.typed.get(timeout=SECONDS)
        with (
            socket.socket(socket.AF_UNIX) as stranger,
            meeting.address(f"{task.id}{TERMINAL}") as address,
        ):
            stranger.connect(address)
            nonce = stranger.recv(32, socket.MSG_WAITALL)
            own = bytes(32)
            proof = bytes(32)
            if role:
                proof = hmac.digest(meeting.key(), role + own + nonce, "sha256")
            stranger.sendall(own + proof + b"\0\0\0\x0e" + b'{"input": "x"}')
            heard = b""
            while data := stranger.recv(4096):
                heard += data
        assert len(heard) == 32  # a proof, which tells nothing
        assert task.terminal.typed.empty()
        close(executor, task)
        assert "cannot read the key" in caplog.text

    @pytest.mark.skipif(sys.platform != "linux", reason="files of other processes are known on Linux only")
    def test_a_process_that_a_call_has_started_gets_nowhere(self, begin, executor, caplog):
        task = begin()
        executor.tasks.send_input(task.id, "x")
        task.terminal.typed.get(timeout=SECONDS)
        mark_caller()
        script = (
            "import sys\nfrom executor.tasks import TaskManager\n"
            "try: TaskManager.open().send_input(sys.argv[1], 'rm -rf /')\n"
            "except Exception as error: print(error)"
        )
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-c", script, task.id]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert "is not reached" in done.stdout
        assert task.terminal.typed.empty()
        close(executor, task)
        assert "which a call of process" in caplog.text

    def test_another_user_gets_nowhere(self, begin, executor, caplog, monkeypatch):
        task = begin()
        executor.tasks.send_input(task.id, "x")
        refused, warn = threading.Event(), _door.warn
        monkeypatch.setattr(_door, "warn", lambda text: (warn(text), refused.set()))
        monkeypatch.setattr(os, "getuid", lambda: 12345)  # so that everybody else is another one
        with pytest.raises(ToolExecutorError, match="is not reached"):
            TaskManager.open().send_input(task.id, "x")
        assert refused.wait(SECONDS)  # who asks has gone by then, as far as they are concerned
        close(executor, task)
        assert "a process of the user" in caplog.text

    @pytest.mark.parametrize("message", [{"attach": "x"}, {"attach": [1]}, {"input": 3}, {"input": "\ud800\udfff"}, {}])
    def test_what_is_no_message_breaks_nothing_and_is_not_repeated(self, begin, executor, caplog, message):
        task, loop = begin(), LoopThread("executor-test")
        executor.tasks.send_input(task.id, "x")

        async def say():
            from executor.tasks._caller import _connect

            line = await _connect(task.id)
            line.send({**message, "more": SECRET})
            line.close()
            await line.closed()

        loop.run(say())
        loop.close()
        assert TaskManager.open().send_input(task.id, "y") == "shown"
        assert SECRET not in caplog.text

    def test_a_fork_does_not_keep_it_open(self, begin, executor):
        task, looker, manager = begin(), Looker(), TaskManager.open()
        place = manager.attach(task.id, looker)
        looker.until(lambda seen: seen.shown)
        held, hold = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(hold)
            os.read(held, 1)
            os._exit(0)
        try:
            task.end()
            looker.until(lambda seen: seen.over)
        finally:
            os.close(hold)
            os.close(held)
            os.waitpid(pid, 0)
        place.close()

    def test_where_it_cannot_be_made_the_task_goes_on(self, begin, executor, caplog, monkeypatch):
        def full(self, name, kind):
            raise OSError("no space left")

        monkeypatch.setattr(Meeting, "listen", full)
        task = begin()
        assert executor.tasks.send_input(task.id, "x") == "shown"
        assert "is for its own process only: no space left" in caplog.text
