"""A small value that holds the same again and again has no text: it is refused, whoever waits for it how ever long."""

from __future__ import annotations

import threading
from types import MappingProxyType

import pytest

from executor import ToolCall
from executor._json import copy_arguments
from executor._written_out import is_endless
from executor.errors import InvalidArgumentsError

SECONDS = 20


def doubled(levels, make=lambda part: [part, part]):
    value = [1]
    for _ in range(levels):
        value = make(value)
    return value


MAKES = {
    "lists": lambda part: [part, part],
    "objects": lambda part: {"a": part, "b": part},
    "tuples": lambda part: (part, part),
    "beside others": lambda part: ["text", {"a": [part], "b": (part,)}, None],
}
ROUTES = {
    "execute": lambda ex: ex.execute("laughs")[1]["error"],
    "call": lambda ex: ex.call(ToolCall("1", "laughs", {}), timeout=SECONDS).error,
    "async": lambda ex: ex.call(ToolCall("1", "async_laughs", {}), timeout=SECONDS).error,
    "background": lambda ex: ex.tasks.wait(ex.start(ToolCall("1", "laughs", {})).task_id, SECONDS).error,
    "stream": lambda ex: list(ex.execute_stream("laughs", adapt=True))[-1].error,
}


@pytest.mark.parametrize("make", MAKES)
@pytest.mark.parametrize("levels", [40, 5000])
def test_levels_upon_levels_of_the_same_are_seen(make, levels):
    assert is_endless(doubled(levels, MAKES[make]))


@pytest.mark.parametrize("route", ROUTES)
def test_a_value_without_end_is_an_error_of_its_tool(executor, route):
    async def laughs(_):
        return doubled(40)

    executor.register("laughs", lambda _: doubled(40))
    executor.register("async_laughs", laughs)
    assert "again and again" in str(ROUTES[route](executor))


@pytest.mark.parametrize("make", MAKES)
def test_arguments_without_end_are_refused_where_they_come_in(executor, make):
    executor.register("echo", lambda args: args)
    endless = doubled(40, MAKES[make])
    assert "/value: holds the same parts again and again" in executor.execute("echo", {"value": endless})[1]["error"]
    with pytest.raises(InvalidArgumentsError, match="again and again"):
        copy_arguments(MappingProxyType({"value": endless}))
    assert executor.execute("echo", {"value": doubled(3)})[1] == {"value": doubled(3)}


def test_what_is_large_shared_a_little_or_in_a_circle_is_not_endless():
    part = {"a": [1, 2, 3]}
    circle: list = [1]
    circle.append(circle)
    for value in ([part] * 1000, doubled(15), circle, [circle, circle], {"a": {}}, (), "text", [[]] * 10):
        assert not is_endless(value)


def test_what_another_thread_fills_meanwhile_is_left_to_whoever_writes_it():
    value, stop = {str(number): [[]] for number in range(1000)}, threading.Event()

    def fill():
        number = 0
        while not stop.is_set():
            number += 1
            value[f"n{number % 50}"] = [[number]]
            value.pop(f"n{(number + 25) % 50}", None)

    thread = threading.Thread(target=fill)
    thread.start()
    try:
        assert not any(is_endless(value) for _ in range(200))
    finally:
        stop.set()
        thread.join()
