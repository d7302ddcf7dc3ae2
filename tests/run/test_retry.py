"""Retries: what is tried again, how often, after which waits, and what never is."""

from __future__ import annotations

import copy
import pickle
import threading
import time

import pytest

from executor import CancelToken, ToolAnnotations, ToolExecutor, current_call, errors
from executor.run import (
    ExponentialRetry,
    ObservableTool,
    Permanent,
    RetryConfig,
    RetryPolicy,
    Runner,
    Tool,
    ToolBackend,
    default_error_classifier,
    default_options,
    observable,
    with_classifier,
    with_error_policy,
    with_max_retries,
    with_on_retry,
    with_retry_policy,
    with_retry_unsafe,
)
from executor.testing import Answer, StubBackend, StubIndex

SAFE = {"annotations": {"idempotent": True}}
AT_ONCE = ExponentialRetry(5, initial=0, jitter=0)


class Flaky:
    """A tool that fails so many times first."""

    def __init__(self, failures, error=None, value="ok"):
        self.failures, self.error, self.value, self.calls = failures, error or ConnectionError("transient"), value, 0

    def __call__(self, args):
        self.calls += 1
        if self.calls <= self.failures:
            raise self.error
        return self.value


def flaky(failures, *options, error=None, **keywords):
    tool = Flaky(failures, error)
    made = observable(tool, "flaky", with_retry_policy(AT_ONCE), *options, **{**SAFE, **keywords})
    return tool, made


# The examples people know --------------------------------------------------------------------------------------------


def test_a_transient_failure_is_retried_and_the_hook_told():
    attempts, calls = [], []

    def add(a: int, b: int) -> int:
        calls.append(1)
        if len(calls) < 3:
            raise RuntimeError("transient")
        return 42

    tool = observable(
        add, "flaky", max_retries=5, on_retry=lambda attempt, error: attempts.append((attempt, str(error))), **SAFE,
        retry_policy=AT_ONCE,
    )  # fmt: skip
    assert tool.execute_rx('{"a": 1, "b": 2}') == 42
    assert attempts == [(1, "transient"), (2, "transient")]


def test_a_permanent_failure_stops_at_once_and_is_matched():
    class NotFound(Exception):
        pass

    missing, calls = NotFound("not found"), []

    def find(number: int) -> str:
        calls.append(number)
        raise Permanent(missing)

    tool = observable(find, with_max_retries(5), **SAFE)
    with pytest.raises(errors.ToolFailedError, match="not found") as caught:
        tool.execute_rx({"number": 0})
    assert caught.value.caused_by(NotFound)
    assert caught.value.__cause__ is missing
    assert calls == [0]


def test_a_classifier_makes_a_failure_permanent():
    bad, seen = ValueError("bad input"), []

    def classify(error):
        seen.append(error)
        return Permanent(error) if error is bad else error

    tool, made = flaky(9, with_classifier(classify), error=bad)
    with pytest.raises(errors.ToolFailedError) as caught:
        made.execute_rx()
    assert tool.calls == 1
    assert seen == [bad]
    assert caught.value.__cause__ is bad


def test_a_wrapped_function_has_a_definition():
    def add(a: int, b: int) -> int:
        """Add two integers."""
        return a + b

    tool = observable(add, max_retries=0)
    assert (tool.definition.name, tool.definition.description) == ("add", "Add two integers.")
    assert tool.execute({"a": 1, "b": 2}) == tool.execute_rx({"a": 1, "b": 2}) == 3
    assert tool(1, 2) == 3


# How often -----------------------------------------------------------------------------------------------------------


def test_a_used_up_budget_is_an_error_of_its_own_with_the_last_failure_as_its_cause():
    tool, made = flaky(99, with_max_retries(2))
    with pytest.raises(errors.RetriesExhaustedError, match="flaky failed 3 times, at last with: transient") as caught:
        made.execute_rx()
    assert (tool.calls, caught.value.attempts, caught.value.tool_id) == (3, 3, "flaky")
    assert caught.value.caused_by(errors.ToolFailedError)
    assert caught.value.caused_by(ConnectionError)
    assert pickle.loads(pickle.dumps(caught.value)).caused_by(ConnectionError)


def test_one_attempt_is_one_attempt():
    tool, made = flaky(1)
    with pytest.raises(errors.ToolFailedError):
        made.execute()
    assert tool.calls == 1
    tool, made = flaky(1, with_max_retries(0))
    with pytest.raises(errors.ToolFailedError):
        made.execute_rx()
    assert tool.calls == 1


