"""Copies of arguments: the quick one gives what the thorough one gives, and neither takes what is no JSON."""

from __future__ import annotations

import enum
import math
import random
from collections import UserDict
from types import MappingProxyType

import pytest

from executor import _json
from executor.errors import InvalidArgumentsError


class Number(enum.IntEnum):
    ONE = 1


class Text(str):
    __slots__ = ()


ODD = [
    math.nan,
    -math.inf,
    {1, 2},
    b"x",
    object(),
    "\ud800",
    {"\ud800": 1},
    {1: 1},
    (1, (2, {"a": "é"})),
    Number.ONE,
    Text("t"),
    MappingProxyType({"a": [1]}),
    UserDict(a=1),
    10**400,
    1 + 2j,
]
PLAIN = [0, -1, 1.5, True, None, "", "text", "é\U0001f600", 1e308]


def tree(random, depth=0):
    kind = random.random()
    if depth < 4 and kind < 0.3:
        return {random.choice("abcdé"): tree(random, depth + 1) for _ in range(random.randrange(4))}
    if depth < 4 and kind < 0.5:
        return [tree(random, depth + 1) for _ in range(random.randrange(4))]
    return random.choice(ODD if random.random() < 0.03 else PLAIN)


def outcome(copy, value):
    try:
        return copy(value)
    except InvalidArgumentsError as error:
        return error.message, error.errors


@pytest.mark.parametrize("seed", range(20))
def test_the_quick_copy_is_the_thorough_one(seed):
    source = random.Random(seed)
    refused = 0
    for _ in range(200):
        value = {name: tree(source) for name in "xyz"}
        found = outcome(_json.copy_arguments, value)
        assert found == outcome(lambda value: _json._copy_object(value, ()), value)
        refused += isinstance(found, tuple)
        if isinstance(found, dict):
            assert _json.copy_checked(found) == found
    assert 0 < refused < 200


@pytest.mark.parametrize("wrap", [lambda value: {"a": value}, lambda value: [value]], ids=["objects", "lists"])
def test_the_deepest_that_is_taken_is_the_same(wrap):
    taken = []
    for depth in range(95, 106):
        value = 1
        for _ in range(depth):
            value = wrap(value)
        quick = outcome(_json.copy_arguments, {"x": value})
        assert quick == outcome(lambda value: _json._copy_object(value, ()), {"x": value})
        taken.append(isinstance(quick, dict))
    assert taken == sorted(taken, reverse=True)
    assert True in taken
    assert False in taken


@pytest.mark.parametrize("copy", [_json.copy_arguments, _json.copy_checked])
def test_a_copy_shares_nothing_that_can_change(copy):
    given = {"a": [1, {"b": [2]}], "c": {"d": []}}
    made = copy(given)
    made["a"][1]["b"].append(3)
    made["c"]["d"].append(4)
    made["a"].append(5)
    assert given == {"a": [1, {"b": [2]}], "c": {"d": []}}


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ("true", "a boolean"),
        ("1", "a number"),
        ("1.5", "a number"),
        ('"x"', "a text"),
        ([1], "a list"),
        ((1,), "a tuple"),
        ({1}, "a set"),
    ],
)
def test_arguments_that_are_no_object_are_named_for_what_they_are(given, kind):
    with pytest.raises(InvalidArgumentsError, match=f"is {kind}, not an object of named arguments"):
        _json.copy_arguments(given)


def test_a_snapshot_of_a_list_that_grows_meanwhile_has_an_end():
    given: list = []

    class Key:
        def __hash__(self):
            if given and len(given) < 100:
                given.append(given[0])  # as a thread does that still fills it; here whenever it is looked at
            return 0

    given.append({Key(): 1})
    assert len(_json.snapshot(given)) == 1
