"""`submit` and `acall`: calls without a thread that waits for them, and futures that are ordinary ones."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import gc
import itertools
import threading
import weakref

import pytest

from executor import (
    Decision,
    PluginRegistry,
    ResultKind,
    TaskManager,
    ToolCall,
    ToolExecutor,
    Verdict,
    current_call,
    hookimpl,
)
from executor.calls._state import current

SECONDS = 20.0  # nothing here takes long; a test that hangs fails by this
numbers = itertools.count()


def call(name, /, **arguments):
    return ToolCall(f"id_{next(numbers)}", name, arguments)


def threads():
    return sum(thread.name.startswith("executor-") for thread in threading.enumerate())


def asking_plugin():
    """A registry with one plugin, which wants a person to be asked about every call."""

    class Asks:
        @hookimpl
        def executor_check_permission(self, call, context):
            return Decision("ask", "hook", "test")

    registry = PluginRegistry(bundled=False, entry_points=False)
    registry.register(Asks(), "asks")
    registry.expose("asks")
    return registry


@pytest.fixture
def release():
    """What held tools wait for; set at the end in any case."""
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture
def held(executor, release):
    """A tool that works until it is released, and the event of its start."""
    started = threading.Event()

    def hold(args):
        started.set()
        assert release.wait(SECONDS)
        return args

    executor.register("hold", hold)
    return started


# A real future -------------------------------------------------------------------------------------------------------


def test_a_submitted_call_is_a_future_of_its_result(executor, held, release):
    made = call("hold", x=1)
    future = executor.submit(made)
    assert isinstance(future, concurrent.futures.Future)
    assert held.wait(SECONDS)
    assert not future.done()
    with pytest.raises(TimeoutError):
        future.result(0)
    release.set()
    result = future.result(SECONDS)
    assert (result.call_id, result.kind, result.value) == (made.id, "ok", {"x": 1})
    assert future.exception() is None
    assert not future.cancel()


def test_futures_work_with_wait_as_completed_and_callbacks(executor):
    executor.register("echo", lambda args: args["n"])
    futures = [executor.submit(call("echo", n=n)) for n in range(50)]
    told = []
    for future in futures:
        future.add_done_callback(told.append)
    done, pending = concurrent.futures.wait(futures, SECONDS)
    assert (len(done), len(pending)) == (50, 0)
    assert {future.result().value for future in concurrent.futures.as_completed(futures, SECONDS)} == set(range(50))
    assert sorted(map(id, told)) == sorted(map(id, futures))


def test_a_call_that_cannot_run_has_a_result_that_says_so(executor):
    executor.register("add", lambda a: a, schema={"type": "object", "required": ["x"]})
    assert executor.submit(call("add")).result(SECONDS).kind == "invalid_arguments"
    assert executor.submit(call("nothing")).result(SECONDS).kind == "not_found"
    assert executor.submit(ToolCall("1", "add", "{")).result(SECONDS).kind == "invalid_arguments"


@pytest.mark.parametrize("limits", [{}, {"timeout": 30.0}])
def test_a_call_is_cancelled_before_a_worker_has_it(limits):
    release, ran, done = threading.Event(), [], []
    with ToolExecutor(max_workers=1) as executor:
        executor.register("hold", lambda a: release.wait(SECONDS))
        executor.register("run", lambda a: ran.append(1), **limits)
        first = executor.submit(call("hold"))
        second = executor.submit(call("run"), on_done=done.append)
        assert second.cancel()
        assert second.cancelled()
        with pytest.raises(concurrent.futures.CancelledError):
            second.result(0)
        release.set()
        assert first.result(SECONDS).success
    assert ran == []
    assert [result.kind for result in done] == ["cancelled"]


@pytest.mark.parametrize("limits", [{}, {"timeout": 30.0}])
def test_a_running_call_is_told_to_stop_when_its_future_is_cancelled(executor, limits):
    started, stopped = threading.Event(), threading.Event()

    def work(args):
        started.set()
        if current_call().wait(SECONDS):
            stopped.set()

    executor.register("work", work, **limits)
    future = executor.submit(call("work"))
    assert started.wait(SECONDS)
    assert future.cancel()
    assert future.cancelled()
    assert stopped.wait(SECONDS)


@pytest.mark.parametrize("limits", [{}, {"timeout": 30.0}], ids=["plain", "limit"])
def test_a_cancel_that_races_with_the_end_leaves_exactly_one_end(executor, often_switching, limits):
    executor.register("quick", lambda a: 1, **limits)
    told, ends = [], []
    for _ in range(1000):
        done = []
        both = threading.Barrier(2)
        future = executor.submit(call("quick"), on_done=done.append)
        future.add_done_callback(told.append)

        def cancel(future=future, both=both):
            both.wait(SECONDS)
            ends.append(future.cancel())

        thread = threading.Thread(target=cancel)
        thread.start()
        both.wait(SECONDS)
        concurrent.futures.wait([future], SECONDS)
        thread.join(SECONDS)
        assert future.done()
        assert ends[-1] == future.cancelled()
        if not future.cancelled():
            assert future.result().kind == "ok"
        told_done(executor, done)
    assert len(told) == 1000


def told_done(executor, done):
    """The call's on_done has been called once, now or when its worker comes back."""
    for _ in range(10_000):
        if done:
            break
        executor.execute("quick")
    assert len(done) == 1


