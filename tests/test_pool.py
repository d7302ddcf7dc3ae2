"""Background work on a pool that the host brings."""

from __future__ import annotations

import gc
import importlib
import multiprocessing
import os
import threading
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import resource_tracker

import pytest

from executor import ResultKind, TaskStatus, ToolCall, ToolExecutor, current_call
from executor.testing import HeldTool

SECONDS = 30.0


@pytest.fixture(autouse=True, scope="module")
def tracker():
    """A process that the standard library starts with the first pool of processes, and would leave running."""
    resource_tracker.ensure_running()
    yield
    gc.collect()  # what a pool has it track is given back when the pool is freed
    resource_tracker._resource_tracker._stop()


def start(executor, name, arguments=None):
    return executor.start(ToolCall("1", name, arguments or {})).task_id


def test_on_a_pool_of_threads_a_tool_has_its_output_and_its_token():
    def tool(args):
        current_call().emit("hello\n")
        return threading.current_thread().name

    with ThreadPoolExecutor(1, thread_name_prefix="mine") as pool, ToolExecutor(pool=pool) as executor:
        executor.register("tool", tool, auto_background=60)
        task_id = start(executor, "tool")
        assert executor.tasks.wait(task_id, SECONDS).status is TaskStatus.COMPLETED
        assert executor.tasks.result(task_id)[1].startswith("mine")
        assert executor.tasks.output(task_id)[0] == "hello\n"
        assert not executor.execute("tool")[1].startswith("mine"), "what is not in the background needs no pool"


def test_a_threshold_of_zero_is_the_background_too():
    with ThreadPoolExecutor(1, thread_name_prefix="mine") as pool, ToolExecutor(pool=pool) as executor:
        executor.register("tool", lambda args: threading.current_thread().name, auto_background=0)
        task_id = executor.execute("tool")[1]["task_id"]
        executor.tasks.wait(task_id, SECONDS)
        assert executor.tasks.result(task_id)[1].startswith("mine")


