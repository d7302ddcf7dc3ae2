"""What the file of grants may hold: an entry that says anything else is no grant."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, get_args

from executor.approval import Scope
from executor.confine import ProfileName

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Check = Callable[[Any], bool]


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _are_links(value: Any) -> bool:
    return isinstance(value, list) and all(_are_texts(one) and len(one) == 2 for one in value)


def _one_of(*values: str) -> Check:
    return lambda value: _is_text(value) and value in values


def _or_none(check: Check) -> Check:
    return lambda value: value is None or check(value)


_FIELDS: Final[Mapping[str, tuple[Check, str]]] = {
    "id": (_is_text, "a text"),
    "tool": (_is_text, "a text"),
    "verdict": (_one_of("allow", "deny"), "allow or deny"),
    "kind": (_one_of("shell", "call", "tool"), "shell, call or tool"),
    "rule": (_is_text, "a text"),
    "scope": (_one_of(*get_args(Scope)), " or ".join(get_args(Scope))),
    "digest": (_is_text, "a text"),
    "project": (_is_text, "a text"),
    "definition_hash": (_or_none(_is_text), "a text or null"),
    "definition": (_is_text, "a text"),
    "created": (_is_number, "a number of seconds"),
    "expires": (_or_none(_is_number), "a number of seconds or null"),
    "uses_left": (_or_none(_is_count), "a whole number from 0 on, or null"),
    "agent": (_or_none(_is_text), "a text or null"),
    "session": (_is_text, "a text"),
    "confine": (_or_none(_one_of(*get_args(ProfileName))), "a profile or null"),
    "folders": (_or_none(_are_texts), "a list of texts, or null"),
    "links": (_or_none(_are_links), "a list of pairs of texts, or null"),
}


def entries(value: Any) -> list[dict[str, Any]]:
    """
    The entries of the file, each as `Grant` takes it.

    Raises:
        ValueError: It is no such file; says where.
    """
    found = value.get("grants") if isinstance(value, dict) else None
    if not isinstance(found, list):
        raise ValueError("grants: a list is needed")  # noqa: TRY004 -- of what somebody wrote
    for number, entry in enumerate(found):
        if not isinstance(entry, dict):
            raise ValueError(f"grants[{number}]: an object is needed")  # noqa: TRY004 -- of a file, all damage is one
        for name, given in entry.items():
            check, wanted = _FIELDS.get(name, (None, ""))
            if check is None:
                raise ValueError(f"grants[{number}].{name}: there is no such field")
            if not check(given):
                raise ValueError(f"grants[{number}].{name}: {wanted} is needed, not {given!r}")
    return found