def test_cancels_of_one_future_from_many_threads_end_it_once(executor, often_switching):
    executor.register("quick", lambda a: 1)
    for _ in range(200):
        both, told = threading.Barrier(5), []
        future = executor.submit(call("quick"))
        future.add_done_callback(told.append)

        def cancel(future=future, both=both):
            both.wait(SECONDS)
            future.cancel()

        stoppers = [threading.Thread(target=cancel) for _ in range(4)]
        for thread in stoppers:
            thread.start()
        both.wait(SECONDS)
        for thread in stoppers:
            thread.join(SECONDS)
        concurrent.futures.wait([future], SECONDS)
        assert told == [future]


# No thread waits -----------------------------------------------------------------------------------------------------


def test_two_thousand_slow_calls_hold_no_thread_beyond_the_workers(release):
    before = threads()
    with ToolExecutor(max_workers=4) as executor:
        executor.register("hold", lambda a: release.wait(SECONDS) and a["n"])
        executor.register("timed", lambda a: release.wait(SECONDS) and a["n"], timeout=SECONDS)
        futures = [executor.submit(call("hold" if n % 2 else "timed", n=n)) for n in range(2000)]
        assert threads() - before <= 4 + 2  # the workers, the deadlines' thread, and one that is just ending
        release.set()
        assert [future.result(SECONDS).value for future in futures] == list(range(2000))


def test_waits_for_resources_hold_no_thread(release):
    before = threads()
    with ToolExecutor(max_workers=4) as executor:
        executor.register("hold", lambda a: release.wait(SECONDS), resources=lambda a: ["one"])
        executor.register("free", lambda a: 1)
        futures = [executor.submit(call("hold")) for _ in range(500)]
        assert threads() - before <= 4 + 1
        assert executor.submit(call("free")).result(SECONDS).success
        release.set()
        assert all(future.result(SECONDS).success for future in futures)


def test_many_open_streams_that_nobody_reads_keep_no_call_waiting():
    with ToolExecutor(max_workers=2) as executor:
        ready = threading.Semaphore(0)

        def pieces(args):
            ready.release()
            yield from range(1000)

        executor.register("pieces", pieces)
        executor.register("quick", lambda a: 1)
        streams = [executor.execute_stream("pieces") for _ in range(300)]
        for _ in streams:
            assert ready.acquire(timeout=SECONDS)
        assert executor.call(ToolCall("1", "quick", {}), timeout=SECONDS).value == 1
        assert executor.submit(ToolCall("1", "quick", {})).result(SECONDS).value == 1
        assert [r.value for r in executor.execute_many([ToolCall(str(n), "quick", {}) for n in range(10)])] == [1] * 10
        assert [event.data for event in streams[7]][:3] == [0, 1, 2]
        for stream in streams:
            stream.close()


def test_a_rate_that_lets_hundreds_begin_at_once_starts_no_thread_for_each():
    before = threads()
    with ToolExecutor(max_workers=4) as executor:
        most = []
        executor.register("rated", lambda a: most.append(threads()), rate="1000/s")
        futures = [executor.submit(call("rated")) for _ in range(1800)]
        assert all(future.result(SECONDS).success for future in futures)
    assert max(most) - before <= 4 + 2


