"""Random sequences of every way of calling, over every kind of tool: each call has one answer, and nothing is left."""

from __future__ import annotations

import asyncio
import collections
import concurrent.futures
import gc
import os
import random
import threading

import pytest

from executor import Decision, Shared, TaskManager, ToolCall, ToolExecutor, Verdict, current_call
from executor.calls._above import mark_caller
from executor.errors import ExecutorUnavailableError, ToolError

SECONDS = 60.0
TOOLS = ("plain", "limit", "threshold", "eager", "async", "async_slow", "bound", "rated", "gated", "fails", "inner",
         "slow", "stream", "unknown", "stuck")  # fmt: skip


class Answers:
    """Who was told of what; each call may be told of once by each way."""

    def __init__(self):
        self._lock = threading.Lock()
        self.made = 0
        self.told = collections.Counter()
        self.expected = set()
        self.finals = collections.Counter()
        self.kinds = collections.Counter()

    def next(self):
        with self._lock:
            self.made += 1
            return f"c{self.made}"

    def expect(self, call_id):
        with self._lock:
            self.expected.add(call_id)

    def answer(self, call_id, kind):
        with self._lock:
            self.told[call_id] += 1
            self.kinds[str(kind)] += 1

    def final(self, result):
        with self._lock:
            self.finals[result.call_id] += 1


class Policy:
    """Asks about `gated`; the answers come from a thread of their own, in an order of its own."""

    def __init__(self, seed):
        self._chosen = random.Random(seed)
        self._open = []
        self._news = threading.Condition()
        self._ended = False
        self._thread = threading.Thread(target=self._answer)
        self._thread.start()

    def decide(self, call, context):
        return Decision("ask" if call.name == "gated" else "allow", "policy", "test")

    def ask(self, call, decision, context):
        return Verdict(call.arguments["n"] % 3 != 0)

    def ask_later(self, call, decision, context, answered):
        with self._news:
            self._open.append((call.arguments["n"] % 3 != 0, answered))
            self._news.notify()

    def _answer(self):
        while True:
            with self._news:
                self._news.wait_for(lambda: self._open or self._ended)
                if not self._open:
                    return
                allowed, answered = self._open.pop(self._chosen.randrange(len(self._open)))
            answered(Verdict(allowed))

    def close(self):
        with self._news:
            self._ended = True
            self._news.notify()
        self._thread.join(SECONDS)


