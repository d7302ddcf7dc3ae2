"""Tools that are ``async def``: one loop thread, cancelled with their call, never in each other's way."""

from __future__ import annotations

import asyncio
import contextvars
import threading

import pytest

from executor import TaskStatus, ToolCall, ToolExecutor, current_call

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
    assert not executor._way.setup.loop.running
    assert executor.shutdown(timeout=SECONDS)


def test_a_coroutine_that_raises_cancelled_by_itself_is_an_answer(executor):
    async def tool(args):
        raise asyncio.CancelledError

    executor.register("odd", tool)
    ok, told = executor.execute("odd", {})
    assert not ok
    assert told["cancelled"] is True
