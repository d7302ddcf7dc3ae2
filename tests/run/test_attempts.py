"""Trying again and going on to another backend, attempt by attempt, without a tool and without waiting."""

from __future__ import annotations

import math
import time
from types import SimpleNamespace

import pytest

from executor.calls._state import CallState
from executor.errors import (
    BackendUnavailableError,
    CapacityError,
    ExecutionError,
    PermissionDeniedError,
    RetriesExhaustedError,
    ToolCancelledError,
    ToolFailedError,
)
from executor.run import _attempts
from executor.run._attempts import attempts, unmark
from executor.values import ToolBackend
from executor.values._retry import (
    ExponentialRetry,
    Permanent,
    RetryConfig,
    configured,
    default_error_classifier,
    default_options,
    with_classifier,
    with_max_retries,
    with_on_retry,
    with_retry_policy,
)

HERE, THERE, ELSEWHERE = ToolBackend.local("x"), ToolBackend.mcp("s", "x"), ToolBackend.mcp("t", "x")


class Waits:
    """A policy with given waits."""

    def __init__(self, *waits, most=10):
        self.waits, self.max_retries = waits, most

    def new_backoff(self):
        return iter(self.waits)


def prepared(*candidates, retry=None, repeatable=True):
    candidates = candidates or (HERE,)
    return SimpleNamespace(
        call=CallState("c1", "x", {}, None),
        entry=SimpleNamespace(exposure=None, name="x", tool=SimpleNamespace(repeatable=repeatable)),
        arguments={"a": [1]},
        candidates=candidates,
        backend=candidates[0],
        retry=retry,
    )


class Attempt:
    """Comes to each of these in turn, and spoils its arguments each time."""

    def __init__(self, call, *came):
        self.call, self.came, self.seen, self.where = call, list(came), [], []

    def __call__(self):
        self.seen.append({"a": [*self.call.arguments["a"]]})
        self.where.append(self.call.backend)
        self.call.arguments["a"].append(2)
        came = self.came.pop(0)
        if isinstance(came, BaseException):
            raise came
        return came


@pytest.fixture
def waits(monkeypatch):
    """The waits between the tries, which take no time."""
    made = []
    monkeypatch.setattr(_attempts._Retries, "_sleep", lambda self, seconds: made.append(seconds))
    return made


def crossed(call):
    call.crossings = getattr(call, "crossings", 0) + 1


def failed(cause=None, **options):
    error = ToolFailedError("broken", **options)
    error.__cause__ = cause if cause is not None else ValueError("broken")
    return error


# Once ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("retry", [None, RetryConfig.of(0)])
def test_without_retries_there_is_one_attempt_with_arguments_of_its_own(retry):
    call = prepared(retry=retry)
    given, attempt = call.arguments, None
    attempt = Attempt(call, "done")
    assert attempts(call, attempt, crossed) == "done"
    assert given == {"a": [1]}
    with pytest.raises(ToolFailedError):
        attempts(call, Attempt(call, failed(), "never"), crossed)


# Again ---------------------------------------------------------------------------------------------------------------


def test_each_try_gets_the_arguments_as_they_were_and_the_waits_are_the_policys(waits):
    call = prepared(retry=RetryConfig(Waits(0.5, 0.25)))
    attempt = Attempt(call, failed(), failed(), "done")
    assert attempts(call, attempt, crossed) == "done"
    assert attempt.seen == [{"a": [1]}] * 3
    assert waits == [0.5, 0.25]


@pytest.mark.parametrize(("policy", "tries"), [(Waits(*[0.0] * 9, most=2), 3), (Waits(0.0, most=9), 2)])
def test_a_budget_that_is_used_up_says_how_often_and_how_it_ended(waits, policy, tries):
    call = prepared(retry=RetryConfig(policy))
    last = failed()
    with pytest.raises(RetriesExhaustedError) as error:
        attempts(call, Attempt(call, *[failed()] * (tries - 1), last), crossed)
    assert error.value.message == f"x failed {tries} times, at last with: broken"
    assert (error.value.attempts, error.value.tool_id, error.value.backend) == (tries, "x", HERE)
    assert error.value.__cause__ is last
    assert len(waits) == tries - 1


@pytest.mark.parametrize(
    "error",
    [
        PermissionDeniedError("no"),
        CapacityError("full"),
        ToolCancelledError("stop"),
        failed(Permanent("for good")),
        failed(PermissionDeniedError("no")),
        failed(SystemExit(1)),
        KeyboardInterrupt(),
        ValueError("no tool's"),
    ],
)
def test_what_trying_again_cannot_mend_is_tried_once(waits, error):
    call = prepared(retry=RetryConfig(Waits(0.0, 0.0)))
    with pytest.raises(type(error)) as raised:
        attempts(call, Attempt(call, error, "never"), crossed)
    assert raised.value is error
    assert waits == []