class Later:
    """A permission plugin that asks without a thread: the test answers."""

    def __init__(self):
        self.asked = []
        self.contexts = []

    def decide(self, call, context):
        self.contexts.append(context)
        return Decision("ask", "policy", "test")

    def ask(self, call, decision, context):
        raise AssertionError("a submitted call is asked about without a thread")

    def ask_later(self, call, decision, context, answered):
        self.contexts.append(context)
        self.asked.append((call, answered))
        assert current_call().id == call.id


def test_a_question_parks_a_call_without_a_thread(executor):
    plugin = Later()
    executor.register("run", lambda a: threading.current_thread().name)
    executor.set_permission_plugin(plugin, {"user": "default"})
    before = threads()
    futures = [executor.submit(call("run"), context={"user": n}) for n in range(300)]
    assert threads() <= before  # one of an earlier test may end meanwhile
    assert not any(future.done() for future in futures)
    for number, (_, answered) in enumerate(plugin.asked):
        answered(Verdict(number % 2 == 0, None, {"reason": "said so", "method": "user"}))
    results = [future.result(SECONDS) for future in futures]
    assert [result.kind for result in results] == ["ok", "denied"] * 150
    assert all(result.value.startswith("executor-worker") for result in results[::2])
    assert plugin.contexts == [{"user": n} for n in range(300) for _ in range(2)]


def test_whoever_puts_a_question_sees_the_call(executor):
    seen = []

    class Looks(Later):
        def ask_later(self, call, decision, context, answered):
            seen.append((current_call().id, current_call().host))
            answered(Verdict(True))  # at once: the call goes on within this very function

    executor.register("run", lambda a: "ran")
    executor.set_permission_plugin(Looks())
    result = executor.submit(ToolCall("seen", "run")).result(SECONDS)
    assert (result.value["result"] if isinstance(result.value, dict) else result.value, seen) == (
        "ran",
        [("seen", executor)],
    )


def test_a_question_of_a_hook_parks_a_call_until_the_inbox_is_answered():
    with ToolExecutor(registry=asking_plugin()) as executor:
        executor.register("run", lambda a: 1)
        end = executor.approvals.subscribe(lambda *_: None)
        before = threads()
        futures = [executor.submit(call("run", n=n)) for n in range(3)]
        assert threads() - before <= 2  # the deadlines of the questions, and what shows them elsewhere
        for question, word in zip(executor.approvals.pending(), ("yes", "no", "yes"), strict=True):
            assert executor.approvals.decide(question.id, word)
        assert [future.result(SECONDS).kind for future in futures] == ["ok", "denied", "ok"]
        end()


@pytest.mark.parametrize("stop", ["future", "id"])
def test_a_parked_call_that_is_cancelled_is_over_at_once(executor, stop):
    plugin, ran, done = Later(), [], []
    executor.register("run", ran.append)
    executor.set_permission_plugin(plugin)
    made = call("run")
    future = executor.submit(made, on_done=done.append)
    assert future.cancel() if stop == "future" else executor.cancel(made.id)
    if stop == "id":
        assert future.result(SECONDS).kind == "cancelled"
    assert executor.shutdown(timeout=SECONDS)
    assert [result.kind for result in done] == ["cancelled"]
    plugin.asked[0][1](Verdict(True))  # too late
    assert ran == []


def test_a_parked_call_of_the_inbox_that_is_cancelled_is_cancelled_and_not_denied():
    with ToolExecutor(registry=asking_plugin()) as executor:
        executor.register("run", lambda a: 1)
        executor.approvals.subscribe(lambda *_: None)
        made = call("run")
        future = executor.submit(made)
        assert executor.cancel(made.id)
        assert future.result(SECONDS).kind == "cancelled"
        assert executor.approvals.pending() == []


