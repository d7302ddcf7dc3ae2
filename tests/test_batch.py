"""Several calls side by side: `execute_many`."""

from __future__ import annotations

import signal
import threading

import pytest

from executor import CancelToken, TaskStatus, ToolCall, ToolExecutor, current_call
from executor.calls._token import source_of
from executor.testing import HeldTool

SECONDS = 10.0


def calls(name, count, **arguments):
    return [ToolCall(str(number), name, {"n": number, **arguments}) for number in range(count)]


def many(executor, requests, **options):
    """`execute_many` in a thread, so that a test can see it hang."""
    results = []
    thread = threading.Thread(target=lambda: results.append(executor.execute_many(requests, **options)), daemon=True)
    thread.start()
    thread.join(SECONDS)
    assert not thread.is_alive(), "execute_many hangs"
    return results[0]


def test_results_come_in_the_order_of_the_calls(executor):
    meeting = threading.Barrier(8)

    def tool(args):
        meeting.wait(SECONDS)  # all eight are at work at once, and end in any order
        return args["n"]

    executor.register("meets", tool)
    results = executor.execute_many(calls("meets", 8))
    assert [(result.call_id, result.value) for result in results] == [(str(n), n) for n in range(8)]


def test_no_calls_have_no_results(executor):
    assert executor.execute_many([]) == []
    assert executor.execute_many(iter(())) == []


def test_every_call_is_answered_whatever_becomes_of_the_others(executor):
    def fails(args):
        raise SystemExit("bye")

    executor.register("fails", fails)
    executor.register("works", lambda args: 1)
    requests = [
        ToolCall("a", "fails"),
        ToolCall("a", "works"),
        ToolCall("c", "unknown"),
        ToolCall("d", "works", "no JSON"),
        ToolCall("e", ":::"),
    ]
    results = executor.execute_many(requests)
    assert [result.call_id for result in results] == ["a", "a", "c", "d", "e"]
    assert [result.success for result in results] == [False, True, False, False, False]
    assert results[0].error == "SystemExit: bye"


def test_no_more_than_max_concurrency_are_at_work(executor):
    lock, now, most = threading.Lock(), 0, 0
    meeting = threading.Barrier(2)

    def tool(args):
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        meeting.wait(SECONDS)
        with lock:
            now -= 1

    executor.register("counts", tool)
    results = executor.execute_many(calls("counts", 12), max_concurrency=2)
    assert all(result.success for result in results)
    assert most == 2


@pytest.mark.parametrize("bad", [0, -1, True, 1.5])
def test_a_concurrency_that_cannot_be_meant_is_an_error(executor, bad):
    with pytest.raises(ValueError, match="max_concurrency"):
        executor.execute_many(calls("x", 1), max_concurrency=bad)


async def _async_tool(args):
    return args["n"]


@pytest.mark.parametrize("limit", [1, 2, 3])
@pytest.mark.parametrize(
    ("tool", "options"),
    [
        (_async_tool, {}),
        (lambda args: args["n"], {"timeout": SECONDS}),
        (lambda args: args["n"], {"auto_background": SECONDS}),
    ],
    ids=["async", "timeout", "threshold"],
)
def test_calls_that_need_a_worker_do_not_wait_for_the_workers_that_wait_for_them(limit, tool, options):
    executor = ToolExecutor(max_workers=limit)
    executor.register("worker", tool, **options)
    results = many(executor, calls("worker", 20))
    assert [result.value for result in results] == list(range(20))
    executor.shutdown()
    assert executor._way.threads.workers.close(SECONDS)
    assert executor._way.threads.workers._blocked == set()


@pytest.mark.parametrize("limit", [1, 2, 4])
@pytest.mark.parametrize("options", [{}, {"timeout": SECONDS}], ids=["inline", "worker"])
def test_execute_many_inside_tools_never_waits_for_its_own_worker(limit, options):
    executor = ToolExecutor(max_workers=limit)
    executor.register("leaf", lambda args: args["n"], **options)

    def branch(args):
        return sum(result.value for result in executor.execute_many(calls("leaf", 5)))

    def trunk(args):
        return sum(result.value for result in executor.execute_many(calls("branch", 3)))

    executor.register("branch", branch, **options)
    executor.register("trunk", trunk, **options)
    assert [result.value for result in many(executor, calls("trunk", 3))] == [30, 30, 30]
    executor.shutdown()
    assert executor._way.threads.workers.close(SECONDS)


def test_a_batch_larger_than_the_pool_is_answered_whole():
    executor = ToolExecutor(max_workers=3)
    executor.register("inline", lambda args: args["n"])
    assert [result.value for result in many(executor, calls("inline", 500))] == list(range(500))
    assert executor._way.threads.workers.count <= 3
    executor.shutdown()


