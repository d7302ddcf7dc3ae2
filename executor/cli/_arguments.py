"""From the words of a command line to a tool's arguments, and back to a signature that says what they are."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from executor import errors
from executor.cli._errors import CliError
from executor.jsontext import copy_arguments, parse

if TYPE_CHECKING:
    from executor.tools import Registered, Schema

_KIND_OF = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null", list: "array"}
_SHOWN_CHOICES = 6  # a signature is one line


def read_arguments(words: Sequence[str], entry: Registered, stdin: TextIO | None) -> dict[str, Any]:
    """
    The arguments that *words* give: ``key=value`` and ``key:=json``, or one JSON object, or ``-`` for one on *stdin*.

    Raises:
        CliError: They cannot be read so.
    """
    if len(words) == 1 and (words[0] == "-" or words[0].lstrip().startswith("{")):
        try:
            # Bytes: JSON is UTF-8, whatever the locale has stdin decoded as.
            return copy_arguments(words[0] if words[0] != "-" else parse(stdin.buffer.read() if stdin else b""))
        except errors.InvalidArgumentsError as error:
            raise CliError(f"{error.message}\n{signature(entry)}", details={"errors": error.errors}) from error
    arguments: dict[str, Any] = {}
    for word in words:
        key, separator, text = word.partition("=")
        if not separator or not key.rstrip(":"):
            raise CliError(
                f"{word!r} is no argument: write {_likely(word, entry)}, or key:=json, one JSON object, or - to read "
                f"it from stdin\n{signature(entry)}"
            )
        forced = key.endswith(":")
        key = key.removesuffix(":")
        if key in arguments:
            raise CliError(f"the argument {key} is given twice: a list is written {key}='[…]'")
        arguments[key] = _parse(key, text, "JSON") if forced else coerce(key, text, entry.tool.input_schema)
    return arguments


def _likely(word: str, entry: Registered) -> str:
    """What somebody may have meant who wrote the bare *word*: the first argument that takes a text."""
    schema = entry.tool.input_schema
    root = schema if isinstance(schema, Mapping) else {}
    texts = [key for key, value in properties(root).items() if "string" in kinds(value, root)]
    return f"{texts[0]}={shlex.quote(word)}" if texts else "key=value"


def coerce(key: str, text: str, schema: Schema | None) -> Any:
    """
    *text* as what the schema wants of *key*: as it stands where a text will do, else as JSON.

    Raises:
        CliError: The schema wants something that *text* is not.
    """
    root = schema if isinstance(schema, Mapping) else {}
    wanted = kinds(properties(root).get(key, True), root)
    if not wanted or "string" in wanted:
        return text
    return _parse(key, text, " or ".join(sorted(wanted)))


def _parse(key: str, text: str, wanted: str) -> Any:
    try:
        return parse(text)
    except errors.InvalidArgumentsError as error:
        reason = error.errors[0]["message"] if error.errors else error.message
        shown = f'; a list is written {key}=\'["one", "two"]\'' if "array" in wanted else ""
        raise CliError(f"the argument {key} is to be {wanted}: {text[:80]!r} {reason}{shown}") from error


def properties(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments that a schema names, with their schemas."""
    found = schema.get("properties", {})
    return found if isinstance(found, Mapping) else {}


def kinds(schema: Any, root: Mapping[str, Any], depth: int = 0) -> set[str]:
    """The JSON types that *schema* names; empty when it does not say."""
    if not isinstance(schema, Mapping) or depth > 8:  # deep enough for schemas people write, and references may circle
        return set()
    if "$ref" in schema:
        return kinds(_refer(schema["$ref"], root), root, depth + 1)
    named = schema.get("type")
    if named is not None:
        return {named} if isinstance(named, str) else set(named)
    if "const" in schema or "enum" in schema:
        values = schema.get("enum", [schema.get("const")])
        return {_KIND_OF.get(type(value), "object") for value in values}
    found: set[str] = set()
    for keyword in ("anyOf", "oneOf", "allOf"):
        for option in schema.get(keyword, ()):
            found |= kinds(option, root, depth + 1)
    return found


def _refer(reference: Any, root: Mapping[str, Any]) -> Any:
    """What a reference within the schema refers to, or None."""
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    target: Any = root
    for part in reference[1:].strip("/").split("/") if len(reference) > 1 else ():
        key = part.replace("~1", "/").replace("~0", "~")
        target = target.get(key) if isinstance(target, Mapping) else None
    return target


def signature(entry: Registered) -> str:
    """A tool's name and arguments in one line: ``name(required: string, optional?: integer)``."""
    schema = entry.tool.input_schema
    root = schema if isinstance(schema, Mapping) else {}
    listed = root.get("required", ())
    required = [key for key in properties(root) if key in listed]
    optional = [key for key in properties(root) if key not in listed]
    shown = [f"{key}: {_type(properties(root)[key], root)}" for key in required]
    shown += [f"{key}?: {_type(properties(root)[key], root)}" for key in optional]
    if root.get("additionalProperties", schema is not False) is not False:
        shown.append("…")
    return f"{entry.name}({', '.join(shown)})"


def _type(schema: Any, root: Mapping[str, Any]) -> str:
    if isinstance(schema, Mapping) and 0 < len(schema.get("enum", ())) <= _SHOWN_CHOICES:
        return "|".join(json.dumps(value, ensure_ascii=False) for value in schema["enum"])
    found = kinds(schema, root)
    if found == {"array"} and isinstance(schema, Mapping) and "items" in schema:
        inner = _type(schema["items"], root)
        return f"({inner})[]" if "|" in inner else f"{inner}[]"
    return "|".join(sorted(found, key=lambda kind: (kind == "null", kind))) or "any"