def test_a_call_that_blocks_on_a_question_and_is_cancelled_is_cancelled_and_not_denied():
    with ToolExecutor(registry=asking_plugin()) as executor, concurrent.futures.ThreadPoolExecutor(1) as pool:
        executor.register("run", lambda a: 1)
        asked = threading.Event()
        executor.approvals.subscribe(lambda *_: asked.set())
        made = call("run")
        waiting = pool.submit(executor.call, made)
        assert asked.wait(SECONDS)
        assert executor.cancel(made.id)
        result = waiting.result(SECONDS)
        assert (result.kind, result.value["cancelled"]) == ("cancelled", True)


@pytest.mark.parametrize("answer", [None, 3, ValueError("broken"), Verdict(1)], ids=repr)
def test_an_answer_that_is_none_is_a_denial(executor, answer):
    plugin = Later()
    executor.register("run", lambda a: 1)
    executor.set_permission_plugin(plugin)
    future = executor.submit(call("run"))
    plugin.asked[0][1](answer)
    assert future.result(SECONDS).kind == "denied"


def test_an_answer_given_twice_counts_once(executor):
    plugin, ran = Later(), []
    executor.register("run", lambda a: ran.append(1))
    executor.set_permission_plugin(plugin)
    future = executor.submit(call("run"))
    plugin.asked[0][1](Verdict(False, None, {"reason": "no"}))
    plugin.asked[0][1](Verdict(True))
    assert future.result(SECONDS).kind == "denied"
    executor.shutdown(timeout=SECONDS)
    assert ran == []


def test_an_edited_answer_is_judged_again(executor):
    class Edits(Later):
        def decide(self, call, context):
            return Decision("allow" if call.arguments.get("safe") else "ask", "policy", "test")

    plugin = Edits()
    executor.register("run", lambda a: a)
    executor.set_permission_plugin(plugin)
    future = executor.submit(call("run", safe=False))
    plugin.asked[0][1](Verdict(True, {"safe": True}, {"reason": "edited", "method": "user"}))
    result = future.result(SECONDS)
    assert result.success
    assert result.value["safe"] is True
    assert result.permission["was_edited"] is True


def test_a_two_step_plugin_that_can_only_block_asks_on_a_worker(executor, release):
    class Blocks:
        def decide(self, call, context):
            return Decision("ask", "policy", "test")

        def ask(self, call, decision, context):
            seen.append((threading.current_thread().name, context))
            assert release.wait(SECONDS)
            return Verdict(True)

    seen = []
    executor.register("run", lambda a: 1)
    executor.set_permission_plugin(Blocks(), {"a": 1})
    future = executor.submit(call("run"))
    assert not future.done()
    release.set()
    assert future.result(SECONDS).success
    assert seen[0][0].startswith("executor-worker")
    assert seen[0][1] == {"a": 1}


def test_an_old_permission_plugin_is_asked_on_a_worker(executor, release):
    class Old:
        def check_permission(self, name, args, context, call_id):
            seen.append((threading.current_thread().name, context, call_id))
            assert release.wait(SECONDS)
            return args.get("ok", False), {"reason": "r", "method": "m"}

    seen = []
    executor.register("run", lambda a: 1)
    executor.set_permission_plugin(Old())
    futures = [executor.submit(call("run", ok=ok), context={"n": ok}) for ok in (True, False)]
    release.set()
    assert [future.result(SECONDS).kind for future in futures] == ["ok", "denied"]
    assert all(name.startswith("executor-worker") for name, _, _ in seen)
    assert sorted(context["n"] for _, context, _ in seen) == [False, True]


# Limits, thresholds, background --------------------------------------------------------------------------------------


def test_the_limit_of_a_submitted_call_does_not_count_its_question(executor):
    plugin, stopped = Later(), threading.Event()
    executor.register("work", lambda a: current_call().wait(SECONDS) and stopped.set())
    executor.set_permission_plugin(plugin)
    future = executor.submit(call("work"), timeout=0.05)
    with pytest.raises(TimeoutError):
        future.result(0.2)
    plugin.asked[0][1](Verdict(True))
    result = future.result(SECONDS)
    assert result.kind == "timed_out"
    assert result.value["timed_out"] is True
    assert stopped.wait(SECONDS)


