"""
A tool's schema as an API takes it.

What is mended may hold to less than the schema does, never to more: a call that the schema allows is never refused. The
executor checks the arguments against the schema itself.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from executor._json import copy_json
from executor.errors import InvalidArgumentsError
from executor.models._dialects import COMPANIONS, FLAGS, LIST, MAP, ONE, SILENT, Dialect, words
from executor.models._names import property_names
from executor.models._older import brought_up_to_date
from executor.models._problems import MAX_DEPTH, find, types_of, unknown_names
from executor.models._references import is_definition, merged, redirected, resolve
from executor.models._shapes import has_its_shape, is_plain

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

_MOST = 3000  # schemas in one: what refers to itself in two places would grow without end
_SIMPLE: dict[str, type] = {
    **dict.fromkeys(("type", "title", "description"), str),
    **dict.fromkeys(("properties", "items"), dict),
    "required": list,
    "additionalProperties": bool,
}
_SIMPLE_TYPES = ("object", "string", "integer", "number", "boolean", "array")
_NOTHING: dict[str, Any] = {}
_DEEPEST = MAX_DEPTH - 3  # what is in it is up to two deeper, and may get ``items``
_HOLDERS = ONE | LIST | MAP
_ABOUT_HELD = words("required minContains maxContains")
_CHAIN = 20  # references one after another
_NOWHERE = words("$schema $id id $anchor $dynamicAnchor $recursiveAnchor $vocabulary $comment")
_IN_PLACE = frozenset({"$ref", "$dynamicRef", "$recursiveRef"})
# They speak of arguments by their names, in ways that cannot follow when these change.
_BY_NAME = words(
    "allOf anyOf oneOf not if then else enum const propertyNames patternProperties "
    "dependentSchemas unevaluatedProperties $dynamicRef $recursiveRef"
)


@dataclass(frozen=True, slots=True)
class Mended:
    """
    Attributes:
        notes: What the API cannot be told in the schema itself, in words; empty if there is nothing.
        names: By the names that the API takes, those of the arguments that go by others in it.
    """

    schema: dict[str, Any]
    notes: str = ""
    names: Mapping[str, str] = field(default_factory=dict)


def mend(schema: object, dialect: Dialect) -> Mended:
    """
    *schema* as the API takes it.

    Raises:
        ValueError: There is no such schema.
    """
    try:
        root = _rooted(copy_json({} if schema is None or schema is True else schema))
    except (InvalidArgumentsError, RecursionError) as error:
        raise ValueError(f"its schema is no JSON: {error}") from error
    if _is_simple(root, dialect):
        return Mended(root)
    if next(find(root, dialect), None) is None and dialect.moved.isdisjoint(root) and _NOWHERE.isdisjoint(root):
        return Mended(root)
    mender = _Mender(dialect, root)
    mended = mender.mend_root()
    left = next((problem for problem in find(mended.schema, dialect) if problem.refused), None)
    if left is not None:
        raise ValueError(f"its schema cannot be mended: {left}")
    return mended


def _is_simple(root: dict[str, Any], dialect: Dialect) -> bool:
    """Whether every API takes it: most schemas are like this, and seen to be in far less time than `find` takes."""
    known = _SIMPLE.keys() if dialect.known is None else _SIMPLE.keys() & (dialect.known | SILENT)
    if not _is_simple_within(root, known):
        return False
    return dialect.names is None or all(map(dialect.names.fullmatch, root["properties"]))


def _is_simple_within(schema: Any, known: AbstractSet[str]) -> bool:
    if type(schema) is not dict or not schema.keys() <= known:
        return False
    for keyword, value in schema.items():
        if type(value) is not _SIMPLE[keyword]:
            return False
    kind = schema.get("type")
    if kind not in _SIMPLE_TYPES or ("items" in schema) != (kind == "array"):
        return False
    given = schema.get("properties", _NOTHING)
    if "required" in schema:
        required = schema["required"]
        if not (has_its_shape("required", required) and given.keys() >= set(required)):
            return False
    for inner in given.values():
        if not _is_simple_within(inner, known):
            return False
    return "items" not in schema or _is_simple_within(schema["items"], known)


def _rooted(schema: Any) -> dict[str, Any]:
    """The schema of an object of arguments, which says so."""
    if not isinstance(schema, dict):
        raise ValueError(f"its schema is {json.dumps(schema)[:80]}, not an object")  # noqa: TRY004 -- as everything that mend raises
    root = brought_up_to_date(schema)
    for _ in range(_CHAIN):
        target = resolve(root, root.get("$ref")) if "$ref" in root else None
        if not isinstance(target, dict):
            break
        beside = {key: value for key, value in root.items() if key != "$ref"}
        root, left = merged(target, beside)
        if left:
            root["allOf"] = [*root.get("allOf", ()), left]
            root = redirected(root, left, f"#/allOf/{len(root['allOf']) - 1}")
    if root.get("type", "object") != "object" and "object" not in types_of(root):
        raise ValueError(f"its schema is that of {root['type']!r}, not of an object of arguments")
    root["type"] = "object"
    root.setdefault("properties", {})
    return root


def _note(keyword: str, value: Any) -> str:
    return f"{keyword}: {json.dumps(value, ensure_ascii=False)}"


@dataclass(slots=True, eq=False)
class _Mender:
    dialect: Dialect
    root: dict[str, Any]
    names: dict[str, str] = field(default_factory=dict)
    count: int = 0
    following: list[str] = field(default_factory=list)  # the references that are being put in place
    depth: int = 0  # how long the path to this schema is
    elsewhere: int = 0  # how many schemas around this one have an $id: references within mean something else

    def mend_root(self) -> Mended:
        given = self.root.get("properties")
        if self.dialect.names is not None and isinstance(given, dict):
            self.names = property_names(given, self.dialect.names)
        moved = {key for key in self.root if key in self.dialect.moved or key in self.dialect.top}
        if self.names:
            moved |= _BY_NAME & self.root.keys()
        schema, notes = self._mend(self.root, moved)
        schema["type"] = "object"
        if not isinstance(schema.get("properties"), dict):
            schema["properties"] = {}
        return Mended(self._renamed(schema), "; ".join(notes), self.names)

    def _renamed(self, schema: dict[str, Any]) -> dict[str, Any]:
        if not self.names:
            return schema
        wires = {name: wire for wire, name in self.names.items()}

        def named(names: Any) -> list[str]:
            return [wires.get(name, name) for name in names]

        properties = {}
        for name, inner in schema["properties"].items():
            if name in wires and isinstance(inner, dict):
                inner = _described(inner, [f"its own name is {name}"])  # noqa: PLW2901 -- the same schema, with a word more
            properties[wires.get(name, name)] = inner
        schema["properties"] = properties
        if "required" in schema:
            schema["required"] = named(schema["required"])
        if "dependentRequired" in schema:
            told = schema["dependentRequired"]
            schema["dependentRequired"] = {wires.get(key, key): named(value) for key, value in told.items()}
        return schema

    def _within(self, schema: Any) -> Any:
        """A schema within the root's."""
        if isinstance(schema, bool):
            return schema if self.dialect.booleans else ({} if schema or not self._knows("not") else {"not": {}})
        if not isinstance(schema, dict):
            return {}
        self.count += 1
        here = isinstance(schema.get("$id"), str)
        self.elsewhere += here
        found, notes = self._mend(dict(schema), set())
        self.elsewhere -= here
        return _described(found, notes)

    def _mend(self, schema: dict[str, Any], dropped: set[str]) -> tuple[dict[str, Any], list[str]]:
        """*schema* without the keywords *dropped* and those the API has no use for, and these in words."""
        if "$ref" in schema:
            return self._mend_reference(schema, dropped)
        schema = self._with_enum(schema)
        if self.depth > _DEEPEST and not _HOLDERS.isdisjoint(schema):
            known = {key: value for key, value in schema.items() if key not in _HOLDERS and key not in _ABOUT_HELD}
            schema = _described(known, ["what is in it is nested too deep to be told"])
        dropped = dropped | {key for key, value in schema.items() if self._drops(key, value)}
        for key in list(dropped):
            dropped.update(COMPANIONS.get("$ref" if key in _IN_PLACE else key, ()))
        result = {key: self._inside(key, value) for key, value in schema.items() if key not in dropped}
        dropped |= self._loosen(schema, result)
        if self.dialect.requires_known and unknown_names(result):
            result["required"] = [name for name in result["required"] if name in result.get("properties", _NOTHING)]
            dropped.add("required")
        if self.dialect.needs_items and "items" not in result and "array" in types_of(result):
            result["items"] = {}
        return result, [_note(key, schema[key]) for key in schema if key in dropped and key not in SILENT]

    def _knows(self, keyword: str) -> bool:
        return self.dialect.known is None or keyword in self.dialect.known

    def _drops(self, keyword: str, value: Any) -> bool:
        if keyword in _NOWHERE or keyword in self.dialect.refused or not self._knows(keyword):
            return True
        if keyword in _IN_PLACE or not has_its_shape(keyword, value):
            return True
        return keyword == "enum" and self.dialect.plain_enums and not is_plain(value)

    def _with_enum(self, schema: dict[str, Any]) -> dict[str, Any]:
        """With a constant as the enumeration that it is, for an API that knows only these."""
        if "const" not in schema or self._knows("const") or "enum" in schema or schema is self.root:
            return schema
        return {
            ("enum" if key == "const" else key): ([value] if key == "const" else value) for key, value in schema.items()
        }

    def _inside(self, keyword: str, value: Any) -> Any:
        if keyword in FLAGS and isinstance(value, bool):
            return value
        several = keyword in MAP or keyword in LIST
        self.depth += 1 + several
        found = value
        if keyword in MAP and isinstance(value, dict):
            found = {name: self._within(inner) for name, inner in value.items()}
        elif keyword in LIST and isinstance(value, list):
            found = [self._within(inner) for inner in value]
        elif keyword in ONE:
            found = self._within(value)
        self.depth -= 1 + several
        return found

    def _loosen(self, schema: dict[str, Any], result: dict[str, Any]) -> set[str]:
        """Take out of *result* what would hold to more because a schema in it holds to less. Returns the keywords."""

        def changed(keyword: str) -> bool:
            return keyword in result and (result[keyword] != schema[keyword] or _refers(result[keyword]))

        out: set[str] = set()
        if changed("not"):
            out.add("not")
        if changed("if"):
            out |= {"if", "then", "else"}
        if changed("contains") and "maxContains" in result:
            out.add("maxContains")
        if changed("oneOf"):
            branches = result.pop("oneOf")
            if "anyOf" in schema or not self._knows("anyOf"):
                out.add("oneOf")
            else:
                result["anyOf"] = branches
        rest = {"unevaluatedProperties", "unevaluatedItems"}
        if rest & result.keys() and (out or any(result.get(key) != schema[key] for key in schema)):
            out |= rest
        for keyword in out:
            result.pop(keyword, None)
        return out

    def _mend_reference(self, schema: dict[str, Any], dropped: set[str]) -> tuple[dict[str, Any], list[str]]:
        """A schema that refers to another: what that says stands in its place, unless the API follows references."""
        reference = schema.pop("$ref")
        target = None if self.elsewhere else resolve(self.root, reference)
        if target is not None and self.dialect.keeps_references and is_definition(reference):
            result, notes = self._mend(schema, dropped)
            return {"$ref": reference, **result}, notes
        if target is None or isinstance(target, bool):
            schema = {key: value for key, value in schema.items() if key not in COMPANIONS["$ref"]}
            return self._mend(schema, dropped)
        if reference in self.following or self.count > _MOST or len(self.following) > MAX_DEPTH:
            # Once more would be without end: what it is, and no more.
            words = {key: target[key] for key in ("type", "description") if key in target and key not in schema}
            schema = {key: value for key, value in schema.items() if key not in COMPANIONS["$ref"]}
            return self._mend({**words, **schema}, dropped)
        both, left = merged(target, schema)
        self.following.append(reference)
        result, notes = self._mend(both, dropped)
        self.following.pop()
        return result, [*notes, *(_note(key, value) for key, value in left.items())]


def _described(schema: dict[str, Any], notes: list[str]) -> dict[str, Any]:
    if not notes:
        return schema
    before = schema.get("description")
    words = f"({'; '.join(notes)})"
    return {**schema, "description": f"{before} {words}" if isinstance(before, str) and before else words}


def _refers(schema: Any) -> bool:
    """Whether there is a reference in it, to something that may have been mended."""
    if isinstance(schema, dict):
        return "$ref" in schema or any(map(_refers, schema.values()))
    return isinstance(schema, list) and any(map(_refers, schema))