def test_a_mark_deep_below_is_found_and_a_circle_of_causes_is_none(waits):
    deep, middle = ValueError("deep"), ValueError("middle")
    deep.__cause__ = middle
    middle.__cause__ = Permanent("for good")
    call = prepared(retry=RetryConfig(Waits(0.0)))
    with pytest.raises(ToolFailedError):
        attempts(call, Attempt(call, failed(deep), "never"), crossed)
    middle.__cause__ = deep
    assert attempts(call, Attempt(call, failed(deep), "done"), crossed) == "done"


@pytest.mark.parametrize(("repeatable", "unsafe", "again"), [(True, False, True), (False, True, True), (False,) * 3])
def test_what_may_do_its_work_twice_is_tried_again_on_somebodys_word_only(waits, repeatable, unsafe, again):
    call = prepared(retry=RetryConfig(Waits(0.0), retry_unsafe=unsafe), repeatable=repeatable)
    attempt = Attempt(call, failed(), "done")
    if again:
        assert attempts(call, attempt, crossed) == "done"
    else:
        with pytest.raises(ToolFailedError):
            attempts(call, attempt, crossed)


@pytest.mark.parametrize("started", [True, False])
def test_what_never_began_may_always_be_tried_again(waits, started):
    call = prepared(retry=RetryConfig(Waits(0.0)), repeatable=False)
    attempt = Attempt(call, BackendUnavailableError("down", started=started), "done")
    if started:
        with pytest.raises(BackendUnavailableError):
            attempts(call, attempt, crossed)
    else:
        assert attempts(call, attempt, crossed) == "done"


def test_a_classifier_sees_what_the_tool_raised_and_the_hook_what_it_made_of_it(waits):
    raised, shown, seen, told = ValueError("raised"), ValueError("shown"), [], []

    def classify(error):
        seen.append(error)
        return shown

    def on_retry(*said):
        told.append(said)
        raise RuntimeError("who is told does not decide")

    options = [with_retry_policy(Waits(0.5)), with_classifier(classify), with_on_retry(on_retry)]
    call = prepared(retry=configured(*options))
    assert attempts(call, Attempt(call, failed(raised), "done"), crossed) == "done"
    assert seen == [raised]
    assert told == [(1, shown, 0.5)]
    call = prepared(retry=configured(*options, with_classifier(Permanent)))
    with pytest.raises(ToolFailedError):
        attempts(call, Attempt(call, failed(raised), "never"), crossed)


def test_an_error_that_asks_for_a_longer_wait_gets_it(waits):
    for asked, wait in ((3, 3.0), (0.1, 0.5), (-1, 0.5), (math.inf, 0.5), ("3", 0.5)):
        cause = ValueError("busy")
        cause.retry_after = asked
        call = prepared(retry=RetryConfig(Waits(0.5)))
        attempts(call, Attempt(call, failed(cause), "done"), crossed)
        assert waits.pop() == wait


@pytest.mark.parametrize(("left", "again"), [(100.0, True), (0.2, False), (None, True)])
def test_no_wait_goes_past_the_deadline(waits, left, again):
    call = prepared(retry=RetryConfig(Waits(0.5)))
    call.call.deadline = None if left is None else time.monotonic() + left
    attempt = Attempt(call, failed(), "done")
    if again:
        assert attempts(call, attempt, crossed) == "done"
    else:
        with pytest.raises(RetriesExhaustedError, match="failed 1 times"):
            attempts(call, attempt, crossed)


def test_a_stop_ends_the_wait():
    call = prepared(retry=RetryConfig(Waits(1000.0)))

    def attempt():
        call.call.source.cancel("enough")
        raise failed()

    with pytest.raises(ToolCancelledError, match="enough"):
        attempts(call, attempt, crossed)


def test_a_mark_is_taken_off_its_error():
    marked, error = ValueError("marked"), ToolFailedError("x")
    error.__cause__ = Permanent(marked)
    unmark(error)
    assert error.__cause__ is marked
    unmark(error)
    assert error.__cause__ is marked


# Elsewhere -----------------------------------------------------------------------------------------------------------


def down(**options):
    return BackendUnavailableError("down", started=False, **options)


@pytest.mark.parametrize("retry", [None, RetryConfig(Waits(0.0, most=1))])
def test_when_a_backend_is_down_the_next_one_is_asked_after_the_gate(waits, retry):
    call = prepared(HERE, THERE, ELSEWHERE, retry=retry)
    each = 1 if retry is None else 2
    attempt = Attempt(call, *[down() for _ in range(2 * each)], "done")
    assert attempts(call, attempt, crossed) == "done"
    assert attempt.where == [HERE] * each + [THERE] * each + [ELSEWHERE]
    assert attempt.seen == [{"a": [1]}] * len(attempt.where)
    assert call.crossings == 2


def test_what_the_gate_changes_is_what_the_next_backend_gets(waits):
    def edit(call):
        call.arguments = {"a": [7]}

    call = prepared(HERE, THERE, retry=RetryConfig(Waits(0.0, most=1)))
    attempt = Attempt(call, down(), down(), down(), "done")
    assert attempts(call, attempt, edit) == "done"
    assert attempt.seen == [{"a": [1]}, {"a": [1]}, {"a": [7]}, {"a": [7]}]