def test_a_submitted_call_past_its_threshold_becomes_a_task(executor, held, release):
    done = []
    executor.register("slow", lambda a: release.wait(SECONDS), auto_background=0.05)
    result = executor.submit(call("slow"), on_done=done.append).result(SECONDS)
    assert (result.kind, result.backgrounded) == ("backgrounded", True)
    assert done == []
    release.set()
    executor.tasks.wait(result.task_id, SECONDS)
    executor.shutdown(timeout=SECONDS)
    assert [(each.kind, each.task_id) for each in done] == [("ok", result.task_id)]


def test_background_false_stays_and_true_goes_at_once(executor, release):
    executor.register("eager", lambda a: 1, auto_background=0)
    assert executor.submit(call("eager"), background=False).result(SECONDS).kind == "ok"
    executor.register("plain", lambda a: release.wait(SECONDS))
    result = executor.submit(call("plain"), background=True).result(SECONDS)
    assert (result.kind, result.success) == ("backgrounded", True)
    release.set()
    executor.tasks.wait(result.task_id, SECONDS)


def test_no_room_in_the_background_is_an_answer():
    release = threading.Event()
    with ToolExecutor(max_background_tasks=1) as executor:
        executor.register("plain", lambda a: release.wait(SECONDS))
        assert executor.submit(call("plain"), background=True).result(SECONDS).kind == "backgrounded"
        result = executor.submit(call("plain"), background=True).result(SECONDS)
        assert (result.kind, result.is_error) == ("capacity", True)
        release.set()


def test_output_and_progress_of_a_submitted_call_reach_its_own_callbacks(executor, recorder):
    def work(args):
        current_call().emit("hello")
        current_call().progress(1, 2, "half")

    progress = []
    executor.register("work", work)
    future = executor.submit(call("work"), on_output=recorder, on_progress=lambda *p: progress.append(p))
    assert future.result(SECONDS).success
    assert (recorder.text, progress) == ("hello", [(1, 2, "half")])


# Ends ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_async", [False, True])
def test_a_shutdown_waits_until_whoever_submitted_a_call_knows_its_end(executor, release, is_async):
    telling, told = threading.Event(), []

    def done(result):
        telling.set()
        told.append(release.wait(SECONDS))

    executor.register("tool", quickly if is_async else (lambda args: None))
    future = executor.submit(ToolCall("1", "tool"), on_done=done)
    assert telling.wait(SECONDS)
    assert executor.shutdown(timeout=0.01) is False
    release.set()
    assert executor.shutdown() is True
    assert (told, future.done()) == ([True], True)


async def quickly(args):
    return None


@pytest.mark.parametrize("is_async", [False, True])
def test_a_done_callback_may_shut_the_executor_down(executor, is_async):
    ended = []
    executor.register("tool", quickly if is_async else (lambda args: None))
    executor.submit(ToolCall("1", "tool"), on_done=lambda result: ended.append(executor.shutdown())).result(SECONDS)
    assert ended == [True]


def test_shutdown_while_parked_waits_for_the_answer_or_cancels(executor):
    plugin = Later()
    executor.register("run", lambda a: 1)
    executor.set_permission_plugin(plugin)
    first = executor.submit(call("run"))
    assert not executor.shutdown(timeout=0.05)
    assert not first.done()
    assert executor.shutdown(cancel=True, timeout=SECONDS)
    assert first.result(SECONDS).kind == "cancelled"
    assert executor.submit(call("run")).result(SECONDS).kind == "unavailable"


def test_what_was_accepted_before_a_shutdown_that_did_not_wait_is_run_once_it_is_answered(executor):
    plugin = Later()
    executor.register("run", lambda a: 1)
    executor.register("timed", lambda a: 1, timeout=30)
    executor.set_permission_plugin(plugin)
    futures = [executor.submit(call(name)) for name in ("run", "timed")]
    executor.shutdown(wait=False)
    for _, answered in plugin.asked:
        answered(Verdict(True))
    assert executor.submit(call("run")).result(SECONDS).kind == "unavailable"
    assert [future.result(SECONDS).kind for future in futures] == ["ok"] * 2
    assert executor.shutdown(timeout=SECONDS)


