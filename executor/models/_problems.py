"""What an API makes of a schema: what it would refuse, and what it would not read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from executor._json import copy_json, pointer
from executor.errors import InvalidArgumentsError
from executor.models._dialects import DIALECTS, FLAGS, LIST, MAP, ONE, SILENT, STRICT, Dialect
from executor.models._forms import form_named
from executor.models._references import resolve
from executor.models._shapes import has_its_shape, is_plain

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator, Mapping

MAX_DEPTH = 60  # deeper than any tool's schema, shallower than Python's own limit


class Problem(str):
    """
    One finding, as text: where it is (a JSON pointer), a colon, what it is.

    Attributes:
        path: The JSON pointer; empty for the schema itself.
        refused: Whether the API refuses the whole request for it; else it does not read what the schema says there.
    """

    __slots__ = ("path", "refused")
    path: str
    refused: bool

    def __new__(cls, path: str, what: str, *, refused: bool = True) -> Self:
        made = super().__new__(cls, f"{path}: {what}")
        made.path, made.refused = path, refused
        return made


def problems(schema: object, form: str, strict: bool = False) -> list[Problem]:  # noqa: FBT001, FBT002 -- the contract's
    """
    What the API *form* would refuse in a tool's schema, or not read.

    `tools` mends all of it.

    Args:
        strict: Whether the API is to hold the model to the schema: it takes less then.

    Returns:
        A `Problem` each, which is a text: the JSON pointer, a colon, and what it is.

    Raises:
        ValueError: There is no such form.
    """
    form_named(form)
    try:
        tree = copy_json(schema)
    except (InvalidArgumentsError, RecursionError) as error:
        return [Problem("", f"it is no JSON: {error}")]
    return list(find(tree, (STRICT if strict else DIALECTS)[form]))


def find(schema: object, dialect: Dialect) -> Iterator[Problem]:
    """The problems of a tool's schema, a tree of dicts and lists."""
    if not isinstance(schema, dict):
        yield Problem("", "it is not an object")
        return
    if schema.get("type") != "object":
        yield Problem("", "type must be object")
    for keyword in schema:
        if keyword in dialect.top:
            yield Problem("", f"{keyword} at the top level")
    yield from _in(schema, dialect, schema, ())


def _in(schema: Any, dialect: Dialect, root: Mapping[str, Any], path: tuple[str | int, ...]) -> Iterator[Problem]:
    if isinstance(schema, bool):
        if not dialect.booleans:
            yield Problem(pointer(path), "a schema that is true or false")
        return
    if not isinstance(schema, dict) or len(path) > MAX_DEPTH:
        yield Problem(pointer(path), "this is no schema, or nested too deep")
        return
    yield from _of_keywords(schema, dialect, root, path)
    yield from _of_objects(schema, dialect, path)
    if dialect.needs_items and "items" not in schema and "array" in types_of(schema):
        yield Problem(pointer(path), "array without items")
    for name, inner in subschemas(schema):
        if name[0] in FLAGS and isinstance(inner, bool):
            continue
        if dialect.known is None or name[0] in dialect.known:
            if dialect.names is not None and not path and name[0] == "properties":
                yield from _name(str(name[1]), dialect.names)
            yield from _in(inner, dialect, root, (*path, *name))


def _of_keywords(
    schema: Mapping[str, Any], dialect: Dialect, root: Mapping[str, Any], path: tuple[str | int, ...]
) -> Iterator[Problem]:
    for keyword, value in schema.items():
        if dialect.known is not None and keyword not in dialect.known and keyword not in SILENT:
            yield Problem(pointer(path), f"{keyword} is not understood", refused=False)
        elif dialect.shapes and not has_its_shape(keyword, value):
            yield Problem(pointer(path), f"{keyword} is not what JSON Schema has there")
        elif keyword == "enum" and path and dialect.plain_enums and not is_plain(value):
            yield Problem(pointer(path), "enum of more than texts and numbers")
        elif keyword in dialect.refused and (path or keyword not in dialect.top):
            yield Problem(pointer(path), keyword)
        elif keyword == "$ref" and dialect.shapes and resolve(root, value) is None:
            yield Problem(pointer(path), "$ref to what is not in the schema")


def _of_objects(schema: Mapping[str, Any], dialect: Dialect, path: tuple[str | int, ...]) -> Iterator[Problem]:
    if dialect.requires_known and (unknown := unknown_names(schema)):
        yield Problem(pointer(path), f"required names what is no property: {', '.join(unknown)[:200]}")
    if not dialect.closed or ("object" not in types_of(schema) and "properties" not in schema):
        return
    if schema.get("additionalProperties") is not False:
        yield Problem(pointer(path), "additionalProperties must be false")
    if dialect.requires_all and not set(schema.get("properties") or ()) <= set(schema.get("required") or ()):
        yield Problem(pointer(path), "every property must be required")


def _name(name: str, taken: re.Pattern[str]) -> Iterator[Problem]:
    """The API looks at the names of the arguments only, not at those within them."""
    if not taken.fullmatch(name):
        yield Problem(pointer(("properties", name)), "property name")


def types_of(schema: Mapping[str, Any]) -> tuple[Any, ...]:
    """What ``type`` says, as a tuple; empty when it says nothing."""
    kinds = schema.get("type")
    return tuple(kinds) if isinstance(kinds, list | tuple) else (kinds,) if isinstance(kinds, str) else ()


def unknown_names(schema: Mapping[str, Any]) -> list[str]:
    """What ``required`` names beside the properties."""
    required, given = schema.get("required"), schema.get("properties")
    if not isinstance(required, list):
        return []
    return [name for name in required if isinstance(name, str) and not (isinstance(given, dict) and name in given)]


def subschemas(schema: Mapping[str, Any]) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """The schemas right within one, each with where it is."""
    for keyword, value in schema.items():
        if keyword in ONE and not isinstance(value, list):
            yield (keyword,), value
        elif keyword in MAP and isinstance(value, dict):
            yield from (((keyword, name), inner) for name, inner in value.items())
        elif (keyword in LIST or keyword == "items") and isinstance(value, list):
            yield from (((keyword, place), inner) for place, inner in enumerate(value))
