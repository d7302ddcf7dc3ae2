"""What is surely a schema, and what surely fits one: jsonschema-rs says the same wherever it is not asked."""

from __future__ import annotations

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from executor import ToolExecutor
from executor.tools._surely import surely_fits, surely_sound

ODD = st.sampled_from(
    [10**400, -(2**53), 2.0**60, float("nan"), float("inf"), "\ud800", b"", (), {1: 2}, [[]], "[z-a]"]
)
ATOMS = st.none() | st.booleans() | st.integers(-5, 5) | st.floats(-9, 9) | st.text("ab/^$[]+*=", max_size=4) | ODD
TYPES = st.sampled_from(["string", "integer", "number", "boolean", "object", "array", "null", "text"])
NAMES = st.sampled_from(["a", "b", "c"])
WORDS = {
    "type": TYPES | st.lists(TYPES, max_size=2),
    "title": ATOMS,
    "default": ATOMS,
    "examples": st.lists(ATOMS, max_size=2) | ATOMS,
    "enum": st.lists(ATOMS, max_size=2),
    "pattern": st.text("ab^$[]+*=-|()\\", max_size=6) | ATOMS,
    "required": st.lists(NAMES, max_size=3),
    "minimum": ATOMS,
    "minLength": ATOMS,
    "maxItems": ATOMS,
    "format": ATOMS,
}


def schemas_of(inner):
    nested = dict.fromkeys(("additionalProperties", "items", "if", "then", "else", "propertyNames"), inner)
    more = {**WORDS, **nested, "properties": st.dictionaries(NAMES, inner, max_size=3)}
    return st.fixed_dictionaries({}, optional=more)


SCHEMAS = st.recursive(st.booleans() | st.fixed_dictionaries({}, optional=WORDS), schemas_of, max_leaves=6)
PLAIN = st.fixed_dictionaries(
    {"type": st.just("object")},
    optional={
        "properties": st.dictionaries(
            NAMES, st.fixed_dictionaries({}, optional={"type": TYPES, "default": ATOMS}), max_size=3
        ),
        "required": st.lists(NAMES, max_size=2),
        "additionalProperties": st.booleans(),
        "title": ATOMS,
    },
)


def valid(schema, value):
    return jsonschema_rs.validator_for(schema, validate_formats=False).is_valid(value)


@settings(max_examples=400)
@given(SCHEMAS)
def test_what_is_surely_a_schema_is_one(schema):
    if surely_sound(schema):
        jsonschema_rs.validator_for(schema, validate_formats=False)


@settings(max_examples=600)
@given(PLAIN | SCHEMAS, st.dictionaries(NAMES, ATOMS, max_size=3))
def test_what_surely_fits_fits(schema, arguments):
    if surely_fits(schema, arguments):
        assert valid(schema, arguments)


ECHO = {
    "type": "object",
    "properties": {
        "text": {"type": "string", "description": "ü"},
        "n": {"type": "integer", "default": 1},
        "x": {"type": "number"},
        "on": {"type": "boolean"},
    },
    "required": ["text"],
    "additionalProperties": False,
}


@pytest.mark.parametrize("given", [{"text": "hü"}, {"text": "", "n": 0, "x": 1, "on": True}, {"text": "a", "x": 0.5}])
def test_arguments_of_the_usual_kind_surely_fit(given):
    assert surely_fits(ECHO, given)
    assert valid(ECHO, given)


class Text(str):
    """Not a text like any other."""

    __slots__ = ()


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"text": 1},
        {"text": "a", "more": 1},
        {"text": Text("a")},
        {"text": "\ud800"},
        {"text": "a", "n": True},
        {"text": "a", "n": 1.0},
        {"text": "a", "n": 2**53},
        {"text": "a", "x": True},
        {"text": "a", "x": float("nan")},
        {"text": "a", "on": 1},
        {"text": None},
    ],
)
def test_whatever_is_unusual_is_left_to_the_library(given):
    assert not surely_fits(ECHO, given)


@pytest.mark.parametrize(
    "part",
    [
        {"minLength": 1},
        {"$ref": "#"},
        {"title": 1},
        {"description": "\ud800"},
        {"type": ["string"]},
        {"default": {}},
        {"examples": []},
        {1: 2},
        True,
    ],
)
def test_a_schema_that_says_more_than_types_is_left_to_the_library(part):
    assert not surely_fits({"type": "object", "properties": {"a": part}}, {"a": "x"})
    assert surely_fits({"type": "object", "properties": {"a": {"type": "string"}}}, {"a": "x"})


@pytest.mark.parametrize(
    "schema",
    [
        {"$schema": "http://json-schema.org/draft-04/schema#"},
        {"type": []},
        {"type": ["null", "null"]},
        {"type": "text"},
        {"required": ["a", "a"]},
        {"required": "a"},
        {"pattern": "[z-a]"},
        {"pattern": "(?<a>b)"},
        {"pattern": "a**"},
        {"pattern": "[]"},
        {"minLength": -1},
        {"minimum": True},
        {"minimum": float("nan")},
        {"properties": {"a": 1}},
        {"properties": {"\ud800": {}}},
        {"items": [{}]},
        {"enum": []},
        {"format": 1},
    ],
)
def test_what_is_no_schema_or_is_unusual_is_not_surely_one(schema):
    assert not surely_sound(schema)


def test_a_schema_without_end_is_not_surely_one():
    schema = {}
    schema["items"] = schema
    assert not surely_sound(schema)


def test_the_first_call_compiles_nothing_and_the_second_compares_as_ever(monkeypatch):
    made = []
    real = jsonschema_rs.validator_for
    monkeypatch.setattr(jsonschema_rs, "validator_for", lambda *args, **how: made.append(args) or real(*args, **how))
    with ToolExecutor() as executor:
        executor.register("say", lambda args: args["text"], schema=ECHO)
        assert executor.execute("say", {"text": "a"}) == (True, "a")
        assert made == []
        assert executor.execute("say", {"text": "b"}) == (True, "b")
        assert executor.execute("say", {"text": "c"}) == (True, "c")
        assert len(made) == 1
        assert executor.execute("say", {"text": 1})[1]["errors"][0]["path"] == "/text"
        assert len(made) == 1


def test_a_first_call_that_does_not_fit_is_refused_and_told_why():
    with ToolExecutor() as executor:
        executor.register("say", lambda args: args["text"], schema=ECHO)
        success, told = executor.execute("say", {"text": "a", "n": True})
        assert not success
        assert told["errors"][0]["path"] == "/n"
