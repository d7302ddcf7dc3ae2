"""Names that an API takes, for tools and their arguments, and the way back."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any

from executor.models._objects import parsed

if TYPE_CHECKING:
    from collections.abc import Mapping

_LONGEST = 64  # some take twice as much, but not on every way to them
# The names that a form takes as they are; None: any.
_TAKEN: dict[str, re.Pattern[str] | None] = {
    "openai-chat": re.compile(r"[A-Za-z0-9_-]{1,64}"),
    "openai": re.compile(r"[A-Za-z0-9_-]{1,64}"),
    "anthropic": re.compile(r"[A-Za-z0-9_-]{1,64}"),
    "gemini": re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,63}"),
    "ollama": None,
    "langchain": re.compile(r"[A-Za-z0-9_-]{1,64}"),
    "mcp": re.compile(r"[A-Za-z0-9_.-]{1,128}"),
}
_OTHER = re.compile(r"[^A-Za-z0-9_-]")
_BEGINS = re.compile(r"[A-Za-z_]")


class Names(dict[str, str]):
    """
    From the names that a model API sees back to the tools' own; made by `tools`.

    Attributes:
        left_out: The tools that this API cannot be told of, and why.
    """

    __slots__ = ("_arguments", "left_out")

    def __init__(self, names: Mapping[str, str] | None = None) -> None:
        super().__init__(names or {})
        self.left_out: dict[str, str] = {}
        self._arguments: dict[str, Mapping[str, str]] = {}

    def rename_arguments(self, wire_name: str, names: Mapping[str, str]) -> None:
        """Note the tool's own names for the arguments that go by others."""
        self._arguments[wire_name] = names

    def arguments(self, wire_name: str, arguments: Mapping[str, Any] | str) -> Mapping[str, Any] | str:
        """The arguments by the tool's own names for them; text that is no object stays as it is."""
        names = self._arguments.get(wire_name)
        if not names:
            return arguments
        found = parsed(arguments) if isinstance(arguments, str) else arguments
        if found is None:
            return arguments
        # One that the model has by its own name already is not lost to another of that name.
        return {names.get(key, key) if names.get(key) not in found else key: value for key, value in found.items()}


def wire_name(name: str, form: str) -> str:
    """*name* as the API takes it: ``:`` becomes ``__``, everything else ``_``, what is too long is cut."""
    taken = _TAKEN[form]
    if taken is None or taken.fullmatch(name):
        return name
    return cut(_begun(_OTHER.sub("_", name.replace(":", "__"))), name)


def cut(wire: str, name: str) -> str:
    """*wire*, short enough; where it is cut, a mark of *name* keeps it apart from others."""
    if len(wire) <= _LONGEST:
        return wire
    return f"{wire[: _LONGEST - 9]}_{hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:8]}"


def _begun(wire: str) -> str:
    return wire if _BEGINS.match(wire) else f"_{wire}"


def add_name(names: Names, name: str, form: str) -> str:
    """
    Returns:
        The name by which the API knows the tool *name*, entered in *names*.

    Raises:
        ValueError: Another tool has it.
    """
    wire = wire_name(name, form)
    other = names.setdefault(wire, name)
    if other != name:
        raise ValueError(f"the tools {other!r} and {name!r} would both be {wire!r} in the {form} form: rename one")
    return wire


def property_names(given: Mapping[str, Any], taken: re.Pattern[str]) -> dict[str, str]:
    """By the names that an API takes, those of the properties that it does not take as they are."""
    renamed: dict[str, str] = {}
    for name in given:
        if taken.fullmatch(name):
            continue
        wire = cut(_OTHER.sub("_", name).strip("_") or "argument", name)
        while wire in given or wire in renamed:
            wire = cut(f"{wire}_", f"{name} {wire}")
        renamed[wire] = name
    return renamed
