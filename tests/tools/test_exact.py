"""The one look at arguments that are exactly of a function's types says what the three looks say, or nothing."""

from __future__ import annotations

import collections
import datetime as dt
import decimal
import enum
import functools
import inspect
import math
import pathlib
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NotRequired

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typing_extensions import TypedDict

from executor import ResultKind, ToolCall, ToolExecutor
from executor._json import copy_arguments
from executor.tools._make import make_tool, prepare
from executor.tools._schema import compiled

# Types and values of them --------------------------------------------------------------------------------------------

NAMES = ("a", "b", "self", "func", "é")
NAMED = st.sampled_from(NAMES)
TEXTS = st.text(max_size=5)
LEAVES = {
    str: TEXTS,
    int: st.integers() | st.sampled_from([10**30, -(2**63)]),
    float: st.floats(allow_nan=False, allow_infinity=False),
    bool: st.booleans(),
    type(None): st.none(),
    Literal["x"]: st.just("x"),
    Literal["x", "y"]: st.sampled_from(["x", "y"]),
}


def objects(pair):
    """A TypedDict of these types, and values of it."""
    fields, optional = pair
    kinds = {name: NotRequired[kind] if name in optional else kind for name, (kind, _) in fields.items()}
    whole = {name: values for name, (_, values) in fields.items() if name not in optional}
    parts = {name: values for name, (_, values) in fields.items() if name in optional}
    return TypedDict("Made", kinds), st.fixed_dictionaries(whole, optional=parts)


def nested(inner):
    return st.one_of(
        inner.map(lambda pair: (list[pair[0]], st.lists(pair[1], max_size=3))),
        inner.map(lambda pair: (dict[str, pair[0]], st.dictionaries(TEXTS, pair[1], max_size=3))),
        inner.map(lambda pair: (pair[0] | None if pair[0] is not type(None) else pair[0], st.none() | pair[1])),
        st.tuples(st.dictionaries(st.sampled_from(NAMES), inner, max_size=3), st.sets(st.sampled_from(NAMES))).map(
            objects
        ),
    )


KINDS = st.recursive(st.sampled_from(list(LEAVES.items())), nested, max_leaves=4)


def function(kinds, defaults=None):
    """One with a parameter of each of these types, which gives back what it was called with."""
    defaults = defaults or {}

    def fn(**given):
        return given

    keyword = inspect.Parameter.KEYWORD_ONLY
    fn.__signature__ = inspect.Signature(
        [
            inspect.Parameter(name, keyword, annotation=kind, default=defaults.get(name, inspect.Parameter.empty))
            for name, kind in kinds.items()
        ]
    )
    fn.__annotations__ = dict(kinds)
    return fn


def entry_of(fn, **options):
    return prepare(make_tool("tool", fn, **options))