class Trial:
    """One executor, used at random by several threads."""

    def __init__(self, seed, calls):
        self.seed, self.calls = seed, calls
        chosen = random.Random(seed)
        self.answers, self.policy = Answers(), Policy(seed)
        self.executor = ToolExecutor(
            max_workers=chosen.choice([1, 2, 8]), max_background_tasks=chosen.choice([2, 1000]),
            permission_plugin=self.policy, tasks=TaskManager.in_memory(),
        )  # fmt: skip
        self.release = threading.Event()
        self.loop = asyncio.new_event_loop()
        self.loop_thread = threading.Thread(target=self.loop.run_forever)
        self.loop_thread.start()
        self.ids = collections.deque(maxlen=40)
        self.futures = []
        self.register()

    def register(self):
        register = self.executor.register

        def wants(args):
            return [f"r{args['n'] % 5}", Shared(f"r{(args['n'] + 1) % 5}")]

        async def async_slow(args):
            await asyncio.sleep(0.001)
            return args["n"]

        async def async_quick(args):
            current_call().emit("x")
            return args["n"]

        def stream(args):
            yield from range(args["n"] % 7)

        def inner(args):
            name = ("plain", "async_slow", "bound", "limit", "gated", "threshold")[args["n"] % 6]
            call = ToolCall(f"inner_{args['n']}", name, {"n": args["n"]})
            way = args["n"] % 3
            if way == 0:
                return str(self.executor.call(call).kind)
            if way == 1:
                return str(self.executor.submit(call).result(SECONDS).kind)
            return [str(result.kind) for result in self.executor.execute_many([call, call])]

        def fails(args):
            raise (ValueError, SystemExit, KeyboardInterrupt)[args["n"] % 3]("fails")

        register("plain", lambda a: a["n"])
        register("limit", lambda a: a["n"], timeout=SECONDS)
        register("threshold", lambda a: current_call().wait(0.002 * (a["n"] % 2)), auto_background=0.001)
        register("eager", lambda a: a["n"], auto_background=0)
        register("async", async_quick)
        register("async_slow", async_slow, timeout=SECONDS)
        register("bound", lambda a: current_call().wait(0.0005), resources=wants)
        register("rated", lambda a: a["n"], rate="1000/s", max_concurrent=2, timeout=SECONDS)
        register("gated", lambda a: a["n"])
        register("fails", fails)
        register("inner", inner)
        register("slow", lambda a: current_call().wait(0.002))
        register("stream", stream, resources=lambda a: [Shared("r1")])
        register("stuck", lambda a: self.release.wait(0.02), timeout=0.002, resources=lambda a: [f"stuck{a['n']}"])

    def call(self, chosen, tools=TOOLS):
        call = ToolCall(self.answers.next(), chosen.choice(tools), {"n": chosen.randrange(1000)})
        self.ids.append(call.id)
        self.answers.expect(call.id)
        return call

    def told(self, result):
        self.answers.answer(result.call_id, result.kind)

    # The ways --------------------------------------------------------------------------------------------------------

    def way_execute(self, chosen):
        call = self.call(chosen)
        success, _ = self.executor.execute(call.name, call.arguments, None, call.id)
        self.answers.answer(call.id, success)

    def way_call(self, chosen):
        options = chosen.choice([{}, {"timeout": 0.001}, {"background": False}, {"background": True}])
        call = self.call(chosen)
        self.told(self.executor.call(call, on_done=self.answers.final, **options))

    def way_submit(self, chosen):
        options = chosen.choice([{}, {"timeout": 0.001}, {"timeout": 30}, {"background": False}, {"background": True}])
        call = self.call(chosen)
        future = self.executor.submit(call, on_done=self.answers.final, **options)
        future.add_done_callback(
            lambda f: self.answers.answer(call.id, "future_cancelled") if f.cancelled() else self.told(f.result())
        )
        self.futures.append(future)
        if chosen.random() < 0.2:
            future.cancel()

    def way_acall(self, chosen):
        call = self.call(chosen)

        async def awaited():
            try:
                self.told(await self.executor.acall(call, on_done=self.answers.final))
            except asyncio.CancelledError:
                self.answers.answer(call.id, "future_cancelled")
                raise

        future = asyncio.run_coroutine_threadsafe(awaited(), self.loop)
        self.futures.append(future)

    def way_start(self, chosen):
        call = self.call(chosen)
        try:
            self.told(self.executor.start(call, on_done=self.answers.final))
        except (ToolError, ExecutorUnavailableError):
            self.answers.answer(call.id, "refused")

    def way_many(self, chosen):
        calls = [self.call(chosen) for _ in range(chosen.randrange(6))]
        many = self.executor.execute_many if chosen.random() < 0.5 else self.executor.as_completed
        for result in many(calls, on_done=self.answers.final, max_concurrency=chosen.choice([None, 1, 2])):
            self.told(result)

    def way_chain(self, chosen):
        tools = [chosen.choice(("plain", "async", "bound", "limit", "threshold")) for _ in range(3)]
        try:
            chain = self.executor.execute_chain([{"toolId": t, "args": {"n": n}} for n, t in enumerate(tools)])
            assert len(chain.steps) == 3
        except (ToolError, ExecutorUnavailableError):
            pass

    def way_stream(self, chosen):
        call = self.call(chosen, ("stream", "plain", "async", "unknown", "gated", "fails", "slow"))
        try:
            stream = self.executor.execute_stream(call.name, call.arguments, None, call.id, adapt=True)
        except (ToolError, ExecutorUnavailableError):
            self.answers.answer(call.id, "refused")
            return
        events = []
        for event in stream:
            events.append(str(event.kind))
            if chosen.random() < 0.1:
                stream.close()
        assert [kind in ("done", "error") for kind in events].count(True) == 1, events
        assert events[-1] in ("done", "error")
        self.answers.answer(call.id, events[-1])

    def way_cancel(self, chosen):
        for call_id in chosen.sample(list(self.ids), min(3, len(self.ids))):
            self.executor.cancel(call_id)

    def go(self, number):
        chosen = random.Random(f"{self.seed} {number}")
        ways = [getattr(self, name) for name in dir(self) if name.startswith("way_")]
        while self.answers.made < self.calls:
            chosen.choice(ways)(chosen)

    def run(self, threads, *, abrupt):
        workers = [threading.Thread(target=self.go, args=(n,)) for n in range(threads)]
        for thread in workers:
            thread.start()
        if abrupt:
            while self.answers.made < self.calls // 2:
                workers[0].join(0.01)
            self.executor.shutdown(wait=False, cancel=True)
        for thread in workers:
            thread.join(SECONDS)
            assert not thread.is_alive(), "a call hangs"
        _, hanging = concurrent.futures.wait(list(self.futures), SECONDS)
        assert not hanging
        self.release.set()
        assert self.executor.shutdown(timeout=SECONDS)
        self.policy.close()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.loop_thread.join(SECONDS)
        self.loop.close()

    def check(self):
        found, expected = self.answers.told, self.answers.expected
        assert {call_id: times for call_id, times in found.items() if times != 1} == {}
        assert expected - set(found) == set()
        assert {call_id: times for call_id, times in self.answers.finals.items() if times != 1} == {}
        assert self.executor._way.calls == set()
        locks = self.executor._way.turns._locks
        if locks is not None:
            assert [line.name for line in locks._lines.values() if line.holders or line.waiting] == []
            assert locks._inner == {}


def descriptors():
    gc.collect()
    return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0


@pytest.mark.parametrize("abrupt", [False, True], ids=["ends", "shut_down"])
@pytest.mark.parametrize(("seed", "calls"), [
    (1, 600), (2, 600),
    *(pytest.param(seed, 6_000, marks=[pytest.mark.long, pytest.mark.timeout(300)]) for seed in range(10, 15)),
])  # fmt: skip
def test_every_call_is_answered_once_and_nothing_is_left(seed, calls, abrupt):
    mark_caller()  # a file in memory, which the process that makes calls holds open to its end
    before = descriptors()
    trial = Trial(seed, calls)
    trial.run(6, abrupt=abrupt)
    trial.check()
    assert len(trial.answers.kinds) > 5
    del trial
    assert descriptors() <= before