def test_the_hook_is_told_only_of_failures_that_another_try_follows():
    told = []
    hook = with_on_retry(lambda attempt, error, delay: told.append((attempt, type(error), delay)))
    for retries, expected in ((2, [1, 2]), (0, [])):
        told.clear()
        _, made = flaky(99, with_max_retries(retries), hook)
        with pytest.raises(errors.ToolExecutorError):
            made.execute_rx()
        assert [attempt for attempt, _, _ in told] == expected
    _, made = flaky(1, hook, with_retry_policy(ExponentialRetry(1, initial=0.001, jitter=0)))
    told.clear()
    assert made.execute_rx() == "ok"
    assert told == [(1, ConnectionError, 0.001)]


def test_a_hook_that_raises_changes_nothing(caplog):
    def hook(attempt, error, delay):
        raise RuntimeError("no log")

    assert flaky(1, on_retry=hook)[1].execute_rx() == "ok"
    assert "no log" in caplog.text


def test_the_default_waits_are_these():
    policy = ExponentialRetry()
    assert (policy.max_retries, policy.initial, policy.multiplier) == (3, 0.5, 1.5)
    assert (policy.jitter, policy.max_delay, policy.max_elapsed) == (0.5, 60, 900)
    for _ in range(20):
        waits = policy.new_backoff()
        for nominal in (0.5, 0.75, 1.125):
            assert nominal / 2 <= next(waits) <= nominal * 1.5
    assert list(ExponentialRetry(jitter=0, max_elapsed=0.4).new_backoff()) == []
    steady = ExponentialRetry(jitter=0, max_delay=1).new_backoff()
    assert [next(steady) for _ in range(4)] == [0.5, 0.75, 1, 1]


