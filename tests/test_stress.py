"""Many threads at once, with seeded chance: nothing is lost, doubled, misplaced or kept."""

from __future__ import annotations

import gc
import random
import threading
import time

import pytest

from executor import TaskStatus, ToolCall, ToolExecutor, current_call
from executor.errors import ToolError
from executor.tasks import TaskManager

SECONDS = 20.0


def run_all(*functions):
    """Run each in a thread of its own, from one moment on."""
    barrier, errors = threading.Barrier(len(functions)), []

    def run(fn):
        barrier.wait(SECONDS)
        try:
            fn()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(fn,), daemon=True) for fn in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
        assert not thread.is_alive(), "a thread hangs"
    assert errors == []


@pytest.mark.parametrize("route", ["inline", "worker", "background", "async", "nested", "many"])
def test_no_output_is_in_the_wrong_place(executor, often_switching, route):
    def speak(args):
        call = current_call()
        for number in range(10):
            call.emit(f"{args['who']}:{number};")
        return args["who"]

    async def speak_async(args):
        return speak(args)

    def nested(args):
        assert executor.execute("worker", args) == (True, args["who"])
        return args["who"]

    def many(args):
        return executor.execute_many([ToolCall("x", "inline", args)])[0].value

    executor.register("inline", speak)
    executor.register("worker", speak, timeout=60)
    executor.register("background", speak, auto_background=0)
    executor.register("async", speak_async)
    executor.register("nested", nested, timeout=60)
    executor.register("many", many)
    expected = {who: "".join(f"{who}:{number};" for number in range(10)) for who in range(256)}
    heard = {who: [] for who in range(256)}

    def thread(first):
        for who in range(first, first + 16):
            ok, told = executor.execute(route, {"who": who}, heard[who].append)
            assert ok
            if route == "background":
                assert executor.tasks.wait(told["task_id"], SECONDS).status is TaskStatus.COMPLETED
                assert executor.tasks.output(told["task_id"])[0] == expected[who]
                told = executor.tasks.result(told["task_id"])[1]
            assert told == who

    run_all(*[lambda first=first: thread(first) for first in range(0, 256, 16)])
    assert {who: "".join(chunks) for who, chunks in heard.items()} == expected


class Chances:
    """Calls whose ends race: their tool's return, a cancel, a time limit, a threshold, a token."""

    def __init__(self, seed, max_workers):
        self.chance = random.Random(seed)
        self.executor = ToolExecutor(max_workers=max_workers, max_background_tasks=10_000)
        self.lock = threading.Lock()
        self.ran = {}
        self.done = {}
        self.told = []
        self.executor.set_task_done_callback(self.all_done)
        for name, options in {
            "inline": {},
            "limit": {"timeout": 0.002},
            "both": {"auto_background": 0.001, "timeout": 0.003},
            "over": {"auto_background": 0.0},
            "late": {"auto_background": 0.001},
        }.items():
            self.executor.register(name, self.tool, **options)

    def tool(self, args):
        with self.lock:
            self.ran[args["n"]] = self.ran.get(args["n"], 0) + 1
        call = current_call()
        call.emit("x")
        call.progress(1)
        how = args["how"]
        if how == "waits":
            call.wait(args["seconds"])
        elif how == "raises":
            raise SystemExit("raised")
        elif how == "nests" and call.depth < 3:
            self.executor.execute("late", {**args, "n": (args["n"], call.depth)})
        return args["n"]

    def all_done(self, task_id, success, error, duration):
        with self.lock:
            self.told.append((task_id, success))

    def one_done(self, result):
        with self.lock:
            if result.task_id is not None:
                self.done[result.task_id] = self.done.get(result.task_id, 0) + 1

    def play(self, numbers, seed):
        chance, answers = random.Random(seed), []
        for n in numbers:
            name = chance.choice(["inline", "limit", "both", "over", "late"])
            arguments = {
                "n": n,
                "how": chance.choice(["returns", "waits", "raises", "nests"]),
                "seconds": chance.choice([0, 0.001, 0.002, 0.004]),
            }
            call = ToolCall(f"call {n}", name, arguments)
            if name in ("both", "over", "late") and chance.random() < 0.2:
                try:
                    answers.append(self.executor.start(call, on_done=self.one_done))
                except ToolError as error:
                    answers.append(error)
            else:
                answers.append(self.executor.call(call, on_done=self.one_done))
            if chance.random() < 0.2 and getattr(answers[-1], "task_id", None):
                self.executor.tasks.cancel(answers[-1].task_id)
        return answers

    def cancel(self, numbers, seed, stop):
        chance, numbers = random.Random(seed), list(numbers)
        while not stop.wait(0.0005):
            self.executor.cancel(f"call {chance.choice(numbers)}")


