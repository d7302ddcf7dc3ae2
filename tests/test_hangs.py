"""A function of somebody else's that never comes back holds up who has called it, and nobody else."""

from __future__ import annotations

import errno
import logging
import threading

import pytest

from executor import TaskManager, ToolCall, ToolExecutor, current_call
from executor.approval import Approval, Inbox
from executor.tasks import _writer
from executor.tasks._manager import engine_of

SECONDS = 20.0  # nothing here takes long; a test that hangs fails by this


@pytest.fixture
def waiting():
    """Makes executors with a tool that waits until it is told to stop, and has a function called then."""
    made = []

    def make(**options):
        executor = ToolExecutor(tasks=TaskManager(), **options)
        executor.on_cancel = lambda: None
        executor.started = threading.Semaphore(0)

        def wait(args):
            current_call().token.on_cancel(executor.on_cancel)
            executor.started.release()
            current_call().wait(None)

        executor.register("wait", wait)
        made.append(executor)
        return executor

    yield make
    for executor in made:
        executor.shutdown(cancel=True)


@pytest.fixture
def hang(waiting):  # which ends its executors when nothing hangs any more
    """A function that comes back at the end of the test only; `hang.entered` is set once it is called."""
    never = threading.Event()

    def function(*_):
        function.entered.set()
        never.wait()

    function.entered = threading.Event()
    yield function
    never.set()


def result_of(fn):
    """What *fn* returns, which is to come back."""
    found = []
    thread = threading.Thread(target=lambda: found.append(fn()), daemon=True)
    thread.start()
    thread.join(SECONDS)
    assert found, "it never came back"
    return found[0]


def test_a_tools_function_for_its_stop_holds_up_nobody_who_stops_it(hang, waiting):
    executor = waiting()
    executor.on_cancel = hang
    made = ToolCall("1", "wait", {})
    future = executor.submit(made, timeout=SECONDS)
    assert executor.started.acquire(timeout=SECONDS)
    assert result_of(lambda: executor.cancel("1"))
    assert future.result(SECONDS).kind == "cancelled"
    assert hang.entered.wait(SECONDS)


@pytest.mark.parametrize("told", ["on_done", "subscriber", "callback"])
def test_who_is_told_of_a_stop_holds_up_neither_other_stops_nor_the_shutdown(hang, told, waiting):
    executor = waiting()
    if told == "subscriber":
        executor.tasks.subscribe(hang)
    elif told == "callback":
        executor.set_task_done_callback(hang)
    on_done = hang if told == "on_done" else None
    tasks = [executor.start(ToolCall(f"{n}", "wait", {}), on_done=on_done).task_id for n in range(3)]
    for task_id in tasks[:2]:
        assert executor.started.acquire(timeout=SECONDS)
        assert result_of(lambda task_id=task_id: executor.tasks.cancel(task_id))
        assert executor.tasks.get(task_id).status == "cancelled"
    result_of(lambda: executor.shutdown(cancel=True, timeout=0.1))
    assert hang.entered.wait(SECONDS)
    assert executor.tasks.wait(tasks[2], SECONDS).status == "cancelled"


class Channel:
    """Takes questions, and never gives them back."""

    def __init__(self, withdraw):
        self.asked = threading.Event()
        self.withdraw = withdraw

    def ask(self, *_):
        self.asked.set()


def question(number):
    return Approval(f"ask_{number}", "tool", {"number": number}, "why")


def test_a_channel_that_never_withdraws_a_question_holds_up_no_time_limit_of_another(hang):
    inbox = Inbox()
    inbox.add_channel("odd", Channel(hang))
    assert result_of(lambda: inbox.ask(question(1), timeout=0.01)).word == "timeout"
    assert hang.entered.wait(SECONDS)
    assert result_of(lambda: inbox.ask(question(2), timeout=0.01)).word == "timeout"


def test_a_channel_that_never_withdraws_a_question_does_not_hold_up_who_answers_in_another_process(hang):
    inbox, answers = Inbox(), []
    inbox.add_channel("odd", Channel(hang))
    inbox.put(question(1), answers.append)
    claimed = threading.Event()
    decide = lambda: inbox._decide("ask_1", "yes", digest=None, by="page", claimed=claimed.set)
    assert result_of(decide)
    assert claimed.is_set()
    assert hang.entered.wait(SECONDS)
    assert [answer.word for answer in answers] == ["yes"]


@pytest.mark.parametrize("stored", [True, False], ids=["of a task", "of a call"])
def test_a_log_handler_may_add_to_the_output_that_cannot_be_written(tmp_path, monkeypatch, stored):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    class Handler(logging.Handler):
        said = threading.Event()

        def emit(self, record):
            if "is being lost" in record.getMessage():
                call.emit("noted")
                self.said.set()

    def say(args):
        nonlocal call
        call = current_call()
        with monkeypatch.context() as patched:
            patched.setattr(_writer.os, "write", full)
            for _ in range(3):
                call.emit("x" * 1_000_000)
        return "said"

    call, handler = None, Handler()
    logging.getLogger("executor").addHandler(handler)
    tasks = TaskManager.open(tmp_path)
    try:
        executor = ToolExecutor(tasks=tasks)
        executor.register("say", say, auto_background=None if stored else SECONDS)
        made = result_of(lambda: executor.call(ToolCall("1", "say", {}), background=stored or None))
        if stored:
            assert executor.tasks.wait(made.task_id, SECONDS).status == "completed"
        else:
            assert made.value == "said"
        assert handler.said.wait(SECONDS)
    finally:
        logging.getLogger("executor").removeHandler(handler)
        tasks.close()


def test_names_of_resources_that_cannot_be_compared_hold_up_nobody(hang, waiting):
    class Odd(str):
        __slots__ = ()
        __hash__ = str.__hash__

        def __eq__(self, other):
            return hang()

    executor = waiting()
    for name, resource in (("odd", Odd("a")), ("plain", "a"), ("other", "b")):
        fn = executor.get_tool("wait").tool.fn if name == "odd" else lambda _: "done"
        executor.register(name, fn, resources=lambda _, resource=resource: [resource])
    executor.submit(ToolCall("1", "odd", {}))
    assert executor.started.acquire(timeout=SECONDS)
    waiting = result_of(lambda: executor.submit(ToolCall("2", "plain", {})))
    assert result_of(lambda: executor.execute("other", {})) == (True, "done")
    assert executor.cancel("1")
    assert waiting.result(SECONDS).kind == "ok"
    assert not hang.entered.is_set()
    executor.shutdown()


def test_progress_that_cannot_be_compared_holds_up_no_task(hang, waiting):
    class Odd(float):
        __slots__ = ()
        __hash__ = float.__hash__

        def __eq__(self, other):
            return hang()

        __ne__ = __eq__

    executor = waiting()
    calls = []

    def work(args):
        calls.append(current_call())
        executor.started.release()
        current_call().wait(None)

    executor.register("work", work)
    task_id = executor.start(ToolCall("1", "work", {})).task_id
    assert executor.started.acquire(timeout=SECONDS)
    for done in (1, 2):
        calls[0].progress(Odd(done), Odd(3))
        assert result_of(lambda: engine_of(executor.tasks)._store_progress() is None)
    assert executor.tasks.get(task_id).progress[0] > 1
    assert result_of(lambda: executor.tasks.cancel(task_id))
    assert not hang.entered.is_set()
    executor.shutdown()