def test_a_backend_of_the_same_place_needs_no_second_word_of_the_gate():
    call = prepared(THERE, ToolBackend.mcp("s", "y"))
    assert attempts(call, Attempt(call, down(), "done"), crossed) == "done"
    assert not hasattr(call, "crossings")
    for one, other in (
        (HERE, THERE),
        (THERE, ELSEWHERE),
        (ToolBackend.provider("p", "x"), ToolBackend.provider("q", "x")),
    ):
        call = prepared(one, other)
        assert attempts(call, Attempt(call, down(), "done"), crossed) == "done"
        assert call.crossings == 1


def test_a_gate_that_refuses_the_next_backend_ends_it():
    def refuse(call):
        raise PermissionDeniedError("not there")

    call = prepared(HERE, THERE)
    with pytest.raises(PermissionDeniedError):
        attempts(call, Attempt(call, down(), "never"), refuse)


@pytest.mark.parametrize("error", [failed(), ExecutionError("no"), BackendUnavailableError("down", started=True)])
def test_only_what_is_down_and_may_be_repeated_leads_elsewhere(error):
    call = prepared(HERE, THERE, repeatable=False)
    with pytest.raises(type(error)):
        attempts(call, Attempt(call, error, "never"), crossed)


def test_when_all_are_down_the_last_one_says_so():
    call = prepared(HERE, THERE)
    last = down()
    with pytest.raises(BackendUnavailableError) as error:
        attempts(call, Attempt(call, down(), last), crossed)
    assert error.value is last


# Options -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fits",
    [
        {"max_retries": 0}, {"initial": 0}, {"multiplier": 1}, {"jitter": 0}, {"jitter": 1}, {"max_delay": 0},
        {"max_elapsed": 0}, {"initial": math.inf}, {"max_delay": 0.5}, {"max_elapsed": math.inf},
    ],
)  # fmt: skip
def test_a_policy_may_go_to_its_bounds(fits):
    ((name, value),) = fits.items()
    assert getattr(ExponentialRetry(**fits), name) == value


@pytest.mark.parametrize(
    "bad",
    [
        {"max_retries": -1}, {"max_retries": 1.0}, {"max_retries": True}, {"initial": -0.1}, {"multiplier": 0.9},
        {"jitter": 1.1}, {"jitter": -0.1}, {"max_delay": -1}, {"max_elapsed": -1}, {"initial": True},
        {"initial": "1"}, {"initial": math.nan},
    ],
)  # fmt: skip
def test_beyond_them_it_is_refused(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        ExponentialRetry(**bad)


def test_waits_grow_up_to_the_longest_and_end_with_the_time():
    policy = ExponentialRetry(initial=1.0, multiplier=2.0, jitter=0, max_delay=3.0)
    made = policy.new_backoff()
    assert [next(made) for _ in range(4)] == [1.0, 2.0, 3.0, 3.0]
    assert list(ExponentialRetry(initial=1.0, jitter=0, max_elapsed=0.5).new_backoff()) == []
    spread = [next(ExponentialRetry(initial=1.0, jitter=0.5).new_backoff()) for _ in range(200)]
    assert 0.5 <= min(spread) < 0.8
    assert 1.2 < max(spread) <= 1.5


def test_a_hook_of_two_arguments_of_three_or_of_unknown_ones_is_told():
    told = []
    for hook in (lambda attempt, error: told.append(2), lambda attempt, error, delay: told.append(3), None):
        made = configured(with_on_retry(hook)).on_retry
        assert (made is None) is (hook is None)
        if made is not None:
            made(1, ValueError(), 0.5)
    assert told == [2, 3]
    assert configured(with_on_retry(max)).on_retry is max, "its signature cannot be read"


def test_none_stands_for_the_default():
    config = configured(*default_options())
    assert config.retry == ExponentialRetry()
    assert config.err_policy.classify is default_error_classifier
    assert config.on_retry is None
    assert configured(with_classifier(None)).err_policy.classify is default_error_classifier
    own = configured(with_retry_policy(ExponentialRetry(initial=9.0)), with_max_retries(7)).retry
    assert own == ExponentialRetry(7, initial=9.0)
    assert configured(with_retry_policy(Waits()), with_max_retries(7)).retry == ExponentialRetry(7)


def test_what_stands_for_a_configuration():
    config, policy = RetryConfig(), Waits()
    assert RetryConfig.of(config) is config
    assert RetryConfig.of(2).retry == ExponentialRetry(2)
    assert RetryConfig.of(policy).retry is policy
    assert RetryConfig.of(with_max_retries(4)).retry.max_retries == 4
    assert RetryConfig.of([with_max_retries(4), with_max_retries(5)]).retry.max_retries == 5
    for bad in (True, "3", 1.5, [3], None):
        with pytest.raises(ValueError, match="give a RetryConfig, a RetryPolicy, a number of retries"):
            RetryConfig.of(bad)
    with pytest.raises(ValueError, match="unknown option 'tries': use one of max_retries"):
        configured(tries=3)
    assert configured(with_max_retries=6).retry.max_retries == 6
