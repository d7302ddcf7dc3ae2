"""Calls that keep one another from running: resources, places and rates, on every route to a tool."""

from __future__ import annotations

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from executor import PluginRegistry, Shared, ToolCall, ToolExecutor, current_call

SECONDS = 20.0


class Held:
    """A tool that works until it is released, and says who is at work."""

    def __init__(self):
        self.order = []
        self.at_work = 0
        self.most = 0
        self._news = threading.Condition()
        self._free = 0

    def __call__(self, args):
        with self._news:
            self.order.append(args.get("n"))
            self.at_work += 1
            self.most = max(self.most, self.at_work)
            self._news.notify_all()
            assert self._news.wait_for(lambda: self._free > 0, SECONDS)
            self._free -= 1
            self.at_work -= 1
            self._news.notify_all()
        return args.get("n")

    def wait_for(self, number):
        """Until so many have begun."""
        with self._news:
            assert self._news.wait_for(lambda: len(self.order) >= number, SECONDS)

    def free(self, number):
        with self._news:
            self._free += number
            self._news.notify_all()


@pytest.fixture
def held():
    tool = Held()
    yield tool
    tool.free(10_000)


def state_of(executor, call_id):
    """The engine's state of a running call; what a person is shown of it is `waiting_for`."""
    return next(state for state in list(executor._way.calls) if state.id == call_id)


def submitted(executor, number, tool="hold", **options):
    return [executor.submit(ToolCall(f"c{n}", tool, {"n": n}), **options) for n in range(number)]


@pytest.mark.parametrize("limits", [{}, {"timeout": 30}, {"auto_background": 30}], ids=["plain", "limit", "threshold"])
def test_calls_with_a_common_resource_run_one_after_another_in_their_order(executor, held, limits):
    executor.register("hold", held, resources=lambda a: ["one"], **limits)
    futures = submitted(executor, 8)
    for number in range(8):
        held.wait_for(number + 1)
        assert held.at_work == 1
        held.free(1)
    assert [future.result(SECONDS).value for future in futures] == list(range(8))
    assert held.order == list(range(8))
    assert held.most == 1


def test_calls_without_a_common_resource_run_side_by_side(executor, held):
    executor.register("hold", held, resources=lambda a: [f"r{a['n']}", Shared("all")])
    futures = submitted(executor, 8)
    held.wait_for(8)
    held.free(8)
    assert [future.result(SECONDS).value for future in futures] == list(range(8))
    assert held.most == 8


def test_readers_share_and_a_writer_waits_for_them_and_is_not_overtaken(executor, held):
    executor.register("hold", held, resources=lambda a: ["file"] if a["n"] == 3 else [Shared("file")])
    futures = submitted(executor, 6)
    held.wait_for(3)
    assert sorted(held.order) == [0, 1, 2]
    assert "file" in state_of(executor, "c3").waiting_for
    held.free(3)
    held.wait_for(4)
    assert held.order[3] == 3
    held.free(1)
    held.wait_for(6)
    held.free(2)
    assert all(future.result(SECONDS).success for future in futures)


def test_max_concurrent_counts_the_calls_of_one_tool(executor, held):
    executor.register("hold", held, max_concurrent=3)
    futures = submitted(executor, 10)
    for number in range(10):
        held.wait_for(min(10, number + 3))
        held.free(1)
    assert all(future.result(SECONDS).success for future in futures)
    assert held.most == 3


@pytest.mark.parametrize("limits", [{}, {"timeout": 30}], ids=["plain", "limit"])
def test_a_waiting_call_that_is_cancelled_leaves_at_once(executor, held, limits):
    executor.register("hold", held, resources=lambda a: ["one"], **limits)
    futures = submitted(executor, 4)
    held.wait_for(1)
    assert executor.cancel("c1")
    assert futures[1].result(SECONDS).kind == "cancelled"
    assert futures[2].cancel()
    assert held.order == [0]
    held.free(2)
    assert [futures[0].result(SECONDS).kind, futures[3].result(SECONDS).kind] == ["ok", "ok"]
    assert held.order == [0, 3]


def test_a_waiting_call_that_blocks_its_caller_is_cancelled_at_once(executor, held):
    executor.register("hold", held, resources=lambda a: ["one"])
    first = submitted(executor, 1)
    held.wait_for(1)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(executor.call, ToolCall("blocked", "hold", {"n": 9}))
        while not executor.cancel("blocked"):
            pass
        assert waiting.result(SECONDS).kind == "cancelled"
    held.free(1)
    assert first[0].result(SECONDS).success
    assert held.order == [0]