def same(one, other):
    """Whether both are equal, of the same types all the way down."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return (
            one.keys() == other.keys()
            and all(type(key) is str for key in one)
            and all(same(value, other[key]) for key, value in one.items())
        )
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other and math.copysign(1, one) == math.copysign(1, other) if isinstance(one, float) else one == other


def containers(value):
    if isinstance(value, dict):
        return {id(value)}.union(*map(containers, value.values()))
    if isinstance(value, list):
        return {id(value)}.union(*map(containers, value))
    return set()


class Text(str):
    __slots__ = ()


class Number(int):
    pass


class Real(float):
    pass


class Colour(enum.StrEnum):
    X = "x"


class Count(enum.IntEnum):
    ONE = 1


ODD = st.sampled_from(
    [
        math.nan, math.inf, "\ud800", "é", (1, 2), {1}, b"x", 1, 1.0, True, None, "1", Text("x"), Number(1), Real(1.5),
        Colour.X, Count.ONE, decimal.Decimal(1), collections.OrderedDict(a=1), [], {}, {1: 2}, {"\ud800": 1},
        {Text("a"): 1}, dt.date(2026, 1, 1), [1, "x"], {"a": {"a": 1}}, range(2), object(),
    ]
)  # fmt: skip


@st.composite
def odd(draw, value):
    """*value*, with something else somewhere in it."""
    if isinstance(value, dict) and value and draw(st.booleans()):
        name = draw(st.sampled_from(sorted(value, key=repr)))
        return {**value, name: draw(odd(value[name]))}
    if isinstance(value, list) and value and draw(st.booleans()):
        at = draw(st.integers(0, len(value) - 1))
        return [*value[:at], draw(odd(value[at])), *value[at + 1 :]]
    if isinstance(value, dict) and draw(st.booleans()):
        name = draw(st.sampled_from([*NAMES, "\ud800", 1]))
        return {
            **{key: each for key, each in value.items() if key != name},
            **({name: 1} if draw(st.booleans()) else {}),
        }
    return draw(ODD)


# What it says --------------------------------------------------------------------------------------------------------


@given(data=st.data(), pairs=st.dictionaries(NAMED, KINDS, min_size=1, max_size=3))
def test_what_is_exactly_so_is_copied_as_ever(data, pairs):
    entry = entry_of(function({name: kind for name, (kind, _) in pairs.items()}))
    assert entry.exact is not None
    arguments = data.draw(st.fixed_dictionaries({name: values for name, (_, values) in pairs.items()}))
    copied = entry.exact(arguments)
    assert copied is not None
    assert same(copied, copy_arguments(arguments))
    assert not containers(copied) & containers(arguments)


@given(data=st.data(), pairs=st.dictionaries(NAMED, KINDS, min_size=1, max_size=3))
def test_whatever_it_takes_all_three_looks_take_and_come_to_the_same(data, pairs):
    entry = entry_of(function({name: kind for name, (kind, _) in pairs.items()}))
    value = data.draw(st.fixed_dictionaries({name: values for name, (_, values) in pairs.items()}))
    arguments = data.draw(odd(value))
    copied = entry.exact(arguments) if type(arguments) is dict else None
    if copied is None:
        return
    closely = copy_arguments(arguments)
    assert same(copied, closely)
    assert compiled(entry.tool.input_schema, "tool").is_valid(closely)
    assert same(entry.bind(closely)(), entry.tool.fn(**copied))
    assert not containers(copied) & containers(arguments)


@given(leaf=st.sampled_from(list(LEAVES)), value=ODD)
def test_so_for_every_odd_value_alone(leaf, value):
    entry = entry_of(function({"a": leaf, "b": list[leaf]}))
    for arguments in ({"a": value, "b": []}, {"a": value, "b": [value]}):
        copied = entry.exact(arguments)
        if copied is not None:
            closely = copy_arguments(arguments)
            assert same(copied, closely)
            assert same(entry.bind(closely)(), entry.tool.fn(**copied))


def test_what_is_left_out_is_the_functions_own():
    entry = entry_of(function({"a": int, "b": str, "self": float | None}, {"b": "x", "self": None}))
    assert entry.exact({"a": 1}) == {"a": 1}
    assert entry.exact({"a": 1, "b": "y", "self": 0.5}) == {"a": 1, "b": "y", "self": 0.5}
    assert entry.exact({}) is None
    assert entry.exact({"a": 1, "c": 1}) is None


@pytest.mark.parametrize(
    "odd",
    [
        {"a": "\ud800"},
        {"b": ["\ud800"]},
        {"c": {"\ud800": 1}},
        {"d": math.nan},
        {"d": -math.inf},
        {"d": 1},
        {"b": ("x",)},
    ],
)
def test_what_is_no_json_or_not_exactly_so_is_looked_at_closely(odd):
    def fn(a: str, b: list[str], c: dict[str, int], d: float): ...

    exact, plain = entry_of(fn).exact, {"a": "é", "b": ["x"], "c": {"é": 1}, "d": 1.0}
    assert exact(plain) == plain
    assert exact({**plain, **odd}) is None


# Which functions -----------------------------------------------------------------------------------------------------


class Tree(TypedDict):
    children: list[Tree]


class Point(TypedDict):
    x: int


class Closed(TypedDict):
    __pydantic_config__ = pydantic.ConfigDict(str_strip_whitespace=True)
    x: str


class Model(pydantic.BaseModel):
    x: int


def mutable(a: list[int] = []): ...


def anything(a: Any, b: int): ...
def rest(a: int, **more: int): ...
def unsaid(a, b: int): ...
def field(a: int = pydantic.Field(5)): ...
def alias(a: Annotated[int, pydantic.Field(alias="b")]): ...
def late(a: dt.datetime): ...
def several(a: set[int]): ...
def pair(a: tuple[int, ...]): ...
def sequence(a: Sequence[int]): ...
def mapping(a: Mapping[str, int], b: int): ...
def keys(a: dict[int, int], b: int): ...
def shouted(a: dict[Annotated[str, pydantic.AfterValidator(str.upper)], int], b: int): ...
def stripped(a: Annotated[str, pydantic.StringConstraints(strip_whitespace=True)]): ...
def both(a: Literal["a", 1]): ...
def tree(a: Tree, b: int): ...
def closed(a: Closed, b: int): ...
def model(a: Model): ...
def colour(a: Colour): ...
def path(a: pathlib.Path): ...
def raw(a: bytes): ...
def exactly(a: decimal.Decimal): ...
def either(a: int | str): ...
def least(a: Annotated[int, pydantic.Field(ge=1)]): ...
def short(a: Annotated[str, pydantic.Field(max_length=3)]): ...
def after(a: Annotated[str, pydantic.AfterValidator(str.upper)]): ...
def before(a: Annotated[str, pydantic.BeforeValidator(str)]): ...
def otherwise(a: Annotated[str, pydantic.WithJsonSchema({"type": "integer"})]): ...
def numbers(a: Literal[1, 2]): ...


@pytest.mark.parametrize(
    "fn",
    [
        mutable, anything, rest, unsaid, field, alias, late, several, pair, sequence, mapping, keys, shouted,
        stripped, both, tree, closed,
        model, colour, path, raw, exactly, either, least, short, after, before, otherwise, numbers,
    ],
)  # fmt: skip
def test_functions_of_other_types_are_looked_at_closely(fn):
    entry = entry_of(fn)
    assert entry.bind is not None
    assert entry.exact is None


def test_a_type_that_comes_twice_is_known_both_times():
    def line(start: Point, end: Point, between: list[Point]): ...

    exact = entry_of(line).exact
    arguments = {"start": {"x": 1}, "end": {"x": 2}, "between": [{"x": 3}]}
    assert exact(arguments) == arguments
    assert exact({**arguments, "end": {"x": 2, "y": 3}}) is None


def test_a_schema_that_says_something_else_is_what_counts():
    def add(a: int, b: int = 0):
        return a + b

    whole = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a"]}
    closed = {**whole, "additionalProperties": False}
    assert entry_of(add, schema=closed).exact is not None
    stricter = {**closed, "properties": {**closed["properties"], "a": {"type": "integer", "minimum": 3}}}
    for schema in (
        whole,
        stricter,
        {**closed, "required": []},
        {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}},
    ):
        assert entry_of(add, schema=schema).exact is None


def test_partials_and_methods():
    class Box:
        def put(self, what: str, times: int):
            return what * times

    assert entry_of(Box().put).exact({"what": "x", "times": 2}) == {"what": "x", "times": 2}
    twice = entry_of(functools.partial(Box().put, times=2))
    for arguments in ({"what": "x"}, {"what": "x", "times": 2}):
        assert twice.exact(arguments) == arguments
        assert twice.bind(arguments)() == twice.tool.fn(**twice.exact(arguments)) == "xx"


# In calls ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def executor():
    with ToolExecutor() as made:
        yield made


def test_calls_come_to_the_same_whether_exactly_so_or_not(executor):
    def scaled(by: float, items: list[Point]):
        items.append({"x": 0})  # what a tool does to its arguments reaches nobody
        return {"by": by, "items": items}

    executor.register(scaled)
    given = {"by": 2.0, "items": [{"x": 1}]}
    expected = (True, {"by": 2.0, "items": [{"x": 1}, {"x": 0}]})
    for _ in range(3):
        assert executor.execute("scaled", given) == expected
        assert given == {"by": 2.0, "items": [{"x": 1}]}
    for wrong in (
        {"by": math.nan, "items": []},
        {"by": 2.0, "items": [{"x": "\ud800"}]},
        {"by": 2.0, "items": {1}},
        {},
    ):
        assert executor.call(ToolCall("1", "scaled", wrong)).kind is ResultKind.INVALID_ARGUMENTS
    assert executor.get_tool("scaled").exact is not None
    success, value = executor.execute("scaled", {"by": 2, "items": []})
    assert success
    assert same(value["by"], 2.0)
    assert executor.get_tool("scaled").exact is None  # who writes 2 for 2.0 does so again
    assert executor.execute("scaled", given) == expected
