"""Tools that are ``async def``: one loop thread, cancelled with their call, never in each other's way."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import gc
import os
import threading
import weakref
from typing import Annotated

import pytest
from pydantic import AfterValidator

from executor import CancelToken, Decision, TaskStatus, ToolCall, ToolExecutor, Verdict, current_call
from executor._answering import _read_at_once
from executor.calls import _state
from executor.tasks._table import TaskTable
from executor.threads import LoopThread

SECONDS = 10.0


def in_thread(fn):
    results = []
    thread = threading.Thread(target=lambda: results.append(fn()), daemon=True)
    thread.start()

    def result():
        thread.join(SECONDS)
        assert not thread.is_alive(), "the call hangs"
        return results[0]

    return result


class HeldCoroutine:
    """An async tool that stays at work until it is cancelled."""

    def __init__(self):
        self.started, self.cancelled = threading.Event(), threading.Event()

    async def __call__(self, args):
        self.started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise


def test_async_tools_share_one_loop_that_is_not_the_callers_thread(executor):
    async def tool(args):
        return threading.current_thread().name

    executor.register("a", tool)
    executor.register("b", tool)
    assert executor.execute("a", {}) == executor.execute("b", {}) == (True, "executor-loop")


def test_an_async_tool_sees_its_call_and_the_callers_variables(executor, recorder):
    variable = contextvars.ContextVar("variable", default=0)
    variable.set(42)

    async def tool(args):
        await asyncio.sleep(0)
        current_call().emit("said")
        return current_call().id, variable.get()

    executor.register("sees", tool)
    assert executor.execute("sees", {}, recorder, call_id="mine") == (True, ("mine", 42))
    assert recorder.text == "said"


def test_many_async_tools_run_at_once(executor):
    count, everyone = 0, asyncio.Event()

    async def tool(args):
        nonlocal count
        count += 1
        if count == 50:
            everyone.set()
        await everyone.wait()
        return args["n"]

    executor.register("meets", tool)
    results = executor.execute_many([ToolCall(str(n), "meets", {"n": n}) for n in range(50)])
    assert [result.value for result in results] == list(range(50))


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("bad"), "bad"),
        (SystemExit("bye"), "SystemExit: bye"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (GeneratorExit(), "GeneratorExit"),
        (StopIteration("x"), "coroutine raised StopIteration"),
    ],
)
def test_what_an_async_tool_raises_is_its_result_and_ends_no_other(executor, error, text):
    async def tool(args):
        raise error

    async def fine(args):
        await asyncio.sleep(0)
        return "fine"

    executor.register("raises", tool)
    executor.register("fine", fine)
    ok, told = executor.execute("raises", {})
    assert (ok, told["error"]) == (False, text)
    assert "traceback" in told
    assert executor.execute("fine", {}) == (True, "fine")


def test_a_time_limit_cancels_the_coroutine(executor):
    tool = HeldCoroutine()
    executor.register("stuck", tool, timeout=0.05)
    assert executor.execute("stuck", {})[1].get("timed_out") is True
    assert tool.cancelled.wait(SECONDS)
    assert executor._way.setup.loop.close(SECONDS)
    assert executor.abandoned == 0


def test_a_loop_that_takes_nothing_any_more_is_an_answer(executor):
    executor.register("late", HeldCoroutine())
    assert executor._way.setup.loop.close(SECONDS)
    result = executor.submit(ToolCall("1", "late", {})).result(SECONDS)
    assert (result.kind, result.success) == ("unavailable", False)
    assert not executor._way.calls


def test_cancel_reaches_the_coroutine_of_a_task(executor):
    tool = HeldCoroutine()
    executor.register("stuck", tool, auto_background=0)
    _, told = executor.execute("stuck", {})
    assert tool.started.wait(SECONDS)
    assert executor.tasks.cancel(told["task_id"])
    assert tool.cancelled.wait(SECONDS)
    assert executor.tasks.get(told["task_id"]).status is TaskStatus.CANCELLED


def test_a_coroutine_that_does_not_heed_its_cancel_is_abandoned_and_its_result_dropped(executor):
    started, cancelled, go_on = threading.Event(), threading.Event(), []

    async def tool(args):
        waits = asyncio.get_running_loop().create_future()
        go_on.append(waits)
        started.set()
        while True:
            try:
                return await asyncio.shield(waits)
            except asyncio.CancelledError:
                cancelled.set()

    executor.register("deaf", tool, auto_background=0)
    _, told = executor.execute("deaf", {})
    assert started.wait(SECONDS)
    executor.tasks.cancel(told["task_id"])
    assert cancelled.wait(SECONDS)
    assert executor.abandoned == 1
    waits = go_on[0]
    waits.get_loop().call_soon_threadsafe(waits.set_result, "late")
    assert executor._way.setup.loop.close(SECONDS)
    assert executor._way.threads.workers.close(SECONDS)
    assert executor.abandoned == 0
    assert executor.tasks.result(told["task_id"])[1].get("cancelled") is True


def test_an_async_tool_that_calls_another_and_blocks_is_told_so_instead_of_hanging(executor):
    async def inner(args):
        return 1

    async def outer(args):
        return executor.execute("inner", {})

    async def through_many(args):
        return [result.value for result in executor.execute_many([ToolCall("1", "inner")])]

    executor.register("inner", inner)
    executor.register("outer", outer)
    executor.register("many", through_many)
    executor.register("between", lambda args: executor.execute("inner", {}), timeout=60)
    executor.register("further", outer_through := (lambda args: executor.execute("between", {})), timeout=60)

    async def outer_further(args):
        return outer_through(args)

    executor.register("outerFurther", outer_further)
    ok, (inner_ok, told) = in_thread(lambda: executor.execute("outer", {}))()
    assert (ok, inner_ok) == (True, False)
    assert "asyncio.to_thread" in told["error"]
    _, (value,) = in_thread(lambda: executor.execute("many", {}))()
    assert "asyncio.to_thread" in value["error"]
    _, (_, (_, told)) = in_thread(lambda: executor.execute("outerFurther", {}))()
    assert "asyncio.to_thread" in told["error"]


def test_an_async_tool_may_call_another_in_a_thread(executor):
    async def inner(args):
        return current_call().depth

    async def outer(args):
        return await asyncio.to_thread(executor.execute, "inner", {})

    executor.register("inner", inner)
    executor.register("outer", outer)
    assert in_thread(lambda: executor.execute("outer", {}))() == (True, (True, 1))


def test_an_async_tool_may_call_a_plain_one_and_block(executor):
    executor.register("inline", lambda args: 1)
    executor.register("worker", lambda args: 2, timeout=60)

    async def outer(args):
        return executor.execute("inline", {})[1], executor.execute("worker", {})[1]

    executor.register("outer", outer)
    assert in_thread(lambda: executor.execute("outer", {}))() == (True, (1, 2))


@pytest.mark.parametrize("limit", [1, 2])
def test_few_workers_are_enough_for_async_tools_that_call_others(limit):
    executor = ToolExecutor(max_workers=limit)

    async def inner(args):
        await asyncio.sleep(0)
        return 1

    async def outer(args):
        return sum(
            ok * value
            for ok, value in await asyncio.gather(*[asyncio.to_thread(executor.execute, "inner", {}) for _ in range(5)])
        )

    executor.register("inner", inner)
    executor.register("outer", outer)
    results = in_thread(lambda: executor.execute_many([ToolCall(str(n), "outer") for n in range(4)]))()
    assert [result.value for result in results] == [5] * 4
    executor.shutdown()


def test_a_plain_function_may_return_a_coroutine(executor):
    async def work(n):
        return n + 1

    executor.register("wrapped", lambda args: work(args["n"]))
    assert executor.execute("wrapped", {"n": 1}) == (True, 2)


def test_shutdown_ends_the_loop_and_what_runs_on_it():
    executor = ToolExecutor()
    tool = HeldCoroutine()
    executor.register("stuck", tool, auto_background=0)
    _, told = executor.execute("stuck", {})
    assert tool.started.wait(SECONDS)
    executor.shutdown(wait=False)
    assert executor._way.setup.loop.close(SECONDS)
    assert tool.cancelled.is_set()
    assert executor.tasks.wait(told["task_id"], SECONDS).status is TaskStatus.CANCELLED


def test_an_async_call_needs_no_worker_and_shutdown_starts_no_second_loop():
    executor = ToolExecutor(max_workers=1)
    started, go_on = threading.Event(), threading.Event()

    def holder(args):
        started.set()
        assert go_on.wait(SECONDS)

    async def tool(args):
        return 1

    executor.register("holder", holder, auto_background=0)
    executor.register("waits", tool, auto_background=0)
    executor.execute("holder", {})
    assert started.wait(SECONDS)
    _, told = executor.execute("waits", {})
    executor.shutdown(wait=False)
    go_on.set()
    assert executor.tasks.wait(told["task_id"], SECONDS).status is TaskStatus.COMPLETED
    assert executor.shutdown(timeout=SECONDS)
    assert not executor._way.setup.loop.running
    assert executor.shutdown(timeout=SECONDS)


def test_a_coroutine_that_raises_cancelled_by_itself_is_an_answer(executor):
    async def tool(args):
        raise asyncio.CancelledError

    executor.register("odd", tool)
    ok, told = executor.execute("odd", {})
    assert not ok
    assert told["cancelled"] is True


# Without a worker ----------------------------------------------------------------------------------------------------


def made(n, name="tool"):
    return ToolCall(f"c{n}", name, {"n": n})


class Gathered:
    """An async tool that waits, without a thread, until the test releases it."""

    def __init__(self):
        self.begun = threading.Semaphore(0)
        self.release = None
        self.loop = None
        self.cancelled = []

    async def __call__(self, args):
        if self.release is None:
            self.release, self.loop = asyncio.Event(), asyncio.get_running_loop()
        self.begun.release()
        try:
            await self.release.wait()
        except asyncio.CancelledError:
            self.cancelled.append(args["n"])
            raise
        return args["n"]

    def wait_for(self, number):
        for _ in range(number):
            assert self.begun.acquire(timeout=SECONDS)

    def free(self):
        self.loop.call_soon_threadsafe(self.release.set)


@pytest.mark.parametrize("limits", [{}, {"timeout": 60}, {"auto_background": 60}], ids=["plain", "limit", "threshold"])
def test_a_thousand_async_tools_wait_with_two_workers(limits):
    tool = Gathered()
    before = threading.active_count()
    with ToolExecutor(max_workers=2) as executor:
        executor.register("tool", tool.__call__, **limits)
        executor.register("plain", lambda a: 1)
        futures = [executor.submit(made(n)) for n in range(1000)]
        tool.wait_for(1000)
        assert threading.active_count() - before <= 4  # two workers, the loop, the deadlines
        assert executor.submit(made(0, "plain")).result(SECONDS).value == 1
        assert executor.call(made(0, "plain"), timeout=SECONDS).value == 1
        tool.free()
        assert [future.result(SECONDS).value for future in futures] == list(range(1000))


def test_async_tools_without_a_worker_are_cancelled_and_timed_out_one_by_one():
    tool = Gathered()
    with ToolExecutor(max_workers=1) as executor:
        executor.register("tool", tool.__call__)
        futures = [executor.submit(made(n), timeout=0.3 if n % 3 == 2 else None) for n in range(90)]
        tool.wait_for(90)
        for n in range(0, 90, 3):
            assert executor.cancel(f"c{n}") if n % 2 else futures[n].cancel()
        for n in range(2, 90, 3):
            assert futures[n].result(SECONDS).kind == "timed_out"
        tool.free()
        for n in range(1, 90, 3):
            assert futures[n].result(SECONDS).value == n
        for n in range(3, 90, 6):
            assert futures[n].result(SECONDS).kind == "cancelled"
        assert executor.shutdown(timeout=SECONDS)
    assert sorted(tool.cancelled) == [n for n in range(90) if n % 3 != 1]


def test_async_tools_are_handed_over_without_a_worker():
    tool, done = Gathered(), []
    with ToolExecutor(max_workers=1) as executor:
        executor.register("tool", tool.__call__, auto_background=0.02)
        results = [
            future.result(SECONDS) for future in [executor.submit(made(n), on_done=done.append) for n in range(20)]
        ]
        assert {str(result.kind) for result in results} == {"backgrounded"}
        tool.free()
        for n, result in enumerate(results):
            assert executor.tasks.wait(result.task_id, SECONDS).status == "completed"
            assert executor.tasks.tool_result(result.task_id).value == n
        assert executor.shutdown(timeout=SECONDS)
    assert sorted(result.value for result in done) == list(range(20))


def test_output_and_progress_of_async_tools_reach_their_own_calls(executor):
    output, progress = {}, {}

    async def tool(args):
        for step in range(3):
            current_call().emit(f"{args['n']}.{step} ")
            current_call().progress(step + 1, 3, str(args["n"]))
            await asyncio.sleep(0)

    executor.register("tool", tool)
    futures = [
        executor.submit(
            made(n),
            on_output=output.setdefault(n, []).append,
            on_progress=lambda *how, n=n: progress.setdefault(n, []).append(how),
        )
        for n in range(50)
    ]
    assert all(future.result(SECONDS).success for future in futures)
    assert output == {n: [f"{n}.{step} " for step in range(3)] for n in range(50)}
    assert progress == {n: [(step, 3, str(n)) for step in (1, 2, 3)] for n in range(50)}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_async_tools_run_in_a_forked_child(executor):
    async def tool(args):
        await asyncio.sleep(0)
        return args["n"]

    executor.register("tool", tool)
    assert executor.call(made(1)).value == 1
    child = os.fork()
    if child == 0:
        good = [executor.submit(made(n)).result(SECONDS).value for n in range(5)] == list(range(5))
        os._exit(0 if good and executor.call(made(7), timeout=SECONDS).value == 7 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert executor.call(made(2)).value == 2


# Begun on the loop itself --------------------------------------------------------------------------------------------


class Threads:
    """Notes on which threads tools are looked up, judged and told of."""

    def __init__(self):
        self.seen = []

    def note(self, *_):
        self.seen.append(threading.current_thread().name.rstrip("-0123456789"))


async def quick(args):
    await asyncio.sleep(0)
    return args.get("n")


def batch(name, count=40):
    return [ToolCall(str(n), name, {"n": n}) for n in range(count)]


def test_a_batch_of_async_tools_needs_no_worker(executor):
    executor.register("quick", quick)
    results = executor.execute_many(batch("quick"))
    assert [result.value for result in results] == list(range(40))
    assert executor._way.threads.workers.count == 0


def test_a_batch_of_both_kinds_is_answered_in_its_order(executor):
    executor.register("quick", quick)
    executor.register("plain", lambda args: args["n"])
    calls = [ToolCall(str(n), "quick" if n % 3 == 0 else "plain", {"n": n}) for n in range(60)]
    assert [result.value for result in executor.execute_many(calls)] == list(range(60))


def test_whoever_is_told_of_what_never_began_holds_up_no_loop(executor):
    threads = Threads()
    executor.register("quick", quick, schema={"properties": {"n": {"type": "integer"}}})
    executor.execute_many([*batch("quick", 3), ToolCall("x", "quick", {"n": "no number"})], on_done=threads.note)
    assert threads.seen == ["executor-worker"] * 4


def test_an_interrupt_before_it_is_on_the_loop_gives_its_turn_back(executor, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    executor.register("quick", quick, resources=lambda args: ["one"])
    with monkeypatch.context() as patch:
        patch.setattr(LoopThread, "start", interrupted)
        with pytest.raises(KeyboardInterrupt):
            executor.execute("quick")
    assert executor.abandoned == 0
    assert executor.execute("quick", {"n": 1}, timeout=SECONDS) == (True, 1)


def test_what_is_looked_at_by_validators_of_its_own_is_not_begun_on_the_loop(executor):
    threads = Threads()

    def note(value):
        threads.note()
        return value

    async def tool(n):
        return n

    tool.__annotations__ = {"n": Annotated[int, AfterValidator(note)], "return": int}
    executor.register("tool", tool)
    assert executor.execute_many(batch("tool", 1))[0].value == 0
    assert threads.seen[0] == "executor-worker"


def test_a_value_that_is_read_by_its_own_code_is_not_read_on_the_loop(executor):
    threads = Threads()

    class Foreign:
        def __str__(self):
            threads.note()
            return "foreign"

    async def tool(args):
        return {"n": [args["n"], Foreign()]}

    executor.register("tool", tool)
    results = executor.execute_many(batch("tool", 3))
    assert [result.structured for result in results] == [{"n": [n, "foreign"]} for n in range(3)]
    assert set(threads.seen) == {"executor-worker"}


@pytest.mark.parametrize("value", [1, 2.5, None, True, "text", {"a": [1, {"b": None}]}, [1, "two"], (), {}])
def test_what_is_small_and_of_jsons_types_is_read_at_once(value):
    assert _read_at_once(value)


@pytest.mark.parametrize("value", [object(), b"x", {1, 2}, ["x" * 100_000], list(range(1000)), {"a": [object()]}])
def test_what_is_large_or_foreign_is_not(value):
    assert not _read_at_once(value)


def test_without_any_worker_a_batch_is_answered_as_it_always_is(executor, monkeypatch):
    executor.register("quick", quick)
    executor.register("plain", lambda args: args["n"])
    executor.register("outer", lambda args: executor.call(ToolCall("inner", "quick", args)).value)
    executor.execute("quick")  # the loop has its thread

    def start(_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    calls = [ToolCall(str(n), ("quick", "plain", "outer")[n % 3], {"n": n}) for n in range(12)]
    for bound in (1, 2, None):
        assert [r.value for r in executor.execute_many(calls, max_concurrency=bound)] == list(range(12))


class Judge:
    def __init__(self, threads):
        self.threads = threads

    def decide(self, call, context):
        self.threads.note()
        return Decision("allow", "policy", "test")

    def ask(self, call, decision, context):
        return Verdict(True)


class NotingLedger:
    def __init__(self, threads):
        self.threads = threads

    def record(self, stage, payload):
        self.threads.note()


@pytest.mark.parametrize(
    "options",
    [lambda threads: {"permission_plugin": Judge(threads)}, lambda threads: {"ledger": NotingLedger(threads)}],
)
def test_nobody_elses_code_but_the_tool_runs_on_the_loop(options):
    threads = Threads()
    with ToolExecutor(**options(threads)) as executor:
        executor.register("quick", quick)
        assert all(result.success for result in executor.execute_many(batch("quick")))
    assert set(threads.seen) == {"executor-worker"}


def test_who_is_told_of_each_end_is_told_on_no_loop(executor):
    threads = Threads()
    executor.register("quick", quick)
    executor.execute_many(batch("quick"), on_done=threads.note)
    assert (len(threads.seen), set(threads.seen)) == (40, {"executor-worker"})


def test_what_is_too_long_for_a_model_is_kept_by_a_worker_not_by_the_loop(monkeypatch):
    threads = Threads()

    async def long(args):
        return "x" * 5000

    with ToolExecutor(max_content=1024) as executor:
        save = TaskTable.save_result
        monkeypatch.setattr(TaskTable, "save_result", lambda *args: (threads.note(), save(*args))[1])
        executor.register("long", long)
        results = executor.execute_many(batch("long", 3))
    assert all("bytes are left out here" in result.content for result in results)
    assert set(threads.seen) == {"executor-worker"}


def test_arguments_that_do_not_fit_end_their_calls_alone(executor):
    executor.register("quick", quick, schema={"type": "object", "properties": {"n": {"maximum": 20}}})
    results = executor.execute_many(batch("quick"))
    assert [result.success for result in results] == [n <= 20 for n in range(40)]
    assert results[-1].kind == "invalid_arguments"


@pytest.mark.parametrize(
    "make",
    [
        ToolExecutor.execute_many,
        lambda executor, calls, **more: [
            future.result(SECONDS) for future in [executor.submit(call, **more) for call in calls]
        ],
    ],
)
def test_a_stop_ends_calls_at_once_and_those_that_do_not_heed_it_count_until_they_come_back(executor, make):
    stop, started, go_on = CancelToken(), threading.Event(), []

    async def deaf(args):
        waits = asyncio.get_running_loop().create_future()
        go_on.append(waits)
        if len(go_on) == 3:
            started.set()
        while True:
            with contextlib.suppress(asyncio.CancelledError):
                return await asyncio.shield(waits)

    executor.register("deaf", deaf)
    results = in_thread(lambda: make(executor, batch("deaf", 3), cancel=stop))
    assert started.wait(SECONDS)
    stop.cancel("enough")
    assert {(result.kind, result.error) for result in results()} == {("cancelled", "enough")}
    assert executor.abandoned == 3
    assert not executor._way.calls
    loop = go_on[0].get_loop()
    for waits in go_on:
        loop.call_soon_threadsafe(waits.set_result, "late")
    assert executor._way.setup.loop.close(SECONDS)
    assert executor.abandoned == 0


def test_a_stop_before_they_begin_runs_none_of_them(executor):
    stop, ran = CancelToken(), []

    async def tool(args):
        ran.append(args)

    executor.register("tool", tool)
    stop.cancel()
    assert {result.kind for result in executor.execute_many(batch("tool"), cancel=stop)} == {"cancelled"}
    assert executor.submit(ToolCall("1", "tool", {}), cancel=stop).result(SECONDS).kind == "cancelled"
    assert ran == []


def test_batches_that_arrive_while_the_executor_is_shut_down_are_answered_whole(often_switching):
    for _ in range(20):
        executor = ToolExecutor()
        executor.register("quick", quick)
        assert executor.execute("quick")[0]
        results = [in_thread(lambda: executor.execute_many(batch("quick"))) for _ in range(3)]
        executor.shutdown(wait=False)
        assert {result.kind for result in results[0]() + results[1]() + results[2]()} <= {
            "ok",
            "unavailable",
            "cancelled",
        }


def test_a_stop_that_is_interrupted_loses_no_result(executor, monkeypatch):
    started, go_on = threading.Event(), []

    async def tool(args):
        go_on.append(asyncio.get_running_loop().create_future())
        started.set()
        return await go_on[0]

    def interrupted(functions):
        raise KeyboardInterrupt

    executor.register("tool", tool)
    stop = CancelToken()
    future = executor.submit(ToolCall("1", "tool", {}), cancel=stop)
    assert started.wait(SECONDS)
    with monkeypatch.context() as patched:
        patched.setattr(_state, "_run_beside", interrupted)
        with pytest.raises(KeyboardInterrupt):
            stop.cancel("enough")
        with pytest.raises(KeyboardInterrupt):
            future._source.cancel("enough")
    go_on[0].get_loop().call_soon_threadsafe(go_on[0].set_result, "late")
    result = future.result(SECONDS)
    assert (result.kind, result.error) == ("cancelled", "enough")


def test_an_executor_whose_loop_ended_with_one_of_its_calls_is_free():
    executor = ToolExecutor()
    gone, loop = weakref.ref(executor), executor._way.setup.loop

    async def quick(args):
        return 1

    executor.register("quick", quick)
    executor.register("down", lambda args: gone().shutdown(wait=False))
    assert executor.execute("quick") == (True, 1)
    assert executor.execute("down") == (True, False)
    loop._serving.thread.join(SECONDS)
    del executor
    gc.collect()
    assert gone() is None
