"""What observers are given: copies of what is JSON, and what is not JSON as it is."""

from __future__ import annotations

import pytest

from executor import PluginRegistry, ToolExecutor, hookimpl


@pytest.fixture
def observed():
    """An executor, and the calls and results that its observer was given after each call."""
    seen = []

    class Observer:
        @hookimpl
        def executor_after_call(self, call, result):
            seen.append((call.arguments, result.value))

    registry = PluginRegistry(bundled=False, entry_points=False)
    registry.register(Observer(), "observer")
    registry.expose("observer")
    with ToolExecutor(registry=registry) as executor:
        yield executor, seen


def test_an_observer_is_given_a_result_that_is_no_json_as_it_is(observed):
    executor, seen = observed
    value = {1, 2}
    executor.register("give", lambda args: value)
    assert executor.execute("give", {"a": 1})[1] is value
    assert seen == [({"a": 1}, value)]
    assert seen[0][1] is value


def test_an_observer_is_given_a_copy_of_a_result_that_is_json(observed):
    executor, seen = observed
    value = {"list": [1]}
    executor.register("give", lambda args: value)
    executor.execute("give")
    seen[0][1]["list"].append(2)
    assert value == {"list": [1]}


def test_an_observer_is_given_the_arguments_of_a_call_that_were_refused_for_not_being_json(observed):
    executor, seen = observed
    thing = object()
    executor.register("give", lambda args: 1)
    success, refused = executor.execute("give", {"a": thing})
    assert not success
    assert len(seen) == 1
    assert seen[0][1]["error"] == refused["error"]
