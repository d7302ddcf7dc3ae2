"""What a tool takes for arguments that are left out, as its schema says, wherever in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_OF_ALL = ("allOf", "anyOf", "oneOf")
_OF_ONE = ("if", "then", "else")
_MOST_PARTS = 500  # schemas that are looked at for one tool; of a larger one the first


def defaults_of(schema: object) -> dict[str, Any]:
    """
    The default of each argument that has one; of one that may have several a list of them, as a rule looks into lists.
    """
    found: dict[str, list[Any]] = {}
    parts = _Parts(schema)
    for part in parts.of(schema):
        whole = part.get("default")
        for name, value in whole.items() if isinstance(whole, Mapping) else ():
            found.setdefault(name, []).append(value)
        properties = part.get("properties")
        for name, inner in properties.items() if isinstance(properties, Mapping) else ():
            has_own = isinstance(inner, Mapping) and "default" in inner  # which comes before those it refers to
            for one in (inner,) if has_own else parts.of(inner):
                if "default" in one:
                    found.setdefault(name, []).append(one["default"])
    return {name: values[0] if len(values) == 1 else values for name, values in found.items()}


class _Parts:
    """The schemas that one is made of: itself, what it refers to in *root*, and those that it combines."""

    def __init__(self, root: object) -> None:
        self._root = root
        self._left = _MOST_PARTS

    def of(self, schema: object) -> Iterator[Mapping[str, Any]]:
        waiting, seen = [schema], set()
        while waiting and self._left > 0:
            part = waiting.pop()
            if not isinstance(part, Mapping) or id(part) in seen:
                continue
            seen.add(id(part))
            self._left -= 1
            yield part
            reference = part.get("$ref")
            if isinstance(reference, str):
                waiting.append(self._at(reference))
            for key in _OF_ALL:
                combined = part.get(key)
                waiting += combined if isinstance(combined, list) else []
            waiting += [part[key] for key in _OF_ONE if key in part]

    def _at(self, reference: str) -> object:
        """What a JSON pointer of the schema leads to; None where it is another kind of reference, or leads nowhere."""
        if not reference.startswith("#/"):
            return self._root if reference == "#" else None
        at = self._root
        for key in reference[2:].split("/"):
            name = key.replace("~1", "/").replace("~0", "~")
            at = at.get(name) if isinstance(at, Mapping) else None
        return at
