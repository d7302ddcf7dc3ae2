"""Schemas and values made for one another: few names and few values, so that they often have to do with each other."""

from __future__ import annotations

from random import Random

NAMES = ("a", "b", "$c", "d e")
SCALARS = ("", "a", "bb", "ccc", 0, 1, 2, 1.5, -3, True, False, None)
TYPES = ("array", "boolean", "integer", "null", "number", "object", "string")
REFERENCES = ("#/$defs/one", "#/$defs/two", "#/$defs/one/properties/a", "#/properties/a", "#")
PATTERNS = ("^a", "c$", "^.?$", "[$]")


def value(random: Random, depth: int = 2):
    kind = random.randrange(6) if depth else 0
    if kind == 4:
        return [value(random, depth - 1) for _ in range(random.randrange(4))]
    if kind == 5:
        return {random.choice(NAMES): value(random, depth - 1) for _ in range(random.randrange(4))}
    return random.choice(SCALARS)


def arguments(random: Random) -> dict:
    return {random.choice((*NAMES, "x", "c")): value(random) for _ in range(random.randrange(5))}


def small(random, depth):
    return random.randrange(4)


def some_names(random, depth):
    return random.sample(NAMES, random.randrange(3))


def several(random, depth):
    return [schema(random, depth) for _ in range(random.randrange(1, 3))]


def named(random, depth):
    return {name: schema(random, depth) for name in some_names(random, depth)}


def patterns(random, depth):
    return {random.choice(PATTERNS): schema(random, depth)}


def kinds(random, depth):
    return random.choice(TYPES) if random.random() < 0.7 else random.sample(TYPES, random.randrange(1, 4))


def schema(random: Random, depth: int):
    """A schema with up to four keywords: more of them together fit nothing."""
    if not depth or random.random() < 0.1:
        return random.choice([True, False, {}, {"type": random.choice(TYPES)}, {"$ref": random.choice(REFERENCES)}])
    chosen = random.sample(sorted(KEYWORDS), random.randrange(5))
    return {keyword: KEYWORDS[keyword](random, depth - 1) for keyword in chosen}


KEYWORDS = {
    "type": kinds,
    "enum": lambda random, depth: [value(random) for _ in range(random.randrange(1, 5))],
    "const": lambda random, depth: value(random),
    "pattern": lambda random, depth: random.choice(PATTERNS),
    "multipleOf": lambda random, depth: random.choice([1, 2]),
    "uniqueItems": lambda random, depth: random.random() < 0.5,
    "required": some_names,
    "dependentRequired": lambda random, depth: {random.choice(NAMES): some_names(random, depth)},
    "patternProperties": patterns,
    "$ref": lambda random, depth: random.choice(REFERENCES),
    "description": lambda random, depth: "some words",
    "title": lambda random, depth: "A title",
    "default": lambda random, depth: value(random),
    **dict.fromkeys(("minimum", "exclusiveMaximum", "minLength", "maxLength", "minItems", "maxItems"), small),
    **dict.fromkeys(("minContains", "maxContains", "minProperties", "maxProperties"), small),
    **dict.fromkeys(("prefixItems", "allOf", "anyOf", "oneOf"), several),
    **dict.fromkeys(("properties", "dependentSchemas"), named),
    **dict.fromkeys(
        ("items", "contains", "propertyNames", "not", "if", "then", "else", "additionalProperties"), schema
    ),
    **dict.fromkeys(("unevaluatedProperties", "unevaluatedItems"), schema),
}


def tool_schema(random: Random) -> dict:
    """The schema of a tool's arguments."""
    made = schema(random, 3)
    top = {"type": "object", "properties": {name: schema(random, 2) for name in some_names(random, 0)}}
    definitions = {"one": schema(random, 2), "two": schema(random, 2)}
    return top | (made if isinstance(made, dict) else {}) | {"$defs": definitions}