def test_the_limit_of_a_call_counts_from_its_turn(executor, held):
    executor.register("hold", held, resources=lambda a: ["one"])
    executor.register("quick", lambda a: 1, resources=lambda a: ["one"])
    first = submitted(executor, 1)
    held.wait_for(1)
    second = executor.submit(ToolCall("late", "quick", {}), timeout=0.05)
    with pytest.raises(TimeoutError):
        second.result(0.2)
    held.free(1)
    assert second.result(SECONDS).kind == "ok"
    assert first[0].result(SECONDS).success


def test_a_waiting_call_is_handed_over_as_pending_past_its_threshold(executor, held):
    executor.register("hold", held, resources=lambda a: ["one"])
    executor.register(
        "later", lambda a: current_call().wait(SECONDS), resources=lambda a: ["one"], auto_background=0.05, timeout=0.4
    )
    first = submitted(executor, 1)
    held.wait_for(1)
    result = executor.call(ToolCall("late", "later", {}))
    assert result.kind == "backgrounded"
    assert executor.tasks.get(result.task_id).status == "pending"
    assert "one" in state_of(executor, "late").waiting_for
    held.free(1)
    assert executor.tasks.wait(result.task_id, SECONDS).status == "timeout"  # its limit began when it did
    assert first[0].result(SECONDS).success


def test_a_pending_task_that_is_cancelled_never_runs_and_keeps_nobody(executor, held):
    executor.register("hold", held, resources=lambda a: ["one"])
    first = submitted(executor, 1)
    held.wait_for(1)
    task = executor.start(ToolCall("task", "hold", {"n": 7}))
    last = executor.submit(ToolCall("last", "hold", {"n": 8}))
    assert executor.tasks.cancel(task.task_id)
    assert executor.tasks.wait(task.task_id, SECONDS).status == "cancelled"
    held.free(2)
    assert [f.result(SECONDS).kind for f in (*first, last)] == ["ok", "ok"]
    assert held.order == [0, 8]


@pytest.mark.parametrize("made", ["call", "submit"])
def test_an_inner_call_uses_what_its_callers_hold(executor, made):
    def outer(args):
        inner = ToolCall("inner", "outer" if args["n"] else "leaf", {"n": args["n"] - 1})
        result = executor.call(inner) if made == "call" else executor.submit(inner).result(SECONDS)
        return result.value

    executor.register("outer", outer, resources=lambda a: ["one"], max_concurrent=1)
    executor.register("leaf", lambda a: "leaf", resources=lambda a: ["one"])
    assert executor.call(ToolCall("a", "outer", {"n": 3})).value == "leaf"
    assert executor.submit(ToolCall("b", "outer", {"n": 3})).result(SECONDS).value == "leaf"


def test_a_tool_that_waits_for_its_inner_calls_turn_leaves_its_worker_to_others(held):
    with ToolExecutor(max_workers=1) as executor:
        executor.register("hold", held, resources=lambda a: ["one"], timeout=SECONDS)
        executor.register("leaf", lambda a: "leaf", resources=lambda a: ["one"])
        started, ready = threading.Event(), threading.Event()

        def outer(args):
            started.set()
            assert ready.wait(SECONDS)
            return executor.call(ToolCall("inner", "leaf", {})).value

        executor.register("outer", outer, timeout=SECONDS)
        outermost = executor.submit(ToolCall("outer", "outer", {}))
        assert started.wait(SECONDS)
        first = submitted(executor, 1)  # has the resource, but no worker to run on before the outer call lends its own
        ready.set()
        held.free(1)
        assert first[0].result(SECONDS).kind == "ok"
        assert outermost.result(SECONDS).value == "leaf"


def test_a_circle_of_waits_is_an_error_that_names_both(executor):
    both = threading.Barrier(2)

    def outer(args):
        both.wait(SECONDS)
        return executor.call(ToolCall(f"inner_{args['has']}", "inner", {"wants": args["wants"]}))

    executor.register("outer", outer, resources=lambda a: [a["has"]])
    executor.register("inner", lambda a: "done", resources=lambda a: [a["wants"]])
    futures = [
        executor.submit(ToolCall(f"outer_{has}", "outer", {"has": has, "wants": wants})) for has, wants in ("ab", "ba")
    ]
    inner = [future.result(SECONDS).value for future in futures]
    assert sorted(result.kind for result in inner) == ["failed", "ok"]
    error = next(result.error for result in inner if result.is_error)
    assert "outer_a" in error
    assert "outer_b" in error