@pytest.mark.parametrize("limits", [{}, {"timeout": 30.0}], ids=["plain", "limit"])
def test_calls_that_wait_for_a_resource_at_shutdown_are_all_made(release, limits):
    executor = ToolExecutor()
    started = threading.Event()
    executor.register("hold", lambda a: started.set() or release.wait(SECONDS), resources=lambda a: ["one"], **limits)
    futures = [executor.submit(call("hold")) for _ in range(1500)]  # deeper than a stack
    assert started.wait(SECONDS)
    executor.shutdown(wait=False)
    release.set()
    assert {future.result(SECONDS).kind for future in futures} == {"ok"}
    assert executor.shutdown(timeout=SECONDS)


def test_a_dropped_executor_answers_what_was_submitted(release):
    executor = ToolExecutor()
    executor.register("hold", lambda a: release.wait(SECONDS))
    gone = weakref.ref(executor)
    future = executor.submit(call("hold"))
    del executor
    release.set()
    assert future.result(SECONDS).success
    for _ in range(10_000):
        gc.collect()
        if gone() is None:
            break
    assert gone() is None


@pytest.mark.parametrize("raised", [KeyboardInterrupt, SystemExit, GeneratorExit, StopIteration])
@pytest.mark.parametrize("where", ["tool", "gate", "ask_later", "observer", "on_done", "on_output", "ledger"])
def test_whatever_is_raised_wherever_ends_the_call_and_nothing_else(where, raised):
    def fail(place):
        if where == place:
            raise raised("out")

    class Watches:
        @hookimpl
        def executor_before_call(self, call):
            fail("observer")

        @hookimpl
        def executor_after_call(self, call, result):
            fail("observer")

    class Gate(Later):
        def decide(self, call, context):
            fail("gate")
            return Decision("ask" if where == "ask_later" else "allow", "policy", "test")

        def ask_later(self, *_):
            fail("ask_later")

        def ask(self, *_):
            fail("ask_later")

    class Ledger:
        def record(self, stage, payload):
            fail("ledger")

    registry = PluginRegistry(bundled=False, entry_points=False)
    registry.register(Watches(), "watches")
    registry.expose("watches")

    def work(args):
        current_call().emit("x")
        fail("tool")
        return 1

    with ToolExecutor(registry=registry, permission_plugin=Gate(), ledger=Ledger()) as executor:
        executor.register("work", work)
        future = executor.submit(call("work"), on_done=lambda _: fail("on_done"), on_output=lambda _: fail("on_output"))
        submitted = future.result(SECONDS)
        assert (
            submitted.kind
            == executor.call(
                call("work"), on_done=lambda _: fail("on_done"), on_output=lambda _: fail("on_output")
            ).kind
        )
        assert (submitted.kind == "denied") == (where in ("gate", "ask_later"))
        assert submitted.success == (where in ("observer", "on_done", "ledger")) or where == "on_output"
        assert executor.shutdown(timeout=SECONDS)


@pytest.mark.parametrize("raised", [ValueError, KeyboardInterrupt, SystemExit])
def test_a_done_callback_that_raises_takes_no_worker_with_it(raised):
    release = threading.Event()

    def fail(_):
        raise raised("out")

    with ToolExecutor(max_workers=1) as executor:
        executor.register("hold", lambda a: release.wait(SECONDS))
        future = executor.submit(call("hold"))
        future.add_done_callback(fail)
        release.set()
        assert future.result(SECONDS).success
        assert executor.submit(call("hold")).result(SECONDS).success


def test_a_limit_that_did_not_come_leaves_no_timer_behind(release):
    started = threading.Event()
    with ToolExecutor() as executor:
        executor.register(
            "hold", lambda a: started.set() or release.wait(SECONDS), timeout=3600, resources=lambda a: ["one"]
        )
        futures = [executor.submit(call("hold")) for _ in range(5)]
        assert started.wait(SECONDS)
        assert futures[-1].cancel()
        release.set()
        assert [future.result(SECONDS).kind for future in futures[:-1]] == ["ok"] * 4
    keepers = [thread for thread in threading.enumerate() if thread.name == "executor-deadlines"]
    for thread in keepers:
        thread.join(SECONDS)
    assert not any(thread.is_alive() for thread in keepers)


# Belonging -----------------------------------------------------------------------------------------------------------

variable: contextvars.ContextVar[int] = contextvars.ContextVar("variable", default=0)


