"""Words to arguments by a schema, and a schema to a signature."""

from __future__ import annotations

import pytest

from executor.cli._arguments import coerce, kinds, signature
from executor.cli._errors import CliError
from executor.tools._make import make_tool, prepare

SCHEMA = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "count": {"type": "integer"},
        "either": {"type": ["string", "integer"]},
        "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "choice": {"enum": [1, 2]},
        "named": {"$ref": "#/$defs/Point"},
        "circle": {"$ref": "#/$defs/Circle"},
        "free": {},
    },
    "$defs": {"Point": {"type": "object"}, "Circle": {"$ref": "#/$defs/Circle"}},
}


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("text", "12", "12"),
        ("text", "", ""),
        ("text", "a=b", "a=b"),
        ("count", "12", 12),
        ("either", "12", "12"),
        ("maybe", "null", None),
        ("maybe", "3", 3),
        ("choice", "2", 2),
        ("named", '{"x": 1}', {"x": 1}),
        ("circle", "1", "1"),
        ("free", "1", "1"),
        ("unknown", "1", "1"),
    ],
)
def test_text_becomes_what_the_schema_names(key, text, value):
    assert coerce(key, text, SCHEMA) == value


def test_without_a_schema_everything_is_text():
    assert coerce("any", "1", None) == coerce("any", "1", True) == "1"


@pytest.mark.parametrize("text", ["one", "", "1 2", "NaN", "0x10", '{"a":1,"a":2}'])
def test_what_is_not_json_is_refused_with_its_argument(text):
    with pytest.raises(CliError, match="the argument count is to be integer"):
        coerce("count", text, SCHEMA)


def test_how_a_list_is_written_is_said_where_one_is_wanted():
    with pytest.raises(CliError, match=r"; a list is written hosts='\[\"one\", \"two\"\]'$"):
        coerce("hosts", "a,b", {"properties": {"hosts": {"type": "array"}}})


def test_reference_to_nowhere_names_no_kind():
    assert kinds({"$ref": "#/$defs/Nowhere"}, SCHEMA) == kinds({"$ref": "https://example.com/s"}, SCHEMA) == set()


def _signature(schema):
    return signature(prepare(make_tool("t", lambda args: None, schema=schema)))


def test_signature_has_required_arguments_first_and_marks_the_others():
    schema = {
        "type": "object",
        "properties": {
            "b": {"type": "array", "items": {"type": "string"}},
            "a": {"type": ["null", "integer"]},
            "c": {"enum": ["x", "y"]},
            "d": {"type": "array", "items": {"type": ["string", "number"]}},
            "e": {},
        },
        "required": ["a"],
        "additionalProperties": False,
    }
    assert _signature(schema) == 't(a: integer|null, b?: string[], c?: "x"|"y", d?: (number|string)[], e?: any)'


def test_signature_says_that_more_is_taken():
    assert _signature({"type": "object", "properties": {"a": {"type": "string"}}}) == "t(a?: string, …)"
    assert _signature(None) == "t(…)"
