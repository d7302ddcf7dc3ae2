"""Values that fit a schema: the least that is asked for, or one of everything."""

from __future__ import annotations

import re

from hypothesis import Phase, find, settings
from hypothesis.strategies import from_regex

DEEPEST = 6  # of recursive schemas
FORMATS = {
    "date-time": "2026-01-02T03:04:05Z",
    "date": "2026-01-02",
    "time": "03:04:05Z",
    "uuid": "123e4567-e89b-12d3-a456-426614174000",
    "email": "ada@example.org",
    "uri": "https://example.org/x",
    "url": "https://example.org/x",
    "hostname": "example.org",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "byte": "aGVsbG8=",
}


class UnmadeError(Exception):
    """No value could be made."""


def value_of(schema, definitions=None, *, everything=False, depth=0):
    """
    A value that fits *schema*.

    Args:
        everything: Optional properties too, as far as the schema is not recursive.
    """
    if not isinstance(schema, dict):
        return "x"
    definitions = {**(definitions or {}), **schema.get("$defs", {})}
    again = lambda inner, deeper=1: value_of(inner, definitions, everything=everything, depth=depth + deeper)
    if "$ref" in schema:
        if depth > 3 * DEEPEST:
            raise UnmadeError(schema["$ref"])
        return again(definitions[schema["$ref"].rpartition("/")[2]])
    for key in ("const", "default"):
        if schema.get(key) is not None:
            return schema[key]
    if schema.get("enum"):
        return schema["enum"][0]
    for key in ("oneOf", "anyOf"):
        if schema.get(key):
            return _either(schema, key, again)
    if schema.get("allOf"):
        return again(_merged(schema, definitions), 0)
    kind = schema.get("type") or ("object" if "properties" in schema else "array" if "items" in schema else "string")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        return _object(schema, again, everything=everything and depth < DEEPEST)
    if kind == "array":
        least = max(schema.get("minItems", 0), 1 if depth < DEEPEST else 0)
        return [again(schema.get("items", {})) for _ in range(1 if schema.get("uniqueItems") else least)]
    return _plain(schema, kind)


def _either(schema, key, again):
    rest = {name: value for name, value in schema.items() if name not in ("oneOf", "anyOf")}
    # A number in a path or query is a text as well.
    for branch in sorted(schema[key], key=lambda branch: branch.get("type") != "string"):
        if set(branch) == {"required"}:  # one way of several to say what is meant; the others would be too much
            others = {name for other in schema[key] for name in other["required"]} - set(branch["required"])
            properties = {name: value for name, value in rest["properties"].items() if name not in others}
            required = [*rest.get("required", ()), *branch["required"]]
            return again({**rest, "properties": properties, "required": required})
        try:
            if "$ref" not in branch and rest:
                return again({"allOf": [rest, branch]})
            return again(branch)
        except UnmadeError:
            continue
    raise UnmadeError(key)


def _merged(schema, definitions):
    merged = {key: value for key, value in schema.items() if key != "allOf"}
    for part in schema["allOf"]:
        found, seen = part, 0
        while "$ref" in found and seen < DEEPEST:
            found, seen = definitions[found["$ref"].rpartition("/")[2]], seen + 1
        for key, value in (_merged(found, definitions) if "allOf" in found else found).items():
            if key == "properties":
                merged[key] = {**merged.get(key, {}), **value}
            elif key == "required":
                merged[key] = [*merged.get(key, []), *value]
            else:
                merged[key] = value
    return merged


def _object(schema, again, *, everything):
    made = {}
    for name, inner in schema.get("properties", {}).items():
        if name in schema.get("required", ()):
            made[name] = again(inner)
        elif everything:
            try:
                made[name] = again(inner)
            except UnmadeError:
                continue
    for name in schema.get("required", ()):
        made.setdefault(name, "x")
    return made


def _plain(schema, kind):
    if kind == "boolean":
        return True
    if kind in ("integer", "number"):
        least = schema.get("minimum", schema.get("exclusiveMinimum", 0) + 1)
        step = schema.get("multipleOf", 1)
        made = -(-least // step) * step
        return min(made, schema.get("maximum", made))
    if kind == "null":
        return None
    if "pattern" in schema and schema.get("format") not in FORMATS:
        try:
            fits = lambda text: len(text) >= schema.get("minLength", 1) and text.isprintable()
            quickly = settings(max_examples=200, phases=[Phase.generate], database=None)
            return find(from_regex(re.compile(schema["pattern"], re.ASCII)), fits, settings=quickly)
        except Exception as error:
            raise UnmadeError(schema["pattern"]) from error
    text = FORMATS.get(schema.get("format"), "a b&c/ü")
    return text.ljust(schema.get("minLength", 0), "x")[: schema.get("maxLength", 1000)]
