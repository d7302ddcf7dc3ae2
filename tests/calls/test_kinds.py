"""Errors, kinds of results and states of tasks: complete tables."""

from __future__ import annotations

import inspect

import pytest

from executor import errors
from executor.calls._kinds import KINDS, STATUSES, kind_of, kind_of_task
from executor.calls._outcome import failure
from executor.values import ResultKind, TaskStatus

TREE = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, BaseException)]


@pytest.mark.parametrize("kind", [kind for kind in TREE if not kind.__name__.startswith("_")], ids=lambda k: k.__name__)
def test_every_class_of_errors_has_a_kind_of_its_own_choosing(kind):
    assert kind in KINDS, f"say in _kinds.KINDS what a call came to that ended in {kind.__name__}"
    assert kind_of(kind("x")) is KINDS[kind]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (errors.InvalidArgumentsError("x"), "invalid_arguments"),
        (errors.ToolNotFoundError("x"), "not_found"),
        (errors.PermissionDeniedError("x"), "denied"),
        (errors.ToolFailedError("x"), "failed"),
        (errors.InvalidResultError("x"), "invalid_result"),
        (errors.ToolTimeoutError("x"), "timed_out"),
        (errors.ToolCancelledError("x"), "cancelled"),
        (errors.ToolInterruptedError("x"), "interrupted"),
        (errors.BackendUnavailableError("x"), "unavailable"),
        (errors.OutcomeUnknownError("x"), "unknown_outcome"),
        (errors.ExecutorUnavailableError("x"), "unavailable"),
        (errors.CapacityError("x"), "capacity"),
        (KeyboardInterrupt(), "interrupted"),
        (SystemExit(), "failed"),
        (ValueError(), "failed"),
    ],
)
def test_what_ends_a_call_says_what_it_came_to(error, kind):
    assert kind_of(error) == kind


def test_an_error_around_another_one_is_of_its_kind():
    for wrapper in (errors.RetriesExhaustedError("x"), errors.ChainError("x")):
        wrapper.__cause__ = errors.BackendUnavailableError("down")
        assert kind_of(wrapper) is ResultKind.UNAVAILABLE
    failed = errors.ToolFailedError("x")
    failed.__cause__ = errors.ToolTimeoutError("of a call within the tool")
    assert kind_of(failed) is ResultKind.FAILED
    failed.__cause__ = KeyboardInterrupt()
    assert kind_of(failed) is ResultKind.INTERRUPTED


def test_an_error_class_of_somebody_else_is_of_the_nearest_kind():
    class Mine(errors.ToolTimeoutError):
        pass

    assert kind_of(Mine("x")) is ResultKind.TIMED_OUT


def test_every_kind_has_a_state_of_a_task():
    assert set(STATUSES) == set(ResultKind)
    assert set(STATUSES.values()) == set(TaskStatus) - {TaskStatus.PENDING, TaskStatus.INTERRUPTED}


@pytest.mark.parametrize("kind", [*TREE, KeyboardInterrupt, ValueError], ids=lambda k: k.__name__)
def test_what_a_program_reads_in_the_outcome_agrees_with_the_kind(kind):
    value = failure(kind("x"))[1]
    flags = [
        flag for flag in ("unavailable", "unknown_outcome", "timed_out", "cancelled", "interrupted") if value.get(flag)
    ]
    if flags:
        assert kind_of(kind("x")) == flags[-1]
        assert len(flags) == 1 or flags == ["unavailable", "unknown_outcome"]
    for kept in (ResultKind.TIMED_OUT, ResultKind.CANCELLED, ResultKind.INTERRUPTED):
        assert (kind_of(kind("x")) is kept) == (value.get(str(kept)) is True)


@pytest.mark.parametrize(
    ("state", "value", "kind"),
    [
        ("completed", {"error": "a key like any other"}, "ok"),
        ("timeout", {}, "timed_out"),
        ("cancelled", "text", "cancelled"),
        ("interrupted", {"interrupted": True}, "interrupted"),
        ("failed", {"error": "x"}, "failed"),
        ("failed", "x", "failed"),
        ("failed", {"error": "x", "unavailable": True}, "unavailable"),
        ("failed", {"error": "x", "unavailable": True, "unknown_outcome": True}, "unknown_outcome"),
        ("failed", {"error": "x", "interrupted": True}, "interrupted"),
        ("failed", {"error": "x", "errors": []}, "invalid_arguments"),
        ("failed", {"error": "x", "errors": [], "result": 1}, "invalid_result"),
        ("failed", {"error": "x", "_permission": {"decision": "denied"}}, "denied"),
        ("failed", {"error": "x", "_permission": {"decision": "allowed"}}, "failed"),
    ],
)
def test_of_a_task_stored_without_its_kind_it_is_told_by_state_and_value(state, value, kind):
    assert kind_of_task(TaskStatus(state), value) == kind