@pytest.mark.parametrize("route", ["call", "submit", "handed"])
def test_a_tool_that_is_given_up_keeps_its_resource_until_its_thread_is_back(executor, route):
    release, ran = threading.Event(), []
    executor.register("stuck", lambda a: release.wait(SECONDS), resources=lambda a: ["one"])
    executor.register("next", ran.append, resources=lambda a: ["one"])
    asked = ToolCall("stuck", "stuck", {})
    if route == "call":
        assert executor.call(asked, timeout=0.05).kind == "timed_out"
    elif route == "submit":
        assert executor.submit(asked, timeout=0.05).result(SECONDS).kind == "timed_out"
    else:
        task = executor.start(asked, timeout=0.05)
        assert executor.tasks.wait(task.task_id, SECONDS).status == "timeout"
    following = executor.submit(ToolCall("next", "next", {}))
    with pytest.raises(TimeoutError):
        following.result(0.1)
    assert ran == []
    release.set()
    assert following.result(SECONDS).success
    assert len(ran) == 1


def test_a_stream_that_is_given_up_keeps_its_resource_until_its_thread_is_back(executor):
    entered, release, ran = threading.Event(), threading.Event(), []

    def stuck(args):
        yield 1
        entered.set()
        release.wait(SECONDS)

    executor.register("stuck", stuck, resources=lambda a: ["one"])
    executor.register("next", ran.append, resources=lambda a: ["one"])
    stream = executor.execute_stream("stuck")
    assert next(stream).data == 1
    assert entered.wait(SECONDS)
    stream.close()
    following = executor.submit(ToolCall("next", "next", {}))
    with pytest.raises(TimeoutError):
        following.result(0.1)
    assert ran == []
    release.set()
    assert following.result(SECONDS).success


def test_streams_and_chain_steps_take_their_turn(executor, held):
    executor.register("hold", held, resources=lambda a: ["one"])
    executor.register("one", lambda a: [1], resources=lambda a: ["one"])

    def pieces(args):
        yield from (1, 2, 3)

    executor.register("pieces", pieces, resources=lambda a: ["one"])
    first = submitted(executor, 1)
    held.wait_for(1)
    with ThreadPoolExecutor(2) as pool:
        stream = pool.submit(lambda: [event.data for event in executor.execute_stream("pieces")])
        chain = pool.submit(lambda: executor.execute_chain([{"toolId": "one"}, {"toolId": "one"}]))
        with pytest.raises(TimeoutError):
            stream.result(0.1)
        assert not chain.done()
        held.free(1)
        assert stream.result(SECONDS)[:3] == [1, 2, 3]
        assert chain.result(SECONDS).final.structured == [1]
    assert first[0].result(SECONDS).success


def test_async_tools_take_their_turn(executor):
    import asyncio

    at_work, most = [], []

    async def work(args):
        at_work.append(1)
        most.append(len(at_work))
        await asyncio.sleep(0)
        at_work.pop()
        return args["n"]

    executor.register("hold", work, resources=lambda a: ["one"])
    assert [future.result(SECONDS).value for future in submitted(executor, 100)] == list(range(100))
    assert max(most) == 1


def test_a_rate_lets_so_many_begin(executor):
    executor.register("hold", lambda a: time.monotonic(), rate="5/s")
    began = [future.result(SECONDS).value for future in submitted(executor, 12)]
    for first, sixth in zip(began, began[5:], strict=False):
        assert sixth - first >= 0.95


@pytest.mark.parametrize("bad", [lambda a: "one", lambda a: [1], lambda a: 1 / 0, lambda a: None])
def test_resources_that_are_none_fail_the_call_and_nothing_else(executor, bad):
    ran = []
    executor.register("bad", ran.append, resources=bad)
    executor.register("good", ran.append)
    assert executor.call(ToolCall("1", "bad", {})).kind == "failed"
    assert executor.submit(ToolCall("1", "bad", {})).result(SECONDS).kind == "failed"
    with pytest.raises(Exception, match=r"resource|division"):
        executor.execute_stream("bad", adapt=True)
    assert ran == []
    assert executor.call(ToolCall("1", "good", {})).success


