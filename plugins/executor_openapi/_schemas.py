"""From the schemas of OpenAPI 3.0 and 3.1 to JSON Schema 2020-12, with what they refer to under ``$defs``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from executor_openapi._document import Document

MAX_DEPTH = 60  # no schema that people write is nested so deeply
# Of OpenAPI alone: no meaning in JSON Schema, and only noise for a model.
_DROPPED = frozenset(
    {"xml", "externalDocs", "example", "discriminator", "nullable", "readOnly", "writeOnly", "$schema"}
)
_ONE = ("items", "additionalProperties", "not", "propertyNames", "contains", "if", "then", "else", "prefixItems")
_MANY = ("allOf", "anyOf", "oneOf", "prefixItems")
_NAMED = ("properties", "patternProperties", "$defs", "dependentSchemas")

Direction = Literal["request", "response"]


class Converter:
    """
    Converts schemas of one direction; what they refer to is collected, once each.

    Args:
        direction: In a request what is ``readOnly`` is left out, in a response what is ``writeOnly``.
    """

    def __init__(self, document: Document, direction: Direction) -> None:
        self._document = document
        self._hidden = "readOnly" if direction == "request" else "writeOnly"
        self._names: dict[str, str] = {}
        self.definitions: dict[str, Any] = {}

    def convert(self, schema: Any, depth: int = 0) -> Any:
        """
        The schema in JSON Schema's words.

        Raises:
            DocumentError: A reference in it is broken, or leads to another document.
        """
        if depth > MAX_DEPTH or not isinstance(schema, Mapping):
            return schema if isinstance(schema, bool) else {}
        if "$ref" in schema:
            beside = {key: value for key, value in schema.items() if key != "$ref"}
            reference = {"$ref": self._refer(str(schema["$ref"]), depth)}
            # Beside a reference OpenAPI 3.0 ignores everything; a description is of use all the same.
            kept = (
                beside if self._document.version != "3.0" else {k: v for k, v in beside.items() if k == "description"}
            )
            return {**self.convert(kept, depth + 1), **reference}
        made = {key: self._value(key, value, depth) for key, value in schema.items() if self._is_kept(key)}
        if "required" in made:
            # Before JSON Schema draft 4 it was a mark of a single property, and some still write it so.
            names = made.pop("required")
            if isinstance(names, list) and names:
                made["required"] = [name for name in names if isinstance(name, str)]
        self._hide(schema, made)
        if self._document.version == "3.0":
            _modernise(schema, made)
        return made

    def whole(self, schema: Any) -> Any:
        """`convert`, with everything that it refers to."""
        made = self.convert(schema)
        return self.with_definitions(made) if isinstance(made, dict) else made

    def with_definitions(self, made: dict[str, Any]) -> dict[str, Any]:
        """A converted schema with what it refers to."""
        return {**made, "$defs": {**made.get("$defs", {}), **self.definitions}} if self.definitions else made

    def _is_kept(self, key: str) -> bool:
        return key not in _DROPPED and not key.startswith("x-")

    def _value(self, key: str, value: Any, depth: int) -> Any:
        if key in _NAMED and isinstance(value, Mapping):
            return {str(name): self.convert(item, depth + 1) for name, item in value.items()}
        if key in _MANY and isinstance(value, list):
            return [self.convert(item, depth + 1) for item in value]
        if key in _ONE and isinstance(value, Mapping):
            return self.convert(value, depth + 1)
        return value

    def _hide(self, schema: Mapping[str, Any], made: dict[str, Any]) -> None:
        properties = schema.get("properties")
        if not isinstance(properties, Mapping):
            return
        hidden = [
            name
            for name, item in properties.items()
            if isinstance(item, Mapping) and "$ref" not in item and item.get(self._hidden) is True
        ]
        for name in hidden:
            made["properties"].pop(str(name), None)
        if isinstance(made.get("required"), list):
            made["required"] = [name for name in made["required"] if name not in hidden]
            if not made["required"]:
                del made["required"]

    def _refer(self, reference: str, depth: int) -> str:
        name = self._names.get(reference)
        if name is None:
            wanted = re.sub(r"[^A-Za-z0-9_.-]", "_", reference.rpartition("/")[2]) or "schema"
            name, number = wanted, 2
            while name in self.definitions:
                name, number = f"{wanted}_{number}", number + 1
            self._names[reference] = name
            self.definitions[name] = {}  # stands for it while it is converted, should it contain itself
            self.definitions[name] = self.convert(self._document.at(reference), depth + 1)
        return f"#/$defs/{name}"


def _modernise(schema: Mapping[str, Any], made: dict[str, Any]) -> None:
    """What OpenAPI 3.0 says otherwise than JSON Schema does since."""
    for limit, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if isinstance(made.get(exclusive), bool) and made.pop(exclusive) and limit in made:
            made[exclusive] = made.pop(limit)
    if schema.get("nullable") is not True:
        return
    if isinstance(made.get("type"), str):
        made["type"] = [made["type"], "null"]
        if isinstance(made.get("enum"), list) and None not in made["enum"]:
            made["enum"] = [*made["enum"], None]
    elif made:
        inner = dict(made)
        made.clear()
        made["anyOf"] = [inner, {"type": "null"}]
