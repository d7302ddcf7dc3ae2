"""Schemas of older drafts, as JSON Schema 2020-12 has them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from executor.models._dialects import LIST, MAP, ONE

if TYPE_CHECKING:
    from collections.abc import Callable

_DRAFT = re.compile(r"draft-0?([3467])|(2019)-09")
_LAST = 7  # the last draft in which nothing counts beside a reference
_2019 = 8
_ID = 4  # up to this draft it has no dollar
# The draft that brought a keyword; before it, it says nothing.
_SINCE = {
    **dict.fromkeys(("const", "contains", "propertyNames"), 6),
    **dict.fromkeys(("if", "then", "else"), 7),
    **dict.fromkeys(("dependentRequired", "dependentSchemas", "unevaluatedItems", "unevaluatedProperties"), 8),
    **dict.fromkeys(("minContains", "maxContains"), 8),
    "prefixItems": 9,
}


def brought_up_to_date(schema: dict[str, Any]) -> dict[str, Any]:
    """The same schema in the words of 2020-12; itself if it is in them."""
    named = schema.get("$schema")
    found = _DRAFT.search(named) if isinstance(named, str) else None
    if found is None:
        return schema
    draft = int(found[1]) if found[1] else _2019
    updated: dict[str, Any] = _update(schema, draft)
    return updated


def _update(schema: Any, draft: int) -> Any:
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema and draft <= _LAST:
        kept = ("$ref", "title", "description", "$defs", "definitions")
        schema = {key: schema[key] for key in kept if key in schema}
    result = {key: _within(key, value, draft) for key, value in schema.items() if _SINCE.get(key, 0) <= draft}
    if draft <= _ID and isinstance(result.get("id"), str):
        result["$id"] = result.pop("id")
    _update_items(result)
    _update_bounds(result)
    _update_dependencies(result)
    return result


def _update_items(schema: dict[str, Any]) -> None:
    rest = schema.pop("additionalItems", None)
    if isinstance(schema.get("items"), list):
        places = schema.pop("items")
        if places:
            schema["prefixItems"] = places
        if rest is not None:
            schema["items"] = rest


def _update_bounds(schema: dict[str, Any]) -> None:
    for exclusive, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(schema.get(exclusive), bool) and schema.pop(exclusive) and bound in schema:
            schema[exclusive] = schema.pop(bound)


def _update_dependencies(schema: dict[str, Any]) -> None:
    told = schema.pop("dependencies", None)
    if isinstance(told, dict):
        names = {key: value for key, value in told.items() if isinstance(value, list)}
        schemas = {key: value for key, value in told.items() if key not in names}
        schema |= {"dependentRequired": names} if names else {}
        schema |= {"dependentSchemas": schemas} if schemas else {}


def _within(keyword: str, value: Any, draft: int) -> Any:
    update: Callable[[Any], Any] = lambda inner: _update(inner, draft)  # noqa: E731 -- bound to the draft
    if (keyword in MAP or keyword == "dependencies") and isinstance(value, dict):
        return {name: update(inner) for name, inner in value.items()}
    if (keyword in LIST or keyword == "items") and isinstance(value, list):
        return [update(inner) for inner in value]
    return update(value) if keyword in ONE else value