# The files plugin ----------------------------------------------------------------------------------------------------


@pytest.fixture
def files():
    registry = PluginRegistry(entry_points=False)
    registry.expose("files")
    with ToolExecutor(registry=registry) as executor:
        yield executor


def test_the_files_plugin_declares_its_paths(files, tmp_path):
    (tmp_path / "a").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    resources = {
        name: files.get_tool(name).tool.resources for name in ("readFile", "writeFile", "editFile", "deleteFile")
    }
    path, link = str(tmp_path / "a"), str(tmp_path / "link")
    assert list(resources["readFile"]({"path": path})) == list(resources["readFile"]({"path": link}))
    assert list(resources["readFile"]({"path": path})) == [Shared(f"file:{path}")]
    for name in ("writeFile", "editFile"):
        assert list(resources[name]({"path": link})) == [f"file:{path}"]
    assert f"file:{link}" in list(resources["deleteFile"]({"path": link}))


def test_edits_of_one_file_by_many_threads_are_all_there(files, tmp_path):
    path = str(tmp_path / "a")
    files.execute("writeFile", {"path": path, "content": "here\n"})
    calls = [
        ToolCall(str(n), "editFile", {"path": path, "old_text": "here\n", "new_text": f"{n}\nhere\n"})
        for n in range(40)
    ]
    futures = [files.submit(call) for call in calls]
    assert [future.result(SECONDS).error for future in futures] == [None] * 40
    text = files.execute("readFile", {"path": path})[1]["content"]
    assert text.split() == [*map(str, range(40)), "here"]


def test_a_path_that_cannot_be_meant_is_the_tools_error(files):
    result = files.call(ToolCall("1", "readFile", {"path": "bad\0path"}))
    assert result.kind == "failed"
    assert "path" in result.error


# Many ----------------------------------------------------------------------------------------------------------------


def storm(executor, calls, threads, seed):
    """*calls* calls from *threads* threads with resources, places and rates; what overlapped is counted."""
    chosen, names = random.Random(seed), [f"r{n}" for n in range(12)]
    holders = {name: [0, 0] for name in names}  # readers, writers
    lock, faults = threading.Lock(), []

    def wants(args):
        return [Shared(name) if shared else name for name, shared in args["wants"]]

    def work(args):
        for step in (1, -1):
            with lock:
                for name, shared in args["wants"]:
                    holders[name][not shared] += step
                    readers, writers = holders[name]
                    if writers > 1 or (writers and readers) or readers < 0 or writers < 0:
                        faults.append((name, readers, writers))
        return args["n"]

    executor.register("plain", work, resources=wants)
    executor.register("few", work, resources=wants, max_concurrent=2, timeout=60)
    executor.register("rated", work, resources=wants, rate="5000/s")

    async def awork(args):
        return work(args)

    executor.register("async", awork, resources=wants)
    requests = []
    for n in range(calls):
        wanted = [[name, chosen.random() < 0.5] for name in chosen.sample(names, chosen.randint(0, 3))]
        tool = chosen.choice(["plain", "few", "rated", "async"])
        requests.append(ToolCall(str(n), tool, {"n": n, "wants": wanted}))
    each = [requests[n::threads] for n in range(threads)]

    def go(mine):
        chosen = random.Random(len(mine) + seed)
        answered = []
        for request in mine:
            if chosen.random() < 0.5:
                answered.append(executor.call(request))
            else:
                answered.append(executor.submit(request).result(60))
        return answered

    with ThreadPoolExecutor(threads) as pool:
        results = [result for found in pool.map(go, each) for result in found]
    assert faults == []
    assert sorted(int(result.call_id) for result in results) == list(range(calls))
    assert {str(result.kind) for result in results} == {"ok"}
    assert all(result.value == int(result.call_id) for result in results)


@pytest.mark.parametrize("calls", [1500, pytest.param(10_000, marks=[pytest.mark.long, pytest.mark.timeout(300)])])
def test_calls_from_64_threads_never_overlap_and_are_all_answered(calls):
    with ToolExecutor(max_workers=32) as executor:
        storm(executor, calls, 64, seed=7)
        assert executor.shutdown(timeout=SECONDS)