def test_a_pool_of_processes_runs_functions_that_it_can_find(tmp_path, monkeypatch):
    (tmp_path / "pooled_tools.py").write_text(
        "import os\nfrom executor import tool\n"
        "\ndef pid(args):\n    return os.getpid()\n\ndef fails(args):\n    raise ValueError('bad')\n"
        "\ndef typed(number: int):\n    return number + 1\n"
        "\n@tool(auto_background=60)\ndef decorated(number: int):\n    return number + 2\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    tools = importlib.import_module("pooled_tools")
    with (
        ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool,
        ToolExecutor(pool=pool) as executor,
    ):
        for fn in (tools.pid, tools.fails, tools.typed):
            executor.register(fn.__name__, fn, auto_background=60)
        executor.register(tools.decorated)
        executor.register("local", lambda args: 1, auto_background=60)
        ids = [start(executor, "pid"), start(executor, "fails"), start(executor, "typed", {"number": 1})]
        ids += [start(executor, "local"), start(executor, "decorated", {"number": 1})]
        ends = [executor.tasks.wait(task_id, SECONDS) for task_id in ids]
        results = [executor.tasks.result(task_id) for task_id in ids]
        assert results[0][0]
        assert results[0][1] != os.getpid()
        assert ends[1].error == "bad"
        assert results[2] == (True, 2)
        assert ends[3].status is TaskStatus.FAILED
        assert "local object" in ends[3].error  # the rest of what pickle says differs between Pythons
        assert results[4] == (True, 3)


def test_a_task_whose_worker_dies_is_interrupted_and_says_that_it_may_have_had_effects(tmp_path, monkeypatch):
    (tmp_path / "dying_tools.py").write_text("import os\n\ndef dies(args):\n    os._exit(1)\n")
    monkeypatch.syspath_prepend(tmp_path)
    tools = importlib.import_module("dying_tools")
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool, ToolExecutor(pool=pool) as executor:
        executor.register("dies", tools.dies, auto_background=60)
        task_id = start(executor, "dies")
        info = executor.tasks.wait(task_id, SECONDS)
        assert info.status is TaskStatus.INTERRUPTED
        assert "may have had effects" in info.error
        result = executor.tasks.tool_result(task_id)
        assert (result.kind, result.value["interrupted"]) == (ResultKind.INTERRUPTED, True)


class Dropper(Executor):
    """A pool that gives up what it runs."""

    def __init__(self):
        self.taken = threading.Event()

    def submit(self, fn, /, *args, **options):
        self.future = Future()
        self.taken.set()
        return self.future


def test_a_pool_that_drops_a_call_is_not_believed_to_have_done_so_before_it_began():
    pool = Dropper()
    with ToolExecutor(pool=pool) as executor:
        executor.register("tool", lambda args: 1, auto_background=60)
        task_id = start(executor, "tool")
        assert pool.taken.wait(SECONDS)
        pool.future.cancel()
        pool.future.set_running_or_notify_cancel()
        info = executor.tasks.wait(task_id, SECONDS)
        assert info.status is TaskStatus.INTERRUPTED
        assert "Whether it had begun is not known" in info.error


def test_equal_starts_are_given_to_a_pool_as_different_calls():
    pool = Recorder()
    with ToolExecutor(pool=pool) as executor:
        executor.register("pid", os.getpid, auto_background=60)
        ids = [start(executor, "pid") for _ in range(3)]
        assert [executor.tasks.wait(task_id, SECONDS).status for task_id in ids] == [TaskStatus.COMPLETED] * 3
    assert len({repr(given) for given in pool.given}) == 3


class Recorder(Executor):
    """A pool that runs what it is given at once, and remembers it."""

    def __init__(self):
        self.given = []

    def submit(self, fn, /, *args, **options):
        self.given.append((fn, args))
        future = Future()
        future.set_result(fn(*args))
        return future


class Liar(Executor):
    """A pool whose futures say that they were cancelled, and go on."""

    class Future(Future):
        def cancel(self):
            return True

        def running(self):
            return False

    def submit(self, fn, /, *args, **options):
        future = self.Future()
        thread = threading.Thread(target=lambda: future.set_result(args[0](args[1])))
        thread.start()
        self.thread = thread
        return future


def test_a_task_whose_pool_does_not_stop_it_is_cancelled_and_its_late_result_dropped():
    pool = Liar()
    with HeldTool("late") as tool, ToolExecutor(pool=pool) as executor:
        executor.register("slow", tool, auto_background=60)
        task_id = start(executor, "slow")
        assert tool.started.wait(SECONDS)
        assert executor.tasks.cancel(task_id)
        assert executor.tasks.get(task_id).status is TaskStatus.CANCELLED
        tool.go_on()
        pool.thread.join(SECONDS)
        assert executor.tasks.get(task_id).status is TaskStatus.CANCELLED


def test_a_pool_that_takes_no_more_work_is_an_answer():
    pool = ThreadPoolExecutor(1)
    pool.shutdown()
    with ToolExecutor(pool=pool) as executor:
        executor.register("tool", lambda args: 1, auto_background=60)
        task_id = start(executor, "tool")
        info = executor.tasks.wait(task_id, SECONDS)
        assert info.status is TaskStatus.FAILED
        assert executor.tasks.result(task_id)[1]["unavailable"] is True


@pytest.mark.parametrize("stopped", ["queued", "running"])
def test_a_full_pool_keeps_the_rest_waiting_and_they_can_be_cancelled(stopped):
    with HeldTool() as tool, ThreadPoolExecutor(1) as pool, ToolExecutor(pool=pool) as executor:
        executor.register("slow", tool, auto_background=60)
        running = start(executor, "slow")
        assert tool.started.wait(SECONDS)
        queued = start(executor, "slow")
        chosen = queued if stopped == "queued" else running
        assert executor.tasks.cancel(chosen)
        tool.go_on()
        assert executor.tasks.wait(running if stopped == "queued" else queued, SECONDS).status is TaskStatus.COMPLETED
        assert tool.calls == (1 if stopped == "queued" else 2)
