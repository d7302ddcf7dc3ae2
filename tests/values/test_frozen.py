"""Frozen values whose constructors are our own: they are what dataclasses makes of them."""

from __future__ import annotations

import copy
import inspect
import pickle
from dataclasses import FrozenInstanceError, dataclass, field, fields, replace

import pytest

from executor import Decision, TaskInfo, TaskStatus, ToolCall, ToolResult, Verdict
from executor.values._frozen import quickly_made

MADE = [
    ToolCall("1", "echo", {"a": 1}),
    ToolResult("1", True, value=2, content="2"),
    Decision("deny", "no", "rule"),
    Verdict(True, {"a": 1}),
    TaskInfo("t", TaskStatus.RUNNING, "echo", "local", "1", 1.5, owner="7"),
]


@pytest.mark.parametrize("value", MADE, ids=lambda value: type(value).__name__)
def test_a_value_is_a_dataclass_like_any_other(value):
    kind = type(value)
    plain = dataclass(frozen=True, slots=True)(type(kind.__name__, (), {"__annotations__": kind.__annotations__}))
    names = [each.name for each in fields(kind)]
    assert list(inspect.signature(kind).parameters) == [each.name for each in fields(plain)] == names
    given = {name: getattr(value, name) for name in names}
    assert kind(**given) == value == copy.copy(value) == pickle.loads(pickle.dumps(value)) == replace(value)
    with pytest.raises(FrozenInstanceError):
        setattr(value, names[0], None)
    with pytest.raises(TypeError, match=r"__init__\(\) missing"):
        kind()
    with pytest.raises(TypeError, match="unexpected keyword argument 'odd'"):
        kind(**given, odd=1)


def test_each_value_has_its_own_of_what_a_factory_makes():
    @quickly_made
    @dataclass(frozen=True, slots=True)
    class Value:
        one: list[int] = field(default_factory=list)
        two: int = field(init=False)

        def __post_init__(self):
            object.__setattr__(self, "two", len(self.one))

    first, second = Value(), Value()
    first.one.append(1)
    assert (first.one, second.one, Value([1, 2]).two) == ([1], [], 2)
    with pytest.raises(TypeError, match="two"):
        Value(two=1)


def test_what_nobody_gives_begins_as_its_default():
    @quickly_made
    @dataclass(frozen=True, slots=True)
    class Value:
        one: int
        two: int | None = field(default=None, init=False)

    assert Value(1).two is None
    with pytest.raises(TypeError, match="two"):
        Value(1, two=2)


def test_what_is_by_name_only_and_what_comes_after_stay():
    @quickly_made
    @dataclass(frozen=True, slots=True)
    class Value:
        one: int
        two: int = field(default=2, kw_only=True)
        three: int = 3

        def __post_init__(self):
            assert self.one < self.three, "too much"

    assert Value(1, 4, two=5) == Value(one=1, three=4, two=5) != Value(1)
    with pytest.raises(AssertionError, match="too much"):
        Value(9)
    with pytest.raises(TypeError, match="positional"):
        Value(1, 2, 3)
