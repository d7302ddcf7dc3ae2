"""What a reply is made of, dict or object of an SDK: read with errors that say where something else stands."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from executor._json import copy_arguments
from executor.errors import InvalidArgumentsError
from executor.models._results import clean

if TYPE_CHECKING:
    from collections.abc import Collection


def fields(thing: object, where: str, **dump: bool) -> Mapping[str, Any]:
    """
    The fields of *thing* by the names that the API gives them.

    Args:
        where: What it is, for the error.
        dump: How an SDK's object is asked for its fields, beside their names: for pydantic's `model_dump`.

    Raises:
        ValueError: It has none.
    """
    if type(thing) is dict or isinstance(thing, Mapping):
        return thing
    model_dump = getattr(thing, "model_dump", None)
    if model_dump is None or isinstance(thing, type):
        raise ValueError(f"{where} is {_kind(thing)}, not an object with fields")
    try:
        found = model_dump(mode="json", by_alias=True, warnings=False, **dump)
    except Exception as error:
        raise ValueError(f"{where}: the {type(thing).__name__} could not be read: {error}") from error
    if not isinstance(found, Mapping):
        raise ValueError(f"{where} is {_kind(found)}, not an object with fields")  # noqa: TRY004 -- one error for all that is no reply
    return found


def without(thing: Mapping[str, Any], keys: Collection[str]) -> Mapping[str, Any]:
    """The same without these; itself if it has none of them."""
    if thing.keys().isdisjoint(keys):
        return thing
    return {key: value for key, value in thing.items() if key not in keys}


def differs(thing: Mapping[str, Any], right: Mapping[str, Any]) -> bool:
    """Whether one of the fields that are *right* stands otherwise in it, or not at all."""
    return any(key not in thing or thing[key] != value for key, value in right.items())


def sequence(thing: object, where: str) -> list[Any]:
    """The items of a list; None is no items. Raises ValueError."""
    if thing is None:
        return []
    if not isinstance(thing, list | tuple):
        raise ValueError(f"{where} is {_kind(thing)}, not a list")  # noqa: TRY004 -- as in fields
    return list(thing)


def text(thing: object, where: str) -> str:
    """A text; None is an empty one. Raises ValueError."""
    if thing is None:
        return ""
    if not isinstance(thing, str):
        raise ValueError(f"{where} is {_kind(thing)}, not a text")  # noqa: TRY004 -- as in fields
    return thing


def is_blank(thing: object) -> bool:
    """Whether nothing stands there, or a text without a word."""
    return not thing or (isinstance(thing, str) and not thing.strip())


def said_in(content: object) -> str:
    """What is said in the content of a message: a text, or parts some of which are texts."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list | tuple):
        return ""
    return "".join(_said_in_part(part) for part in content)


def _said_in_part(part: object) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, Mapping):
        return ""
    kind = part.get("type")
    key = {"text": "text", "output_text": "text", "refusal": "refusal"}.get(kind) if isinstance(kind, str) else None
    said = part.get(key) if key is not None else None
    return said if isinstance(said, str) else ""


def arguments_of(thing: object) -> Mapping[str, Any] | str:
    """Arguments, an object or JSON text; nothing, blank text and ``null`` are none. The executor refuses other text."""
    if thing is None or isinstance(thing, Mapping):
        return thing or {}
    if not isinstance(thing, str):
        return json.dumps(_kind(thing))  # that call fails, and not all that have come with it
    return {} if thing.strip() in ("", "null") else thing


def parsed(arguments: str) -> dict[str, Any] | None:
    """The object in this JSON text, read as strictly as the executor reads it; None: there is none."""
    try:
        return copy_arguments(arguments)
    except InvalidArgumentsError:
        return None


def is_whole(arguments: str) -> bool:
    """Whether this is the text of a whole object: nothing that comes later could belong to it."""
    return arguments.lstrip()[:1] == "{" and parsed(arguments) is not None


def as_object(arguments: Mapping[str, Any] | str) -> Mapping[str, Any]:
    """Arguments as APIs that take only objects want them back; text that is no object stands under one name in one."""
    if not isinstance(arguments, str):
        return arguments
    found = parsed(arguments)
    return {"INVALID_JSON": arguments} if found is None else found


def as_json(arguments: Mapping[str, Any] | str) -> str:
    """Arguments as text; those that are nested too deep for that, which the executor refuses, as what they are."""
    if isinstance(arguments, str):
        return arguments
    try:
        return json.dumps(arguments, ensure_ascii=False, default=str)
    except (RecursionError, ValueError):  # a ValueError: they have themselves in them
        return json.dumps(_kind(arguments))


def id_of(given: object, used: set[str]) -> str:
    """The id of a call: the one that was given; one made here if there is none, or another call has it."""
    if given is None or given == "" or isinstance(given, Mapping | list):
        made = f"call_{secrets.token_hex(12)}"
    else:
        made = clean(given if isinstance(given, str) else str(given))  # before they are compared: it goes back so
        if made in used:
            made = f"{made}_{secrets.token_hex(4)}"
    used.add(made)
    return made


def refuse_error(response: Mapping[str, Any]) -> None:
    """Raises ValueError if the response is an error rather than a reply."""
    error = response.get("error")
    if error:
        said = error.get("message", error) if isinstance(error, Mapping) else error
        raise ValueError(f"the response is an error, not a reply: {str(said)[:500]}")


def _kind(thing: object) -> str:
    return "missing" if thing is None else f"a {type(thing).__name__}"