def test_a_cancel_stops_what_runs_and_what_has_not_begun():
    executor = ToolExecutor()
    token = CancelToken()
    with HeldTool() as tool:
        ran = []
        executor.register("stuck", tool, timeout=60)
        executor.register("next", ran.append)
        canceller = threading.Thread(target=lambda: tool.started.wait(SECONDS) and token.cancel("enough"))
        canceller.start()
        results = many(executor, [ToolCall("1", "stuck"), *calls("next", 5)], max_concurrency=1, cancel=token)
        canceller.join()
    assert len(results) == 6
    assert all(result.value.get("cancelled") and result.error == "enough" for result in results)
    assert ran == []
    executor.shutdown()


def test_a_token_cancelled_before_runs_nothing(executor):
    ran = []
    executor.register("inline", ran.append)
    token = CancelToken()
    token.cancel()
    assert [result.value.get("cancelled") for result in executor.execute_many(calls("inline", 3), cancel=token)] == [
        True
    ] * 3
    assert ran == []


def test_a_token_keeps_nothing_of_a_batch_that_is_over(executor):
    executor.register("inline", lambda args: 1)
    token = CancelToken()
    executor.execute_many(calls("inline", 3), cancel=token)
    assert not source_of(token).functions


def test_calls_of_a_batch_go_to_the_background_past_their_threshold(executor):
    with HeldTool("whole") as tool:
        executor.register("slow", tool, auto_background=0.02)
        results = executor.execute_many(calls("slow", 3))
        assert all(result.backgrounded and result.task_id for result in results)
    assert {executor.tasks.wait(result.task_id, SECONDS).status for result in results} == {TaskStatus.COMPLETED}


def test_a_batch_inside_a_call_belongs_to_that_call(executor, recorder):
    executor.register("leaf", lambda args: current_call().emit(f"<{args['n']}>") or current_call().depth)
    executor.register("outer", lambda args: [r.value for r in executor.execute_many(calls("leaf", 4))])
    assert executor.execute("outer", {}, recorder) == (True, [1, 1, 1, 1])
    assert sorted(recorder.chunks) == ["<0>", "<1>", "<2>", "<3>"]


def test_ctrl_c_while_waiting_for_a_batch_is_the_callers_own_and_stops_all_of_it(executor):
    class Rings(HeldTool):
        def __call__(self, args):
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            return super().__call__(args)

    ran = []
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        with Rings() as tool:
            executor.register("stuck", tool, timeout=60)
            executor.register("next", ran.append)
            with pytest.raises(KeyboardInterrupt):
                executor.execute_many([ToolCall("1", "stuck"), *calls("next", 5)], max_concurrency=1)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert executor.shutdown(timeout=SECONDS)
    assert executor._way.threads.workers.close(SECONDS)
    assert executor._way.threads.workers._blocked == set()
    assert ran == []


def test_a_batch_that_waits_for_workers_at_shutdown_is_answered():
    executor = ToolExecutor(max_workers=1)
    holder = HeldTool()
    executor.register("holder", holder, auto_background=0)
    executor.register("inline", lambda args: 1)
    executor.execute("holder", {})
    submitted, submit = threading.Event(), executor._way.threads.workers.submit

    def tell(job):
        taken = submit(job)
        submitted.set()
        return taken

    executor._way.threads.workers.submit = tell
    closer = threading.Thread(
        target=lambda: submitted.wait(SECONDS) and (executor.shutdown(wait=False), holder.go_on())
    )
    closer.start()
    results = many(executor, calls("inline", 3))
    closer.join()
    assert [result.call_id for result in results] == ["0", "1", "2"]
    assert executor.shutdown(timeout=SECONDS)


def test_without_any_thread_a_batch_runs_in_the_callers():
    executor = ToolExecutor()
    executor.register("inline", lambda args: threading.current_thread().name)
    with pytest.MonkeyPatch.context() as patch:

        def no_thread(self):
            raise RuntimeError("can't start new thread")

        patch.setattr(threading.Thread, "start", no_thread)
        results = executor.execute_many(calls("inline", 3))
    assert [result.value for result in results] == [threading.current_thread().name] * 3
    executor.shutdown()


@pytest.mark.parametrize("request_", [None, {"id": "1", "name": "give"}])
def test_a_request_that_is_none_ends_the_batch_with_an_error(executor, request_):
    executor.register("give", lambda args: 1)
    raised = []

    def run():
        try:
            executor.execute_many([request_, *calls("give", 3)])
        except TypeError as error:
            raised.append(str(error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(SECONDS)
    assert not thread.is_alive(), "execute_many hangs"
    assert "ToolCall" in raised[0]
    with pytest.raises(TypeError, match="ToolCall"):
        list(executor.as_completed([request_]))
