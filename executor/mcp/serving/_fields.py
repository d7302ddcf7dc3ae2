"""
A tool's form in the words that MCP has for forms, and its answer read back.

A tool may ask by any JSON schema of an object; a client is to show fields of a few kinds only (a text, a number, a yes
or no, a choice), and some refuse the whole question for a field of another kind. What is of none is asked for as JSON
in a text.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from executor._json import parse, to_text
from executor.errors import InvalidArgumentsError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_FORMATS = ("email", "uri", "date", "date-time")
_KINDS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "number": (int, float),
    "integer": (int,),
}
_WORDS = {"title": str, "description": str}
_LIMITS: dict[str, dict[str, type | tuple[type, ...]]] = {
    "string": {"minLength": int, "maxLength": int},
    "boolean": {},
    "number": {"minimum": (int, float), "maximum": (int, float)},
    "integer": {"minimum": (int, float), "maximum": (int, float)},
}
_SHAPES = ("$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "enum", "const", "type")  # what says more than "anything"


def form_of(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The form that a client is sent for *schema*."""
    fields = {name: _field(told) for name, told in _properties(schema).items()}
    required = [name for name in _required(schema) if name in fields]
    return {"type": "object", "properties": fields, **({"required": required} if required else {})}


def filled_in(schema: Mapping[str, Any], content: Mapping[str, Any]) -> dict[str, Any]:
    """What the client has filled in, as *schema* means it. What cannot be read stays text, which does not fit it."""
    fields = _properties(schema)
    return {
        name: _read(value) if isinstance(value, str) and _kind(fields.get(name)) is None else value
        for name, value in content.items()
    }


def _properties(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {**dict.fromkeys(_required(schema), True), **schema.get("properties", {})}


def _required(schema: Mapping[str, Any]) -> list[str]:
    return list(schema.get("required", ()))


def _field(told: Any) -> dict[str, Any]:
    kind = _kind(told)
    made = _as_json(told) if kind is None else kind(told)
    words = _kept(told, _WORDS)
    if kind is None:
        words["description"] = f"{words.get('description', '')} (as JSON)".lstrip()
    return {**made, **words}


def _kind(told: Any) -> Callable[[Any], dict[str, Any]] | None:
    """How a field is told to the client as what it is; None: it is none of what a form can have."""
    if not isinstance(told, dict) or not any(shape in told for shape in _SHAPES):
        return _anything
    if _texts(told.get("enum")):
        return _choice
    if _type(told) == "array":
        items = told.get("items")
        fits = isinstance(items, dict) and (_texts(items.get("enum")) or _titled(items.get("anyOf")))
        return _choices if fits else None
    if _type(told) == "string" and _titled(told.get("oneOf")):
        return _titled_choice
    is_plain = _type(told) in _KINDS and not any(shape in told for shape in _SHAPES[:-1])
    return _plain if is_plain else None


def _type(told: Any) -> str:
    """The one type that it may have, beside null: whatever may be null may be left out."""
    kinds = told.get("type")
    left = [kind for kind in kinds if kind != "null"] if isinstance(kinds, list) else [kinds]
    return str(left[0]) if len(left) == 1 else ""


def _anything(_: Any) -> dict[str, Any]:
    return {"type": "string"}


def _choice(told: Any) -> dict[str, Any]:
    values, names = list(told["enum"]), told.get("enumNames")
    named = {"enumNames": list(names)} if _texts(names) and len(names) == len(values) else {}
    return {"type": "string", "enum": values, **named, **_default(told, "string")}


def _titled_choice(told: Any) -> dict[str, Any]:
    return {"type": "string", "oneOf": _with_titles(told["oneOf"]), **_default(told, "string")}


def _choices(told: Any) -> dict[str, Any]:
    limits = _kept(told, {"minItems": int, "maxItems": int})
    default = {"default": told["default"]} if _texts(told.get("default")) else {}
    texts, titled = told["items"].get("enum"), told["items"].get("anyOf")
    items = {"type": "string", "enum": list(texts)} if _texts(texts) else {"anyOf": _with_titles(titled)}
    return {"type": "array", "items": items, **limits, **default}


def _with_titles(values: Any) -> list[dict[str, Any]]:
    return [{"const": each["const"], "title": each["title"]} for each in values]


def _plain(told: Any) -> dict[str, Any]:
    kind = _type(told)
    shape = {"format": told["format"]} if kind == "string" and told.get("format") in _FORMATS else {}
    return {"type": kind, **shape, **_kept(told, _LIMITS[kind]), **_default(told, kind)}


def _as_json(told: Any) -> dict[str, Any]:
    """A choice among what is no text, or anything else, typed as JSON."""
    values = told.get("enum")
    choice = {"enum": [_json(value) for value in values]} if isinstance(values, list) and values else {}
    default = {"default": _json(told["default"])} if "default" in told else {}
    return {"type": "string", **choice, **default}


def _default(told: Any, kind: str) -> dict[str, Any]:
    default = told.get("default")
    fits = isinstance(default, _KINDS[kind]) and (kind == "boolean" or not isinstance(default, bool))
    return {"default": default} if fits else {}


def _kept(told: Any, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Of a field what is of these types by these names."""
    if not isinstance(told, dict):
        return {}
    return {name: told[name] for name, kind in wanted.items() if isinstance(told.get(name), kind)}


def _texts(values: object) -> bool:
    return isinstance(values, list) and bool(values) and all(isinstance(value, str) for value in values)


def _titled(values: object) -> bool:
    """Whether these are texts to choose from, each with a title."""
    return (
        isinstance(values, list)
        and bool(values)
        and all(isinstance(one, dict) and _texts([one.get("const"), one.get("title")]) for one in values)
    )


def _json(value: object) -> str:
    return json.dumps(value) if isinstance(value, str) else to_text(value)


def _read(text: str) -> Any:
    try:
        return parse(text)
    except (InvalidArgumentsError, ValueError):
        return text