@pytest.mark.parametrize("limits", [{}, {"timeout": 30.0}], ids=["plain", "limit"])
def test_the_callers_variables_travel_with_a_submitted_call(executor, limits):
    plugin = Later()
    executor.register("read", lambda a: variable.get(), **limits)

    async def read(args):
        return variable.get()

    executor.register("read_async", read)
    executor.set_permission_plugin(plugin)
    futures = []
    for n in range(20):
        token = variable.set(n)
        futures.append(executor.submit(call("read_async" if n % 2 else "read")))
        variable.reset(token)
    for _, answered in plugin.asked:
        answered(Verdict(True))
    assert [future.result(SECONDS).value for future in futures] == list(range(20))
    assert current_call() is None


def test_a_call_submitted_inside_a_tool_belongs_to_it_and_is_stopped_with_it(executor):
    inner_started, inner_over, outcomes = threading.Event(), threading.Event(), []

    def inner(args):
        inner_started.set()
        outcomes.append((current_call().depth, current_call().wait(SECONDS)))
        inner_over.set()

    def outer(args):
        future = executor.submit(call("inner"))
        assert inner_started.wait(SECONDS)
        return future.result(SECONDS).kind

    executor.register("inner", inner)
    executor.register("outer", outer)
    made = call("outer")
    future = executor.submit(made)
    assert inner_started.wait(SECONDS)
    assert executor.cancel(made.id)
    assert future.result(SECONDS).kind == "cancelled"
    assert executor.shutdown(timeout=SECONDS)
    assert inner_over.wait(SECONDS)  # it was given up: nobody waits for it
    assert outcomes == [(1, True)]


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("limits", [{}, {"timeout": 30.0}], ids=["plain", "limit"])
def test_tools_that_submit_and_wait_never_wait_for_their_own_worker(workers, limits):
    with ToolExecutor(max_workers=workers) as executor:

        def outer(args):
            if args["n"] == 0:
                return 1
            futures = [executor.submit(call("outer", n=args["n"] - 1)) for _ in range(2)]
            return sum(future.result(SECONDS).value for future in futures)

        executor.register("outer", outer, **limits)
        futures = [executor.submit(call("outer", n=4)) for _ in range(3)]
        assert [future.result(SECONDS).value for future in futures] == [16] * 3


def test_an_async_tool_may_submit_and_await(executor):
    async def outer(args):
        results = await asyncio.gather(*(executor.acall(call("inner", n=n)) for n in range(20)))
        return sum(result.value for result in results)

    async def inner(args):
        await asyncio.sleep(0)
        return args["n"]

    executor.register("outer", outer)
    executor.register("inner", inner)
    assert executor.submit(call("outer")).result(SECONDS).value == sum(range(20))
    assert executor.call(call("outer")).value == sum(range(20))


# acall ---------------------------------------------------------------------------------------------------------------


def test_five_hundred_calls_are_awaited_in_one_loop(release):
    with ToolExecutor(max_workers=4) as executor:
        ready = threading.Barrier(4 + 1)

        def hold(args):
            if args["n"] < 4:
                ready.wait(SECONDS)
            return args["n"]

        executor.register("hold", hold)

        async def main():
            tasks = [asyncio.ensure_future(executor.acall(call("hold", n=n))) for n in range(500)]
            await asyncio.sleep(0)  # all of them are submitted, the loop is free
            ready.wait(SECONDS)
            return [result.value for result in await asyncio.wait_for(asyncio.gather(*tasks), SECONDS)]

        assert asyncio.run(main()) == list(range(500))


def test_cancelling_the_awaiting_task_stops_the_call(executor):
    started, stopped = threading.Event(), threading.Event()

    def work(args):
        started.set()
        if current_call().wait(SECONDS):
            stopped.set()

    executor.register("work", work)

    async def main():
        task = asyncio.ensure_future(executor.acall(call("work")))
        await asyncio.to_thread(started.wait, SECONDS)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert stopped.wait(SECONDS)


def test_two_loops_may_await_calls_of_one_executor(executor):
    async def echo(args):
        await asyncio.sleep(0)
        return args["n"]

    executor.register("echo", echo)

    async def main(first):
        results = await asyncio.gather(*(executor.acall(call("echo", n=first + n)) for n in range(50)))
        return [result.value for result in results]

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda first: asyncio.run(main(first)), (0, 50)))
    assert found == [list(range(50)), list(range(50, 100))]