@pytest.mark.parametrize(
    "bad",
    [
        {"max_retries": -1},
        {"max_retries": 1.5},
        {"initial": -1},
        {"jitter": 2},
        {"multiplier": 0.5},
        {"max_delay": "1"},
    ],
)
def test_a_policy_that_cannot_be_meant_is_refused(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        ExponentialRetry(**bad)


class Fixed:
    """A policy of one's own: a wait a try."""

    def __init__(self, waits):
        self.max_retries, self.waits, self.made = 9, waits, 0

    def new_backoff(self):
        self.made += 1
        return iter(self.waits)


def test_a_policy_of_ones_own_gives_the_waits_and_their_end():
    policy = Fixed([0, 0])
    assert isinstance(policy, RetryPolicy)
    tool, made = flaky(99, with_retry_policy(policy))
    with pytest.raises(errors.RetriesExhaustedError) as caught:
        made.execute_rx()
    assert (tool.calls, caught.value.attempts, policy.made) == (3, 3, 1)


def test_concurrent_calls_share_no_state():
    policy = Fixed([0, 0, 0])
    tools = [Flaky(2), Flaky(1)]
    made = [observable(tool, f"t{n}", with_retry_policy(policy), **SAFE) for n, tool in enumerate(tools)]
    threads = [threading.Thread(target=tool.execute_rx) for tool in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert [tool.calls for tool in tools] == [3, 2]
    assert policy.made == 2


# Options -------------------------------------------------------------------------------------------------------------


def test_options_are_applied_from_left_to_right():
    tool, made = flaky(99, *default_options(), with_retry_policy(AT_ONCE), with_max_retries(4), with_max_retries(1))
    with pytest.raises(errors.RetriesExhaustedError):
        made.execute_rx()
    assert tool.calls == 2


def test_an_option_may_be_a_function_of_ones_own():
    def replacing(config):
        return RetryConfig(retry=Fixed([0]), err_policy=config.err_policy)

    def changing(config):
        config.retry = Fixed([0])

    for option in (replacing, changing):
        tool, made = flaky(99, option)
        with pytest.raises(errors.RetriesExhaustedError):
            made.execute_rx()
        assert tool.calls == 2


def test_none_is_the_default():
    options = (with_retry_policy(None), with_error_policy(None), with_classifier(None), with_on_retry(None))
    assert observable(lambda args: 1, "x", *options, **SAFE).execute_rx() == 1
    assert default_error_classifier(problem := ValueError()) is problem


def test_an_error_policy_replaces_the_classification():
    class Never:
        def classify(self, error):
            return Permanent(error)

    tool, made = flaky(9, with_error_policy(Never()))
    with pytest.raises(errors.ToolFailedError):
        made.execute_rx()
    assert tool.calls == 1


def test_an_option_that_does_not_exist_is_named():
    with pytest.raises((ValueError, TypeError), match="max_tries"):
        observable(lambda args: 1, "x", max_tries=3, **SAFE)
    with pytest.raises(ValueError, match="retry is 'often'"):
        RetryConfig.of("often")


def test_what_might_do_its_work_twice_needs_a_word():
    with pytest.raises(ValueError, match="retry_unsafe=True"):
        observable(lambda args: 1, "x")
    with pytest.raises(ValueError, match="retry_unsafe=True"):
        Runner and ToolExecutor().register("x", lambda args: 1, retry=3)
    for words in ({"retry_unsafe": True}, {"annotations": {"read_only": True}}, SAFE, {"max_retries": 0}):
        assert observable(lambda args: 1, "x", **words).execute_rx() == 1
    assert observable(lambda args: 1, "x", with_retry_unsafe(True)).execute_rx() == 1


def test_a_tool_can_be_given_retries():
    tool = Tool("x", fn=Flaky(1), annotations=ToolAnnotations(idempotent=True), description="d")
    made = observable(tool, with_retry_policy(AT_ONCE))
    assert isinstance(made, ObservableTool)
    assert (made.id, made.description) == ("x", "d")
    assert made.execute_rx() == "ok"


# What is never tried again -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("args", ["not-valid-json", "[]", '{"n": 1, "zz": 1}', '{"n": "x"}', {}, "null"])
def test_arguments_that_do_not_fit_never_reach_the_function(args):
    calls = []

    def count(n: int) -> int:
        calls.append(n)
        return n

    tool = observable(count, max_retries=5, **SAFE)
    with pytest.raises(errors.InvalidArgumentsError) as caught:
        tool.execute_rx(args)
    assert caught.value.tool_id == "count"
    assert calls == []


@pytest.mark.parametrize(
    "error",
    [
        errors.ToolTimeoutError("the deadline passed"),
        errors.ToolCancelledError("stopped"),
        errors.PermissionDeniedError("no"),
        errors.InvalidArgumentsError("wrong"),
        SystemExit(1),
    ],
)
def test_orders_and_decisions_are_never_retried(error):
    tool, made = flaky(9, error=copy.copy(error))
    with pytest.raises(errors.ToolError) as caught:
        made.execute_rx()
    assert tool.calls == 1
    assert caught.value.caused_by(type(error))


def test_a_mark_below_the_surface_is_found_and_nothing_of_the_chain_is_lost():
    inner = KeyError("inner")

    def work(args):
        raise RuntimeError("outer") from Permanent(inner)

    with pytest.raises(errors.ToolFailedError, match="outer") as caught:
        observable(work, "x", max_retries=5, **SAFE).execute_rx()
    assert caught.value.caused_by(RuntimeError)
    assert caught.value.caused_by(KeyError)


def test_each_try_gets_arguments_of_its_own():
    seen = []

    def work(args):
        seen.append(list(args["list"]))
        args["list"].append("spoilt")
        if len(seen) < 3:
            raise ConnectionError

    given = {"list": [1]}
    observable(work, "x", with_retry_policy(AT_ONCE), **SAFE).execute_rx(given)
    assert seen == [[1], [1], [1]]
    assert given == {"list": [1]}


# Time ----------------------------------------------------------------------------------------------------------------


def test_cancelling_wakes_the_wait():
    token = CancelToken()
    tool, made = flaky(
        99, with_retry_policy(ExponentialRetry(9, initial=30)), on_retry=lambda attempt, error: token.cancel("enough")
    )
    with pytest.raises(errors.ToolCancelledError, match="enough"):
        made.execute_rx(cancel=token)
    assert tool.calls == 1


def test_a_token_cancelled_before_runs_nothing():
    tool, made = flaky(9)
    token = CancelToken()
    token.cancel()
    with pytest.raises(errors.ToolCancelledError):
        made.execute_rx(cancel=token)
    assert tool.calls == 0


def test_a_handler_that_is_cancelled_is_not_retried():
    token = CancelToken()

    def work(args):
        token.cancel()
        current_call().wait(30)
        raise ConnectionError("interrupted")

    calls = []
    tool = observable(lambda args: calls.append(1) or work(args), "x", max_retries=9, **SAFE)
    with pytest.raises(errors.ToolCancelledError):
        tool.execute_rx(cancel=token)
    assert calls == [1]


def test_no_wait_goes_past_the_deadline():
    tool, made = flaky(99, with_retry_policy(ExponentialRetry(9, initial=50, jitter=0)))
    began = time.monotonic()
    with pytest.raises(errors.RetriesExhaustedError) as caught:
        made.execute_rx(timeout=40)
    assert time.monotonic() - began < 10
    assert caught.value.attempts == tool.calls == 1


def test_a_backend_that_asks_to_be_left_alone_is():
    told = []
    error = errors.BackendUnavailableError("busy", retry_after=0.003)
    _, made = flaky(1, with_on_retry(lambda attempt, error, delay: told.append(delay)), error=error)
    assert made.execute_rx() == "ok"
    assert told == [0.003]


# In the pipeline -----------------------------------------------------------------------------------------------------


def test_a_registered_tool_is_retried_behind_one_gate():
    asked = []

    class Keeper:
        def check_permission(self, name, args, context, call_id):
            asked.append(name)
            return True, {"reason": "ok", "method": "default"}

    with ToolExecutor(permission_plugin=Keeper()) as executor:
        executor.register("a", first := Flaky(2), retry=AT_ONCE, **SAFE)
        executor.register("b", second := Flaky(2), retry=[with_retry_policy(AT_ONCE)], retry_unsafe=True)
        executor.register(flaky(1)[1])
        assert executor.execute("a") == (True, "ok")
        assert executor.execute("b") == (True, "ok")
        assert executor.execute("flaky") == (True, "ok")
    assert asked == ["a", "b", "flaky"]
    assert (first.calls, second.calls) == (3, 3)


def remote_of(*answers, tool=None, retry=AT_ONCE):
    backend = StubBackend(*answers)
    index = StubIndex([tool or Tool("x")], {"x": [ToolBackend.mcp("s")]})
    return backend, Runner(index, mcp=backend, retry=retry)


def test_the_retries_of_a_runner_are_for_what_is_safe_or_never_began():
    began = errors.BackendUnavailableError("broke off")
    never = errors.BackendUnavailableError("no connection", started=False)
    backend, runner = remote_of(began, Answer.text("x"))
    with pytest.raises(errors.BackendUnavailableError):
        runner.run("x")
    assert len(backend.calls) == 1
    backend, runner = remote_of(never, never, Answer.text("x"))
    assert runner.run("x").structured == "x"
    assert len(backend.calls) == 3
    backend, runner = remote_of(
        began, ValueError("?"), Answer.text("x"), tool=Tool("x", annotations=ToolAnnotations(read_only=True))
    )
    assert runner.run("x").structured == "x"


def test_without_retries_there_is_one_attempt():
    backend, runner = remote_of(ConnectionError("down"), retry=None)
    with pytest.raises(errors.BackendUnavailableError):
        runner.run("x")
    assert len(backend.calls) == 1


def test_an_answer_that_says_error_is_an_answer():
    backend, runner = remote_of(
        Answer.text("no", is_error=True), tool=Tool("x", annotations=ToolAnnotations(idempotent=True))
    )
    assert runner.run("x").is_error
    assert len(backend.calls) == 1


# Observables ---------------------------------------------------------------------------------------------------------


def test_an_observable_is_cold_and_each_subscription_is_a_run_of_its_own():
    pytest.importorskip("reactivex")
    tool, made = flaky(1)
    cold = made.as_observable()
    assert tool.calls == 0
    assert cold.run() == "ok"
    assert tool.calls == 2
    assert cold.run() == "ok"
    assert tool.calls == 3


def test_an_observable_emits_one_item_or_one_error():
    pytest.importorskip("reactivex")
    got, done = [], threading.Event()
    flaky(9, with_max_retries(1))[1].as_observable().subscribe(
        got.append, lambda error: got.append(type(error)) or done.set()
    )
    assert done.wait(10)
    assert got == [errors.RetriesExhaustedError]
    done.clear()
    nothing = observable(lambda args: None, "x", **SAFE).as_observable()
    nothing.subscribe(got.append, on_completed=done.set)
    assert done.wait(10)
    assert got == [errors.RetriesExhaustedError, None]


def test_disposing_of_a_subscription_stops_the_run():
    pytest.importorskip("reactivex")
    started, stopped = threading.Event(), threading.Event()

    def work(args):
        started.set()
        if current_call().wait(30):
            stopped.set()

    subscription = observable(work, "x", **SAFE).as_observable().subscribe()
    assert started.wait(10)
    subscription.dispose()
    assert stopped.wait(10)