@pytest.mark.parametrize(("seed", "max_workers"), [(1, 256), (2, 256), (3, 4), (4, 2), (5, 1)])
def test_every_one_of_500_racing_calls_is_answered_once_and_its_task_agrees(often_switching, seed, max_workers):
    chances, answers, stop = Chances(seed, max_workers), [], threading.Event()
    executor = chances.executor
    players = [
        lambda first=first: answers.extend(chances.play(range(first, 500, 8), seed * 100 + first)) for first in range(8)
    ]
    canceller = threading.Thread(target=chances.cancel, args=(range(500), seed, stop))
    canceller.start()
    run_all(*players)
    stop.set()
    canceller.join(SECONDS)
    assert executor.shutdown(timeout=SECONDS), "something never ended"
    assert executor._way.threads.workers.close(SECONDS)
    assert len(answers) == 500
    tasks = {info.id: info for info in executor.tasks.list()}
    for answer in answers:
        if isinstance(answer, ToolError):
            assert "cancelled" in str(answer)
        elif answer.task_id is not None:
            assert answer.task_id in tasks
        else:
            assert answer.success or answer.value.keys() & {"cancelled", "timed_out", "traceback"}, answer.value
    for info in tasks.values():
        ok, value = executor.tasks.result(info.id)
        assert (
            info.status
            is {
                (True, False, False): TaskStatus.COMPLETED,
                (False, True, False): TaskStatus.CANCELLED,
                (False, False, True): TaskStatus.TIMEOUT,
                (False, False, False): TaskStatus.FAILED,
            }[ok, not ok and value.get("cancelled", False), not ok and value.get("timed_out", False)]
        )
        assert not info.abandoned
        assert (info.started is None) <= (info.status in (TaskStatus.CANCELLED, TaskStatus.TIMEOUT))
    assert set(chances.ran.values()) <= {1}, "a tool ran twice for one call"
    assert sorted(task_id for task_id, _ in chances.told) == sorted(tasks)
    assert all(success is (tasks[task_id].status is TaskStatus.COMPLETED) for task_id, success in chances.told)
    assert set(chances.done.values()) <= {1}
    assert chances.done.keys() == {a.task_id for a in answers if not isinstance(a, ToolError) and a.task_id}
    assert executor.tasks.open_count() == executor.abandoned == len(executor._way.calls) == 0
    assert (executor._way.threads.workers._blocked, executor._way.threads.workers.count) == (set(), 0)


def test_cancels_that_race_with_returns_agree_with_their_results(executor, often_switching):
    """Who is told that the cancel made the difference finds the call cancelled, and the other way round."""
    executor.register("quick", lambda args: 1, auto_background=0)
    for _ in range(200):
        task_id = executor.execute("quick", {})[1]["task_id"]
        said = executor.tasks.cancel(task_id)
        status = executor.tasks.wait(task_id, SECONDS).status
        assert status is (TaskStatus.CANCELLED if said else TaskStatus.COMPLETED)


def test_registering_and_calling_race_without_an_error(executor, often_switching):
    stop = threading.Event()
    executor.register("stays", lambda args: 1)

    def change():
        for number in range(300):
            executor.register(f"t{number % 7}", lambda args: number)
            executor.unregister(f"t{(number + 3) % 7}")
        stop.set()

    def use():
        while not stop.is_set():
            assert executor.execute("stays", {}) == (True, 1)
            executor.execute("t3", {})
            assert any(each.name == "stays" for each in executor.list_tools())

    run_all(change, use, use, use)


def test_ten_thousand_calls_leave_nothing_behind(monkeypatch):
    from executor.tasks import _delivery

    monkeypatch.setattr(_delivery, "KEPT", 50)
    executor = ToolExecutor(tasks=TaskManager.in_memory())
    executor.register("inline", lambda args: args["n"])
    executor.register("worker", lambda args: args["n"], timeout=60)
    executor.register("background", lambda args: args["n"], auto_background=0, timeout=60)

    def play(count):
        for n in range(count):
            executor.execute("inline", {"n": n})
            executor.execute("worker", {"n": n})
            if n % 5 == 0:
                task_id = executor.execute("background", {"n": n})[1]["task_id"]
                assert executor.tasks.wait(task_id, SECONDS).status is TaskStatus.COMPLETED
                executor.tasks.ack(task_id)

    play(500)  # whatever is made once is made
    gc.collect()
    before, threads = len(gc.get_objects()), threading.active_count()
    play(4550)
    gc.collect()
    assert threading.active_count() <= threads + 4
    assert executor._way.threads.workers.count <= 6
    assert len(gc.get_objects()) - before < 1000
    assert len(executor.tasks.list()) == 50
    assert executor._way.threads.deadlines._heap == []
    assert executor.shutdown(timeout=SECONDS)
    assert len(executor._way.calls) == executor.abandoned == 0


def test_thousands_of_stopped_calls_leave_nothing_behind(executor):
    from executor import CancelToken
    from executor.calls._token import source_of

    token = CancelToken()
    executor.register("waits", lambda args: current_call().wait(SECONDS), timeout=0.0001)

    def play(count):
        for n in range(count):
            executor.call(ToolCall(str(n), "waits"), cancel=token)

    play(100)
    gc.collect()
    before = len(gc.get_objects())
    play(1500)
    executor._way.threads.workers.close(SECONDS)
    gc.collect()
    assert len(gc.get_objects()) - before < 500
    assert executor.abandoned == 0
    assert not source_of(token).functions


def test_a_token_of_a_whole_session_keeps_nothing_of_the_tasks_that_are_over(executor):
    from executor import CancelToken
    from executor.calls._token import source_of

    token = CancelToken()
    executor.register("quick", lambda args: 1, auto_background=0)
    for number in range(50):
        result = executor.call(ToolCall(str(number), "quick"), cancel=token)
        assert executor.tasks.wait(result.task_id, SECONDS).status.final
    executor.shutdown()
    assert not source_of(token).functions


def test_ten_thousand_chunks_of_one_tool_arrive_whole_and_in_order(executor, recorder):
    def speak(args):
        for number in range(10_000):
            current_call().emit(f"{number},")

    executor.register("speaks", speak, auto_background=0)
    began = time.monotonic()
    task_id = executor.execute("speaks", {}, recorder)[1]["task_id"]
    executor.tasks.wait(task_id, SECONDS)
    executor.shutdown()
    expected = "".join(f"{number}," for number in range(10_000))
    assert recorder.text == executor.tasks.output(task_id)[0] == expected
    assert time.monotonic() - began < SECONDS
