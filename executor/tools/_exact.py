"""
One look at the arguments of a typed function whose types are JSON's own.

Such arguments are otherwise looked at three times: copied, compared with the schema, and turned by pydantic into what
the function takes. Where its types are texts, numbers, lists and objects of these, the three come to the same for
nearly every call, and one strict validator that copies says it all. It is made of the few types that are known here,
and only where the tool's schema says exactly what these do; everything else is looked at as ever.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Exact: TypeAlias = "Callable[[Any], dict[str, Any] | None]"
Node: TypeAlias = "Mapping[str, Any]"

# How it looks: nothing is taken for something else, keys that it does not know are for who looks closely, and a text
# with a lone surrogate is found by its length being asked for.
_STRICTLY = {
    "strict": True, "extra_fields_behavior": "forbid", "allow_inf_nan": False, "str_max_length": sys.maxsize
}  # fmt: skip
# The types by pydantic_core's names: what looks at each, and what it is in JSON Schema.
_ATOMS: Mapping[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "str": ({"type": "str"}, {"type": "string"}),
    "bool": ({"type": "bool"}, {"type": "boolean"}),
    "int": ({"type": "int"}, {"type": "integer"}),
    # By itself it takes 1 for 1.0, and who judges the call would see another number than the caller gave.
    "float": (
        {"type": "chain", "steps": [{"type": "is-instance", "cls": float}, {"type": "float"}]},
        {"type": "number"},
    ),
    "none": ({"type": "none"}, {"type": "null"}),
}
_KEEPS_ITSELF = (str, int, float, bool, type(None))  # a default that no call can change for the next one
_WORDS = ("title", "description", "default", "$defs")  # of a schema, which no value is compared with


class _OtherError(Exception):
    """There is something in it that is not known here."""


def exact(parameters: Node, defaults: Mapping[str, Any], schema: Node) -> Exact | None:
    """
    What copies arguments that are exactly of a function's types, and fit its schema; it gives None for all others.

    Args:
        parameters: The function's parameters, as the core schema of pydantic's ``TypeAdapter`` of it.
        defaults: What the function itself takes for those that are left out.
        schema: The tool's.

    Returns:
        None where not all of its types are JSON's own, or the schema says something else than they do.
    """
    from pydantic_core import SchemaValidator

    try:
        looked_at, said = _Types(parameters).arguments(parameters, defaults)
        if _bare(schema, schema.get("$defs", {})) != said:
            return None
    except (_OtherError, RecursionError):  # what holds itself may be nested too deep for a call
        return None
    validate = SchemaValidator(looked_at).validate_python

    def copied(arguments: Any) -> dict[str, Any] | None:
        try:
            result: dict[str, Any] = validate(arguments)
        except Exception:  # noqa: BLE001 -- what is wrong, if anything, is said by who looks closely
            return None
        return result

    return copied


class _Types:
    """Goes through a core schema. Each method gives what looks at such values, and their JSON Schema."""

    def __init__(self, whole: Node) -> None:
        self._named = {each["ref"]: each for each in whole.get("definitions", ())}

    def arguments(self, node: Node, defaults: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        if node["type"] == "definitions":
            node = node["schema"]
        if node["type"] == "call":
            node = node["arguments_schema"]
        _only(node, "arguments", "arguments_schema", "validate_by_name")  # older ones say it; there is no other name
        fields, required = {}, []
        for each in node["arguments_schema"]:
            if each.keys() - {"name", "schema", "mode"}:
                raise _OtherError
            name, inner = each["name"], each["schema"]
            if inner["type"] == "default":
                _only(inner, "default", "schema", "default")
                default = inner["default"]
                if type(default) not in _KEEPS_ITSELF or defaults.get(name, defaults) is not default:
                    raise _OtherError
                inner = inner["schema"]
            else:
                required.append(name)
            fields[name] = self.value(inner)
        return _object(fields, required, {"additionalProperties": False})

    def value(self, node: Node) -> tuple[dict[str, Any], dict[str, Any]]:
        kind = node["type"]
        if kind in _ATOMS:
            _only(node, kind)
            return _ATOMS[kind]
        found = getattr(self, "_" + kind.replace("-", "_"), None)
        if found is None:
            raise _OtherError
        made: tuple[dict[str, Any], dict[str, Any]] = found(node)
        return made

    def _list(self, node: Node) -> tuple[dict[str, Any], dict[str, Any]]:
        _only(node, "list", "items_schema")
        look, said = self.value(node["items_schema"])
        return {"type": "list", "items_schema": look}, {"type": "array", "items": said}

    def _dict(self, node: Node) -> tuple[dict[str, Any], dict[str, Any]]:
        _only(node, "dict", "keys_schema", "values_schema")
        _only(node["keys_schema"], "str")
        look, said = self.value(node["values_schema"])
        made = {"type": "dict", "keys_schema": {"type": "str"}, "values_schema": look}
        return made, {"type": "object", "additionalProperties": said}

    def _nullable(self, node: Node) -> tuple[dict[str, Any], dict[str, Any]]:
        _only(node, "nullable", "schema")
        look, said = self.value(node["schema"])
        return {"type": "nullable", "schema": look}, {"anyOf": [said, {"type": "null"}]}

    def _literal(self, node: Node) -> tuple[dict[str, Any], dict[str, Any]]:
        _only(node, "literal", "expected")
        words = node["expected"]
        said = {"const": words[0]} if len(words) == 1 else {"enum": words}
        return {"type": "literal", "expected": words}, {"type": "string", **said}

    def _typed_dict(self, node: Node) -> tuple[dict[str, Any], dict[str, Any]]:
        _only(node, "typed-dict", "fields", "cls", "cls_name", "computed_fields", "extra_behavior", "config", "ref")
        if node.get("computed_fields") or (node.get("config") or {}).keys() - {"title"}:
            raise _OtherError
        if node.get("extra_behavior", "ignore") != "ignore":  # a key that would be left out is looked at closely
            raise _OtherError
        fields, required = {}, []
        for name, field in node["fields"].items():
            _only(field, "typed-dict-field", "schema", "required")
            fields[name] = self.value(field["schema"])
            if field.get("required", True):
                required.append(name)
        return _object(fields, required, {})

    def _definition_ref(self, node: Node) -> tuple[dict[str, Any], dict[str, Any]]:
        _only(node, "definition-ref", "schema_ref")
        return self.value(self._named[node["schema_ref"]])


def _only(node: Node, kind: str, *keys: str) -> None:
    """Raise unless *node* is of this *kind*, and says no more than these *keys*."""
    if node["type"] != kind or node.keys() - {"type", "metadata", *keys}:
        raise _OtherError


def _object(
    fields: Mapping[str, tuple[dict[str, Any], dict[str, Any]]], required: list[str], more: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    looked_at = {
        name: {"type": "typed-dict-field", "schema": look, "required": name in required}
        for name, (look, _) in fields.items()
    }
    said = {"type": "object", "properties": {name: each for name, (_, each) in fields.items()}, **more}
    if required:
        said["required"] = required
    return {"type": "typed-dict", "fields": looked_at, "config": _STRICTLY}, said


def _bare(schema: Any, defs: Node) -> Any:
    """*schema* without its words, and with what it refers to in its place."""
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _bare(defs.get(str(schema["$ref"]).removeprefix("#/$defs/")), defs)
    bare = {key: value for key, value in schema.items() if key not in _WORDS}
    for key in ("items", "additionalProperties"):
        if key in bare:
            bare[key] = _bare(bare[key], defs)
    if "properties" in bare:
        bare["properties"] = {name: _bare(each, defs) for name, each in bare["properties"].items()}
    if "anyOf" in bare:
        bare["anyOf"] = [_bare(each, defs) for each in bare["anyOf"]]
    return bare
