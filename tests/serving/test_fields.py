"""Forms in the words that MCP has for them, and their answers."""

from __future__ import annotations

import pytest

from executor.mcp.serving._fields import filled_in, form_of


def _form(told, **more):
    return form_of({"type": "object", "properties": {"it": told}, **more})["properties"]["it"]


@pytest.mark.parametrize(
    ("told", "sent"),
    [
        ({"enum": ["staging", "live"]}, {"type": "string", "enum": ["staging", "live"]}),
        (
            {"enum": ["a"], "title": "T", "default": "a"},
            {"type": "string", "enum": ["a"], "default": "a", "title": "T"},
        ),
        ({"type": "integer", "minimum": 1, "multipleOf": 2}, {"type": "integer", "minimum": 1}),
        ({"type": "string", "format": "ipv4", "pattern": "^a", "minLength": 2}, {"type": "string", "minLength": 2}),
        ({"type": ["string", "null"], "default": None}, {"type": "string"}),
        ({"type": "boolean", "default": "yes"}, {"type": "boolean"}),
        (
            {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 1},
            {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "maxItems": 1},
        ),
        (
            {"type": "string", "oneOf": [{"const": "a", "title": "A"}]},
            {"type": "string", "oneOf": [{"const": "a", "title": "A"}]},
        ),
        (
            {"type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"]},
            {"type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"]},
        ),
        ({"enum": ["a", "b"], "enumNames": ["A"]}, {"type": "string", "enum": ["a", "b"]}),
        (
            {"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}, "minItems": 1},
            {"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}, "minItems": 1},
        ),
        (True, {"type": "string"}),
        ({"description": "Any text"}, {"type": "string", "description": "Any text"}),
    ],
)
def test_a_field_is_sent_as_one_that_every_client_knows(told, sent):
    assert _form(told) == sent


@pytest.mark.parametrize(
    ("told", "value", "typed"),
    [
        ({"enum": [1, 2]}, 2, "2"),
        ({"enum": [1, "1"]}, "1", '"1"'),
        ({"type": "object"}, {"a": 1}, '{"a": 1}'),
        ({"type": "array", "items": {"type": "integer"}}, [1, 2], "[1, 2]"),
        ({"type": ["integer", "string"]}, 5, "5"),
        ({"$ref": "#/$defs/colour"}, "red", "red"),
        ({"const": None}, None, "null"),
    ],
)
def test_what_no_form_has_is_typed_as_json(told, value, typed):
    sent = _form(told)
    assert sent["type"] == "string"
    assert sent["description"] == "(as JSON)"
    assert typed in sent.get("enum", [typed])
    assert filled_in({"properties": {"it": told}}, {"it": typed}) == {"it": value}


def test_a_text_stays_one_whatever_it_looks_like():
    schema = {"properties": {"text": {"type": "string"}, "any": True}, "required": ["more"]}
    content = {"text": "5", "any": "{}", "more": "true", "unknown": "1"}
    assert filled_in(schema, content) == content
    assert form_of(schema)["required"] == ["more"]
    assert form_of(schema)["properties"]["more"] == {"type": "string"}