def test_an_awaited_call_times_out_as_a_result(executor):
    async def forever(args):
        await asyncio.Event().wait()

    executor.register("forever", forever)

    async def main():
        return await executor.acall(call("forever"), timeout=0.05)

    assert asyncio.run(main()).kind == "timed_out"


def test_an_async_tool_that_waits_for_another_one_in_its_thread_is_told_so(executor):
    async def inner(args):
        return 1

    async def outer(args):
        future = executor.submit(ToolCall("2", args["tool"], {}))
        return {"value": future.result(SECONDS).value}

    async def after(args):
        future = executor.submit(ToolCall("3", "inner", {}))
        await asyncio.wrap_future(future)
        return {"value": future.result().value}  # it is there

    executor.register("inner", inner)
    executor.register("sync", lambda args: 1)
    executor.register("outer", outer)
    executor.register("after", after)
    refused = executor.call(ToolCall("1", "outer", {"tool": "inner"}))
    assert refused.kind is ResultKind.FAILED
    assert "await executor.acall" in refused.error
    assert executor.call(ToolCall("1", "outer", {"tool": "sync"})).value == {"value": 1}
    assert executor.call(ToolCall("1", "after", {})).value == {"value": 1}


@pytest.mark.parametrize("make", [ToolExecutor.call, ToolExecutor.submit, ToolExecutor.start])
def test_an_interrupt_as_a_call_begins_leaves_no_call_behind(executor, make):
    class Interrupted(set):
        def add(self, each):
            super().add(each)
            raise KeyboardInterrupt  # as a Ctrl-C does: it comes when a call has been made

    executor.register("tool", lambda args: current_call().id, auto_background=10)
    calls, executor._way.calls = executor._way.calls, Interrupted()
    with pytest.raises(KeyboardInterrupt):
        make(executor, ToolCall("1", "tool"))
    assert (executor._way.calls, current.get()) == (set(), None)
    executor._way.calls = calls
    assert executor.shutdown() is True


@pytest.mark.parametrize("wait", [
    lambda tasks, task_id: tasks.wait(task_id, SECONDS).status == "completed",
    lambda tasks, task_id: tasks.next_undelivered(SECONDS).id == task_id,
], ids=["wait", "next_undelivered"])  # fmt: skip
def test_a_tool_that_waits_for_a_task_lends_it_its_worker(wait):
    def around(args):
        task_id = executor.call(call("inner"), background=True).task_id
        return wait(executor.tasks, task_id)

    with ToolExecutor(max_workers=1, tasks=TaskManager.in_memory()) as executor:
        executor.register("inner", lambda args: 7)
        executor.register("around", around)
        assert executor.submit(call("around")).result(SECONDS).value is True


def test_tools_that_heed_the_stop_of_a_shutdown_have_time_for_it(executor):
    started, cleaned = threading.Event(), []

    def heeding(args):
        started.set()
        current_call().wait(SECONDS)
        for number in range(10_000):
            cleaned.append(number)

    executor.register("heeding", heeding)
    future = executor.submit(call("heeding"))
    assert started.wait(SECONDS)
    assert executor.shutdown(cancel=True)
    assert (len(cleaned), executor.abandoned, future.result(0).kind) == (10_000, 0, ResultKind.CANCELLED)


@pytest.mark.parametrize("stop", ["by its id", "by a shutdown"])
def test_a_submitted_call_whose_tool_does_not_heed_a_stop_ends_at_once(executor, stop):
    started, release, told = threading.Event(), threading.Event(), []

    def stuck(args):
        started.set()
        release.wait(SECONDS)

    executor.register("stuck", stuck)
    request = call("stuck")
    future = executor.submit(request, on_done=told.append)
    try:
        assert started.wait(SECONDS)
        if stop == "by its id":
            assert executor.cancel(request.id)
        else:
            assert executor.shutdown(cancel=True, timeout=SECONDS / 2)
        assert future.result(SECONDS / 2).kind is ResultKind.CANCELLED
        assert [result.kind for result in told] == [ResultKind.CANCELLED]
        assert executor.abandoned == 1
    finally:
        release.set()
