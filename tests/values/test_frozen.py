"""Frozen values whose constructors are our own: they are what dataclasses makes of them."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from dataclasses import FrozenInstanceError, field, fields, replace

import pytest

from executor import Decision, TaskInfo, TaskStatus, ToolCall, ToolResult, Verdict
from executor.values._frozen import dataclass

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
    plain = dataclasses.dataclass(frozen=True, slots=True)(
        type(kind.__name__, (), {"__annotations__": kind.__annotations__})
    )
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
    @dataclass(frozen=True, slots=True)
    class Value:
        one: int
        two: int | None = field(default=None, init=False)

    assert Value(1).two is None
    with pytest.raises(TypeError, match="two"):
        Value(1, two=2)


def test_what_is_by_name_only_and_what_comes_after_stay():
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


def test_values_are_compared_hashed_and_shown_as_those_of_the_standard_library():
    def classes(dataclass):
        @dataclass(frozen=True, slots=True)
        class Value:
            one: object
            two: object = field(default=None, compare=False)
            three: object = field(default=3, repr=False)
            four: object = field(default_factory=list, hash=False)

        @dataclass(frozen=True, slots=True)
        class Other:
            one: object

        @dataclass(slots=True)
        class Changing:
            one: object

        @dataclass(slots=True, eq=False, repr=False)
        class Bare:
            one: object

        return Value, Other, Changing, Bare

    def said(made):
        value, other, changing, bare = made
        odd, loop = changing([]), value([])
        loop.one.append(loop)
        odd.one = {1}
        yield repr(value("a", 2)), repr(loop), repr(odd), bare.__repr__ is object.__repr__
        yield value(1) == value(1, 9), value(1) == value(1, None, 4), value(1) == other(1), other(1) == other(1.0)
        yield hash(value(1)) == hash(value(1, 9)), changing.__hash__, bare(1) == bare(1), hash(bare(1)) != hash(bare(1))
        yield [each.__match_args__ for each in made], value(1).__eq__(1), changing([1]) == changing([1]), odd.one
        with pytest.raises(TypeError, match="unhashable"):
            hash(value([]))

    assert list(said(classes(dataclass))) == list(said(classes(dataclasses.dataclass)))


def test_a_class_of_a_user_may_be_made_of_a_value():
    @dataclasses.dataclass(frozen=True)
    class Own(ToolCall):
        more: int = 0

    assert Own("1", "echo", None, 2) == Own("1", "echo", more=2) != ToolCall("1", "echo")
    assert repr(Own("1", "echo")).endswith("Own(id='1', name='echo', arguments=None, more=0)")


def test_a_value_can_neither_be_changed_nor_emptied_and_what_a_subclass_adds_can():
    class Own(ToolCall):
        """Without a decorator, as ordinary classes are."""

    own = Own("1", "echo")
    own.more = 1
    assert own.more == 1
    del own.more
    assert not hasattr(own, "more")
    for value in (own, ToolCall("1", "echo")):
        with pytest.raises(FrozenInstanceError, match="'name'"):
            value.name = "other"
        with pytest.raises(FrozenInstanceError, match="'name'"):
            del value.name
        assert value.name == "echo"
    with pytest.raises(FrozenInstanceError, match="'more'"):
        ToolCall("1", "echo").more = 1
