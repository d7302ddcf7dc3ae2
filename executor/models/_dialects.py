"""What each API takes of JSON Schema: tables, from the vendors' documents, their SDKs and the refusals people met."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace


def words(text: str) -> frozenset[str]:
    """The words in a text."""
    return frozenset(text.split())


# Where the schemas are that a schema has in it.
ONE = words(
    "additionalItems additionalProperties contains else if items not propertyNames then "
    "unevaluatedItems unevaluatedProperties contentSchema"
)
# Of these, those that APIs take as true and false, whatever they take elsewhere.
FLAGS = words("additionalProperties unevaluatedProperties unevaluatedItems")
LIST = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
MAP = frozenset({"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"})

# Words on a schema, which hold nobody to anything; what an API does not know of them is left out without a word.
SILENT = words(
    "$schema $id id $anchor $dynamicAnchor $recursiveAnchor $vocabulary $comment title "
    "deprecated readOnly writeOnly $defs definitions"
)
# At the top these say which arguments go together. Most APIs take none of them there.
TOP = words("allOf anyOf oneOf not if then else enum const")
# Without the first, each of the others would mean something else.
COMPANIONS = {
    "if": ("then", "else"),
    "patternProperties": ("additionalProperties", "unevaluatedProperties"),
    "prefixItems": ("items", "additionalItems", "unevaluatedItems"),
    "minContains": ("contains",),
    "contains": ("minContains", "maxContains", "unevaluatedItems"),
    "properties": ("additionalProperties", "unevaluatedProperties"),
    "additionalProperties": ("unevaluatedProperties",),
    "items": ("unevaluatedItems",),
    **dict.fromkeys(
        ("$ref", "allOf", "anyOf", "oneOf", "dependentSchemas"), ("unevaluatedProperties", "unevaluatedItems")
    ),
}


@dataclass(frozen=True, slots=True)
class Dialect:
    """
    Attributes:
        known: The keywords that the API reads; it ignores all others. None: it reads all.
        refused: Keywords for which it refuses the whole request.
        top: Those for which it does so at the top only.
        moved: Those that are better told in words at the top.
        needs_items: Whether it refuses an array without ``items``.
        names: The names of arguments that it takes; None: any.
        booleans: Whether it takes ``true`` and ``false`` as schemas.
        plain_enums: Whether it takes only texts and numbers in ``enum``.
        shapes: Whether it looks at what stands behind the keywords.
        keeps_references: Whether it follows ``$ref`` to ``$defs``; else what is referred to is put in its place.
        closed: Whether every object has to say ``"additionalProperties": false``.
        requires_all: Whether every property has to be required.
        requires_known: Whether only properties may be required.
    """

    known: frozenset[str] | None = None
    refused: frozenset[str] = frozenset()
    top: frozenset[str] = frozenset()
    moved: frozenset[str] = frozenset()
    needs_items: bool = False
    names: re.Pattern[str] | None = None
    booleans: bool = False
    plain_enums: bool = False
    shapes: bool = True
    keeps_references: bool = True
    closed: bool = False
    requires_all: bool = False
    requires_known: bool = False


_ARGUMENTS = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_COMBINED = frozenset({"allOf", "anyOf", "oneOf"})
_OPENAI = Dialect(top=_COMBINED | {"enum", "not"}, moved=TOP, needs_items=True)
_ANTHROPIC = Dialect(top=_COMBINED, moved=TOP, names=_ARGUMENTS, booleans=True)
_GEMINI = Dialect(
    plain_enums=True,
    known=words(
        "type format title description enum items prefixItems minItems maxItems minimum maximum "
        "anyOf oneOf properties additionalProperties required propertyOrdering"
    ),
    moved=TOP,
    keeps_references=False,
    requires_known=True,
)
_OLLAMA = Dialect(
    known=words("type description enum items properties required anyOf"),
    moved=TOP,
    keeps_references=False,
)
_APPLICATORS = words(
    "oneOf not if then else dependentRequired dependentSchemas patternProperties propertyNames "
    "contains minContains maxContains uniqueItems minProperties maxProperties unevaluatedItems "
    "unevaluatedProperties"
)
_BOUNDS = words("minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength pattern maxItems")

DIALECTS = {
    "openai-chat": _OPENAI,
    "openai": _OPENAI,
    "anthropic": _ANTHROPIC,
    "gemini": _GEMINI,
    "ollama": _OLLAMA,
    # Whoever is behind it: what all of them take.
    "langchain": replace(_OPENAI, names=_ARGUMENTS, keeps_references=False),
    "mcp": Dialect(booleans=True, shapes=False),
}
# Strict: the API holds the model to the schema, and takes less of JSON Schema for it.
STRICT = DIALECTS | {
    "openai-chat": (
        _strict := replace(_OPENAI, refused=_APPLICATORS | {"allOf", "default"}, closed=True, requires_all=True)
    ),
    "openai": _strict,
    "anthropic": replace(_ANTHROPIC, refused=_APPLICATORS | _BOUNDS, closed=True),
}
