"""From the schemas of OpenAPI 3.0 and 3.1 to JSON Schema 2020-12, with what they refer to under ``$defs``."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from executor_openapi._document import Document

MAX_DEPTH = 60  # no schema that people write is nested so deeply
# No model takes in more; what is cut off accepts anything, and the service has the last word.
MAX_DEFINITIONS = 100
# Of OpenAPI alone: no meaning in JSON Schema, and only noise for a model.
_DROPPED = frozenset(
    {"xml", "externalDocs", "example", "discriminator", "nullable", "readOnly", "writeOnly", "$schema"}
)
_ONE = ("items", "additionalProperties", "not", "propertyNames", "contains", "if", "then", "else", "prefixItems")
_MANY = ("allOf", "anyOf", "oneOf", "prefixItems")
_NAMED = ("properties", "patternProperties", "$defs", "dependentSchemas")
_VALUES = ("default", "const", "examples")
_TYPES = frozenset({"object", "array", "string", "number", "integer", "boolean", "null"})

Direction = Literal["request", "response"]


class Converter:
    """
    Converts the schemas of one direction of a document. What several operations refer to is converted once, and is one
    object for all of them.

    Args:
        direction: In a request what is ``readOnly`` is left out, in a response what is ``writeOnly``.
    """

    def __init__(self, document: Document, direction: Direction) -> None:
        self._document = document
        self._hidden = "readOnly" if direction == "request" else "writeOnly"
        self._names: dict[str, str] = {}
        self._references: dict[str, str] = {}  # of names
        self._needs: dict[str, frozenset[str]] = {}  # by definition
        self._collected: set[str] = set()  # what is referred to by what is just converted
        self._sets: dict[frozenset[str], dict[str, Any] | None] = {}
        self.definitions: dict[str, Any] = {}

    def convert(self, schema: Any, depth: int = 0) -> Any:
        """
        The schema in JSON Schema's words; what it refers to is defined by `definitions_of`.

        Raises:
            DocumentError: A reference in it is broken, or leads to another document.
        """
        if depth > MAX_DEPTH or not isinstance(schema, Mapping):
            return schema if isinstance(schema, bool) else {}
        if "$ref" in schema:
            beside = {key: value for key, value in schema.items() if key != "$ref"}
            reference = {"$ref": self._refer(str(schema["$ref"]))}
            # Beside a reference OpenAPI 3.0 ignores everything; a description is of use all the same.
            kept = (
                beside if self._document.version != "3.0" else {k: v for k, v in beside.items() if k == "description"}
            )
            return {**self.convert(kept, depth + 1), **reference} if kept else reference
        made = {
            key: self._value(key, value, depth)
            for key, value in schema.items()
            if key not in _DROPPED and not key.startswith("x-") and (value is not None or key in _VALUES)
        }
        if "type" in made and not _is_type(made["type"]):
            del made["type"]  # "file", "any": words of other languages, which would cost the whole operation
        if "enum" in made and not (isinstance(made["enum"], list) and made["enum"]):
            del made["enum"]
        if "required" in made:
            # Before JSON Schema draft 4 it was a mark of a single property, and some still write it so.
            names = made.pop("required")
            if isinstance(names, list) and names:
                made["required"] = list(dict.fromkeys(name for name in names if isinstance(name, str)))
        if "properties" in schema:
            self._hide(schema, made)
        if self._document.version == "3.0":
            _modernise(schema, made)
        return made

    def begin(self) -> None:
        """What is converted from now on belongs together."""
        self._collected = set()

    def with_definitions(self, made: dict[str, Any]) -> dict[str, Any]:
        """What was converted since `begin`, with what it refers to, at most `MAX_DEFINITIONS` of it."""
        found = self._defined(frozenset(self._collected), cut=True)
        return {**made, "$defs": {**made.get("$defs", {}), **found} if "$defs" in made else found} if found else made

    def whole(self, schema: Any) -> Any:
        """A schema with all that it refers to; None for one that refers to more than `MAX_DEFINITIONS` others."""
        self.begin()
        made = self.convert(schema)
        if not isinstance(made, dict) or not self._collected:
            return made
        found = self._defined(frozenset(self._collected), cut=False)
        return None if found is None else {**made, "$defs": found}

    def _defined(self, roots: frozenset[str], *, cut: bool) -> dict[str, Any] | None:
        """What *roots* lead to, nearest first: one object for all who want the same."""
        key = roots | {""} if cut else roots
        if key not in self._sets:
            self._sets[key] = self._reached(sorted(roots), cut=cut)
        return self._sets[key]

    def _reached(self, roots: Iterable[str], *, cut: bool) -> dict[str, Any] | None:
        found: dict[str, Any] = {}
        waiting = deque(roots)
        while waiting:
            name = waiting.popleft()
            if name in found:
                continue
            if len(found) >= MAX_DEFINITIONS:
                if not cut:
                    return None
                break
            found[name] = self._definition(name)
            waiting.extend(sorted(self._needs[name]))
        for name in [*found]:
            for needed in self._needs[name]:
                found.setdefault(needed, {})
        return found

    def _definition(self, name: str) -> Any:
        if name not in self.definitions:
            collected, self._collected = self._collected, set()
            try:
                self.definitions[name] = self.convert(self._document.at(self._references[name]))
                self._needs[name] = frozenset(self._collected)
            finally:
                self._collected = collected
        return self.definitions[name]

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
        if hidden and isinstance(made.get("required"), list):
            made["required"] = [name for name in made["required"] if name not in hidden]
            if not made["required"]:
                del made["required"]

    def _refer(self, reference: str) -> str:
        name = self._names.get(reference)
        if name is None:
            self._document.at(reference)  # that it leads somewhere is known before anybody relies on it
            wanted = re.sub(r"[^A-Za-z0-9_.-]", "_", reference.rpartition("/")[2]) or "schema"
            name, number = wanted, 2
            while name in self._references:
                name, number = f"{wanted}_{number}", number + 1
            self._names[reference] = name
            self._references[name] = reference
        self._collected.add(name)
        return f"#/$defs/{name}"


def _is_type(kind: Any) -> bool:
    kinds = kind if isinstance(kind, list) else [kind]
    return bool(kinds) and all(isinstance(name, str) and name in _TYPES for name in kinds)


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
