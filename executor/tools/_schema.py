"""
JSON Schema: whether a schema is one, whether a value fits it, and why it does not.

jsonschema-rs gives the verdict (3 µs where jsonschema takes 400), jsonschema words the explanation, which only a
failure needs. Dialects: draft-04 to 2020-12 by ``$schema``; without it 2020-12. ``format`` is an annotation. No remote
``$ref`` is ever fetched.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TypeAlias, cast

from executor._json import pointer
from executor.errors import SchemaError
from executor.tools._surely import surely_sound

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_ERRORS = 20
CACHED = 4096  # compiled validators kept; each is about 3 KB
FEW = 2  # definitions that are checked with the schema around them

Schema: TypeAlias = "Mapping[str, Any] | bool"


class Validator(Protocol):
    """What is needed of a compiled schema."""

    def is_valid(self, instance: Any) -> bool: ...
    def iter_errors(self, instance: Any) -> Any: ...


# Keyed by identity: hashing a schema would cost more than using it. The schema is kept with its validator, so that no
# other object can get its id. Filled and emptied with single dict operations, which are atomic; no lock.
_compiled: dict[int, tuple[Schema, Validator]] = {}
_checked: dict[int, object] = {}  # definitions that are sound, by identity in the same way


def compiled(schema: Schema, tool_id: str) -> Validator:
    """
    The validator of *schema*, made at its first use.

    Raises:
        SchemaError: It is not valid JSON Schema, or refers to another document.
    """
    entry = _compiled.get(id(schema))
    if entry is not None:
        return entry[1]
    validator = _compile(schema, tool_id)
    while len(_compiled) >= CACHED:
        _compiled.pop(next(iter(_compiled)), None)
    _compiled[id(schema)] = (schema, validator)
    return validator


def check_schema(schema: object, tool_id: str, *, what: str = "input") -> None:
    """
    Raises:
        SchemaError: *schema* is not valid JSON Schema, or (an input schema) can never fit an object.
    """
    if not isinstance(schema, dict | bool):
        raise SchemaError(
            f"The {what} schema of the tool {tool_id!r} is a {type(schema).__name__}: give a dict", tool_id=tool_id
        )
    if not surely_sound(schema):
        _check_parts(schema, tool_id, what)
    kinds = schema.get("type", "object") if isinstance(schema, dict) else "object"
    if what == "input" and (schema is False or "object" not in ([kinds] if isinstance(kinds, str) else kinds)):
        raise SchemaError(
            f"The input schema of the tool {tool_id!r} fits no object of named arguments: "
            'give {"type": "object", "properties": {…}}',
            tool_id=tool_id,
        )


def _check_parts(schema: Schema, tool_id: str, what: str) -> None:
    """
    Compile a schema, and each of its definitions by itself: those of a big API are the same objects in hundreds of
    tools, and are looked at once.
    """
    definitions = schema.get("$defs") if isinstance(schema, dict) else None
    if not isinstance(schema, dict) or not isinstance(definitions, dict) or len(definitions) < FEW:
        _compile(schema, tool_id, what)
    elif "$schema" in schema or any(
        isinstance(one, dict) and ("$defs" in one or "$id" in one) for one in definitions.values()
    ):
        _compile(schema, tool_id, what)  # a dialect, or names of its own, which only the whole can tell apart
    else:
        try:
            _check_each(schema, definitions, tool_id, what)
        except SchemaError:
            _compile(schema, tool_id, what)  # it may refer to a part of a definition


def _check_each(schema: dict[str, Any], definitions: dict[str, Any], tool_id: str, what: str) -> None:
    stubs: dict[str, Any] = {name: {} for name in definitions}
    for definition in definitions.values():
        if _checked.get(id(definition)) is definition or not isinstance(definition, dict):
            continue
        _compile({**definition, "$defs": stubs}, tool_id, what)
        while len(_checked) >= CACHED:
            _checked.pop(next(iter(_checked)), None)
        _checked[id(definition)] = definition
    _compile({**schema, "$defs": stubs}, tool_id, what)


def _compile(schema: Schema, tool_id: str, what: str = "input") -> Validator:
    import jsonschema_rs  # 20 ms, paid by the first schema that has to be compiled; see `_surely`

    try:
        return jsonschema_rs.validator_for(
            cast("dict[str, Any] | bool", schema), retriever=_refuse, validate_formats=False
        )
    except (ValueError, TypeError, RecursionError) as error:  # ValidationError and ReferencingError are ValueErrors
        reason = getattr(error, "message", None) or str(error)
        raise SchemaError(
            f"The {what} schema of the tool {tool_id!r} is not valid JSON Schema: {reason}", tool_id=tool_id
        ) from error


def _refuse(uri: str) -> NoReturn:
    raise ValueError(f"{uri} is another document, and none is ever fetched: put it under $defs")


def explain(schema: Schema, validator: Validator, value: Any) -> list[dict[str, str]]:
    """Why *value* does not fit, at most `MAX_ERRORS` reasons, each with path (JSON pointer), keyword and message."""
    errors = [] if _has_patterns(schema) else _explain_in_words(schema, value)
    if not errors:
        try:
            found = validator.iter_errors(value)
            errors = [
                {
                    "path": pointer(tuple(error.instance_path)),
                    "keyword": str(error.kind.name),
                    "message": _worded(schema, list(error.schema_path), error.message),
                }
                for error, _ in zip(found, range(MAX_ERRORS), strict=False)
            ]
        except (ValueError, TypeError) as error:  # a value that is no JSON at all
            errors = [{"path": "", "keyword": "type", "message": str(error)}]
    # A value that was found not to fit must never pass for want of words.
    return errors or [{"path": "", "keyword": "", "message": "does not fit the schema"}]


def _has_patterns(schema: Schema) -> bool:
    # Python's re can take for ever on a pattern and text made for it; the engine behind jsonschema-rs cannot.
    return '"pattern' in json.dumps(schema, default=str)


def _explain_in_words(schema: Schema, value: Any) -> list[dict[str, str]]:
    import jsonschema  # 45 ms, paid by the first call that does not fit
    import referencing.exceptions

    kind = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    validator = kind(schema, registry=referencing.Registry())  # an empty registry fetches nothing
    errors = []
    try:
        for error in validator.iter_errors(value):
            path = pointer(tuple(error.absolute_path))
            message = _worded(schema, list(error.absolute_schema_path), error.message)
            errors.append({"path": path, "keyword": str(error.validator), "message": message})
            if len(errors) == MAX_ERRORS:
                break
    except (referencing.exceptions.Unresolvable, RecursionError, TypeError, ValueError):
        return []
    return errors


def _worded(schema: Schema, path: list[str | int], message: str) -> str:
    """*message*, or what the schema itself says where one of two ways has to be taken: the description of an else."""
    found: Any = schema
    try:
        for part in path[: path.index("else") + 1]:
            found = found[part]
        described = found.get("description")
    except (ValueError, KeyError, IndexError, TypeError, AttributeError):  # no else, or behind a reference
        return message
    return described if isinstance(described, str) else message


def in_words(errors: list[dict[str, str]]) -> str:
    """The first few errors as one line."""
    shown = [f"{error['path']}: {error['message']}" if error["path"] else error["message"] for error in errors[:3]]
    more = f"; and {len(errors) - 3} more" if len(errors) > 3 else ""
    return "; ".join(shown) + more
