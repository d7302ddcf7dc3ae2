"""What stands behind each keyword in JSON Schema 2020-12; some APIs refuse a request for anything else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from executor.models._dialects import words

if TYPE_CHECKING:
    from collections.abc import Callable

_SCHEMAS = (dict, bool)  # a tuple is looked through faster than a union, and there are many
_TYPES = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _count(value: Any) -> bool:
    return _number(value) and value >= 0 and int(value) == value


def _flag(value: Any) -> bool:
    return isinstance(value, bool)


def _schema(value: Any) -> bool:
    return isinstance(value, _SCHEMAS)


def _schemas(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_schema, value))


def _named_schemas(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_schema, value.values()))


def _names(value: Any) -> bool:
    return isinstance(value, list) and all(map(_text, value)) and len(set(value)) == len(value)


def _type(value: Any) -> bool:
    if isinstance(value, str):
        return value in _TYPES
    return _names(value) and bool(value) and set(value) <= _TYPES


_SHAPES: dict[str, Callable[[Any], bool]] = {
    "type": _type,
    "enum": lambda value: isinstance(value, list),
    "multipleOf": lambda value: _number(value) and value > 0,
    "required": _names,
    "dependentRequired": lambda value: isinstance(value, dict) and all(map(_names, value.values())),
    **dict.fromkeys(words("$ref $id $anchor $comment $schema title description format pattern"), _text),
    **dict.fromkeys(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"], _number),
    **dict.fromkeys(
        words("minLength maxLength minItems maxItems minContains maxContains minProperties maxProperties"),
        _count,
    ),
    **dict.fromkeys(["uniqueItems", "deprecated", "readOnly", "writeOnly"], _flag),
    **dict.fromkeys(
        words(
            "items additionalProperties contains not if then else propertyNames unevaluatedItems unevaluatedProperties"
        ),
        _schema,
    ),
    **dict.fromkeys(["allOf", "anyOf", "oneOf", "prefixItems"], _schemas),
    **dict.fromkeys(words("properties patternProperties dependentSchemas $defs definitions"), _named_schemas),
}


def is_plain(values: list[Any]) -> bool:
    """Whether these are texts and numbers only."""
    return all(isinstance(value, str) or _number(value) for value in values)


def has_its_shape(keyword: str, value: object) -> bool:
    """Whether *value* is what JSON Schema 2020-12 has behind *keyword*; true of every word that it does not have."""
    shape = _SHAPES.get(keyword)
    return shape is None or shape(value)
