"""Typed functions are bound to their arguments once, where these are looked at; what is bound is what was judged."""

from __future__ import annotations

from typing import Annotated

import pytest
from pydantic import AfterValidator

from executor import Decision, ToolCall, ToolExecutor, Verdict
from executor.errors import BackendUnavailableError
from executor.run import Runner
from executor.values import ResultKind
from executor.values._retry import ExponentialRetry

seen = []


def noted(value):
    seen.append(value)
    if value == 13:
        raise ValueError("not that one")
    return value


def double(n: Annotated[int, AfterValidator(noted)], items: list[dict] | None = None) -> int:
    """Twice as much."""
    if items:
        items.append({})
        items[0]["changed"] = True
    return 2 * n


@pytest.fixture(autouse=True)
def nothing_seen():
    seen.clear()


@pytest.fixture
def executor():
    with ToolExecutor() as executor:
        executor.register(double)
        executor.execute("double", {"n": 1})
        seen.clear()
        yield executor


def test_arguments_are_looked_at_once(executor):
    assert executor.execute("double", {"n": 2}) == (True, 4)
    assert seen == [2]


def test_what_does_not_fit_is_said_before_anything_runs(executor):
    for arguments in ({"n": 13}, {"n": "2"}, {}):
        result = executor.call(ToolCall("1", "double", arguments))
        assert result.kind is ResultKind.INVALID_ARGUMENTS
    assert "not that one" in executor.execute("double", {"n": 13})[1]["error"]
    assert executor.execute("double", {"n": 3}) == (True, 6)


def test_the_callers_objects_stay_as_they_are(executor):
    arguments = {"n": 1, "items": [{"a": 1}]}
    for _ in range(2):
        assert executor.execute("double", arguments) == (True, 2)
    assert arguments == {"n": 1, "items": [{"a": 1}]}


def test_edited_arguments_are_bound_anew(executor):
    class Edits:
        def decide(self, call, context):
            return Decision("ask" if call.arguments["n"] != 5 else "allow", "", "test")

        def ask(self, call, decision, context):
            return Verdict(True, {"n": 5})

    executor.set_permission_plugin(Edits())
    for _ in range(2):
        assert executor.execute("double", {"n": 2}) == (True, 10)


def test_each_attempt_gets_arguments_of_its_own():
    given = []

    def flaky(items: list[int]) -> int:
        items.append(0)
        given.append(list(items))
        if len(given) < 4:
            raise BackendUnavailableError("not yet")
        return len(items)

    with ToolExecutor() as executor:
        executor.register(flaky, annotations={"idempotent": True}, retry=ExponentialRetry(initial=0.001))
        assert executor.execute("flaky", {"items": [1]})[0]
        executor.execute("flaky", {"items": [1]})
    assert all(items == [1, 0] for items in given)


def test_middleware_may_change_what_runs():
    def middleware(prepared, proceed):
        prepared.arguments["n"] = 21
        return proceed()

    with Runner(middleware=[middleware]) as runner, ToolExecutor(runner=runner) as executor:
        executor.register(double)
        for _ in range(2):
            assert executor.execute("double", {"n": 1}) == (True, 42)
