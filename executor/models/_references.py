"""What a ``$ref`` refers to."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from executor.models._dialects import LIST, MAP, ONE

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

_DEFINITION = re.compile(r"#/(\$defs|definitions)/[^/]+")
_WORDS = frozenset({"title", "description", "default", "examples"})
# Keywords that say nothing without another beside them.
_PARTNERS = {"then": "if", "else": "if", "minContains": "contains", "maxContains": "contains"}


def is_definition(reference: str) -> bool:
    """Whether it refers to one of the schema's definitions, rather than to any other place."""
    return _DEFINITION.fullmatch(reference) is not None


def resolve(root: Mapping[str, Any], reference: object) -> Mapping[str, Any] | bool | None:
    """The schema that a reference of *root* means; None: it is another document's, or there is none."""
    if not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")):
        return None
    found: Any = root
    for part in reference.split("/")[1:]:
        key = unquote(part).replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict):
            found = found.get(key)
        elif isinstance(found, list) and key.isdecimal() and int(key) < len(found):
            found = found[int(key)]
        else:
            return None
        if isinstance(found, dict) and isinstance(found.get("$id"), str):
            return None  # references in it start from there
    return found if isinstance(found, dict | bool) else None


def redirected(schema: Any, keywords: Collection[str], to: str) -> Any:
    """
    A schema that refers to "#/allOf/1/properties/a" where *schema* refers to "#/properties/a".

    Args:
        keywords: What the root had, such as ``properties``.
        to: Where that stands now, such as "#/allOf/1".
    """
    if not isinstance(schema, dict):
        return schema
    return {key: _moved_in(key, value, keywords, to) for key, value in schema.items()}


def _moved_in(keyword: str, value: Any, keywords: Collection[str], to: str) -> Any:
    def within(inner: Any) -> Any:
        elsewhere = isinstance(inner, dict) and isinstance(inner.get("$id"), str)
        return inner if elsewhere else redirected(inner, keywords, to)

    if keyword == "$ref" and isinstance(value, str) and value.startswith("#/") and value.split("/")[1] in keywords:
        return f"{to}/{value.removeprefix('#/')}"
    if keyword in MAP and isinstance(value, dict):
        return {name: within(inner) for name, inner in value.items()}
    if keyword in LIST and isinstance(value, list):
        return [within(inner) for inner in value]
    return within(value) if keyword in ONE else value


def merged(target: Mapping[str, Any], beside: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """
    One schema that holds to no more than both together do.

    Args:
        target: What is referred to.
        beside: What stands beside the reference.

    Returns:
        It, and what of *beside* could not be taken into it.
    """
    parts = [
        {key: value for key, value in part.items() if _PARTNERS.get(key, key) in part} for part in (target, beside)
    ]
    both = {**parts[0], **{key: value for key, value in parts[1].items() if key in _WORDS or key not in parts[0]}}
    return both, {key: value for key, value in parts[1].items() if both[key] != value}
