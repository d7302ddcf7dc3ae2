"""
Schemas that surely are JSON Schema, and arguments that surely fit one: told at a look, for most tools.

jsonschema-rs has the last word on both, but a process that lists the tools, or makes one call, would import it for this
alone, which is a thirtieth of all that it does. Here True is "surely", and False is "whoever has the last word is to be
asked": a keyword that is not known here, a value of an unusual type, a number beyond what every reader of JSON keeps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_MOST = 2**53  # up to here all readers of JSON mean the same number
_DEEPEST = 20
_TYPES = frozenset({"string", "integer", "number", "boolean", "object", "array", "null"})


def surely_sound(schema: object, depth: int = 0) -> bool:
    """Whether *schema*, in the dialect of one that names none, surely is a schema and refers to nothing."""
    if type(schema) is not dict:
        return type(schema) is bool
    return depth <= _DEEPEST and all(
        (sound := _KEYWORDS.get(word) if type(word) is str else None) is not None and sound(said, depth + 1)
        for word, said in schema.items()
    )


def surely_fits(schema: object, arguments: Mapping[str, Any]) -> bool:
    """Whether *arguments* surely fit *schema*: it names their types, which of them are needed, and no more."""
    if type(schema) is not dict or schema.get("type") != "object" or not _OF_OBJECTS.issuperset(schema):
        return False
    known = schema.get("properties", {})
    if not surely_sound(schema) or type(schema.get("additionalProperties", True)) is not bool:
        return False
    for one in known.values():
        if type(one) is not dict or not _OF_VALUES.issuperset(one):
            return False
    return all(name in arguments for name in schema.get("required", ())) and all(
        name in known and _is_of(known[name].get("type"), value) for name, value in arguments.items()
    )


def _is_of(kind: object, value: object) -> bool:
    made = type(value)
    if kind == "string":
        return _is_text(value, 0)
    if kind == "boolean":
        return made is bool
    return (kind == "integer" and made is int and _is_number(value, 0)) or (kind == "number" and _is_number(value, 0))


# What may stand behind each keyword: (it, how deep) -> whether it surely may.


def _is_text(said: object, _: int) -> bool:
    if type(said) is not str:
        return False
    try:
        return said.isascii() or bool(said.encode())
    except UnicodeEncodeError:  # half a character, which is no JSON
        return False


def _is_number(said: object, _: int) -> bool:
    return (type(said) is int or type(said) is float) and -_MOST < said < _MOST  # nan is within no bounds


def _is_count(said: object, _: int) -> bool:
    return type(said) is int and 0 <= said < _MOST


def _is_atom(said: object, depth: int) -> bool:
    return said is None or type(said) is bool or _is_text(said, depth) or _is_number(said, depth)


def _are_atoms(said: object, depth: int) -> bool:
    return type(said) is list and bool(said) and all(_is_atom(one, depth) for one in said)


def _are_names(said: object, depth: int) -> bool:
    return type(said) is list and all(_is_text(one, depth) for one in said) and len(set(said)) == len(said)


def _are_types(said: object, depth: int) -> bool:
    names = [said] if type(said) is str else said
    return _are_names(names, depth) and bool(names) and _TYPES.issuperset(names)  # type: ignore[arg-type]  # it is a list


def _are_properties(said: object, depth: int) -> bool:
    return type(said) is dict and all(
        _is_text(name, depth) and surely_sound(schema, depth) for name, schema in said.items()
    )


def _is_pattern(said: object, _: int) -> bool:
    """Letters and digits, or one class of these, once or repeated: ``^[^=]+$``. That is the same in every dialect."""
    if type(said) is not str:
        return False
    inner = said.removeprefix("^").removesuffix("$")
    if inner[-1:] in ("+", "*"):
        inner = inner[:-1]
    if inner[:1] == "[" and inner[-1:] == "]":
        inner = inner[1:-1].removeprefix("^")
    return inner.isascii() and inner.replace("=", "a").replace("_", "a").isalnum()


_WORDS: dict[str, Callable[[Any, int], bool]] = {  # which no value is compared with
    "title": _is_text,
    "description": _is_text,
    "default": _is_atom,
    "examples": _are_atoms,
}
_KEYWORDS: dict[str, Callable[[Any, int], bool]] = {
    **_WORDS,
    "type": _are_types,
    "enum": _are_atoms,
    "properties": _are_properties,
    "required": _are_names,
    **dict.fromkeys(("additionalProperties", "propertyNames", "items", "if", "then", "else"), surely_sound),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _is_number),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"), _is_count),
    "pattern": _is_pattern,
}
_OF_VALUES = frozenset({"type", *_WORDS})
_OF_OBJECTS = frozenset({"properties", "required", "additionalProperties", *_OF_VALUES})
